/* test_memoryuse.c - memory of ranks over time: peaks, steps, growth
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "merge/analysis/memory/memoryuse.h"
#include "merge/clocks/align.h"
#include "merge/model/comm.h"

#define MIB ((int64_t)1 << 20)
#define LENGTH (100 * CK_TIME_S)

static const struct region region = {0, LENGTH};
static struct defs *defs;
static struct align *align;
static struct lookback *lookback;
static struct steps *steps;
static struct memoryuse *use;
static struct report report;

/* Rank 0 has two processes, rank 1 has one. */
static int setup(void **state)
{
    (void)state;
    defs = defs_create();
    for (uint32_t i = 0; i < 3; i++) {
        uint8_t id[16] = {(uint8_t)(i / 2 + 1)};
        uint32_t agent = defs_agent_find(defs, id);
        uint32_t process = defs_process_find(defs, agent, 1 + i % 2);

        defs->agents[agent].rank = defs->processes[process].rank =
            (int32_t)i / 2;
        (void)defs_thread_find(defs, process, 10 + i);
    }
    defs_close(defs);
    comm_close(defs);
    align = align_create();
    align_close(align, defs);
    lookback = lookback_create(defs, align, 4096);
    steps = steps_create(defs, region);
    use = memoryuse_create(defs, lookback);
    memset(&report, 0, sizeof(report));
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    memoryuse_destroy(use);
    steps_destroy(steps);
    lookback_destroy(lookback);
    align_destroy(align);
    defs_destroy(defs);
    report_fini(&report);
    return 0;
}

static void
put(uint32_t process, ck_time_t time, int64_t bytes, int64_t most, unsigned of)
{
    struct ck_counter record = {.e = {.kind = CK_KIND_MEMORY,
                                      .name = process == 1 ? 2 : 1,
                                      .start = time},
                                .value = bytes,
                                .enabled = most,
                                .tid = 10 + process,
                                .reason = of};
    struct timeline_event event = {.record = &record.e,
                                   .start = time,
                                   .end = time,
                                   .process = process == 2 ? 2 : 0};

    memoryuse_take(use, &event);
}

static void resident(uint32_t process, ck_time_t time, int64_t bytes)
{
    put(process, time, bytes, bytes, CK_MEMORY_RESIDENT);
}

static const struct report_memory *row(size_t index)
{
    if (report.memory == NULL) {
        memoryuse_report(use, steps, region, &report);
    }
    assert_true(index < report.memory_count);
    return &report.memory[index];
}

static void a_rank_has_what_its_processes_have(void **state)
{
    (void)state;
    resident(0, 1 * CK_TIME_S, 10 * MIB);
    resident(1, 2 * CK_TIME_S, 5 * MIB);
    resident(0, 3 * CK_TIME_S, 4 * MIB);
    resident(2, 3 * CK_TIME_S, 7 * MIB);
    assert_int_equal(row(0)->first.bytes, 10 * MIB);
    assert_int_equal(row(0)->peak.bytes, 15 * MIB);
    assert_int_equal(row(0)->peak.time, 2 * CK_TIME_S);
    assert_int_equal(row(0)->last.bytes, 9 * MIB);
    assert_int_equal(row(1)->peak.bytes, 7 * MIB);
    assert_int_equal(row(1)->huge, -1);
}

static void one_that_is_over_has_nothing(void **state)
{
    (void)state;
    lookback_end(lookback, 0, 4 * CK_TIME_S);
    resident(0, 1 * CK_TIME_S, 10 * MIB);
    resident(1, 2 * CK_TIME_S, 5 * MIB);
    resident(1, 5 * CK_TIME_S, 6 * MIB);
    resident(1, 6 * CK_TIME_S, 7 * MIB);
    assert_int_equal(row(0)->peak.bytes, 15 * MIB);
    assert_int_equal(row(0)->last.bytes, 7 * MIB);
}

/* As files that are damaged have them. */
static void more_than_memory_can_be_is_left_out(void **state)
{
    (void)state;
    resident(0, 1 * CK_TIME_S, 10 * MIB);
    resident(1, 2 * CK_TIME_S, INT64_MAX - MIB);
    put(1, 3 * CK_TIME_S, MIB, INT64_MAX, CK_MEMORY_RESIDENT);
    resident(0, 4 * CK_TIME_S, 11 * MIB);
    assert_int_equal(row(0)->peak.bytes, 11 * MIB);
}

/* The kernel's own peak was between two looks. */
static void the_peak_is_the_kernels_and_has_its_step(void **state)
{
    (void)state;
    for (int i = 0; i < 10; i++) {
        steps_add(steps, 1,
                  (struct region){i * 10 * CK_TIME_S, (i + 1) * 10 * CK_TIME_S},
                  i + 100);
    }
    resident(2, 5 * CK_TIME_S, 7 * MIB);
    put(2, 25 * CK_TIME_S, 8 * MIB, 50 * MIB, CK_MEMORY_RESIDENT);
    put(2, 45 * CK_TIME_S, 9 * MIB, 50 * MIB, CK_MEMORY_RESIDENT);
    put(2, 46 * CK_TIME_S, 6 * MIB, 6 * MIB, CK_MEMORY_HUGE);
    put(2, 47 * CK_TIME_S, 2 * MIB, 2 * MIB, CK_MEMORY_HUGE);
    put(2, 48 * CK_TIME_S, 3 * MIB, 3 * MIB, CK_MEMORY_SWAPPED);
    put(2, 49 * CK_TIME_S, 3 * MIB, 3 * MIB, 77); /* not known yet */
    assert_int_equal(row(0)->peak.bytes, 50 * MIB);
    assert_true(row(0)->has_peak_step);
    assert_int_equal(row(0)->peak_step, 102);
    assert_int_equal(row(0)->huge, 6 * MIB);
    assert_int_equal(row(0)->swapped, 3 * MIB);
}

static void steady_growth_is_by_step(void **state)
{
    (void)state;
    for (int i = 0; i < 100; i++) {
        steps_add(steps, 1, (struct region){i * CK_TIME_S, (i + 1) * CK_TIME_S},
                  i);
        resident(2, i * CK_TIME_S, (100 + i) * MIB);
    }
    assert_true(row(0)->growth.is_steady);
    assert_in_range(row(0)->growth.per_step, MIB * 99 / 100, MIB * 101 / 100);
    assert_in_range(row(0)->growth.bytes, 72 * MIB, 74 * MIB);
}

static void what_comes_and_goes_does_not_grow(void **state)
{
    (void)state;
    for (int i = 0; i < 100; i++) {
        resident(2, i * CK_TIME_S, (100 + i % 20) * MIB);
    }
    assert_false(row(0)->growth.is_steady);
}

static void what_grew_at_the_start_alone_does_not_grow(void **state)
{
    (void)state;
    for (int i = 0; i < 100; i++) {
        resident(2, i * CK_TIME_S, (i < 20 ? 5 * i : 100) * MIB + MIB);
    }
    assert_false(row(0)->growth.is_steady);
}

static void many_points_are_kept_in_bounds(void **state)
{
    (void)state;
    for (int i = 0; i < 10000; i++) {
        resident(2, i * (LENGTH / 10000), (100 + i) * MIB);
    }
    assert_in_range(row(0)->points_count, MEMORYUSE_POINTS / 2,
                    MEMORYUSE_POINTS);
    assert_int_equal(row(0)->points[0].bytes, 100 * MIB);
    assert_int_equal(row(0)->last.bytes, 10099 * MIB);
    assert_true(row(0)->growth.is_steady);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_rank_has_what_its_processes_have,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(one_that_is_over_has_nothing, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(more_than_memory_can_be_is_left_out,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(
            the_peak_is_the_kernels_and_has_its_step, setup, teardown),
        cmocka_unit_test_setup_teardown(steady_growth_is_by_step, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(what_comes_and_goes_does_not_grow,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(
            what_grew_at_the_start_alone_does_not_grow, setup, teardown),
        cmocka_unit_test_setup_teardown(many_points_are_kept_in_bounds, setup,
                                        teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
