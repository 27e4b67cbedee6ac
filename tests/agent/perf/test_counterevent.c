/* test_counterevent.c - hardware counters' events, of the module that knows
 * libpfm4
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <linux/perf_event.h>

#include "agent/perf/counterevent.h"
#include "launch/module.h"

#define CACHE(cache, result)                                                   \
    ((uint64_t)PERF_COUNT_HW_CACHE_##cache |                                   \
     (uint64_t)PERF_COUNT_HW_CACHE_OP_READ << 8 |                              \
     (uint64_t)PERF_COUNT_HW_CACHE_RESULT_##result << 16)

static counterevent_f *module_find(void)
{
    struct ck_err err = {""};
    counterevent_f *find = (counterevent_f *)ck_module_symbol(
        COUNTEREVENT_MODULE, COUNTEREVENT_FIND, &err);

    assert_string_equal(err.text, "");
    assert_non_null(find);
    return find;
}

static void names_are_the_kernels_events(void **state)
{
    static const struct {
        const char *name;
        uint32_t type;
        uint64_t config;
    } expected[] = {
        {"perf::cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES},
        {"perf::instructions", PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS},
        {"perf::cache-misses", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_MISSES},
        {"perf::branch-misses", PERF_TYPE_HARDWARE,
         PERF_COUNT_HW_BRANCH_MISSES},
        {"perf::dTLB-loads", PERF_TYPE_HW_CACHE, CACHE(DTLB, ACCESS)},
        {"perf::dTLB-load-misses", PERF_TYPE_HW_CACHE, CACHE(DTLB, MISS)},
        {"perf::iTLB-load-misses", PERF_TYPE_HW_CACHE, CACHE(ITLB, MISS)},
    };
    counterevent_f *find = module_find();

    (void)state;
    for (size_t i = 0; i < sizeof(expected) / sizeof(expected[0]); i++) {
        struct perf_event_attr attr = {.size = sizeof(attr)};

        assert_null(find(expected[i].name, &attr));
        assert_int_equal(attr.type, expected[i].type);
        assert_int_equal(attr.config, expected[i].config);
    }
}

static void a_name_that_is_none_has_a_reason(void **state)
{
    struct perf_event_attr attr = {.size = sizeof(attr)};
    const char *why_not = module_find()("perf::no-such-counter", &attr);

    (void)state;
    assert_non_null(why_not);
    assert_true(why_not[0] != '\0');
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_are_the_kernels_events),
        cmocka_unit_test(a_name_that_is_none_has_a_reason),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
