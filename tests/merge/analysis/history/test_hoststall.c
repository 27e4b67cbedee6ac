/* test_hoststall.c - a host that did not run is not taken for a busy one
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Two ranks of one host; no reading from 10 s to 14.9 s. Their records in that
 * time differ from case to case.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "merge/analysis/history/hoststall.h"
#include "merge/clocks/align.h"
#include "merge/model/comm.h"

#define RANKS 2
#define TID 7
#define MS CK_TIME_MS
#define FROM (10000 * MS)
#define TO (14900 * MS)
/* The truth. */
#define STOP (10500 * MS)
#define GO (14490 * MS)

union record {
    struct ck_event e;
    struct ck_call call;
    struct ck_sample sample;
    struct ck_mark mark;
    struct ck_counter counter;
    struct ck_kernel kernel;
};

struct event {
    union record record;
    ck_time_t end;
    uint32_t rank;
};

struct world {
    struct event events[4096];
    size_t count;
    struct defs *defs;
    struct align *align;
    struct history *host;
};

static int setup(void **state)
{
    static struct world world;
    struct defs *defs = defs_create();

    for (int rank = 0; rank < RANKS; rank++) {
        uint8_t id[16] = {(uint8_t)(rank + 1)};
        uint32_t agent = defs_agent_find(defs, id);
        uint32_t process = defs_process_find(defs, agent, 1);

        defs->agents[agent].rank = rank;
        (void)defs_thread_find(defs, process, TID);
    }
    defs_close(defs);
    comm_close(defs);
    world.defs = defs;
    world.align = align_create();
    align_close(world.align, defs);
    align_settle(world.align, NULL);
    world.host = history_create(defs, 0);
    world.count = 0;
    assert_non_null(world.host);
    *state = &world;
    return 0;
}

static int teardown(void **state)
{
    struct world *world = *state;

    history_destroy(world->host);
    align_destroy(world->align);
    defs_destroy(world->defs);
    return 0;
}

static struct event *
put(struct world *world, uint32_t rank, ck_time_t start, ck_time_t end)
{
    struct event *event = &world->events[world->count++];

    *event = (struct event){.end = end, .rank = rank};
    event->record.e.start = start;
    return event;
}

/* A thread computes: samples each 10 ms. */
static void
put_samples(struct world *world, uint32_t rank, ck_time_t from, ck_time_t to)
{
    for (ck_time_t at = from; at < to; at += 10 * MS) {
        struct ck_sample *sample = &put(world, rank, at, at)->record.sample;

        sample->e.kind = CK_KIND_SAMPLE;
        sample->e.name = 1;
        sample->tid = TID;
        sample->weight = 10000000;
    }
}

static void put_off(struct world *world,
                    uint32_t rank,
                    uint16_t kind,
                    ck_time_t from,
                    ck_time_t to)
{
    struct ck_mark *mark = &put(world, rank, from, to)->record.mark;

    mark->e.kind = kind;
    mark->e.name = 1;
    mark->dur = to - from;
    mark->value = TID;
}

static void
put_call(struct world *world, uint32_t rank, ck_time_t from, ck_time_t to)
{
    struct ck_call *call = &put(world, rank, from, to)->record.call;

    call->e.kind = CK_KIND_MPI_CALL;
    call->dur = to - from;
}

/* Both ranks compute, but in the stop; their switches are recorded. */
static void put_work(struct world *world)
{
    for (uint32_t rank = 0; rank < RANKS; rank++) {
        put_off(world, rank, CK_KIND_PREEMPTED, 9000 * MS, 9001 * MS);
        put_samples(world, rank, 9000 * MS, STOP);
        put_samples(world, rank, GO, 16000 * MS);
    }
}

static int by_start(const void *a, const void *b)
{
    const struct event *x = a;
    const struct event *y = b;

    return (x->record.e.start > y->record.e.start) -
           (x->record.e.start < y->record.e.start);
}

static void feed(struct hoststall *hoststall, struct world *world)
{
    qsort(world->events, world->count, sizeof(world->events[0]), by_start);
    for (size_t i = 0; i < world->count; i++) {
        const struct event *event = &world->events[i];
        struct timeline_event given = {.record = &event->record.e,
                                       .start = event->record.e.start,
                                       .end = event->end,
                                       .rank = (int32_t)event->rank,
                                       .process = event->rank,
                                       .thread = event->rank};

        assert_int_equal(hoststall_take(hoststall, &given), 0);
    }
}

/* What is proven; {0, 0} = nothing. */
static struct region found_as(struct world *world, enum clockwatch_kind kind)
{
    struct clockwatch_event event = {kind, FROM, TO, 0, 0, 0};
    struct region on_axis = {FROM, TO};
    struct hoststall_part part = {0, {0, 0}};
    struct hoststall *hoststall =
        hoststall_create(world->defs, world->align, world->host);

    assert_non_null(hoststall);
    assert_false(hoststall_is_wanted(hoststall));
    hoststall_suspect(hoststall, 0, &event, on_axis);
    assert_true(hoststall_is_wanted(hoststall));
    feed(hoststall, world);
    hoststall_turn(hoststall);
    feed(hoststall, world);
    assert_false(hoststall_part(hoststall, 1, &part));
    (void)hoststall_part(hoststall, 0, &part);
    hoststall_destroy(hoststall);
    return part.part;
}

static struct region found(struct world *world)
{
    return found_as(world, CLOCKWATCH_PAUSE);
}

static void is_the_stop(struct region part)
{
    assert_int_equal(part.start, STOP - 10 * MS); /* the last sample */
    assert_int_equal(part.end, GO);
}

static void is_nothing(struct region part)
{
    assert_int_equal(part.start, 0);
    assert_int_equal(part.end, 0);
}

static void threads_that_run_and_are_not_sampled_prove_it(void **state)
{
    put_work(*state);
    is_the_stop(found(*state));
}

static void a_thread_that_was_stopped_between_calls_proves_it(void **state)
{
    put_work(*state);
    put_off(*state, 0, CK_KIND_BLOCKED, STOP - 10 * MS, GO);
    put_off(*state, 1, CK_KIND_BLOCKED, STOP - 10 * MS, GO);
    is_the_stop(found(*state));
}

static void threads_that_wait_in_calls_prove_nothing(void **state)
{
    put_work(*state);
    for (uint32_t rank = 0; rank < RANKS; rank++) {
        put_off(*state, rank, CK_KIND_BLOCKED, STOP - 9 * MS, GO);
        put_call(*state, rank, STOP - 9 * MS, GO);
    }
    is_nothing(found(*state));
}

static void a_call_that_polls_and_is_stopped_proves_it(void **state)
{
    put_work(*state);
    for (uint32_t rank = 0; rank < RANKS; rank++) {
        put_off(*state, rank, CK_KIND_BLOCKED, STOP - 10 * MS, GO);
        put_call(*state, rank, STOP - 60 * MS, GO + 5 * MS);
    }
    is_the_stop(found(*state));
}

static void a_rank_that_is_ready_to_run_is_a_busy_machine(void **state)
{
    put_work(*state);
    put_off(*state, 0, CK_KIND_BLOCKED, STOP - 10 * MS, GO);
    put_off(*state, 1, CK_KIND_PREEMPTED, STOP - 10 * MS, GO);
    is_nothing(found(*state));
}

static void a_rank_that_works_is_no_standstill(void **state)
{
    put_work(*state);
    put_samples(*state, 1, STOP, GO);
    is_nothing(found(*state));
}

static void a_call_within_is_no_standstill(void **state)
{
    put_work(*state);
    put_call(*state, 1, 12000 * MS, 12001 * MS);
    is_nothing(found(*state));
}

static void a_device_may_go_on_with_what_it_has(void **state)
{
    struct world *world = *state;
    struct event *event = put(world, 0, 10400 * MS, 11000 * MS);

    event->record.e.kind = CK_KIND_KERNEL;
    put_work(world);
    is_the_stop(found(world));
}

static void without_switches_nothing_is_proven(void **state)
{
    put_samples(*state, 0, 9000 * MS, STOP);
    put_samples(*state, 0, GO, 16000 * MS);
    is_nothing(found(*state));
}

static void without_samples_nothing_is_proven(void **state)
{
    put_call(*state, 0, 9000 * MS, STOP);
    put_call(*state, 0, GO, 16000 * MS);
    put_off(*state, 0, CK_KIND_BLOCKED, STOP, GO);
    is_nothing(found(*state));
}

static void a_preempted_thread_is_a_busy_machine(void **state)
{
    put_work(*state);
    put_off(*state, 0, CK_KIND_PREEMPTED, STOP - 10 * MS, GO);
    put_off(*state, 1, CK_KIND_PREEMPTED, STOP - 10 * MS, GO);
    is_nothing(found(*state));
}

static void records_that_were_lost_end_the_suspicion(void **state)
{
    struct world *world = *state;
    struct event *event = put(world, 0, 12000 * MS, 12000 * MS);

    event->record.counter.e.kind = CK_KIND_LOST;
    event->record.counter.enabled = 5 * MS;
    put_work(world);
    is_nothing(found(world));
}

/* The machine was silent for a part of the delay only. */
static void a_silence_shorter_than_the_delay_explains_nothing(void **state)
{
    put_work(*state);
    put_samples(*state, 0, STOP, STOP + 400 * MS);
    is_nothing(found(*state));
    /* Sleep needs no delay: BOOTTIME shows it. */
    assert_int_equal(found_as(*state, CLOCKWATCH_SUSPEND).end, GO);
}

static void a_step_of_realtime_is_no_suspicion(void **state)
{
    struct world *world = *state;
    struct clockwatch_event event = {CLOCKWATCH_STEP, FROM, TO, 5, 0, 0};
    struct hoststall *hoststall =
        hoststall_create(world->defs, world->align, world->host);

    hoststall_suspect(hoststall, 0, &event, (struct region){FROM, TO});
    assert_false(hoststall_is_wanted(hoststall));
    hoststall_destroy(hoststall);
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(threads_that_run_and_are_not_sampled_prove_it),
        CASE(a_thread_that_was_stopped_between_calls_proves_it),
        CASE(threads_that_wait_in_calls_prove_nothing),
        CASE(a_call_that_polls_and_is_stopped_proves_it),
        CASE(a_rank_that_is_ready_to_run_is_a_busy_machine),
        CASE(a_rank_that_works_is_no_standstill),
        CASE(a_call_within_is_no_standstill),
        CASE(a_device_may_go_on_with_what_it_has),
        CASE(without_switches_nothing_is_proven),
        CASE(without_samples_nothing_is_proven),
        CASE(a_preempted_thread_is_a_busy_machine),
        CASE(records_that_were_lost_end_the_suspicion),
        CASE(a_silence_shorter_than_the_delay_explains_nothing),
        CASE(a_step_of_realtime_is_no_suspicion),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
