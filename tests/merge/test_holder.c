/* test_holder.c - who held a lock is known although its wait is asked late
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Rank 1 waits for a lock of another thread of its process, then does as rank 0
 * does, which waits for it only behind that. Meanwhile the other thread has
 * long let the lock go and does other things, more than is kept of a thread
 * that no client asks about.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "merge/analysis/analysis.h"
#include "merge/analysis/delays/delay.h"
#include "merge/clocks/align.h"
#include "merge/model/comm.h"

#define RANKS 2
#define HOLDER_TID 8
#define STEPS 12
#define STEP 100000
#define LOCK_FROM 100 /* in a step */
#define LOCK_UNTIL 20000
#define MEET_EARLY 60000
#define MEET 79900
#define LEAVE 80000

enum name { N_ALLREDUCE = 1, N_LOCK, N_FSYNC, N_READ, NAMES };
static const char *const names[NAMES] = {NULL, "MPI_Allreduce",
                                         "pthread_mutex_lock", "fsync", "read"};
enum site { S_HELD = 0x10, S_OTHER = 0x20 };

static struct defs *defs;
static struct align *align;
static struct analysis *blame;
static uint32_t processes[RANKS], mains[RANKS], holder;
static uint32_t calls[8]; /* by thread */

static void process_make(int rank)
{
    uint8_t id[16] = {(uint8_t)(rank + 1)};
    uint32_t agent = defs_agent_find(defs, id);
    uint32_t process = processes[rank] = defs_process_find(defs, agent, 1);
    struct defs_process *p = &defs->processes[process];
    struct {
        struct ck_text text;
        char bytes[64];
    } said = {.text = {.e = {.kind = CK_KIND_COMM, .name = 1}, .length = 32},
              .bytes = "how=world\nsize=2\nrank=0\nmembers=0-1\n"};

    said.text.length = (uint32_t)strlen(said.bytes);
    said.bytes[strlen("how=world\nsize=2\nrank=")] = (char)('0' + rank);
    mains[rank] = defs_thread_find(defs, process, 7);
    defs->agents[agent].rank = p->rank = rank;
    defs->agents[agent].has_identity = true;
    for (uint32_t i = 1; i < NAMES; i++) {
        assert_int_equal(
            names_set(p->names, i,
                      texts_keep(defs->texts, names[i], strlen(names[i]))),
            0);
    }
    comm_enter(defs, process, &said.text);
}

static void place_put(uint64_t address, const char *function)
{
    struct defs_agent *agent = &defs->agents[1];
    struct defs_stack *stack = defs_stack_enter(agent, agent->stacks_last + 1);
    struct place place = {texts_keep(defs->texts, function, strlen(function)),
                          texts_keep(defs->texts, "a.c", 3), 1};

    names_set_place(defs->processes[processes[1]].names, address, place);
    stack->frames = calloc(1, sizeof(uint64_t));
    stack->frames[0] = address;
    stack->count = stack->depth = 1;
}

static int setup(void **state)
{
    (void)state;
    memset(calls, 0, sizeof(calls));
    defs = defs_create();
    process_make(0);
    process_make(1);
    holder = defs_thread_find(defs, processes[1], HOLDER_TID);
    place_put(S_HELD, "hold");
    place_put(S_OTHER, "other");
    defs_close(defs);
    comm_close(defs);
    align = align_create();
    align_close(align, defs);
    blame = analysis_create(defs, align,
                            (struct region){0, (STEPS + 1) * (int64_t)STEP});
    return blame == NULL;
}

static int teardown(void **state)
{
    (void)state;
    analysis_destroy(blame);
    align_destroy(align);
    defs_destroy(defs);
    return 0;
}

static void
give(int rank, uint32_t thread, struct ck_event *record, ck_time_t end)
{
    struct timeline_event event = {.record = record,
                                   .start = record->start,
                                   .end = end,
                                   .rank = rank,
                                   .process = processes[rank],
                                   .thread = thread};

    assert_int_equal(analysis_take(blame, &event), 0);
}

static void meet(int rank, uint32_t number, struct region part)
{
    struct ck_collective record = {.e = {.kind = CK_KIND_COLLECTIVE,
                                         .name = N_ALLREDUCE,
                                         .start = part.start},
                                   .dur = region_length(part),
                                   .call = ++calls[mains[rank]],
                                   .comm = 1,
                                   .seq = number + 1,
                                   .root = -1,
                                   .bytes_out = 8,
                                   .bytes_in = 8};

    give(rank, mains[rank], &record.e, part.end);
}

static void libc_call(uint32_t thread, enum name name, struct region part)
{
    struct ck_call record = {
        .e = {.kind = CK_KIND_POSIX, .name = name, .start = part.start},
        .dur = region_length(part),
        .call = ++calls[thread],
        .arg = name == N_LOCK,
        .extra = name == N_LOCK ? HOLDER_TID : 0};

    give(1, thread, &record.e, part.end);
}

static void sample(ck_time_t at, uint32_t stack)
{
    struct ck_sample record = {
        .e = {.kind = CK_KIND_SAMPLE, .name = 1, .start = at},
        .tid = HOLDER_TID,
        .stack = stack,
        .weight = 1000};

    give(1, DEFS_NONE, &record.e, at);
}

/* A step of both ranks. While rank 1 waits the holder is in fsync(), or
 * computes; behind that it calls or computes elsewhere. */
static void step_make(uint32_t number, bool is_call)
{
    ck_time_t begin = number * (ck_time_t)STEP;

    if (is_call) {
        libc_call(holder, N_FSYNC,
                  (struct region){begin + LOCK_FROM - 10, begin + LOCK_UNTIL});
    }
    libc_call(mains[1], N_LOCK,
              (struct region){begin + LOCK_FROM, begin + LOCK_UNTIL});
    for (ck_time_t t = LOCK_FROM + 10; !is_call && t < LOCK_UNTIL; t += 1000) {
        sample(begin + t, 1);
    }
    for (ck_time_t t = LOCK_UNTIL + 10; t < MEET_EARLY; t += 50) {
        if (is_call) {
            libc_call(holder, N_READ,
                      (struct region){begin + t, begin + t + 20});
        } else {
            sample(begin + t, 2);
        }
    }
    meet(0, number, (struct region){begin + MEET_EARLY, begin + LEAVE});
    meet(1, number, (struct region){begin + MEET, begin + LEAVE});
}

/* What the lock's holder did, by the waits for rank 1. */
static struct report_holder holder_find(bool is_call)
{
    const struct delaysources *sources;
    struct delay_of of;

    for (uint32_t i = 0; i < STEPS; i++) {
        step_make(i, is_call);
    }
    analysis_finish(blame);
    of = delay_find(analysis_delay(blame), mains[0],
                    (struct region){(STEPS - 1) * (ck_time_t)STEP + MEET_EARLY,
                                    (STEPS - 1) * (ck_time_t)STEP + MEET});
    assert_int_equal(of.ns, MEET - MEET_EARLY);
    assert_true(of.count >= 1);
    sources = delay_sources(analysis_delay(blame));
    assert_string_equal(delaysources_report(sources, of.costs[0].source).call,
                        "pthread_mutex_lock");
    return delaysources_report(sources, of.costs[0].source).holder;
}

static void a_call_of_the_holder_that_is_long_over_is_known(void **state)
{
    struct report_holder its = holder_find(true);

    (void)state;
    assert_int_equal(its.tid, HOLDER_TID);
    assert_non_null(its.call);
    assert_string_equal(its.call, "fsync");
}

static void where_the_holder_computed_long_ago_is_known(void **state)
{
    struct report_holder its = holder_find(false);

    (void)state;
    assert_int_equal(its.tid, HOLDER_TID);
    assert_null(its.call);
    assert_non_null(its.place.function);
    assert_string_equal(its.place.function, "hold");
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        CASE(a_call_of_the_holder_that_is_long_over_is_known),
        CASE(where_the_holder_computed_long_ago_is_known),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
