/* test_clockpair.c - two clocks against each other: true, and no vaguer
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Worlds of a few clocks (clockworld.h). CK_SEED repeats a run.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "merge/clocks/clockpair.h"
#include "schema/clock/clocktrend.h"
#include "tests/merge/clockworld.h"

#define CLOCKS_MAX 6
#define START (10 * CK_TIME_S)
#define SPAN (20 * CK_TIME_S)

static struct worldrandom random_state;

static double between(double low, double high)
{
    return world_between(&random_state, low, high);
}

struct world {
    struct worldclock clocks[CLOCKS_MAX];
    uint32_t count;
    struct clockgraph *graph;
    struct clocksolve *solve;
    struct clockpair *pair;
};

static void world_init(struct world *world, uint32_t count)
{
    *world = (struct world){.count = count};
    for (uint32_t i = 0; i < count; i++) {
        world->clocks[i] = world_clock(&random_state);
    }
    world->graph = clockgraph_create(count);
    assert_non_null(world->graph);
}

static void world_fini(struct world *world)
{
    clockpair_destroy(world->pair);
    clocksolve_destroy(world->solve);
    clockgraph_destroy(world->graph);
}

static void world_solve(struct world *world)
{
    world->solve = world_solution(world->graph);
    assert_non_null(world->solve);
    world->pair = clockpair_create(world->solve);
    assert_non_null(world->pair);
}

static void message_put(struct world *world,
                        uint32_t from,
                        uint32_t to,
                        ck_time_t at,
                        ck_time_t delay)
{
    struct clock_edge edge = world_message(world->clocks, from, to, at, delay);

    assert_int_equal(clockgraph_edge(world->graph, &edge), 0);
}

/* Both ways at about `at`, that long each. */
static void exchange_put(
    struct world *world, uint32_t a, uint32_t b, ck_time_t at, ck_time_t delay)
{
    message_put(world, a, b, at, delay);
    message_put(world, b, a, at + 10 * CK_TIME_US, delay);
}

/* The solved offset of a clock at a true time, on the axis. */
static bool solved(const struct world *world,
                   uint32_t domain,
                   ck_time_t time,
                   ck_time_t *on_axis,
                   ck_time_t *bound)
{
    ck_time_t local = worldclock_at(&world->clocks[domain], time);
    struct ck_clock_offset offset;
    size_t count;
    const struct clocksolve_knot *knots =
        clocksolve_knots(world->solve, domain, &count);

    if (!world_solved(knots, count, local, &offset)) {
        return false;
    }
    *on_axis = local + offset.offset;
    *bound = offset.bound;
    return true;
}

/* One pair at a true time: the truth is inside. Counts whether that is tighter
 * than both bounds together. False: not known there. */
static bool pair_check(const struct world *world,
                       uint32_t a,
                       uint32_t b,
                       ck_time_t time,
                       int *better)
{
    ck_time_t on_axis[2], bounds[2], bound;

    if (!solved(world, a, time, &on_axis[0], &bounds[0]) ||
        !solved(world, b, time, &on_axis[1], &bounds[1])) {
        return false;
    }
    bound = clockpair_bound(world->pair, a, b, on_axis[0]);
    if (bound == CK_CLOCK_NONE) {
        return false;
    }
    assert_true(llabs(on_axis[0] - on_axis[1]) <= bound);
    *better += bound < bounds[0] + bounds[1];
    return true;
}

static void the_truth_of_every_pair_is_inside(void **state)
{
    (void)state;
    for (int round = 0; round < 30; round++) {
        struct world world;
        int seen = 0, better = 0;

        world_init(&world, 3 + (uint32_t)between(0, 3.99));
        for (ck_time_t at = START; at < START + SPAN; at += 20 * CK_TIME_MS) {
            for (uint32_t i = 0; i < world.count; i++) {
                uint32_t to = (i + 1 + (uint32_t)between(0, world.count - 1)) %
                              world.count;

                if (to != i) {
                    message_put(&world, i, to, at + (ck_time_t)between(0, 1e6),
                                (ck_time_t)between(500, 20000));
                }
            }
        }
        world_solve(&world);
        for (int i = 0; i < 2000; i++) {
            uint32_t a = 1 + (uint32_t)between(0, world.count - 1.01);
            uint32_t b = 1 + (uint32_t)between(0, world.count - 1.01);

            seen += a != b && pair_check(&world, a, b,
                                         START + CK_TIME_S +
                                             (ck_time_t)between(0, SPAN - 2e9),
                                         &better);
        }
        assert_true(seen > 500);
        assert_true(better > seen / 3);
        world_fini(&world);
    }
}

/* Two hosts next to each other, far away from the first. */
static void neighbours_far_away_know_each_other_well(void **state)
{
    struct world world;
    ck_time_t sum = 0;
    int better = 0;

    (void)state;
    world_init(&world, 3);
    for (ck_time_t at = START; at < START + SPAN; at += 10 * CK_TIME_MS) {
        exchange_put(&world, 0, 1, at, 20 * CK_TIME_MS);
        exchange_put(&world, 0, 2, at + CK_TIME_MS, 20 * CK_TIME_MS);
        exchange_put(&world, 1, 2, at + 2 * CK_TIME_MS, 2 * CK_TIME_US);
    }
    world_solve(&world);
    for (ck_time_t at = START + CK_TIME_S; at < START + SPAN - CK_TIME_S;
         at += CK_TIME_S) {
        ck_time_t on_axis[2] = {0, 0}, bounds[2] = {0, 0};

        assert_true(solved(&world, 1, at, &on_axis[0], &bounds[0]));
        assert_true(solved(&world, 2, at, &on_axis[1], &bounds[1]));
        assert_true(pair_check(&world, 1, 2, at, &better));
        sum = bounds[0] + bounds[1];
        assert_true(sum > 30 * CK_TIME_MS);
        assert_true(clockpair_bound(world.pair, 1, 2, on_axis[0]) <
                    4 * CK_TIME_US);
    }
    world_fini(&world);
}

/* One exchange is all that is known of two clocks at its instant: half of its
 * round trip, and to the rates of both beyond. */
static void the_bound_is_that_of_the_tightest_path(void **state)
{
    struct world world;
    ck_time_t on_axis = 0, bound, alone;

    (void)state;
    world_init(&world, 3);
    for (ck_time_t at = START; at < START + SPAN; at += 10 * CK_TIME_MS) {
        exchange_put(&world, 0, 1, at, 20 * CK_TIME_MS);
        exchange_put(&world, 0, 2, at + CK_TIME_MS, 20 * CK_TIME_MS);
    }
    exchange_put(&world, 1, 2, START + SPAN / 2, 3 * CK_TIME_US);
    world_solve(&world);
    assert_true(solved(&world, 1, START + SPAN / 2, &on_axis, &alone));
    bound = clockpair_bound(world.pair, 1, 2, on_axis);
    /* Its neighbours are 10 ms away, and what clocks may do until there is
     * added by the map. */
    assert_in_range(bound, 3 * CK_TIME_US - 100, 6 * CK_TIME_US);
    /* Not so at other times: there it grows, but not beyond both alone. */
    assert_true(solved(&world, 1, START + SPAN - CK_TIME_S, &on_axis, &alone));
    bound = clockpair_bound(world.pair, 1, 2, on_axis);
    assert_true(bound > 10 * CK_TIME_US);
    assert_true(bound < 45 * CK_TIME_MS);
    world_fini(&world);
}

/* Where one of the two jumped, nothing ties its sides. */
static void a_jump_of_either_clock_is_covered(void **state)
{
    (void)state;
    for (int round = 0; round < 20; round++) {
        struct world world;
        int seen = 0, better = 0;

        world_init(&world, 3);
        world.clocks[1].step_at = START + (ck_time_t)between(5e9, 15e9);
        world.clocks[1].step = (ck_time_t)between(1e5, 1e8);
        for (ck_time_t at = START; at < START + SPAN; at += 20 * CK_TIME_MS) {
            exchange_put(&world, 0, 1, at, 50 * CK_TIME_US);
            exchange_put(&world, 0, 2, at + CK_TIME_MS, 50 * CK_TIME_US);
            exchange_put(&world, 1, 2, at + 2 * CK_TIME_MS, 5 * CK_TIME_US);
        }
        world_solve(&world);
        for (int i = 0; i < 500; i++) {
            seen += pair_check(
                &world, 1, 2,
                START + CK_TIME_S + (ck_time_t)between(0, SPAN - 2e9), &better);
        }
        assert_true(seen > 400);
        world_fini(&world);
    }
}

static void a_clock_that_nothing_ties_has_no_pair(void **state)
{
    struct world world;

    (void)state;
    world_init(&world, 3);
    for (ck_time_t at = START; at < START + SPAN; at += 10 * CK_TIME_MS) {
        exchange_put(&world, 0, 1, at, 5 * CK_TIME_US);
    }
    world_solve(&world);
    assert_true(clockpair_bound(world.pair, 1, 2, START) == CK_CLOCK_NONE);
    assert_true(clockpair_bound(world.pair, 0, 2, START) == CK_CLOCK_NONE);
    assert_int_equal(clockpair_bound(world.pair, 2, 2, START), 0);
    world_fini(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_truth_of_every_pair_is_inside),
        cmocka_unit_test(neighbours_far_away_know_each_other_well),
        cmocka_unit_test(the_bound_is_that_of_the_tightest_path),
        cmocka_unit_test(a_jump_of_either_clock_is_covered),
        cmocka_unit_test(a_clock_that_nothing_ties_has_no_pair),
    };

    worldrandom_init(&random_state, 20261121);
    print_message("CK_SEED=%llu\n", (unsigned long long)random_state.state);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
