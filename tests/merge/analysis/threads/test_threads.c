/* test_threads.c - rows of threads
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "merge/analysis/threads/threads.h"

#define REGIONS 5
#define LENGTH (100 * CK_TIME_MS)

static struct defs *defs;
static struct history *history;
static uint32_t process;

/* The first thread, and one more for each nested region. */
static int setup(void **state)
{
    const uint8_t id[16] = {1};

    (void)state;
    defs = defs_create();
    process = defs_process_find(defs, defs_agent_find(defs, id), 1);
    for (uint32_t i = 0; i <= REGIONS; i++) {
        assert_int_equal(defs_thread_find(defs, process, 100 + i), i);
    }
    defs_close(defs);
    history = history_create(defs, 0);
    return history == NULL;
}

static int teardown(void **state)
{
    (void)state;
    history_destroy(history);
    defs_destroy(defs);
    return 0;
}

static void put(struct threads *threads,
                enum ck_kind kind,
                uint32_t thread,
                struct region time,
                struct ck_team record)
{
    const struct timeline_event event = {.record = &record.e,
                                         .start = time.start,
                                         .end = time.end,
                                         .process = process,
                                         .thread = thread};

    record.e = (struct ck_event){
        .kind = (uint16_t)kind, .units = 2, .start = time.start};
    threads_take(threads, &event);
}

static void threads_of_nested_regions_with_one_number_are_a_row(void **state)
{
    struct region all = {0, LENGTH};
    struct threads *threads = threads_create(defs, history, all);
    struct report report = {0};

    (void)state;
    put(threads, CK_KIND_TEAM_REGION, 0, all,
        (struct ck_team){.region = 1, .size = 1});
    put(threads, CK_KIND_TEAM_PART, 0, all,
        (struct ck_team){.region = 1, .thread = 0});
    for (uint32_t i = 1; i <= REGIONS; i++) {
        struct region part = {i * 10 * CK_TIME_MS, (i * 10 + 2) * CK_TIME_MS};

        put(threads, CK_KIND_TEAM_REGION, 0, part,
            (struct ck_team){
                .region = 1 + i, .outer = 1, .level = 1, .size = 2});
        put(threads, CK_KIND_TEAM_PART, 0, part,
            (struct ck_team){.region = 1 + i, .thread = 0});
        put(threads, CK_KIND_TEAM_PART, i, part,
            (struct ck_team){.region = 1 + i, .thread = 1});
    }
    threads_report(threads, &report);
    assert_int_equal(report.threads.threads_count, 2);
    assert_int_equal(report.threads.threads[0].tid, 100);
    assert_int_equal(report.threads.threads[0].count, 1);
    assert_int_equal(report.threads.threads[1].count, REGIONS);
    assert_int_equal(report.threads.threads[1].number, 1);
    assert_int_equal(report.threads.threads[1].work, REGIONS * 2 * CK_TIME_MS);
    threads_destroy(threads);
    report_fini(&report);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(threads_of_nested_regions_with_one_number_are_a_row),
    };

    return cmocka_run_group_tests(tests, setup, teardown);
}
