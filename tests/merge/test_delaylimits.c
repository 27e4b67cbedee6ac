/* test_delaylimits.c - what the analysis of delays leaves out is counted
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Each bound is approached and crossed: nothing is counted up to it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "merge/analysis/delays/delay.h"
#include "merge/analysis/delays/delaysums.h"
#include "merge/analysis/delays/delaysyncs.h"
#include "merge/clocks/align.h"
#include "merge/model/comm.h"

#define RANKS 3
#define HOLDER_TID 8
#define NAMES 160
#define CALLS 40 /* more than costs are kept */
#define STEP 100

static struct defs *defs;
static struct align *align;
static struct lookback *lookback;
static struct delay *delay;
static uint32_t processes[RANKS], mains[RANKS], holder;
static uint32_t calls;

static void process_make(int rank)
{
    uint8_t id[16] = {(uint8_t)(rank + 1)};
    uint32_t agent = defs_agent_find(defs, id);
    uint32_t process = processes[rank] = defs_process_find(defs, agent, 1);
    struct defs_process *p = &defs->processes[process];
    char name[16];

    mains[rank] = defs_thread_find(defs, process, 7);
    defs->agents[agent].rank = p->rank = rank;
    defs->agents[agent].has_identity = true;
    for (uint32_t i = 1; i <= NAMES; i++) {
        snprintf(name, sizeof(name), "call%u", i);
        assert_int_equal(
            names_set(p->names, i, texts_keep(defs->texts, name, strlen(name))),
            0);
    }
}

/* With so many items a thread; 0 = the default. */
static void begin(size_t items)
{
    calls = 0;
    defs = defs_create();
    assert_non_null(defs);
    for (int rank = 0; rank < RANKS; rank++) {
        process_make(rank);
    }
    holder = defs_thread_find(defs, processes[0], HOLDER_TID);
    defs_close(defs);
    comm_close(defs);
    align = align_create();
    align_close(align, defs);
    lookback = lookback_create(defs, align, 4096);
    assert_non_null(lookback);
    delay = delay_create(lookback, (struct region){0, INT64_MAX}, items);
    assert_non_null(delay);
}

static struct report_delay_limits end(void)
{
    struct report_delay_limits limits = delay_limits(delay);

    delay_destroy(delay);
    lookback_destroy(lookback);
    align_destroy(align);
    defs_destroy(defs);
    return limits;
}

/* A call of MPI that does not wait. */
static void pass(int rank, ck_time_t start)
{
    struct region call = {start, start + 1};

    delay_enter(delay, mains[rank], call);
    delay_leave(delay, mains[rank], call);
}

/* One that waits for a rank, half a step. */
static void wait_for(int rank, int late, ck_time_t start)
{
    struct region call = {start, start + STEP / 2};
    struct wait wait = {.thread = mains[late]};

    delay_enter(delay, mains[rank], call);
    delay_wait(delay, mains[rank], call, &wait);
    delay_leave(delay, mains[rank], call);
}

static void
libc_call(uint32_t thread, uint32_t name, struct region part, uint32_t lock)
{
    uint32_t process = defs->threads[thread].process;
    struct ck_call record = {
        .e = {.kind = CK_KIND_POSIX, .name = name, .start = part.start},
        .dur = part.end - part.start,
        .call = ++calls,
        .arg = lock != 0,
        .extra = lock};
    struct timeline_event event = {.record = &record.e,
                                   .start = part.start,
                                   .end = part.end,
                                   .rank = defs->processes[process].rank,
                                   .process = process,
                                   .thread = thread};

    assert_int_equal(lookback_take(lookback, &event, 0), 0);
}

/* ---- history ------------------------------------------------------------ */

/* Two ranks make so many calls, then one waits for the other, twice. */
static struct report_delay_limits meet_after(int count)
{
    begin(8);
    for (int i = 0; i < count; i++) {
        pass(0, i * STEP);
        pass(1, i * STEP);
    }
    wait_for(0, 1, count * STEP);
    wait_for(0, 1, (count + 1) * STEP);
    return end();
}

static void a_wait_with_older_items_than_are_kept_is_counted(void **state)
{
    (void)state;
    assert_int_equal(meet_after(4).history, 0);
    assert_int_equal(meet_after(40).history, 1);
    assert_int_equal(meet_after(40).syncs, 0);
}

/* ---- common instants ---------------------------------------------------- */

/* A rank waits for another one, so often for a third one, and for the first
 * one again. */
static struct report_delay_limits meet_others(int count)
{
    begin(0);
    wait_for(0, 1, STEP);
    for (int i = 0; i < count; i++) {
        wait_for(0, 2, (i + 2) * STEP);
    }
    wait_for(0, 1, (count + 2) * STEP);
    return end();
}

static void a_wait_without_a_kept_common_instant_is_counted(void **state)
{
    (void)state;
    assert_int_equal(meet_others(DELAY_SYNCS_MAX - 1).syncs, 0);
    assert_int_equal(meet_others(DELAY_SYNCS_MAX).syncs, 1);
    assert_int_equal(meet_others(DELAY_SYNCS_MAX).history, 0);
}

/* ---- costs -------------------------------------------------------------- */

/* A rank waits for one that calls so many functions meanwhile, half a step each
 * or, behind the first `longs`, 1 ns. */
static struct report_delay_limits wait_for_them(uint32_t count, uint32_t longs)
{
    ck_time_t until = (ck_time_t)(count + 1) * STEP;
    struct wait wait = {.thread = DEFS_NONE};
    struct delay_of of;

    begin(0);
    wait.thread = mains[1];
    pass(1, 0);
    for (uint32_t i = 1; i <= count; i++) {
        ck_time_t at = (ck_time_t)i * STEP;

        libc_call(mains[1], i,
                  (struct region){at, at + (i > longs ? 1 : STEP / 2)}, 0);
    }
    delay_enter(delay, mains[0], (struct region){1, until});
    delay_wait(delay, mains[0], (struct region){1, until}, &wait);
    of = delay_find(delay, mains[0], (struct region){1, until});
    assert_in_range(of.count, count < DELAY_COSTS_MAX ? count : DELAY_COSTS_MAX,
                    DELAY_COSTS_MAX);
    return end();
}

static struct report_delay_limits wait_for_calls(uint32_t count)
{
    return wait_for_them(count, count);
}

static void a_wait_with_more_costs_than_are_kept_is_counted(void **state)
{
    (void)state;
    assert_int_equal(wait_for_calls(DELAY_COSTS_MAX - 3).costs, 0);
    assert_int_equal(wait_for_calls(CALLS).costs, 1);
    assert_int_equal(wait_for_calls(CALLS).waited_ns, (CALLS + 1) * STEP - 1);
    assert_true(wait_for_calls(CALLS).costs_ns >
                (CALLS - DELAY_COSTS_MAX) * STEP / 2);
}

static void small_costs_that_are_left_out_are_no_limit(void **state)
{
    struct report_delay_limits limits = wait_for_them(CALLS, CALLS / 2);

    (void)state;
    assert_int_equal(limits.costs, 0);
    assert_in_range(limits.costs_ns, CALLS - DELAY_COSTS_MAX, CALLS / 2);
}

static void an_interval_of_too_many_activities_is_counted_once(void **state)
{
    (void)state;
    assert_int_equal(wait_for_calls(CALLS).parts, 0);
    assert_int_equal(wait_for_calls(NAMES).parts, 1);
}

/* One wait is given to so many places. */
static uint64_t share_out(uint32_t places)
{
    struct delaysums *sums = delaysums_create();
    struct region part = {STEP, 2 * STEP};
    struct wait wait;
    struct delay_of of;
    uint64_t left_out;

    begin(0);
    wait = (struct wait){.thread = mains[1]};
    pass(1, 0);
    libc_call(mains[1], 1, (struct region){2, STEP * 2 - 1}, 0);
    delay_enter(delay, mains[0], part);
    delay_wait(delay, mains[0], part, &wait);
    of = delay_find(delay, mains[0], part);
    assert_true(of.count > 0);
    for (uint32_t i = 0; i < places; i++) {
        struct delaysums_group group = {.site = i, .blamed = 1};

        delaysums_piece(sums, &group, STEP);
        delaysums_share(sums, defs, delay, &of);
    }
    left_out = delaysums_left_out(sums);
    delaysums_destroy(sums);
    (void)end();
    return left_out;
}

static void costs_beyond_the_pairs_kept_are_counted(void **state)
{
    (void)state;
    assert_int_equal(share_out(1000), 0);
    assert_true(share_out(DELAYSUMS_MAX + 10) >= 10);
}

/* Samples at so many lines of one cause. */
static uint64_t weigh(uint32_t places)
{
    struct delaykeys *keys;
    struct delaysources *sources;
    int64_t number;
    uint64_t full;

    begin(0);
    keys = delaykeys_create(lookback);
    sources = delaysources_create(lookback, keys);
    number = delaysources_find(sources, &(struct delay_source){mains[1], 1},
                               DELAY_NONE);
    assert_true(number >= 0);
    for (uint32_t i = 0; i < places; i++) {
        struct delay_part part = {.part = i, .is_line = true};

        delaysources_weigh(sources, (uint32_t)number, &part, 1);
    }
    full = delaysources_full(sources);
    delaysources_destroy(sources);
    delaykeys_destroy(keys);
    (void)end();
    return full;
}

static void a_cause_at_too_many_lines_is_counted_once(void **state)
{
    (void)state;
    assert_int_equal(weigh(DELAY_EXCESS_MAX), 0);
    assert_int_equal(weigh(DELAY_EXCESS_MAX + 9), 1);
}

/* ---- holders of locks --------------------------------------------------- */

/* A thread waits for a lock within a call of MPI that has not ended; the
 * lock's holder calls functions so often meanwhile. */
static struct report_delay_limits hold_for(int count)
{
    ck_time_t until = (count + 2) * (ck_time_t)STEP;

    begin(0);
    delay_enter(delay, mains[0], (struct region){1, until});
    libc_call(mains[0], 1, (struct region){2, until}, HOLDER_TID);
    for (int i = 1; i <= count; i++) {
        ck_time_t at = i * (ck_time_t)STEP;

        libc_call(holder, 2, (struct region){at, at + STEP / 2}, 0);
    }
    return end();
}

static void a_lock_whose_holder_did_too_much_is_counted_once(void **state)
{
    (void)state;
    /* Twice as many as are kept: room is made by halves. */
    assert_int_equal(hold_for(1 << 13).holders, 0);
    assert_int_equal(hold_for(1 << 15).holders, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_wait_with_older_items_than_are_kept_is_counted),
        cmocka_unit_test(a_wait_without_a_kept_common_instant_is_counted),
        cmocka_unit_test(a_wait_with_more_costs_than_are_kept_is_counted),
        cmocka_unit_test(small_costs_that_are_left_out_are_no_limit),
        cmocka_unit_test(an_interval_of_too_many_activities_is_counted_once),
        cmocka_unit_test(costs_beyond_the_pairs_kept_are_counted),
        cmocka_unit_test(a_cause_at_too_many_lines_is_counted_once),
        cmocka_unit_test(a_lock_whose_holder_did_too_much_is_counted_once),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
