/* test_lanes.c - the timeline's rows: what the picture of all ranks is made
 * from has room beside any number of threads, and whose times off the CPU are
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>

#include "merge/model/defs.h"
#include "merge/model/memory.h"
#include "merge/output/lanes/lanes.h"
#include "schema/event.h"

#define RANKS 70
#define THREADS 70000 /* more than there are rows */
#define LENGTH 1000000
#define PID 1

/* Each rank is a process with one thread; process 0 has all others. */
static struct defs *world(void)
{
    struct defs *defs = defs_create();

    defs->ranks = xcalloc(RANKS, sizeof(*defs->ranks));
    defs->ranks_count = RANKS;
    defs->threads = xcalloc(THREADS, sizeof(*defs->threads));
    defs->threads_count = THREADS;
    for (uint32_t i = 0; i < RANKS; i++) {
        uint8_t id[16] = {(uint8_t)i};

        assert_int_equal(defs_process_find(defs, defs_agent_find(defs, id), 1),
                         i);
        defs->processes[i].pid = PID;
        defs->ranks[i].number = (int32_t)i;
        defs->threads[i] = (struct defs_thread){.process = i, .tid = PID};
    }
    for (uint32_t i = RANKS; i < THREADS; i++) {
        defs->threads[i].tid = i;
    }
    return defs;
}

static void take(struct lanes *lanes,
                 const struct ck_event *record,
                 uint32_t process,
                 uint32_t thread,
                 ck_time_t start)
{
    const struct timeline_event event = {
        .record = record,
        .start = start,
        .end = start + LENGTH / 4,
        .rank = (int32_t)process,
        .process = process,
        .thread = thread,
    };

    assert_int_equal(lanes_take(lanes, &event), 0);
}

/* Rows of rank `rank` of that kind. */
static size_t
rows_of(const struct lanes *lanes, enum lanes_kind kind, int32_t rank)
{
    size_t count, found = 0;
    const struct lanes_row *rows = lanes_rows(lanes, &count);

    for (size_t i = 0; i < count; i++) {
        found += rows[i].kind == kind && rows[i].rank == rank;
    }
    return found;
}

static void
late_devices_and_ranks_have_rows_beside_any_number_of_threads(void **state)
{
    const struct ck_call call = {.e = {.kind = CK_KIND_MPI_CALL}};
    const struct ck_kernel kernel = {.e = {.kind = CK_KIND_KERNEL}};
    struct defs *defs = world();
    struct lanes *lanes =
        lanes_create(defs, (struct region){0, LENGTH}, (size_t)THREADS * 2);
    size_t rows;

    (void)state;
    for (uint32_t i = RANKS; i < THREADS; i++) {
        take(lanes, &call.e, 0, i, 0);
    }
    for (uint32_t rank = 1; rank < RANKS; rank++) {
        take(lanes, rank % 2 == 0 ? &call.e : &kernel.e, rank, rank,
             LENGTH / 2);
    }
    lanes_finish(lanes);
    (void)lanes_rows(lanes, &rows);
    assert_true(rows <= 65536);
    assert_int_equal(lanes_hidden(lanes) + rows, THREADS - 1);
    for (int32_t rank = 1; rank < RANKS; rank++) {
        assert_int_equal(
            rows_of(lanes, rank % 2 == 0 ? LANES_CALLS : LANES_QUEUE, rank), 1);
        assert_true(raster_at(lanes_raster(lanes), (size_t)rank,
                              raster_columns(lanes_raster(lanes)) / 8 * 5)
                        .share > 0);
    }
    lanes_destroy(lanes);
    defs_destroy(defs);
}

/* Of a thread of another process of that agent, which recorded what it did
 * itself; of a thread that did not there is no row. */
static void times_off_the_cpu_are_rows_of_the_threads_they_are_of(void **state)
{
    struct ck_mark ready = {.e = {.kind = CK_KIND_PREEMPTED, .name = 1},
                            .value = PID};
    struct ck_mark blocked = {.e = {.kind = CK_KIND_BLOCKED, .name = 1},
                              .value = PID};
    struct ck_mark strange = {.e = {.kind = CK_KIND_BLOCKED, .name = 1},
                              .value = 77};
    struct ck_mark unborn = {.e = {.kind = CK_KIND_BLOCKED, .name = 9},
                             .value = PID};
    struct defs *defs = world();
    struct lanes *lanes =
        lanes_create(defs, (struct region){0, LENGTH}, THREADS);
    const struct lanes_row *rows;
    struct lane_items items = {NULL, 0, 0};
    size_t count;

    (void)state;
    defs->processes[3].rank = 3;
    take(lanes, &ready.e, 3, 0, 0);
    take(lanes, &blocked.e, 3, 0, LENGTH / 2);
    take(lanes, &strange.e, 3, 0, 0);
    take(lanes, &unborn.e, 3, 0, 0);
    lanes_finish(lanes);
    rows = lanes_rows(lanes, &count);
    assert_int_equal(count, 1);
    assert_int_equal(rows[0].kind, LANES_OFFCPU);
    assert_int_equal(rows[0].rank, 3);
    assert_int_equal(rows[0].number, 3);
    assert_true(lanes_is_main(defs, &rows[0]));
    lane_read(&rows[0].lane, &items);
    assert_int_equal(items.count, 2);
    assert_int_equal(items.all[0].class, CAUSE_OFFCPU_RUNNABLE);
    assert_int_equal(items.all[1].class, CAUSE_OFFCPU_BLOCKED);
    free(items.all);
    lanes_destroy(lanes);
    defs_destroy(defs);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(
            late_devices_and_ranks_have_rows_beside_any_number_of_threads),
        cmocka_unit_test(times_off_the_cpu_are_rows_of_the_threads_they_are_of),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
