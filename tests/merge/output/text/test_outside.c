/* test_outside.c - how the ranks spent the time outside MPI
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Random worlds are held against a look at every nanosecond.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "merge/analysis/totals/outside.h"
#include "merge/clocks/align.h"
#include "merge/model/comm.h"
#include "tests/merge/chance.h"

#define TID 7
#define START 100
#define END 1000
#define WORLDS 3000

static struct defs *defs;
static struct align *align;
static struct outside *outside;
static uint32_t target, collector, thread; /* in the definitions */
static struct report_outside row;

enum name { NAME_MPI = 1, NAME_READ, NAME_LOCK, NAME_SLEEP, NAME_CL };

static void world_open(void)
{
    static const char *const names[] = {
        [NAME_MPI] = "MPI_Recv",
        [NAME_READ] = "fsync",
        [NAME_LOCK] = "pthread_mutex_lock",
        [NAME_SLEEP] = "nanosleep",
        [NAME_CL] = "clFinish",
    };
    uint8_t id[16] = {1};
    uint32_t agent;

    defs = defs_create();
    agent = defs_agent_find(defs, id);
    collector = defs_process_find(defs, agent, 0);
    target = defs_process_find(defs, agent, 1);
    defs->agents[agent].rank = defs->processes[target].rank = 0;
    defs->agents[agent].has_exit = true;
    defs->agents[agent].exit = "switches=12\n";
    defs->processes[target].pid = TID;
    thread = defs_thread_find(defs, target, TID);
    for (uint32_t i = NAME_MPI; i <= NAME_CL; i++) {
        assert_int_equal(
            names_set(defs->processes[target].names, i,
                      texts_keep(defs->texts, names[i], strlen(names[i]))),
            0);
    }
    defs_close(defs);
    comm_close(defs);
    align = align_create();
    align_close(align, defs);
    outside = outside_create(defs, (struct region){START, END});
    assert_non_null(outside);
}

static void world_close(void)
{
    outside_destroy(outside);
    align_destroy(align);
    defs_destroy(defs);
}

static int setup(void **state)
{
    (void)state;
    world_open();
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    world_close();
    return 0;
}

static void
call_put(enum ck_kind kind, enum name name, ck_time_t start, ck_time_t end)
{
    struct ck_call call = {.e = {.kind = kind, .name = name, .start = start},
                           .dur = end - start};
    struct timeline_event event = {.record = &call.e,
                                   .start = start,
                                   .end = end,
                                   .rank = 0,
                                   .process = target,
                                   .thread = thread};

    outside_take(outside, &event);
}

/* With the stack of a wait in the kernel, or without. */
static uint8_t off_flags;

static void off_put(enum ck_kind kind, ck_time_t start, ck_time_t end)
{
    struct ck_mark mark = {
        .e = {.kind = kind, .flags = off_flags, .name = 1, .start = start},
        .dur = end - start,
        .value = TID};
    struct timeline_event event = {.record = &mark.e,
                                   .start = start,
                                   .end = end,
                                   .rank = 0,
                                   .process = collector,
                                   .thread = DEFS_NONE};

    outside_take(outside, &event);
}

static void lost_put(enum ck_kind kind, ck_time_t start, ck_time_t end)
{
    struct ck_counter lost = {.e = {.kind = kind, .start = start},
                              .enabled = end - start};
    struct timeline_event event = {.record = &lost.e,
                                   .start = start,
                                   .end = start,
                                   .rank = 0,
                                   .process = collector,
                                   .thread = DEFS_NONE};

    outside_take(outside, &event);
}

static void look(void)
{
    outside_rank(outside, align_axis(align), 0, &row);
}

static ck_time_t sum(void)
{
    ck_time_t all = 0;

    for (int i = 0; i < REPORT_OUTSIDE_STATES; i++) {
        assert_true(row.ns[i] >= 0);
        all += row.ns[i];
    }
    return all;
}

static void what_is_known_of_a_time_decides_what_it_was(void **state)
{
    (void)state;
    call_put(CK_KIND_MPI_CALL, NAME_MPI, 50, 110);
    call_put(CK_KIND_POSIX, NAME_READ, 200, 300);
    off_put(CK_KIND_BLOCKED, 205, 290); /* in the call: that is I/O */
    off_put(CK_KIND_PREEMPTED, 290, 295);
    call_put(CK_KIND_POSIX, NAME_LOCK, 300, 330);
    call_put(CK_KIND_POSIX, NAME_SLEEP, 400, 420);
    off_put(CK_KIND_BLOCKED, 500, 525); /* in no call */
    off_flags = CK_FLAG_STACK;
    off_put(CK_KIND_BLOCKED, 525, 550);
    off_flags = 0;
    call_put(CK_KIND_API_OPENCL, NAME_CL, 600, 700);
    call_put(CK_KIND_POSIX, NAME_LOCK, 610, 690); /* the library's own */
    call_put(CK_KIND_RECV, NAME_MPI, 800, 900);
    call_put(CK_KIND_POSIX, NAME_READ, 810, 890); /* MPI's own */
    call_put(CK_KIND_POSIX, NAME_SLEEP, 950, 1200);
    look();
    assert_int_equal(row.ns[REPORT_OUTSIDE_IO], 95);
    assert_int_equal(row.ns[REPORT_OUTSIDE_READY], 5);
    assert_int_equal(row.ns[REPORT_OUTSIDE_LOCK], 30);
    assert_int_equal(row.ns[REPORT_OUTSIDE_SLEEP], 20 + 50);
    assert_int_equal(row.ns[REPORT_OUTSIDE_BLOCKED], 50);
    assert_int_equal(row.ns[REPORT_OUTSIDE_DEVICE], 100);
    assert_int_equal(row.ns[REPORT_OUTSIDE_UNKNOWN], 0);
    assert_int_equal(sum(), END - START - 10 - 100);
}

static void lost_records_and_an_absent_collector_are_not_known(void **state)
{
    (void)state;
    call_put(CK_KIND_MPI_CALL, NAME_MPI, 50, 110);
    lost_put(CK_KIND_LOST, 200, 300);
    call_put(CK_KIND_POSIX, NAME_READ, 290, 310);
    lost_put(CK_KIND_AWAY, 400, 500);
    call_put(CK_KIND_POSIX, NAME_READ, 450, 460); /* its ring kept that */
    look();
    assert_int_equal(row.ns[REPORT_OUTSIDE_UNKNOWN], 100 + 90);
    assert_int_equal(row.ns[REPORT_OUTSIDE_IO], 10 + 10);
    assert_int_equal(sum(), END - 110);
}

static void without_switches_no_cpu_time_is_known(void **state)
{
    (void)state;
    defs->agents[0].exit = "status=0\n";
    call_put(CK_KIND_MPI_CALL, NAME_MPI, 50, 110);
    call_put(CK_KIND_POSIX, NAME_READ, 200, 300);
    look();
    assert_int_equal(row.ns[REPORT_OUTSIDE_CPU], 0);
    assert_int_equal(row.ns[REPORT_OUTSIDE_IO], 100);
    assert_int_equal(row.ns[REPORT_OUTSIDE_UNKNOWN], END - 110 - 100);
}

static void before_the_first_sign_of_a_thread_nothing_is_known(void **state)
{
    (void)state;
    off_put(CK_KIND_PREEMPTED, 300, 400);
    look();
    assert_int_equal(row.ns[REPORT_OUTSIDE_UNKNOWN], 200);
    assert_int_equal(row.ns[REPORT_OUTSIDE_READY], 100);
    assert_int_equal(row.ns[REPORT_OUTSIDE_CPU], 600);
}

static void parts_are_made_to_add_up(void **state)
{
    struct report_outside fit = {
        {[REPORT_OUTSIDE_CPU] = 10, [REPORT_OUTSIDE_IO] = 5}};

    (void)state;
    outside_fit(&fit, 20);
    assert_int_equal(fit.ns[REPORT_OUTSIDE_UNKNOWN], 5);
    outside_fit(&fit, 12);
    assert_int_equal(fit.ns[REPORT_OUTSIDE_UNKNOWN], 0);
    assert_int_equal(fit.ns[REPORT_OUTSIDE_IO], 2);
    assert_int_equal(fit.ns[REPORT_OUTSIDE_CPU], 10);
}

/* ---- random worlds ------------------------------------------------------ */

struct part {
    ck_time_t start, end;
    unsigned what;
};
static const enum report_outside_state truths[] = {
    REPORT_OUTSIDE_STATES, /* MPI */
    REPORT_OUTSIDE_UNKNOWN, REPORT_OUTSIDE_READY,   REPORT_OUTSIDE_DEVICE,
    REPORT_OUTSIDE_SLEEP,   REPORT_OUTSIDE_LOCK,    REPORT_OUTSIDE_IO,
    REPORT_OUTSIDE_BLOCKED, REPORT_OUTSIDE_UNKNOWN,
};
#define PARTS 40

static void part_put(const struct part *part)
{
    switch (part->what) {
    case 0:
        call_put(CK_KIND_COLLECTIVE, NAME_MPI, part->start, part->end);
        break;
    case 1:
        lost_put(CK_KIND_LOST, part->start, part->end);
        break;
    case 2:
        off_put(CK_KIND_PREEMPTED, part->start, part->end);
        break;
    case 3:
        call_put(CK_KIND_API_CUDA_RUNTIME, NAME_CL, part->start, part->end);
        break;
    case 4:
        call_put(CK_KIND_POSIX, NAME_SLEEP, part->start, part->end);
        break;
    case 5:
        call_put(CK_KIND_POSIX, NAME_LOCK, part->start, part->end);
        break;
    case 6:
        call_put(CK_KIND_POSIX, NAME_READ, part->start, part->end);
        break;
    case 7:
        off_flags = part->start % 2 != 0 ? CK_FLAG_STACK : 0;
        off_put(CK_KIND_BLOCKED, part->start, part->end);
        off_flags = 0;
        break;
    default:
        lost_put(CK_KIND_AWAY, part->start, part->end);
        break;
    }
}

static bool is_wrong(void *state)
{
    struct part parts[PARTS];
    ck_time_t truth[REPORT_OUTSIDE_STATES + 1] = {0};
    ck_time_t at = START - 100;
    bool is_one = true;

    (void)state;
    world_open();
    for (size_t i = 0; i < PARTS; i++) {
        at += chance_below(60);
        parts[i] = (struct part){at, at + 1 + chance_below(90),
                                 (unsigned)chance_below(9)};
    }
    parts[0].what = 0; /* it is known from before the region on */
    parts[0].start = START - 100;
    for (size_t i = 0; i < PARTS; i++) {
        part_put(&parts[i]);
    }
    for (ck_time_t t = START; t < END; t++) {
        unsigned top = 9;

        for (size_t i = 0; i < PARTS; i++) {
            if (parts[i].start <= t && t < parts[i].end &&
                parts[i].what < top) {
                top = parts[i].what;
            }
        }
        truth[top == 9 ? REPORT_OUTSIDE_CPU : truths[top]]++;
    }
    look();
    for (int i = 0; i < REPORT_OUTSIDE_STATES; i++) {
        is_one = is_one && row.ns[i] == truth[i];
    }
    world_close();
    return !is_one;
}

static void every_nanosecond_is_of_its_highest_layer(void **state)
{
    (void)state;
    chance_worlds(WORLDS, is_wrong, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(
            what_is_known_of_a_time_decides_what_it_was, setup, teardown),
        cmocka_unit_test_setup_teardown(
            lost_records_and_an_absent_collector_are_not_known, setup,
            teardown),
        cmocka_unit_test_setup_teardown(without_switches_no_cpu_time_is_known,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(
            before_the_first_sign_of_a_thread_nothing_is_known, setup,
            teardown),
        cmocka_unit_test(parts_are_made_to_add_up),
        cmocka_unit_test(every_nanosecond_is_of_its_highest_layer),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
