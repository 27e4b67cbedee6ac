/* test_latest.c - which of the facts are replaced by later ones
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>

#include "aggregator/store/latest.h"

union row {
    struct ck_event e;
    struct ck_counter counter;
    struct ck_open open;
    struct ck_clock_fact clock;
};

static int setup(void **state)
{
    *state = latest_create();
    return *state ? 0 : -1;
}

static int teardown(void **state)
{
    latest_destroy(*state);
    return 0;
}

static union row counter(unsigned kind, uint32_t name, uint32_t tid)
{
    return (union row){
        .counter = {.e = {.kind = (uint16_t)kind, .name = name}, .tid = tid}};
}

static union row open_call(uint32_t tid, uint32_t depth)
{
    return (union row){
        .open = {.e = {.kind = CK_KIND_OPEN}, .tid = tid, .depth = depth}};
}

/* All rows of incarnation 1; stays[] is what is expected of them. */
static void rows_check(struct latest *latest,
                       const union row *rows,
                       size_t count,
                       const bool *stays)
{
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(latest_see(latest, 1, &rows[i].e), 0);
    }
    for (size_t i = 0; i < count; i++) {
        if (latest_stays(latest, 1, &rows[i].e) != stays[i]) {
            fail_msg("row %zu", i);
        }
    }
}

static void the_last_total_of_each_counter_stays(void **state)
{
    const union row rows[] = {
        counter(CK_KIND_COUNTER, 1, 0), counter(CK_KIND_COUNTER, 1, 7),
        counter(CK_KIND_CALLS, 1, 0),   counter(CK_KIND_COUNTER, 1, 0),
        counter(CK_KIND_COUNTER, 2, 0), counter(CK_KIND_COUNTER, 1, 0),
    };
    const bool stays[] = {false, true, true, false, true, true};

    rows_check(*state, rows, 6, stays);
}

static void losses_all_stay(void **state)
{
    const union row rows[] = {counter(CK_KIND_LOST, 1, 0),
                              counter(CK_KIND_LOST, 1, 0)};
    const bool stays[] = {true, true};

    rows_check(*state, rows, 2, stays);
}

static void the_last_look_at_each_depth_of_a_thread_stays(void **state)
{
    const union row rows[] = {open_call(7, 0), open_call(7, 1), open_call(8, 0),
                              open_call(7, 0)};
    const bool stays[] = {false, true, true, true};

    rows_check(*state, rows, 4, stays);
}

static void the_later_half_of_clock_facts_stays(void **state)
{
    const union row pair = {.e = {.kind = CK_KIND_CLOCK_PAIR}};
    const union row rows[] = {pair, pair, pair, pair};
    const bool stays[] = {false, false, true, true};

    rows_check(*state, rows, 4, stays);
}

static void another_process_has_counters_of_its_own(void **state)
{
    const union row row = counter(CK_KIND_CALLS, 1, 0);

    assert_int_equal(latest_see(*state, 1, &row.e), 0);
    assert_int_equal(latest_see(*state, 2, &row.e), 0);
    assert_true(latest_stays(*state, 1, &row.e));
    assert_true(latest_stays(*state, 2, &row.e));
}

static void many_are_distinguished(void **state)
{
    const uint32_t many = 5000;

    for (uint32_t i = 0; i < 2 * many; i++) {
        union row row = counter(CK_KIND_COUNTER, 1, i % many);

        assert_int_equal(latest_see(*state, 1, &row.e), 0);
    }
    for (uint32_t i = 0; i < 2 * many; i++) {
        union row row = counter(CK_KIND_COUNTER, 1, i % many);

        assert_int_equal(latest_stays(*state, 1, &row.e), i >= many);
    }
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(the_last_total_of_each_counter_stays),
        CASE(losses_all_stay),
        CASE(the_last_look_at_each_depth_of_a_thread_stays),
        CASE(the_later_half_of_clock_facts_stays),
        CASE(another_process_has_counters_of_its_own),
        CASE(many_are_distinguished),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
