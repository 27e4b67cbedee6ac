/* test_commthreads.c - a first thread that waits while others are in MPI
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Random threads of one rank, held against a look at every nanosecond.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "merge/analysis/totals/commthreads.h"
#include "tests/merge/chance.h"

#define THREADS 4
#define START 10
#define END 300
#define PARTS 60

/* What a thread did, in order of start. */
struct part {
    uint32_t thread;
    enum layer layer;
    struct region when;
};

struct world {
    struct defs *defs;
    struct layers layers[THREADS];
    struct commthreads *commthreads;
    struct part parts[PARTS];
    size_t count;
};

static void world_open(struct world *world)
{
    uint8_t id[16] = {1};
    uint32_t agent, process;

    *world = (struct world){.defs = defs_create()};
    assert_non_null(world->defs);
    agent = defs_agent_find(world->defs, id);
    process = defs_process_find(world->defs, agent, 1);
    world->defs->agents[agent].rank = 0;
    world->defs->processes[process].rank = 0;
    for (uint32_t i = 0; i < THREADS; i++) {
        assert_int_equal(defs_thread_find(world->defs, process, i + 1), i);
    }
    defs_close(world->defs);
    world->commthreads = commthreads_create(world->defs, world->layers,
                                            (struct region){START, END});
    assert_non_null(world->commthreads);
}

static void world_close(struct world *world)
{
    commthreads_destroy(world->commthreads);
    defs_destroy(world->defs);
}

/* As outside.c hands it over. */
static void part_take(struct world *world, const struct part *part)
{
    struct layers *layers = &world->layers[part->thread];

    if (part->layer == LAYER_MPI) {
        commthreads_enter(world->commthreads, 0, part->thread,
                          part->when.start);
    }
    commthreads_seen(world->commthreads, part->thread, part->when.start);
    layers_drop(layers, part->when.start);
    if ((layers->over & 1u << part->layer) == 0 ||
        layers->until[part->layer] < part->when.end) {
        layers->over |= 1u << part->layer;
        layers->until[part->layer] = part->when.end;
    }
}

static void
put(struct world *world, uint32_t thread, enum layer layer, int start, int end)
{
    world->parts[world->count] = (struct part){thread, layer, {start, end}};
    part_take(world, &world->parts[world->count++]);
}

/* The highest layer of a thread at that time; when something of it comes next.
 */
static enum layer look(const struct world *world,
                       uint32_t thread,
                       ck_time_t time,
                       ck_time_t *next)
{
    enum layer highest = LAYER_NONE;

    *next = INT64_MAX;
    for (size_t i = 0; i < world->count; i++) {
        const struct part *part = &world->parts[i];

        if (part->thread != thread) {
            continue;
        }
        if (part->when.start <= time && time < part->when.end &&
            part->layer < highest) {
            highest = part->layer;
        }
        if (part->when.start > time && part->when.start < *next) {
            *next = part->when.start;
        }
    }
    return highest;
}

/* When a thread called MPI first. */
static ck_time_t entered(const struct world *world, uint32_t thread)
{
    for (size_t i = 0; i < world->count; i++) {
        if (world->parts[i].thread == thread &&
            world->parts[i].layer == LAYER_MPI) {
            return world->parts[i].when.start;
        }
    }
    return INT64_MAX;
}

static bool is_handed(const struct world *world, uint32_t first, ck_time_t time)
{
    bool has_mpi = false, has_work = false;
    ck_time_t next;

    for (uint32_t i = 0; i < THREADS; i++) {
        enum layer layer = look(world, i, time, &next);

        if (i == first || entered(world, i) > time) {
            continue;
        }
        has_mpi = has_mpi || layer == LAYER_MPI;
        has_work =
            has_work ||
            (layer == LAYER_NONE ? next < END
                                 : layer != LAYER_MPI && layer != LAYER_LOCK &&
                                       layer != LAYER_BLOCKED);
    }
    return has_mpi && !has_work;
}

static struct commthreads_time truth(const struct world *world)
{
    uint32_t first = commthreads_first(world->commthreads, 0);
    struct commthreads_time sum = {0, 0};
    ck_time_t next;

    for (ck_time_t time = START; first != DEFS_NONE && time < END; time++) {
        enum layer layer = look(world, first, time, &next);

        if ((layer == LAYER_LOCK || layer == LAYER_BLOCKED) &&
            is_handed(world, first, time)) {
            *(layer == LAYER_LOCK ? &sum.lock : &sum.blocked) += 1;
        }
    }
    return sum;
}

static bool is_wrong(void *unused)
{
    static const enum layer some[] = {LAYER_MPI,   LAYER_MPI,  LAYER_LOCK,
                                      LAYER_SLEEP, LAYER_LOCK, LAYER_BLOCKED};
    struct world world;
    struct commthreads_time expected, found;
    int time = START;

    (void)unused;
    world_open(&world);
    while (world.count < PARTS && time < END - 1) {
        uint32_t thread = (uint32_t)chance_below(THREADS);
        enum layer layer = some[chance_below(sizeof(some) / sizeof(some[0]))];

        put(&world, thread, layer, time, time + 1 + (int)chance_below(60));
        time += (int)chance_below(20);
    }
    expected = truth(&world);
    found = commthreads_rank(world.commthreads, 0, END);
    world_close(&world);
    return expected.lock != found.lock || expected.blocked != found.blocked;
}

static void every_nanosecond_is_as_defined(void **unused)
{
    (void)unused;
    chance_worlds(2000, is_wrong, NULL);
}

/* pthread_join of two threads: one of them is done after 100. */
static void a_join_is_mpi_while_no_thread_works(void **unused)
{
    struct world world;
    struct commthreads_time found;

    (void)unused;
    world_open(&world);
    put(&world, 0, LAYER_MPI, START, START + 1);
    put(&world, 0, LAYER_LOCK, 20, 220);
    put(&world, 1, LAYER_MPI, 30, 50);
    put(&world, 2, LAYER_MPI, 60, 100); /* then it is gone; the other worked */
    put(&world, 1, LAYER_MPI, 120, 200);
    found = commthreads_rank(world.commthreads, 0, END);
    assert_int_equal(found.lock, (50 - 30) + (200 - 120));
    assert_int_equal(found.blocked, 0);
    world_close(&world);
}

static void one_thread_in_mpi_hands_nothing_over(void **unused)
{
    struct world world;
    struct commthreads_time found;

    (void)unused;
    world_open(&world);
    put(&world, 0, LAYER_MPI, START, START + 1);
    put(&world, 0, LAYER_LOCK, 20, 220);
    put(&world, 1, LAYER_SLEEP, 30, 50);
    found = commthreads_rank(world.commthreads, 0, END);
    assert_int_equal(found.lock + found.blocked, 0);
    world_close(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_nanosecond_is_as_defined),
        cmocka_unit_test(a_join_is_mpi_while_no_thread_works),
        cmocka_unit_test(one_thread_in_mpi_hands_nothing_over),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
