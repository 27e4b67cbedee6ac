/* test_ledger.c - causes of idle time against a look at each nanosecond
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Random worlds of a few ranks, each with a host thread and a device, given to
 * the ledger as the timeline would; the oracle decides about every nanosecond
 * by itself, from the rules of merge/model/cause.h. CK_SEED repeats a run,
 * CK_WORLDS is how many worlds.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "merge/analysis/history/lookback.h"
#include "merge/analysis/idle/ledger.h"
#include "merge/clocks/align.h"
#include "merge/model/comm.h"
#include "tests/merge/chance.h"

#define RANKS 3
#define EVENTS 160
#define TID 7

enum name { N_RUN = 1, N_FINISH, N_READ, N_CREATE, N_ALLREDUCE, N_SEND, N_SET };
static const char *const names[] = {NULL,
                                    "clEnqueueNDRangeKernel",
                                    "clFinish",
                                    "clEnqueueReadBuffer",
                                    "clCreateBuffer",
                                    "MPI_Allreduce",
                                    "MPI_Send",
                                    "clSetKernelArg"};

union record {
    struct ck_event e;
    struct ck_call call;
    struct ck_collective collective;
    struct ck_kernel kernel;
    struct ck_mark mark;
    struct ck_counter counter;
};

struct event {
    union record record;
    ck_time_t end;
    int rank;
};

struct world {
    struct event events[EVENTS];
    size_t count;
    struct region region;
    struct region stopped; /* the host of the first rank */
    struct defs *defs;
    struct align *align;
    ck_time_t latest[64]; /* enter, by number of the collective */
    int last[64];         /* rank */
    ck_time_t now[RANKS];
    uint32_t call[RANKS];
};

static void cast_make(struct world *world)
{
    struct defs *defs = world->defs = defs_create();
    struct {
        struct ck_text text;
        char bytes[64];
    } said = {.text = {.e = {.kind = CK_KIND_COMM, .name = 1}}};

    for (int rank = 0; rank < RANKS; rank++) {
        uint8_t id[16] = {(uint8_t)(rank + 1)};
        uint32_t agent = defs_agent_find(defs, id);
        uint32_t process = defs_process_find(defs, agent, 1);
        struct defs_process *p = &defs->processes[process];

        defs->agents[agent].rank = rank;
        (void)defs_thread_find(defs, process, TID);
        for (uint32_t n = 1; n < sizeof(names) / sizeof(names[0]); n++) {
            assert_int_equal(names_set(p->names, n, names[n]), 0);
        }
        p->devices = calloc(1, sizeof(*p->devices));
        p->devices_count = p->devices_room = 1;
        p->devices[0] =
            (struct defs_device){.number = 1, .name = "d", .uuid = ""};
        said.text.length =
            (uint32_t)snprintf(said.bytes, sizeof(said.bytes),
                               "how=world\nsize=%d\nrank=%d\nmembers=0-%d\n",
                               RANKS, rank, RANKS - 1);
        comm_enter(defs, process, &said.text);
    }
    defs_close(defs);
    comm_close(defs);
    world->align = align_create();
    align_close(world->align, defs);
    align_settle(world->align, NULL);
}

static struct event *event_new(struct world *world, int rank)
{
    struct event *event = &world->events[world->count++];

    assert_true(world->count <= EVENTS);
    memset(event, 0, sizeof(*event));
    event->rank = rank;
    return event;
}

static struct event *
call_put(struct world *world, int rank, enum name name, ck_time_t dur)
{
    struct event *event = event_new(world, rank);
    bool is_mpi = name == N_SEND;

    event->record.call = (struct ck_call){
        .e = {.kind = is_mpi ? CK_KIND_MPI_CALL : CK_KIND_API_OPENCL,
              .name = name,
              .start = world->now[rank]},
        .dur = dur,
        .site = (uint64_t)name,
        .call = ++world->call[rank]};
    event->end = world->now[rank] + dur;
    return event;
}

static void kernel_put(struct world *world, int rank, uint32_t call)
{
    struct event *event = event_new(world, rank);
    ck_time_t start = world->now[rank] + chance_below(12);

    event->record.kernel = (struct ck_kernel){
        .e = {.kind = CK_KIND_KERNEL, .start = start},
        .dur = chance_below(14),
        .queued = chance_below(2) == 0 ? 0 : start - chance_below(6) + 1,
        .tid = chance_below(20) == 0 ? TID + 1 : TID,
        .call = call,
        .device = 1};
    event->end = start + event->record.kernel.dur;
}

/* A call, maybe with one inside, maybe a launch. */
static void calls_put(struct world *world, int rank)
{
    enum name name = (enum name)(N_RUN + chance_below(N_SET - N_RUN + 1));
    ck_time_t dur = chance_below(9);

    name = name == N_ALLREDUCE ? N_RUN : name;
    world->now[rank] += chance_below(6);
    (void)call_put(world, rank, name, dur);
    if (name == N_RUN) {
        kernel_put(world, rank, world->call[rank]);
        if (chance_below(12) == 0) {
            /* The record of the launch is lost. */
            world->events[world->count - 2] = world->events[world->count - 1];
            world->count--;
        }
    } else if (dur > 3 && chance_below(2) == 0) {
        world->now[rank] += 1;
        (void)call_put(world, rank, N_FINISH, dur - 2);
        world->now[rank] -= 1;
    }
    world->now[rank] += dur;
}

static void collective_put(struct world *world, uint32_t seq)
{
    bool is_missing = chance_below(10) == 0;

    world->latest[seq] = INT64_MIN;
    for (int rank = 0; rank < RANKS; rank++) {
        if (world->now[rank] > world->latest[seq]) {
            world->latest[seq] = world->now[rank];
            world->last[seq] = rank;
        }
    }
    for (int rank = 0; rank < RANKS; rank++) {
        struct event *event;
        ck_time_t end = world->latest[seq] + chance_below(5);

        if (rank == 0 && is_missing) {
            world->call[rank]++;
            world->now[rank] = end;
            world->last[seq] = -1;
            continue;
        }
        event = event_new(world, rank);
        event->record.collective =
            (struct ck_collective){.e = {.kind = CK_KIND_COLLECTIVE,
                                         .name = N_ALLREDUCE,
                                         .start = world->now[rank]},
                                   .dur = end - world->now[rank],
                                   .site = N_ALLREDUCE,
                                   .call = ++world->call[rank],
                                   .comm = 1,
                                   .seq = seq,
                                   .root = -1,
                                   .bytes_out = 4,
                                   .bytes_in = chance_below(8) == 0 ? 0 : 4};
        event->end = end;
        world->now[rank] = end;
    }
}

static void shadows_put(struct world *world)
{
    for (int i = 0; i < 3; i++) {
        struct event *event = event_new(world, (int)chance_below(RANKS));
        ck_time_t start = chance_below(120);
        ck_time_t dur = chance_below(10);

        if (chance_below(2) == 0) {
            event->record.counter =
                (struct ck_counter){.e = {.kind = CK_KIND_LOST, .start = start},
                                    .enabled = dur,
                                    .tid = TID};
            event->end = start;
        } else {
            event->record.call = (struct ck_call){
                .e = {.kind = CK_KIND_OVERHEAD, .start = start},
                .dur = dur,
                .extra = (uint64_t)TID << 32};
            event->end = start + dur;
        }
    }
}

/* Times off the CPU; they may reach into calls and under shadows. */
static void offs_put(struct world *world)
{
    for (int rank = 0; rank < RANKS; rank++) {
        ck_time_t start = chance_below(30);

        for (int i = 0; i < 3; i++) {
            struct event *event = event_new(world, rank);
            ck_time_t dur = 1 + chance_below(15);

            event->record.mark = (struct ck_mark){
                .e = {.kind = chance_below(2) == 0 ? CK_KIND_PREEMPTED
                                                   : CK_KIND_BLOCKED,
                      .name = 1,
                      .start = start},
                .dur = dur,
                .value = TID};
            event->end = start + dur;
            start = event->end + chance_below(30);
        }
    }
}

static int by_start(const void *a, const void *b)
{
    const struct event *left = a;
    const struct event *right = b;

    if (left->record.e.start != right->record.e.start) {
        return left->record.e.start < right->record.e.start ? -1 : 1;
    }
    if (left->rank != right->rank) {
        return left->rank - right->rank;
    }
    /* Any order of storing; but qsort() needs one. */
    if (left->end != right->end) {
        return left->end < right->end ? -1 : 1;
    }
    return memcmp(&left->record, &right->record, sizeof(left->record));
}

static void world_make(struct world *world)
{
    world->count = 0;
    memset(world->now, 0, sizeof(world->now));
    memset(world->call, 0, sizeof(world->call));
    for (uint32_t seq = 1; seq <= 3; seq++) {
        for (int rank = 0; rank < RANKS; rank++) {
            for (int64_t n = chance_below(4); n > 0; n--) {
                calls_put(world, rank);
            }
            world->now[rank] += chance_below(20);
        }
        collective_put(world, seq);
    }
    for (int rank = 0; rank < RANKS; rank++) {
        calls_put(world, rank);
    }
    shadows_put(world);
    offs_put(world);
    qsort(world->events, world->count, sizeof(world->events[0]), by_start);
    world->region.start = chance_below(40) - 10;
    world->region.end = world->region.start + 1 + chance_below(160);
    world->stopped.start = chance_below(120);
    world->stopped.end = world->stopped.start + chance_below(20);
}

/* The oracle. An operation of no length is one. */
static bool is_work(const struct event *event)
{
    return event->record.e.kind == CK_KIND_KERNEL &&
           event->end >= event->record.e.start;
}

static bool is_host(const struct event *event)
{
    return event->record.e.kind == CK_KIND_API_OPENCL ||
           event->record.e.kind == CK_KIND_MPI_CALL ||
           event->record.e.kind == CK_KIND_COLLECTIVE;
}

static ck_time_t launch_of(const struct world *world, const struct event *work)
{
    const struct ck_kernel *kernel = &work->record.kernel;
    ck_time_t start = kernel->e.start;

    for (size_t i = 0; kernel->tid == TID && i < world->count; i++) {
        const struct event *event = &world->events[i];

        if (event->rank == work->rank && is_host(event) &&
            event->record.call.call == kernel->call) {
            return event->record.e.start < start ? event->record.e.start
                                                 : start;
        }
    }
    return kernel->queued != 0 && kernel->queued < start ? kernel->queued
                                                         : start;
}

static bool
is_covered(const struct world *world, int rank, ck_time_t t, unsigned kind)
{
    for (size_t i = 0; i < world->count; i++) {
        const struct event *event = &world->events[i];
        ck_time_t end = kind == CK_KIND_LOST ? event->record.e.start +
                                                   event->record.counter.enabled
                                             : event->end;

        if (event->rank == rank && event->record.e.kind == kind &&
            event->record.e.start <= t && t < end) {
            return true;
        }
    }
    return false;
}

/* The call that the thread is in, NULL = none. */
static const struct event *
innermost(const struct world *world, int rank, ck_time_t t)
{
    const struct event *best = NULL;

    for (size_t i = 0; i < world->count; i++) {
        const struct event *event = &world->events[i];
        bool covers = event->rank == rank && is_host(event) &&
                      event->record.e.start <= t && t < event->end;

        if (covers &&
            (best == NULL || event->record.e.start > best->record.e.start ||
             event->end < best->end)) {
            best = event;
        }
    }
    return best;
}

static enum cause host_cause(const struct world *world,
                             const struct event *next,
                             ck_time_t t,
                             int *blamed)
{
    const struct event *event = innermost(world, next->rank, t);
    const struct ck_collective *collective;

    if (event == NULL) {
        return is_covered(world, next->rank, t, CK_KIND_PREEMPTED)
                   ? CAUSE_OFFCPU_RUNNABLE
               : is_covered(world, next->rank, t, CK_KIND_BLOCKED)
                   ? CAUSE_OFFCPU_BLOCKED
                   : CAUSE_HOST_COMPUTE;
    }
    switch (event->record.e.name) {
    case N_RUN:
    case N_SET:
        return CAUSE_GPU_API;
    case N_FINISH:
        return CAUSE_GPU_SYNC;
    case N_READ:
        return CAUSE_D2H;
    case N_CREATE:
        return CAUSE_MEM_MGMT;
    case N_SEND:
        return CAUSE_MPI_CALL;
    default:
        break;
    }
    collective = &event->record.collective;
    if (collective->bytes_in == 0) {
        return CAUSE_MPI_TRANSFER;
    }
    if (world->last[collective->seq] < 0 ||
        world->latest[collective->seq] > next->record.e.start) {
        return CAUSE_MPI_CALL;
    }
    if (t >= world->latest[collective->seq]) {
        return CAUSE_MPI_TRANSFER;
    }
    *blamed = world->last[collective->seq];
    return CAUSE_MPI_WAIT;
}

/* Something is recorded of the launching thread by the time. */
static bool is_seen(const struct world *world, const struct event *next)
{
    for (size_t i = 0; i < world->count; i++) {
        if (world->events[i].rank == next->rank && is_host(&world->events[i]) &&
            world->events[i].record.e.start <= next->record.e.start) {
            return true;
        }
    }
    return false;
}

/* The operation that ends the idle time at t, and the one that it began with,
 * with its end, or INT64_MIN. */
static const struct event *
next_work(const struct world *world, int rank, ck_time_t t, struct event *last)
{
    const struct event *next = NULL;

    last->end = INT64_MIN;
    for (size_t i = 0; i < world->count; i++) {
        const struct event *event = &world->events[i];

        if (event->rank != rank || !is_work(event)) {
            continue;
        }
        if (event->record.e.start <= t) {
            *last = event->end > last->end ? *event : *last;
        } else if (next == NULL ||
                   event->record.e.start < next->record.e.start ||
                   (event->record.e.start == next->record.e.start &&
                    launch_of(world, event) < launch_of(world, next))) {
            next = event;
        }
    }
    return next;
}

/* CAUSES = busy. */
static enum cause
oracle(const struct world *world, int rank, ck_time_t t, int *blamed)
{
    struct event last;
    const struct event *next = next_work(world, rank, t, &last);
    ck_time_t since = last.end, launch;
    bool is_hosted = next != NULL && next->record.kernel.tid == TID;

    if (since > t) {
        return CAUSES;
    }
    if (is_hosted && is_covered(world, rank, t, CK_KIND_LOST)) {
        return CAUSE_LOST_DATA;
    }
    if (is_hosted && is_covered(world, rank, t, CK_KIND_OVERHEAD)) {
        return CAUSE_PROFILER;
    }
    if (rank == 0 && t >= world->stopped.start && t < world->stopped.end) {
        return CAUSE_HOST_STOPPED;
    }
    if (next == NULL) {
        last.record.e.start = INT64_MAX; /* all is known by then */
        return since != INT64_MIN && last.record.kernel.tid == TID &&
                       host_cause(world, &last, t, blamed) == CAUSE_MPI_WAIT
                   ? CAUSE_MPI_WAIT
                   : CAUSE_END_OF_WORK;
    }
    if (since == INT64_MIN) {
        return CAUSE_STARTUP;
    }
    launch = launch_of(world, next);
    if (launch <= since) {
        return CAUSE_KERNEL_GAP;
    }
    if (t >= launch) {
        return CAUSE_LAUNCH_LATENCY;
    }
    return is_hosted && is_seen(world, next)
               ? host_cause(world, next, t, blamed)
               : CAUSE_NO_HOST_DATA;
}

static void ledger_feed(struct ledger *ledger,
                        struct lookback *lookback,
                        const struct world *world)
{
    for (size_t i = 0; i < world->count; i++) {
        const struct event *event = &world->events[i];
        struct timeline_event given = {.record = &event->record.e,
                                       .start = event->record.e.start,
                                       .end = event->end,
                                       .rank = event->rank,
                                       .process = (uint32_t)event->rank,
                                       .thread = (uint32_t)event->rank};

        ledger_settle(ledger, given.start);
        assert_int_equal(lookback_take(lookback, &given, 0), 0);
        ledger_take(ledger, &given);
    }
    ledger_finish(ledger);
}

static ck_time_t blamed_time(const struct ledger *ledger, int device, int rank)
{
    ck_time_t sum = 0;
    size_t count;
    const struct ledger_row *rows = ledger_rows(ledger, &count);

    for (size_t i = 0; i < count; i++) {
        if (rows[i].device == (uint32_t)device && rows[i].blamed == rank) {
            sum += rows[i].ns;
        }
    }
    return sum;
}

/* How many figures differ. */
static int world_compare(const struct world *world)
{
    struct lookback *lookback = lookback_create(world->defs, world->align, 0);
    struct ledger *ledger =
        ledger_create(world->defs, lookback, NULL, world->region);
    struct masked_part stopped = {world->stopped, CAUSE_HOST_STOPPED, 0,
                                  DEFS_NONE, 0};
    int wrong = 0;

    assert_non_null(ledger);
    masked_add(lookback_shadow(lookback), &stopped, INT64_MIN);
    ledger_feed(ledger, lookback, world);
    for (int rank = 0; rank < RANKS; rank++) {
        ck_time_t sums[CAUSES + 1] = {0};
        ck_time_t blames[RANKS] = {0};

        for (ck_time_t t = world->region.start; t < world->region.end; t++) {
            int blamed = -1;

            sums[oracle(world, rank, t, &blamed)]++;
            blames[blamed < 0 ? 0 : blamed] += blamed >= 0;
        }
        for (unsigned c = 0; c < CAUSES; c++) {
            ck_time_t seen = ledger_time(ledger, (uint32_t)rank, c);

            if (seen != sums[c]) {
                print_error("rank %d, %s: %lld ns, not %lld\n", rank,
                            cause_name(c), (long long)seen, (long long)sums[c]);
                wrong++;
            }
        }
        for (int i = 0; i < RANKS; i++) {
            wrong += blamed_time(ledger, rank, i) != blames[i];
        }
    }
    ledger_destroy(ledger);
    lookback_destroy(lookback);
    return wrong;
}

static bool world_is_wrong(void *state)
{
    world_make(state);
    return world_compare(state) != 0;
}

static void every_nanosecond_has_the_cause_that_the_rules_give(void **unused)
{
    static struct world world;

    (void)unused;
    cast_make(&world);
    chance_worlds(3000, world_is_wrong, &world);
    align_destroy(world.align);
    defs_destroy(world.defs);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_nanosecond_has_the_cause_that_the_rules_give),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
