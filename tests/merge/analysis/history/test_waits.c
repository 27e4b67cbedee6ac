/* test_waits.c - who waited in MPI for whom, against a simulated program
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * What the analysis finds in the records of random programs (play.h) is
 * compared with a look at each nanosecond, chains of waits followed rank by
 * rank. CK_SEED repeats a run, CK_WORLDS is how many worlds.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "merge/analysis/analysis.h"
#include "merge/analysis/history/waits.h"
#include "merge/analysis/totals/idealnetwork.h"
#include "merge/analysis/waits/waitstates.h"
#include "merge/model/comm.h"
#include "tests/merge/chance.h"
#include "tests/merge/play.h"

#define RANKS PLAY_RANKS

/* Names of play.c. */
enum {
    SEND = 1,
    RECV,
    ISEND,
    WAIT = 5,
    SENDRECV = 8,
    IALLREDUCE = 15,
    FILE_WRITE = 24
};

/* ---- the comparison ----------------------------------------------------- */

struct sums {
    ck_time_t waited[RANKS][WAIT_KINDS];
    ck_time_t from[RANKS][RANKS]; /* rank that waits, rank that it waits for */
    ck_time_t origin[RANKS][RANKS];
};

static const struct truth *
waits_at(const struct world *world, int rank, ck_time_t t)
{
    for (size_t i = 0; i < world->truths_count; i++) {
        const struct truth *truth = &world->truths[i];

        if (truth->rank == rank && truth->start <= t && t < truth->until) {
            return truth;
        }
    }
    return NULL;
}

static void oracle(const struct world *world, struct sums *sums)
{
    memset(sums, 0, sizeof(*sums));
    for (ck_time_t t = world->region.start; t < world->region.end; t++) {
        for (int rank = 0; rank < RANKS; rank++) {
            const struct truth *truth = waits_at(world, rank, t);
            int whom = rank;

            if (truth == NULL) {
                continue;
            }
            sums->waited[rank][truth->kind]++;
            sums->from[rank][truth->whom]++;
            for (const struct truth *next = truth; next != NULL;
                 next = waits_at(world, whom, t)) {
                whom = next->whom;
            }
            sums->origin[rank][whom]++;
        }
    }
}

static struct analysis *blame_feed(const struct world *world)
{
    struct analysis *blame =
        analysis_create(world->defs, world->align, world->region);

    assert_non_null(blame);
    for (size_t i = 0; i < world->count; i++) {
        const struct event *event = &world->events[i];
        struct timeline_event given = {.record = &event->record.e,
                                       .start = event->record.e.start,
                                       .end = event->end,
                                       .rank = event->rank,
                                       .process = (uint32_t)event->rank,
                                       .thread = (uint32_t)event->rank};

        assert_int_equal(analysis_take(blame, &given), 0);
    }
    analysis_finish(blame);
    return blame;
}

static void sums_read(const struct analysis *blame, struct sums *sums)
{
    size_t count;
    const struct ledger_row *rows =
        waitstates_rows(analysis_waitstates(blame), &count);

    memset(sums, 0, sizeof(*sums));
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(rows[i].cause, CAUSE_MPI_WAIT);
        sums->waited[rows[i].rank][rows[i].wait] += rows[i].ns;
        sums->from[rows[i].rank][rows[i].last] += rows[i].ns;
        sums->origin[rows[i].rank][rows[i].blamed] += rows[i].ns;
    }
}

static void sums_differ(const struct sums *want, const struct sums *seen)
{
    for (int rank = 0; rank < RANKS; rank++) {
        for (int i = 0; i < (int)WAIT_KINDS; i++) {
            if (want->waited[rank][i] != seen->waited[rank][i]) {
                print_error("rank %d %s: %lld ns, not %lld\n", rank,
                            wait_kind_name((enum wait_kind)i),
                            (long long)seen->waited[rank][i],
                            (long long)want->waited[rank][i]);
            }
        }
        for (int i = 0; i < RANKS; i++) {
            if (want->from[rank][i] != seen->from[rank][i] ||
                want->origin[rank][i] != seen->origin[rank][i]) {
                print_error("rank %d for %d: %lld ns, not %lld; because of "
                            "it %lld, not %lld\n",
                            rank, i, (long long)seen->from[rank][i],
                            (long long)want->from[rank][i],
                            (long long)seen->origin[rank][i],
                            (long long)want->origin[rank][i]);
            }
        }
    }
}

static bool replay_differs(const struct world *world,
                           const struct analysis *blame)
{
    bool is_wrong = false;

    for (int rank = 0; rank < RANKS; rank++) {
        struct idealnetwork_rank seen =
            idealnetwork_rank(analysis_replay(blame), (uint32_t)rank);
        int64_t want =
            world->ideal[rank] + world->region.end - world->now[rank];

        if (seen.is_seen && seen.end != want) {
            print_error("replay of rank %d ends at %lld, not %lld\n", rank,
                        (long long)seen.end, (long long)want);
            is_wrong = true;
        }
    }
    return is_wrong;
}

static bool world_differs(struct world *world)
{
    struct analysis *blame = blame_feed(world);
    struct sums want, seen;
    bool is_wrong = replay_differs(world, blame);

    oracle(world, &want);
    sums_read(blame, &seen);
    if (memcmp(&want, &seen, sizeof(want)) != 0) {
        sums_differ(&want, &seen);
        is_wrong = true;
    }
    analysis_destroy(blame);
    /* A part of it. */
    world->region.start = chance_below(world->region.end);
    world->region.end -= chance_below(world->region.end - world->region.start);
    blame = blame_feed(world);
    oracle(world, &want);
    sums_read(blame, &seen);
    if (memcmp(&want, &seen, sizeof(want)) != 0) {
        sums_differ(&want, &seen);
        is_wrong = true;
    }
    analysis_destroy(blame);
    return is_wrong;
}

static bool world_is_wrong(void *state)
{
    play_world(state);
    return world_differs(state);
}

static void waits_are_those_of_the_program_to_the_nanosecond(void **unused)
{
    static struct world world;

    (void)unused;
    play_cast(&world);
    chance_worlds(2000, world_is_wrong, &world);
    align_destroy(world.align);
    defs_destroy(world.defs);
}

/* One end of a message of tag 0. */
static void message_put(
    struct world *world, int rank, int peer, struct region call, bool is_send)
{
    struct event *event = &world->events[world->count++];

    memset(event, 0, sizeof(*event));
    event->rank = rank;
    event->end = call.end;
    event->record.message =
        (struct ck_message){.e = {.kind = is_send ? CK_KIND_SEND : CK_KIND_RECV,
                                  .name = is_send ? SEND : RECV,
                                  .start = call.start},
                            .dur = region_length(call),
                            .call = ++world->call[rank],
                            .comm = 1,
                            .peer = peer,
                            .bytes = 8};
}

/* Rank 1 takes one message of rank 0, sent at 100, and one of rank 2, sent at
 * 10. */
static void two_receives(struct world *world, bool is_late_first)
{
    struct region first = {0, 101}, second = {101, 102};

    if (!is_late_first) {
        first.end = second.start = 11;
        second.end = 101;
    }
    world->count = 0;
    memset(world->call, 0, sizeof(world->call));
    message_put(world, 1, is_late_first ? 0 : 2, first, false);
    message_put(world, 2, 1, (struct region){10, 11}, true);
    if (!is_late_first) {
        message_put(world, 1, 0, second, false);
    }
    message_put(world, 0, 1, (struct region){100, 101}, true);
    if (is_late_first) {
        message_put(world, 1, 2, second, false);
    }
    world->region = (struct region){0, 200};
}

static ck_time_t wrong_order(struct world *world, ck_time_t *waited)
{
    struct analysis *blame = blame_feed(world);
    ck_time_t wrong = 0;
    size_t count;
    const struct ledger_row *rows =
        waitstates_rows(analysis_waitstates(blame), &count);

    *waited = 0;
    for (size_t i = 0; i < count; i++) {
        wrong += rows[i].wrong;
        *waited += rows[i].ns;
    }
    analysis_destroy(blame);
    return wrong;
}

static void a_wait_while_another_message_lay_there_is_wrong_order(void **unused)
{
    static struct world world;
    ck_time_t waited;

    (void)unused;
    play_cast(&world);
    two_receives(&world, true);
    assert_int_equal(wrong_order(&world, &waited), 100);
    assert_int_equal(waited, 100);
    two_receives(&world, false);
    assert_int_equal(wrong_order(&world, &waited), 0);
    assert_int_equal(waited, 10 + 89);
    align_destroy(world.align);
    defs_destroy(world.defs);
}

/* Is it known for whom rank 0 waited in that call, by the world's events? */
static bool is_known_by(const struct world *world,
                        const struct history_span *call,
                        struct wait *wait)
{
    struct waits *waits = waits_create(world->defs, world->align, 4096);
    bool is_known;

    assert_non_null(waits);
    for (size_t i = 0; i < world->count; i++) {
        const struct event *event = &world->events[i];
        struct timeline_event given = {.record = &event->record.e,
                                       .start = event->record.e.start,
                                       .end = event->end,
                                       .rank = event->rank,
                                       .process = (uint32_t)event->rank,
                                       .thread = (uint32_t)event->rank};

        waits_take(waits, &given, 0);
    }
    is_known = waits_find(waits, 0, call, wait);
    waits_destroy(waits);
    return is_known;
}

/* Is it known for whom rank 0 waited in its only call, a send of 8 bytes that
 * took so long, to a receive posted at that time? */
static bool is_send_known(struct world *world, ck_time_t took, ck_time_t posted)
{
    struct history_span call = {.start = 0, .end = took, .call = 1};
    struct wait wait = {.thread = DEFS_NONE};
    bool is_known;

    world->count = 0;
    memset(world->call, 0, sizeof(world->call));
    message_put(world, 0, 1, (struct region){0, took}, true);
    message_put(world, 1, 0, (struct region){posted, took + posted + 1}, false);
    is_known = is_known_by(world, &call, &wait);
    assert_true(wait.thread == DEFS_NONE);
    return is_known;
}

static void a_small_send_that_takes_long_may_have_waited(void **unused)
{
    static struct world world;

    (void)unused;
    play_cast(&world);
    assert_true(is_send_known(&world, 1000, 900));
    assert_true(is_send_known(&world, 1000, 5000));
    assert_true(is_send_known(&world, 10 * CK_TIME_US, 9 * CK_TIME_US));
    assert_false(is_send_known(&world, CK_TIME_MS, CK_TIME_MS - 1000));
    /* It was kept by others' messages. */
    assert_false(is_send_known(&world, CK_TIME_MS, 5 * CK_TIME_MS));
    align_destroy(world.align);
    defs_destroy(world.defs);
}

static int by_start(const void *a, const void *b)
{
    const struct event *left = a, *right = b;

    return (left->record.e.start > right->record.e.start) -
           (left->record.e.start < right->record.e.start);
}

static struct event *event_new(struct world *world, int rank, ck_time_t end)
{
    struct event *event = &world->events[world->count++];

    memset(event, 0, sizeof(*event));
    event->rank = rank;
    event->end = end;
    return event;
}

/* Rank 0 writes from 1 us on, together with others. The last rank comes at 9
 * us, and all leave at 10, but for rank 1, which leaves then. Is it known for
 * whom rank 0 waited? */
static bool
is_write_known(struct world *world, ck_time_t left, struct wait *wait)
{
    struct history_span call = {.start = 1000, .end = 10000, .call = 1};

    world->count = 0;
    for (int rank = 0; rank < RANKS; rank++) {
        ck_time_t start = rank == RANKS - 1 ? 9000 : 1000 + rank;
        ck_time_t end = rank == 1 ? left : 10000;

        event_new(world, rank, end)->record.collective =
            (struct ck_collective){.e = {.kind = CK_KIND_COLLECTIVE,
                                         .name = FILE_WRITE,
                                         .start = start},
                                   .dur = end - start,
                                   .call = 1,
                                   .comm = 1,
                                   .seq = 1,
                                   .root = -1,
                                   .bytes_out = 4};
    }
    return is_known_by(world, &call, wait);
}

static void
a_collective_of_a_file_is_a_wait_unless_one_left_before(void **unused)
{
    static struct world world;
    struct wait wait = {.thread = DEFS_NONE};

    (void)unused;
    play_cast(&world);
    assert_true(is_write_known(&world, 10000, &wait));
    assert_int_equal(wait.until, 9000);
    assert_int_equal(wait.thread, RANKS - 1);
    assert_false(is_write_known(&world, 8000, &wait));
    align_destroy(world.align);
    defs_destroy(world.defs);
}

/* All ranks post an MPI_Iallreduce, the last of them then; rank 0 completes it
 * in a call from 2 us to that time. */
static void posted_put(struct world *world, ck_time_t last, ck_time_t left)
{
    world->count = 0;
    for (int rank = 0; rank < RANKS; rank++) {
        ck_time_t start = rank == RANKS - 1 ? last : 100 * rank;

        event_new(world, rank, start + 50)->record.collective =
            (struct ck_collective){.e = {.kind = CK_KIND_ICOLLECTIVE,
                                         .name = IALLREDUCE,
                                         .start = start},
                                   .dur = 50,
                                   .call = 1,
                                   .comm = 1,
                                   .seq = 1,
                                   .root = -1,
                                   .bytes_out = 4,
                                   .bytes_in = 4,
                                   .request = (uint64_t)rank + 1};
    }
    event_new(world, 0, left)->record.message = (struct ck_message){
        .e = {.kind = CK_KIND_COMPLETE, .name = WAIT, .start = left},
        .call = 2,
        .peer = -1,
        .request = 1};
}

/* Is it known for whom that call waited? *waited: how long; *doubt: how long
 * it may have waited behind that. */
static bool is_posted_known(struct world *world,
                            ck_time_t last,
                            ck_time_t left,
                            ck_time_t *waited,
                            ck_time_t *doubt)
{
    struct history_span call = {.start = 2000, .end = left, .call = 2};
    struct wait wait = {.thread = DEFS_NONE};
    bool is_known;

    posted_put(world, last, left);
    is_known = is_known_by(world, &call, &wait);
    *waited = is_known && wait.until > call.start ? wait.until - call.start : 0;
    *doubt = is_known ? wait.doubt : 0;
    return is_known;
}

/* Without its members' progress it does not end: who computes between posting
 * and completing it keeps the others. */
static void a_posted_collective_that_takes_long_may_have_waited(void **unused)
{
    static struct world world;
    ck_time_t waited, doubt;

    (void)unused;
    play_cast(&world);
    assert_true(is_posted_known(&world, 1000, 9000, &waited, &doubt));
    assert_int_equal(waited, 0);
    assert_int_equal(doubt, 0);
    assert_false(is_posted_known(&world, 1000, CK_TIME_MS, &waited, &doubt));
    assert_true(is_posted_known(&world, CK_TIME_MS - 9000, CK_TIME_MS, &waited,
                                &doubt));
    assert_int_equal(waited, CK_TIME_MS - 11000);
    assert_int_equal(doubt, 0);
    align_destroy(world.align);
    defs_destroy(world.defs);
}

/* The last one posts at that time and then goes on outside of MPI, up to the
 * end of the call of rank 0: whatever part is known, the rest is in doubt. */
static void posted_closes(struct world *world, ck_time_t last, ck_time_t left)
{
    struct event wait = {.rank = 0, .end = left};
    ck_time_t waited, doubt, sum = 0;
    struct analysis *blame;
    struct idealnetwork_rank replay;
    size_t count;
    const struct ledger_row *rows;

    assert_true(is_posted_known(world, last, left, &waited, &doubt));
    assert_int_equal(waited, last - 2000);
    assert_int_equal(doubt, left - last);
    wait.record.call = (struct ck_call){
        .e = {.kind = CK_KIND_MPI_CALL, .name = WAIT, .start = 2000},
        .dur = left - 2000,
        .call = 2};
    world->events[world->count++] = wait;
    qsort(world->events, world->count, sizeof(*world->events), by_start);
    world->region = (struct region){0, left};
    blame = blame_feed(world);
    rows = waitstates_rows(analysis_waitstates(blame), &count);
    for (size_t i = 0; i < count; i++) {
        sum += rows[i].rank == 0 ? rows[i].ns : 0;
    }
    replay = idealnetwork_rank(analysis_replay(blame), 0);
    assert_int_equal(sum, waited);
    assert_int_equal(replay.unknown, doubt);
    assert_int_equal(replay.end, left);
    analysis_destroy(blame);
}

static void what_is_behind_a_known_wait_may_be_one_too(void **unused)
{
    static struct world world;

    (void)unused;
    play_cast(&world);
    posted_closes(&world, CK_TIME_MS, 9 * CK_TIME_MS);
    posted_closes(&world, 7 * CK_TIME_MS, 10 * CK_TIME_MS);
    posted_closes(&world, 9 * CK_TIME_MS, 9 * CK_TIME_MS + 30 * CK_TIME_US);
    align_destroy(world.align);
    defs_destroy(world.defs);
}

/* Rank 1 begins to send 100 kB at 0, and blocks until it is sent, or goes on;
 * rank 0 receives it from 1 us to that time. Is it known for whom that waited?
 */
static bool
is_large_known(struct world *world, ck_time_t received, bool is_blocking)
{
    struct history_span call = {.start = 1000, .end = received, .call = 1};
    struct wait wait = {.thread = DEFS_NONE};
    bool is_known;

    world->count = 0;
    memset(world->call, 0, sizeof(world->call));
    message_put(world, 1, 0, (struct region){0, is_blocking ? received : 500},
                true);
    message_put(world, 0, 1, (struct region){1000, received}, false);
    for (size_t i = 0; i < world->count; i++) {
        world->events[i].record.message.bytes = 100000;
    }
    if (!is_blocking) {
        world->events[0].record.message.e.name = ISEND;
        world->events[0].record.message.request = 7;
    }
    is_known = is_known_by(world, &call, &wait);
    assert_false(is_known && wait.until > call.start);
    return is_known;
}

/* Both exchange as much in an MPI_Sendrecv, from 0 and from 1 us to that time.
 */
static bool is_exchange_known(struct world *world, ck_time_t left)
{
    struct history_span call = {.start = 1000, .end = left, .call = 1};
    struct wait wait = {.thread = DEFS_NONE};

    world->count = 0;
    memset(world->call, 0, sizeof(world->call));
    message_put(world, 1, 0, (struct region){0, left}, true);
    message_put(world, 0, 1, (struct region){1000, left}, true);
    for (int rank = 0; rank < 2; rank++) {
        struct ck_message *send = &world->events[1 - rank].record.message;
        struct ck_message *half = &event_new(world, rank, left)->record.message;

        send->bytes = 100000;
        send->e.kind = CK_KIND_SENDRECV;
        send->e.name = SENDRECV;
        *half = *send;
        half->e.kind = CK_KIND_COMPLETE;
        half->e.start = left;
    }
    return is_known_by(world, &call, &wait);
}

static void who_does_not_block_may_keep_a_large_message(void **unused)
{
    static struct world world;

    (void)unused;
    play_cast(&world);
    assert_true(is_large_known(&world, 400 * CK_TIME_US, false));
    assert_false(is_large_known(&world, 8 * CK_TIME_MS, false));
    assert_true(is_large_known(&world, 8 * CK_TIME_MS, true));
    assert_true(is_exchange_known(&world, 8 * CK_TIME_MS));
    align_destroy(world.align);
    defs_destroy(world.defs);
}

/* An agent with a thread, on a clock of its own. */
static uint32_t agent_put(struct defs *defs, int32_t rank, const char *timens)
{
    uint8_t id[16] = {(uint8_t)(rank + 1)};
    uint32_t agent = defs_agent_find(defs, id);
    char lines[200];

    (void)snprintf(lines, sizeof(lines),
                   "boot_id=b\ntimens=%s\nreference_boot_id=b\n"
                   "reference_timens=zero\n",
                   timens);
    defs->agents[agent].identity =
        texts_keep(defs->texts, lines, sizeof(lines));
    defs->agents[agent].rank = rank;
    (void)defs_thread_find(defs, defs_process_find(defs, agent, 1), 7);
    return agent;
}

/* The clock of rank 1 is probed from 50 s to 60 s; far from that it is known
 * less well. */
static void a_waits_error_is_the_larger_one_of_both_its_ends(void **unused)
{
    static const ck_time_t early = 5 * CK_TIME_S, best = 55 * CK_TIME_S,
                           late = 155 * CK_TIME_S;
    struct defs *defs = defs_create();
    struct align *align = align_create();
    uint32_t first = agent_put(defs, 0, "zero");
    uint32_t second = agent_put(defs, 1, "one");
    ck_time_t before, between, after;
    struct waits *waits;
    struct wait wait = {.thread = 0}; /* threads are numbered as agents */

    (void)unused;
    for (ck_time_t at = 50 * CK_TIME_S; at <= 60 * CK_TIME_S; at += CK_TIME_S) {
        struct ck_clock_fact fact = {
            .e = {.kind = CK_KIND_CLOCK_PROBE, .start = at},
            .value = at + 3000,
            .t3 = at + 5000,
            .t4 = at + 8000,
            .width = 20,
        };

        align_fact(align, second, &fact);
    }
    defs_close(defs);
    comm_close(defs);
    align_close(align, defs);
    align_settle(align, NULL);
    waits = waits_create(defs, align, 0);
    assert_non_null(waits);
    assert_int_equal(align_pair_bound(align, first, second, early, &before), 0);
    assert_int_equal(align_pair_bound(align, first, second, best, &between), 0);
    assert_int_equal(align_pair_bound(align, first, second, late, &after), 0);
    assert_true(between + 10000 < before && before < after);
    wait.until = best;
    assert_true(waits_error(waits, 1, early, &wait));
    assert_int_equal(wait.error, before);
    wait.until = late;
    assert_true(waits_error(waits, 1, best, &wait));
    assert_int_equal(wait.error, after);
    assert_true(waits_error(waits, 1, early, &wait));
    assert_int_equal(wait.error, after);
    /* On one clock there is none. */
    assert_true(waits_error(waits, 0, early, &wait));
    assert_int_equal(wait.error, 0);
    waits_destroy(waits);
    align_destroy(align);
    defs_destroy(defs);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(waits_are_those_of_the_program_to_the_nanosecond),
        cmocka_unit_test(a_wait_while_another_message_lay_there_is_wrong_order),
        cmocka_unit_test(a_small_send_that_takes_long_may_have_waited),
        cmocka_unit_test(
            a_collective_of_a_file_is_a_wait_unless_one_left_before),
        cmocka_unit_test(a_posted_collective_that_takes_long_may_have_waited),
        cmocka_unit_test(what_is_behind_a_known_wait_may_be_one_too),
        cmocka_unit_test(who_does_not_block_may_keep_a_large_message),
        cmocka_unit_test(a_waits_error_is_the_larger_one_of_both_its_ends),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
