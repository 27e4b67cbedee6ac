/* test_workers.c - a rank that waits for its other threads is late because of
 * what these compute
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * In each step both ranks compute, then rank 1's first thread waits for a
 * worker: blocked in the kernel, spinning in an OpenMP runtime, or in
 * pthread_join(). The worker has no record but its samples. Rank 0 waits for
 * rank 1 in MPI_Allreduce.
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
#include "merge/analysis/delays/delayreport.h"
#include "merge/clocks/align.h"
#include "merge/model/array.h"
#include "merge/model/comm.h"

#define RANKS 2
#define MAIN_TID 7
#define WORKER_TID 8
#define STEPS 12
#define STEP (100000000 + longer)
/* Up to here in a step all threads of both ranks compute. */
#define COMPUTED 40000000
#define MEET_LATE (79900000 + longer)
#define LEAVE (80000000 + longer)
#define SAMPLE 1000000 /* ns of CPU time */
/* A read of a rank that has four, at places of their own. */
#define READ 6000000
/* A call that is recorded because a sample made it longer, and others that are
 * long enough without one: two thirds of the time. */
#define WRITE 30000
#define WRITE_EACH 45000

enum name { N_ALLREDUCE = 1, N_JOIN, N_READ, N_WRITE, NAMES };
static const char *const names[NAMES] = {NULL, "MPI_Allreduce", "pthread_join",
                                         "read", "write"};

/* Stacks, by their leaves. */
enum stack { WORK = 1, EXTRA, OTHER, THIRD, TEAM, STACKS };
static const char *const functions[STACKS] = {
    NULL, "work", "extra", "other", "third", "libgomp.so.1+0x20"};

enum waiting {
    BLOCKED,
    SPINNING,
    JOINING,
    READING,
    SHORT_WRITES,
    WRITES,
    STACKED,
    YIELDING
};

/* The worker is a thread of another process of rank 1. */
static bool is_child;
/* By how much the late part of each step is longer. */
static ck_time_t longer;

static struct defs *defs;
static struct align *align;
static struct analysis *analysis;
static uint32_t processes[RANKS], mains[RANKS], child;
static uint32_t calls[RANKS];

static void process_make(int rank)
{
    uint8_t id[16] = {(uint8_t)(rank + 1)};
    uint32_t agent = defs_agent_find(defs, id);
    uint32_t process = processes[rank] = defs_process_find(defs, agent, 1);
    struct defs_process *p = &defs->processes[process];
    struct {
        struct ck_text text;
        char bytes[64];
    } said = {.text = {.e = {.kind = CK_KIND_COMM, .name = 1}},
              .bytes = "how=world\nsize=2\nrank=0\nmembers=0-1\n"};

    said.text.length = (uint32_t)strlen(said.bytes);
    said.bytes[strlen("how=world\nsize=2\nrank=")] = (char)('0' + rank);
    mains[rank] = defs_thread_find(defs, process, MAIN_TID);
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

/* The function of a stack at an address of its number times 16; that of the
 * team is in an OpenMP runtime. */
static void stack_make(uint32_t process, enum stack number)
{
    struct defs_agent *agent = &defs->agents[defs->processes[process].agent];
    struct defs_process *p = &defs->processes[process];
    uint64_t address = number * 16;
    struct place place = {
        texts_keep(defs->texts, functions[number], strlen(functions[number])),
        number == TEAM ? NULL : texts_keep(defs->texts, "a.c", 3),
        number == TEAM ? 0 : 10 * (uint32_t)number};
    struct defs_stack *stack;

    names_set_place(p->names, address, place);
    stack = defs_stack_enter(agent, agent->stacks_last + 1);
    stack->frames = calloc(1, sizeof(uint64_t));
    stack->frames[0] = address;
    stack->count = 1;
    if (number == TEAM) {
        array_grow(&p->modules, &p->modules_room, p->modules_count,
                   sizeof(*p->modules));
        p->modules[p->modules_count++] =
            (struct defs_module){.is_team = true,
                                 .path = "/lib/libgomp.so.1",
                                 .build_id = "",
                                 .start = address - 1,
                                 .end = address + 1};
    }
}

/* Rank 1 has forked. */
static void child_make(void)
{
    const struct defs_process *of = &defs->processes[processes[1]];

    child = defs_process_find(defs, of->agent, 2);
    defs->processes[child].rank = 1;
    for (enum stack i = WORK; i < STACKS; i++) {
        names_set_place(defs->processes[child].names, i * 16,
                        (struct place){texts_keep(defs->texts, functions[i],
                                                  strlen(functions[i])),
                                       texts_keep(defs->texts, "a.c", 3),
                                       10 * (uint32_t)i});
    }
}

static int setup(void **state)
{
    (void)state;
    memset(calls, 0, sizeof(calls));
    longer = 0;
    is_child = false;
    defs = defs_create();
    for (int rank = 0; rank < RANKS; rank++) {
        process_make(rank);
    }
    for (int rank = 0; rank < RANKS; rank++) {
        for (enum stack i = WORK; i < STACKS; i++) {
            stack_make(processes[rank], i);
        }
    }
    child_make();
    defs_close(defs);
    comm_close(defs);
    align = align_create();
    align_close(align, defs);
    analysis = analysis_create(defs, align,
                               (struct region){0, (STEPS + 1) * (int64_t)STEP});
    return analysis == NULL;
}

static int teardown(void **state)
{
    (void)state;
    analysis_destroy(analysis);
    align_destroy(align);
    defs_destroy(defs);
    return 0;
}

static void
give(int rank, uint32_t thread, const struct ck_event *record, ck_time_t end)
{
    struct timeline_event event = {.record = record,
                                   .start = record->start,
                                   .end = end,
                                   .rank = rank,
                                   .process = processes[rank],
                                   .thread = thread};

    assert_int_equal(analysis_take(analysis, &event), 0);
}

static void meet(int rank, uint32_t number, struct region part)
{
    struct ck_collective record = {.e = {.kind = CK_KIND_COLLECTIVE,
                                         .name = N_ALLREDUCE,
                                         .start = part.start},
                                   .dur = region_length(part),
                                   .call = ++calls[rank],
                                   .comm = 1,
                                   .seq = number + 1,
                                   .root = -1,
                                   .bytes_out = 8,
                                   .bytes_in = 8};

    give(rank, mains[rank], &record.e, part.end);
}

static void sample(int rank, uint32_t tid, ck_time_t at, enum stack stack)
{
    bool is_childs = is_child && tid == WORKER_TID;
    struct ck_sample record = {
        .e = {.kind = CK_KIND_SAMPLE, .name = is_childs ? 2 : 1, .start = at},
        .tid = tid,
        .stack = (uint32_t)stack,
        .weight = SAMPLE};

    give(rank, DEFS_NONE, &record.e, at);
}

/* Rank 1 reads; then it computes up to the common work. */
static void read_all(ck_time_t begin)
{
    for (uint32_t i = 0; i < 4; i++) {
        struct ck_call record = {.e = {.kind = CK_KIND_POSIX,
                                       .name = N_READ,
                                       .start = begin + i * READ},
                                 .dur = READ,
                                 .call = ++calls[1],
                                 .site = WORK * 16 + i};

        give(1, mains[1], &record.e, record.e.start + READ);
    }
}

static void write_once(ck_time_t begin)
{
    struct ck_call record = {
        .e = {.kind = CK_KIND_POSIX, .name = N_WRITE, .start = begin},
        .dur = WRITE,
        .call = ++calls[1],
        .site = EXTRA * 16};

    give(1, mains[1], &record.e, begin + WRITE);
}

/* Rank 1 writes all the time. Of short calls those are recorded that a sample
 * met; of longer ones all. */
static void short_writes(struct region part)
{
    for (ck_time_t t = part.start + SAMPLE; t < part.end; t += SAMPLE) {
        write_once(t - WRITE / 2);
        sample(1, MAIN_TID, t, EXTRA);
    }
}

/* Two of three samples meet a call that would have been recorded without. */
static void writes(struct region part)
{
    ck_time_t met = part.start + SAMPLE;

    for (ck_time_t t = part.start; t + WRITE_EACH < part.end; t += WRITE_EACH) {
        write_once(t);
        while (met >= t && met < t + WRITE_EACH) {
            sample(1, MAIN_TID, met, met < t + WRITE ? EXTRA : OTHER);
            met += SAMPLE;
        }
    }
}

/* Rank 1's first thread waits for its worker. */
static void wait_begin(enum waiting how, struct region part)
{
    struct ck_mark off = {
        .e = {.kind = CK_KIND_BLOCKED, .name = 1, .start = part.start},
        .value = MAIN_TID};
    struct ck_call join = {
        .e = {.kind = CK_KIND_POSIX, .name = N_JOIN, .start = part.start},
        .dur = region_length(part),
        .call = calls[1] + 1};

    struct ck_sample stacked = {
        .e = {.kind = CK_KIND_OFF_CPU, .name = 1, .start = part.start},
        .tid = MAIN_TID,
        .stack = EXTRA,
        .weight = (uint64_t)region_length(part)};

    if (how == BLOCKED) {
        give(1, DEFS_NONE, &off.e, part.end);
    } else if (how == STACKED) {
        give(1, DEFS_NONE, &off.e, part.end);
        give(1, DEFS_NONE, &stacked.e, part.start);
    } else if (how == YIELDING) {
        off.e.kind = CK_KIND_PREEMPTED;
        give(1, DEFS_NONE, &off.e, part.end);
    } else if (how == JOINING) {
        calls[1]++;
        give(1, mains[1], &join.e, part.end);
    } else if (how == READING) {
        read_all(part.start);
    } else if (how == SHORT_WRITES) {
        short_writes(part);
    } else if (how == WRITES) {
        writes(part);
    }
}

/* A step in which the worker is sampled in `worker` for the n-th sample of each
 * `every`, NULL = never. */
static void step_make(uint32_t number,
                      enum waiting how,
                      const enum stack *worker,
                      unsigned every)
{
    ck_time_t begin = number * (ck_time_t)STEP;

    for (ck_time_t t = SAMPLE; t < COMPUTED; t += SAMPLE) {
        sample(0, MAIN_TID, begin + t, WORK);
        sample(1, MAIN_TID, begin + t, WORK);
        sample(1, WORKER_TID, begin + t, WORK);
    }
    wait_begin(how, (struct region){begin + COMPUTED, begin + MEET_LATE});
    for (ck_time_t i = 1; COMPUTED + i * SAMPLE < MEET_LATE; i++) {
        ck_time_t at = begin + COMPUTED + i * SAMPLE;

        if (worker != NULL && worker[i % every] != 0) {
            sample(1, WORKER_TID, at - 10, worker[i % every]);
        }
        if (how == SPINNING) {
            sample(1, MAIN_TID, at, TEAM);
        }
    }
    meet(0, number, (struct region){begin + COMPUTED, begin + LEAVE});
    meet(1, number, (struct region){begin + MEET_LATE, begin + LEAVE});
}

/* Why rank 1 was late in the last of some steps; the caller's to free. */
static struct report_delays delays_after(uint32_t steps,
                                         enum waiting how,
                                         const enum stack *worker,
                                         unsigned every)
{
    const struct delaysums_group group = {.blamed = 1};
    struct region last = {(steps - 1) * (ck_time_t)STEP + COMPUTED,
                          (steps - 1) * (ck_time_t)STEP + MEET_LATE};
    struct delaysums *sums = delaysums_create();
    struct report_delays delays;
    struct delay_of of;

    for (uint32_t i = 0; i < steps; i++) {
        step_make(i, how, worker, every);
    }
    analysis_finish(analysis);
    of = delay_find(analysis_delay(analysis), mains[0], last);
    assert_int_equal(of.ns, region_length(last));
    delaysums_piece(sums, &group, of.ns);
    delaysums_share(sums, defs, analysis_delay(analysis), &of);
    delaysums_begin(sums);
    delaysums_gather_all(sums);
    delayreport_fill((struct lookback *)analysis_scene(analysis),
                     analysis_delay(analysis), sums, &delays);
    delaysums_destroy(sums);
    assert_int_equal(delays.rank, 1);
    return delays;
}

static struct report_delays
delays_find(enum waiting how, const enum stack *worker, unsigned every)
{
    return delays_after(STEPS, how, worker, every);
}

static void assert_sampled(const struct report_delays *delays,
                           const char *function,
                           bool is_others)
{
    const struct report_sampled *sampled = &delays->did.sampled;

    assert_true(sampled->total > 0);
    assert_string_equal(sampled->place.function, function);
    assert_int_equal(sampled->is_others, is_others);
}

static void a_blocked_rank_is_late_by_what_its_worker_computes(void **state)
{
    const enum stack worker[] = {EXTRA};
    struct report_delays delays = delays_find(BLOCKED, worker, 1);

    (void)state;
    assert_int_equal(delays.kind, CAUSE_OFFCPU_BLOCKED);
    assert_true(delays.ns > (MEET_LATE - COMPUTED) / 10 * 9);
    assert_sampled(&delays, "extra", true);
    assert_int_equal(delays.did.sampled.place.line, 10 * EXTRA);
    free(delays.items);
}

static void a_rank_in_a_join_is_late_by_what_its_worker_computes(void **state)
{
    const enum stack worker[] = {EXTRA};
    struct report_delays delays = delays_find(JOINING, worker, 1);

    (void)state;
    assert_string_equal(delays.did.call, "pthread_join");
    assert_sampled(&delays, "extra", true);
    free(delays.items);
}

/* A pool of processes: the first one waits for what these compute. */
static void a_rank_in_a_join_is_late_by_what_its_process_computes(void **state)
{
    const enum stack worker[] = {EXTRA};
    struct report_delays delays;

    (void)state;
    is_child = true;
    delays = delays_find(JOINING, worker, 1);
    assert_string_equal(delays.did.call, "pthread_join");
    assert_sampled(&delays, "extra", true);
    assert_true(delays.did.sampled.has_processes);
    free(delays.items);
}

/* Nor does a team that spins wait for another process. */
static void a_team_has_no_threads_of_other_processes(void **state)
{
    const enum stack worker[] = {EXTRA};
    struct report_delays delays;

    (void)state;
    is_child = true;
    delays = delays_find(SPINNING, worker, 1);
    assert_sampled(&delays, "libgomp.so.1", false);
    free(delays.items);
}

static void spinning_for_a_team_is_what_the_team_computes(void **state)
{
    const enum stack worker[] = {EXTRA};
    struct report_delays delays = delays_find(SPINNING, worker, 1);

    (void)state;
    assert_int_equal(delays.kind, CAUSE_HOST_COMPUTE);
    assert_sampled(&delays, "extra", false);
    free(delays.items);
}

/* Of a runtime that is slow itself. */
static void spinning_beside_nothing_is_the_runtime(void **state)
{
    struct report_delays delays = delays_find(SPINNING, NULL, 1);

    (void)state;
    assert_sampled(&delays, "libgomp.so.1", false);
    free(delays.items);
}

/* Other workers that wait for the team, too, do not hide the one that works. */
static void workers_that_wait_for_the_team_explain_nothing(void **state)
{
    const enum stack worker[] = {EXTRA, TEAM, TEAM};
    struct report_delays delays = delays_find(BLOCKED, worker, 3);

    (void)state;
    assert_sampled(&delays, "extra", true);
    assert_int_equal(delays.did.sampled.ns, delays.did.sampled.total);
    free(delays.items);
}

/* A thread that now and then does something is not why. */
static void threads_that_compute_next_to_nothing_explain_nothing(void **state)
{
    const enum stack worker[20] = {EXTRA};
    struct report_delays delays = delays_find(BLOCKED, worker, 20);

    (void)state;
    assert_int_equal(delays.kind, CAUSE_OFFCPU_BLOCKED);
    assert_int_equal(delays.did.sampled.total, 0);
    assert_false(delays.did.sampled.is_others);
    free(delays.items);
}

/* Two functions that are nearly all of it are two things. */
static void two_functions_are_named_each(void **state)
{
    const enum stack worker[] = {EXTRA, OTHER, EXTRA, OTHER, EXTRA,
                                 OTHER, EXTRA, OTHER, EXTRA, THIRD};
    struct report_delays delays = delays_find(BLOCKED, worker, 10);

    (void)state;
    assert_sampled(&delays, "extra", true);
    assert_true(delays.count >= 3);
    assert_string_equal(delays.items[1].did.sampled.place.function, "other");
    assert_true(delays.items[2].ns < delays.items[1].ns);
    free(delays.items);
}

/* Samples of 1 ms are enough where there are 38 of
 * them, though 0.3 s they are not. */
static void what_is_known_of_two_functions_is_by_samples(void **state)
{
    const enum stack worker[] = {EXTRA, OTHER, EXTRA};
    struct report_delays delays = delays_after(2, BLOCKED, worker, 3);

    (void)state;
    assert_sampled(&delays, "extra", true);
    assert_true(delays.count >= 2);
    assert_string_equal(delays.items[1].did.sampled.place.function, "other");
    free(delays.items);
}

static void few_samples_do_not_part_them(void **state)
{
    const enum stack worker[] = {EXTRA, OTHER, EXTRA, 0};
    struct report_delays delays = delays_after(2, BLOCKED, worker, 4);

    (void)state;
    assert_sampled(&delays, "extra", true);
    assert_int_equal(delays.count, 1);
    free(delays.items);
}

/* Where much is left beside them nothing is named "between two calls": it is
 * one computation, with its largest function. */
static void a_computation_of_many_functions_is_one_thing(void **state)
{
    const enum stack worker[] = {EXTRA, OTHER, EXTRA, THIRD, EXTRA, WORK,
                                 EXTRA, OTHER, EXTRA, THIRD, OTHER, WORK,
                                 EXTRA, OTHER, EXTRA, THIRD, WORK};
    struct report_delays delays = delays_find(BLOCKED, worker, 17);

    (void)state;
    assert_sampled(&delays, "extra", true);
    assert_true(delays.ns > (MEET_LATE - COMPUTED) / 10 * 9);
    free(delays.items);
}

/* I/O is most of it, and one computation more than any read. */
static void the_largest_thing_is_of_whatever_kind(void **state)
{
    const ck_time_t late = MEET_LATE - COMPUTED;
    struct report_delays delays = delays_find(READING, NULL, 1);

    (void)state;
    assert_int_equal(delays.kind, CAUSE_IO);
    assert_in_range(delays.kind_ns, 4 * READ - 1000, 4 * READ);
    assert_in_range(delays.ns, READ - 1000, READ);
    assert_in_range(delays.rank_ns, late - 1000, late);
    assert_int_equal(delays.largest.rank, 1);
    assert_int_equal(delays.largest.kind, CAUSE_HOST_COMPUTE);
    assert_null(delays.largest.did.call);
    assert_in_range(delays.largest.ns, late - 4 * READ - 1000, late - 4 * READ);
    free(delays.items);
}

/* It waits for none of its threads. */
static void a_blocked_rank_is_where_it_left_the_cpu(void **state)
{
    struct report_delays delays = delays_find(STACKED, NULL, 1);

    (void)state;
    assert_int_equal(delays.kind, CAUSE_OFFCPU_BLOCKED);
    assert_sampled(&delays, "extra", false);
    assert_true(delays.did.sampled.is_waits);
    assert_null(delays.did.sampled.called);
    free(delays.items);
}

/* However long. */
static void a_rank_that_is_blocked_for_a_minute_is_there_too(void **state)
{
    struct report_delays delays;

    (void)state;
    longer = 60 * CK_TIME_S;
    delays = delays_after(2, STACKED, NULL, 1);
    assert_sampled(&delays, "extra", false);
    assert_true(delays.did.sampled.is_waits);
    assert_in_range(delays.did.sampled.ns, 60 * CK_TIME_S, 61 * CK_TIME_S);
    free(delays.items);
}

static void what_its_workers_compute_comes_before_that(void **state)
{
    const enum stack worker[] = {OTHER};
    struct report_delays delays = delays_find(STACKED, worker, 1);

    (void)state;
    assert_sampled(&delays, "other", true);
    assert_false(delays.did.sampled.is_waits);
    free(delays.items);
}

/* It looks again and again whether they are there. */
static void a_rank_that_yields_to_its_workers_waits_for_them(void **state)
{
    const enum stack worker[] = {EXTRA};
    struct report_delays delays = delays_find(YIELDING, worker, 1);

    (void)state;
    assert_int_equal(delays.kind, CAUSE_OFFCPU_RUNNABLE);
    assert_sampled(&delays, "extra", true);
    free(delays.items);
}

/* Not what was sampled in common work, which is what is left without them. */
static void samples_of_calls_too_short_are_of_the_computation(void **state)
{
    struct report_delays delays = delays_find(SHORT_WRITES, NULL, 1);

    (void)state;
    assert_int_equal(delays.kind, CAUSE_HOST_COMPUTE);
    assert_sampled(&delays, "extra", false);
    assert_true(delays.did.sampled.ns > 30 * SAMPLE);
    free(delays.items);
}

static void samples_of_calls_that_are_recorded_are_theirs(void **state)
{
    struct report_delays delays = delays_find(WRITES, NULL, 1);

    (void)state;
    assert_int_equal(delays.kind, CAUSE_IO);
    assert_string_equal(delays.did.call, "write");
    assert_true(delays.count >= 2);
    assert_null(delays.items[1].did.call);
    assert_string_equal(delays.items[1].did.sampled.place.function, "other");
    assert_true(delays.items[1].did.sampled.ns * 10 >
                delays.items[1].did.sampled.total * 9);
    free(delays.items);
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        CASE(a_blocked_rank_is_late_by_what_its_worker_computes),
        CASE(a_rank_in_a_join_is_late_by_what_its_worker_computes),
        CASE(a_rank_in_a_join_is_late_by_what_its_process_computes),
        CASE(a_team_has_no_threads_of_other_processes),
        CASE(spinning_for_a_team_is_what_the_team_computes),
        CASE(spinning_beside_nothing_is_the_runtime),
        CASE(workers_that_wait_for_the_team_explain_nothing),
        CASE(threads_that_compute_next_to_nothing_explain_nothing),
        CASE(two_functions_are_named_each),
        CASE(what_is_known_of_two_functions_is_by_samples),
        CASE(few_samples_do_not_part_them),
        CASE(a_computation_of_many_functions_is_one_thing),
        CASE(the_largest_thing_is_of_whatever_kind),
        CASE(a_blocked_rank_is_where_it_left_the_cpu),
        CASE(a_rank_that_is_blocked_for_a_minute_is_there_too),
        CASE(what_its_workers_compute_comes_before_that),
        CASE(a_rank_that_yields_to_its_workers_waits_for_them),
        CASE(samples_of_calls_too_short_are_of_the_computation),
        CASE(samples_of_calls_that_are_recorded_are_theirs),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
