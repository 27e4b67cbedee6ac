/* test_devicewaits.c - collective kernels against a look at each nanosecond
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * CK_SEED repeats a run, CK_WORLDS is how many worlds.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "merge/analysis/devices/devicewaits.h"
#include "merge/clocks/align.h"
#include "merge/model/comm.h"
#include "tests/merge/chance.h"

#define RANKS 3
#define TID 7
#define LENGTH 400
#define EVENTS 200
#define CALLS 6

enum name { N_COMPUTE = 1, N_ALLREDUCE, N_GROUP, N_RANKS, NAMES };

/* Of numbered worlds: the call that has no number. */
#define UNNUMBERED 2

struct event {
    struct ck_kernel record;
    ck_time_t end;
    int rank;
};

struct world {
    struct defs *defs;
    struct align *align;
    struct event events[EVENTS];
    size_t count;
    struct region region;
    bool has_groups;
    bool is_numbered; /* by NCCL's plug-in, all calls but one */
    ck_time_t begins[CALLS][RANKS];
    ck_time_t lasts[CALLS];
    int who[CALLS];
};

static void rank_make(struct defs *defs, int rank)
{
    static const char *const names[] = {
        NULL, "forward", "ncclDevKernel_AllReduce_Sum_f32",
        "communicator=a11\nsize=3\n", "ranks=[0, 1, 2]\n"};
    uint8_t id[16] = {(uint8_t)(rank + 1)};
    uint32_t agent = defs_agent_find(defs, id);
    uint32_t process = defs_process_find(defs, agent, 1);
    struct defs_process *p = &defs->processes[process];

    defs->agents[agent].rank = p->rank = rank;
    (void)defs_thread_find(defs, process, TID);
    for (uint32_t n = 1; n < NAMES; n++) {
        assert_int_equal(
            names_set(p->names, n,
                      texts_keep(defs->texts, names[n], strlen(names[n]))),
            0);
    }
    p->devices = calloc(1, sizeof(*p->devices));
    p->devices_count = p->devices_room = 1;
    p->devices[0] = (struct defs_device){.number = 1, .name = "d", .uuid = ""};
}

static void cast_make(struct world *world)
{
    world->defs = defs_create();
    for (int rank = 0; rank < RANKS; rank++) {
        rank_make(world->defs, rank);
    }
    defs_close(world->defs);
    comm_close(world->defs);
    world->align = align_create();
    align_close(world->align, world->defs);
}

static void
kernel_put(struct world *world, int rank, enum name name, struct region part)
{
    struct event *event = &world->events[world->count++];

    assert_true(world->count <= EVENTS);
    memset(event, 0, sizeof(*event));
    event->record.e = (struct ck_event){
        .kind = CK_KIND_KERNEL, .name = name, .start = part.start};
    event->record.dur = region_length(part);
    event->record.device = 1;
    if (name == N_ALLREDUCE && world->has_groups) {
        event->record.e.flags = CK_FLAG_GROUP;
        event->record.registers = N_RANKS;
    }
    event->end = part.end;
    event->rank = rank;
}

static int by_start(const void *a, const void *b)
{
    const struct event *left = a;
    const struct event *right = b;

    if (left->record.e.start != right->record.e.start) {
        return left->record.e.start < right->record.e.start ? -1 : 1;
    }
    return left->rank != right->rank ? left->rank - right->rank
                                     : memcmp(left, right, sizeof(*left));
}

/* The kernel that was put last. */
static void kernel_number(struct world *world, int number)
{
    struct ck_kernel *record = &world->events[world->count - 1].record;

    record->e.flags = CK_FLAG_GROUP;
    record->registers = N_GROUP;
    record->shared_bytes = (uint32_t)number;
}

static void calls_make(struct world *world)
{
    ck_time_t now[RANKS] = {0};

    for (int call = 0; call < CALLS; call++) {
        world->lasts[call] = -1;
        for (int rank = 0; rank < RANKS; rank++) {
            now[rank] += chance_below(25);
            world->begins[call][rank] = now[rank];
            if (now[rank] >= world->lasts[call]) {
                world->lasts[call] = now[rank];
                world->who[call] = rank;
            }
        }
        for (int rank = 0; rank < RANKS; rank++) {
            now[rank] = world->lasts[call] + 1 + chance_below(6);
            kernel_put(world, rank, N_ALLREDUCE,
                       (struct region){world->begins[call][rank], now[rank]});
            if (world->is_numbered) {
                kernel_number(world, call == UNNUMBERED ? 0 : call + 1);
            }
        }
    }
}

static void world_make(struct world *world)
{
    world->count = 0;
    calls_make(world);
    for (int i = 0; i < 40; i++) {
        ck_time_t start = chance_below(LENGTH);

        kernel_put(world, (int)chance_below(RANKS), N_COMPUTE,
                   (struct region){start, start + 1 + chance_below(12)});
    }
    qsort(world->events, world->count, sizeof(world->events[0]), by_start);
    world->region.start = chance_below(LENGTH / 2) - 20;
    world->region.end = world->region.start + 1 + chance_below(LENGTH);
}

static bool computes(const struct world *world, int rank, ck_time_t t)
{
    for (size_t i = 0; i < world->count; i++) {
        const struct event *event = &world->events[i];

        if (event->rank == rank && event->record.e.name == N_COMPUTE &&
            event->record.e.start <= t && t < event->end) {
            return true;
        }
    }
    return false;
}

static void
oracle_call(const struct world *world, int call, struct report_device *devices)
{
    for (int rank = 0; rank < RANKS; rank++) {
        for (ck_time_t t = world->begins[call][rank]; t < world->lasts[call];
             t++) {
            if (t >= world->region.start && t < world->region.end) {
                devices[rank].comm_waited++;
                devices[rank].comm_wait += !computes(world, rank, t);
                devices[world->who[call]].comm_caused++;
            }
        }
    }
}

/* Give the world's kernels, but for one; SIZE_MAX = all. */
static void
feed(const struct world *world, size_t left_out, struct report *report)
{
    struct lookback *lookback =
        lookback_create(world->defs, world->align, 4096);
    struct devicewaits *waits =
        devicewaits_create(world->defs, lookback, world->region);

    assert_non_null(lookback);
    assert_non_null(waits);
    for (size_t i = 0; i < world->count; i++) {
        const struct event *event = &world->events[i];
        struct timeline_event given = {.record = &event->record.e,
                                       .start = event->record.e.start,
                                       .end = event->end,
                                       .rank = event->rank,
                                       .process = (uint32_t)event->rank,
                                       .thread = (uint32_t)event->rank};

        if (i != left_out) {
            assert_int_equal(devicewaits_take(waits, &given), 0);
        }
    }
    devicewaits_report(waits, report);
    devicewaits_destroy(waits);
    lookback_destroy(lookback);
}

static void report_begin(struct report *report, struct report_device *devices)
{
    memset(report, 0, sizeof(*report));
    memset(devices, 0, RANKS * sizeof(*devices));
    for (uint32_t i = 0; i < RANKS; i++) {
        devices[i].physical = i;
        devices[i].comm = INT64_MAX;
    }
    report->devices = devices;
    report->devices_count = RANKS;
}

static bool world_differs(const struct world *world)
{
    struct report_device want[RANKS] = {0}, seen[RANKS];
    struct report report;
    bool is_wrong = false;

    for (int call = 0; call < CALLS; call++) {
        if (!world->is_numbered || call != UNNUMBERED) {
            oracle_call(world, call, want);
        }
    }
    report_begin(&report, seen);
    feed(world, SIZE_MAX, &report);
    for (int rank = 0; rank < RANKS; rank++) {
        is_wrong = is_wrong ||
                   seen[rank].comm_waited != want[rank].comm_waited ||
                   seen[rank].comm_wait != want[rank].comm_wait ||
                   seen[rank].comm_caused != want[rank].comm_caused;
    }
    return is_wrong;
}

static bool world_is_wrong(void *state)
{
    world_make(state);
    return world_differs(state);
}

static void waits_for_the_last_device_are_exact(void **unused)
{
    static struct world world;

    (void)unused;
    world.has_groups = true;
    cast_make(&world);
    chance_worlds(1000, world_is_wrong, &world);
    align_destroy(world.align);
    defs_destroy(world.defs);
}

static void a_kernel_without_a_number_leaves_the_others_theirs(void **unused)
{
    static struct world world;

    (void)unused;
    world.is_numbered = true;
    cast_make(&world);
    chance_worlds(300, world_is_wrong, &world);
    align_destroy(world.align);
    defs_destroy(world.defs);
}

static void nothing_is_claimed_where_a_device_has_one_less(void **unused)
{
    static struct world world;
    struct report_device seen[RANKS];
    struct report report;
    size_t first = 0;

    (void)unused;
    chance_seed(CHANCE_SEED);
    cast_make(&world);
    world_make(&world);
    while (world.events[first].record.e.name != N_ALLREDUCE) {
        first++;
    }
    report_begin(&report, seen);
    feed(&world, first, &report);
    assert_int_equal(report.all.comm_waited, 0);
    assert_int_equal(report.all.comm_caused, 0);
    align_destroy(world.align);
    defs_destroy(world.defs);
}

/* Several groups in step look like one, and end as near to each other. */
static void without_a_group_less_than_40_us_is_not_claimed(void **unused)
{
    static struct world world;
    struct report_device seen[RANKS];
    struct report report;

    (void)unused;
    chance_seed(CHANCE_SEED);
    cast_make(&world);
    world_make(&world);
    report_begin(&report, seen);
    feed(&world, SIZE_MAX, &report);
    assert_int_equal(report.all.comm_waited, 0);
    assert_int_equal(report.all.comm_caused, 0);
    assert_true(report.all.comm_hidden > 0);
    assert_int_equal(report.comm_alike, CALLS);
    align_destroy(world.align);
    defs_destroy(world.defs);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(waits_for_the_last_device_are_exact),
        cmocka_unit_test(without_a_group_less_than_40_us_is_not_claimed),
        cmocka_unit_test(a_kernel_without_a_number_leaves_the_others_theirs),
        cmocka_unit_test(nothing_is_claimed_where_a_device_has_one_less),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
