/* test_clocksolve.c - the truth is inside, and nothing runs backwards
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Worlds of a few clocks (clockworld.h) with any mixture of probes, messages
 * and meetings. CK_SEED repeats a run.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include <math.h>

#include "merge/clocks/clockjump.h"
#include "schema/clock/clocktrend.h"
#include "tests/merge/clockworld.h"

#define CLOCKS_MAX 8
#define START (10 * CK_TIME_S)

static struct worldrandom random_state;

static double between(double low, double high)
{
    return world_between(&random_state, low, high);
}

struct world {
    struct worldclock clocks[CLOCKS_MAX];
    uint32_t count;
    ck_time_t span;
    struct clockgraph *graph;
    struct clocksolve *solve;
};

static void world_init(struct world *world, uint32_t count, ck_time_t span)
{
    world->count = count;
    world->span = span;
    for (uint32_t i = 0; i < count; i++) {
        world->clocks[i] = world_clock(&random_state);
    }
    world->graph = clockgraph_create(count);
    assert_non_null(world->graph);
}

static void world_fini(struct world *world)
{
    clocksolve_destroy(world->solve);
    clockgraph_destroy(world->graph);
    world->solve = NULL;
}

static void world_solve(struct world *world)
{
    world->solve = world_solution(world->graph);
    assert_non_null(world->solve);
}

/* Bursts of probes of all clocks to the last one. */
static void probes_put(struct world *world, ck_time_t period)
{
    struct worldpath path = {(ck_time_t)between(300, 30000), between(0, 5000),
                             0};

    for (ck_time_t at = START; at < START + world->span; at += period) {
        for (uint32_t i = 0; i + 1 < world->count; i++) {
            for (int k = 0; k < 4; k++) {
                struct ck_clock_probe probe =
                    world_probe(&random_state, &world->clocks[i],
                                &world->clocks[world->count - 1], &path, &path,
                                at + (i * 4 + k) * 200000, 20);

                assert_int_equal(world_probe_edges(world->graph, i,
                                                   world->count - 1, &probe),
                                 0);
            }
        }
    }
}

/* Messages around a ring in both directions, and across. */
static void messages_put(struct world *world, ck_time_t period)
{
    struct worldpath path = {(ck_time_t)between(300, 5000), between(0, 5000),
                             0};

    for (ck_time_t at = START; at < START + world->span; at += period) {
        for (uint32_t i = 0; i < world->count; i++) {
            uint32_t to =
                (i + 1 + (uint32_t)between(0, world->count - 1)) % world->count;
            struct clock_edge edge = world_message(
                world->clocks, i, to, at + (ck_time_t)between(0, 1e6),
                world_delay(&random_state, &path));

            if (to != i) {
                assert_int_equal(clockgraph_edge(world->graph, &edge), 0);
            }
        }
    }
}

/* All enter within 100 us and leave some us after the last. */
static void meetings_put(struct world *world, ck_time_t period)
{
    for (ck_time_t at = START; at < START + world->span; at += period) {
        struct clock_member members[CLOCKS_MAX];
        ck_time_t enter[CLOCKS_MAX];
        ck_time_t last = 0;

        for (uint32_t i = 0; i < world->count; i++) {
            enter[i] = at + (ck_time_t)between(0, 100000);
            last = enter[i] > last ? enter[i] : last;
        }
        for (uint32_t i = 0; i < world->count; i++) {
            const struct worldclock *clock = &world->clocks[i];

            members[i] = (struct clock_member){
                i, worldclock_at(clock, enter[i]),
                worldclock_at(clock, last + (ck_time_t)between(500, 5000)) -
                    CLOCKSOLVE_GRAIN};
        }
        clockgraph_meeting(world->graph, members, world->count,
                           CLOCK_SOURCE_COLLECTIVE);
    }
}

/* From the first fact of a clock to its last one. */
static bool
is_between_facts(const struct world *world, uint32_t domain, ck_time_t local)
{
    const struct clockgraph *graph = world->graph;
    size_t first = graph->first[domain], end = graph->first[domain + 1];

    return first < end && graph->ends[first].own <= local &&
           local <= graph->ends[end - 1].own;
}

/* The largest error at random instants of all clocks; each is inside its
 * bound. *seen = how many instants had one, or were before or after all facts
 * of their clock, where nothing is known. */
static ck_time_t world_check(const struct world *world, int checks, int *seen)
{
    ck_time_t worst = 0;

    *seen = 0;
    for (int i = 0; i < checks; i++) {
        uint32_t d = 1 + (uint32_t)between(0, world->count - 1);
        ck_time_t at = START + (ck_time_t)between(0, (double)world->span);
        ck_time_t local = worldclock_at(&world->clocks[d], at);
        ck_time_t truth = worldclock_at(&world->clocks[0], at) - local;
        struct ck_clock_offset offset;
        const struct clocksolve_knot *knots;
        size_t count;
        ck_time_t error;

        knots = clocksolve_knots(world->solve, d, &count);
        *seen += count > 0 && !is_between_facts(world, d, local);
        if (!world_solved(knots, count, local, &offset)) {
            continue;
        }
        *seen += is_between_facts(world, d, local);
        error = llabs(offset.offset - truth);
        if (error > offset.bound + 2) {
            fail_msg("clock %u: error %lld > bound %lld", d, (long long)error,
                     (long long)offset.bound);
        }
        worst = error > worst ? error : worst;
    }
    return worst;
}

static void random_worlds_are_covered_and_no_fact_is_broken(void **state)
{
    (void)state;
    for (int round = 0; round < 200; round++) {
        struct world world;
        int facts = 1 + round % 7; /* probes 1, messages 2, meetings 4 */
        int seen;

        world_init(&world, 2 + (uint32_t)between(0, 5.99),
                   (ck_time_t)between(2e9, 60e9));
        if ((facts & 1) != 0) {
            probes_put(&world, (ck_time_t)between(3e8, 2e9));
        }
        if ((facts & 2) != 0) {
            messages_put(&world, (ck_time_t)between(1e7, 3e8));
        }
        if ((facts & 4) != 0) {
            meetings_put(&world, (ck_time_t)between(2e7, 5e8));
        }
        world_solve(&world);
        (void)world_check(&world, 1000, &seen);
        assert_true(seen > 500);
        assert_null(clocksolve_fault(world.solve, 0));
        assert_int_equal(clocksolve_dropped(world.solve), 0);
        assert_int_equal(world_violations(world.graph, world.solve), 0);
        world_fini(&world);
    }
}

static void a_message_that_cannot_be_is_named_and_left_out(void **state)
{
    (void)state;
    for (int round = 0; round < 30; round++) {
        struct world world;
        const struct clocksolve_fault *fault;
        struct clock_edge wrong;
        uint32_t from;
        int seen;

        world_init(&world, 4, 20 * CK_TIME_S);
        messages_put(&world, 20 * CK_TIME_MS);
        from = (uint32_t)between(0, 3.99);
        wrong = world_message(world.clocks, from, (from + 1) % 4,
                              START + (ck_time_t)between(5e9, 15e9),
                              -(ck_time_t)between(1e5, 1e7));
        assert_int_equal(clockgraph_edge(world.graph, &wrong), 0);
        world_solve(&world);
        fault = clocksolve_fault(world.solve, 0);
        assert_non_null(fault);
        assert_int_equal(fault->kind, CK_CLOCK_FAULT_PROBE);
        assert_int_equal(fault->edges[0].sent, wrong.sent);
        assert_int_equal(fault->edges[0].from, from);
        assert_true(fault->cycle >= 2);
        assert_int_equal(clocksolve_dropped(world.solve), 1);
        (void)world_check(&world, 1000, &seen);
        assert_true(seen > 500);
        assert_int_equal(world_violations(world.graph, world.solve), 0);
        world_fini(&world);
    }
}

/* The map of a clock that jumped once covers the truth everywhere, and the jump
 * is found. */
static void map_check(const struct world *world, uint32_t domain)
{
    const struct worldclock *clock = &world->clocks[domain];
    size_t count, kept, found;
    const struct clocksolve_knot *knots =
        clocksolve_knots(world->solve, domain, &count);
    struct clockmap_point *points;
    struct ck_clock_fault *faults;
    struct clockmap map = {0};
    bool is_found = false;

    clockjump_points(knots, count, &points, &kept);
    clockjump_find(points, kept, &faults, &found);
    for (size_t i = 0; i < found; i++) {
        is_found =
            is_found || (faults[i].kind == CK_CLOCK_FAULT_STEP &&
                         llabs(faults[i].step + clock->step) < faults[i].bound);
    }
    assert_true(is_found);
    assert_int_equal(clockmap_make(&map, points, kept), 0);
    for (int i = 0; i < 1000; i++) {
        ck_time_t at = START + (ck_time_t)between(0, (double)world->span);
        ck_time_t local = worldclock_at(clock, at);
        ck_time_t truth = worldclock_at(&world->clocks[0], at) - local;
        ck_time_t error = llabs(clock_map(&map, local) - truth);

        if (error > clockmap_error(&map, local) + 2) {
            fail_msg("error %lld > bound %lld, %lld ns from a step of %lld",
                     (long long)error, (long long)clockmap_error(&map, local),
                     (long long)(at - clock->step_at), (long long)clock->step);
        }
    }
    clockmap_fini(&map);
    free(points);
    free(faults);
}

/* Messages alone, and a clock that is set forwards or, with `sign` = -1,
 * backwards. */
static void jumps_check(int sign)
{
    for (int round = 0; round < 30; round++) {
        struct world world;
        bool is_found = false;
        const struct clocksolve_knot *knots;
        size_t count;
        ck_time_t step_at;
        int seen;

        world_init(&world, 3, 30 * CK_TIME_S);
        world.clocks[1].step_at = START + (ck_time_t)between(8e9, 22e9);
        world.clocks[1].step = sign * (ck_time_t)pow(10, between(5, 9));
        messages_put(&world, 20 * CK_TIME_MS);
        world_solve(&world);
        step_at = worldclock_at(&world.clocks[1], world.clocks[1].step_at);
        knots = clocksolve_knots(world.solve, 1, &count);
        for (size_t i = 0; i + 1 < count; i++) {
            is_found =
                is_found || (knots[i].is_last &&
                             llabs(knots[i].at - step_at) <
                                 CK_TIME_S + llabs(world.clocks[1].step));
        }
        assert_true(is_found);
        if (sign > 0) {
            (void)world_check(&world, 1000, &seen);
            assert_true(seen > 500);
        }
        map_check(&world, 1);
        world_fini(&world);
    }
}

static void a_clock_that_jumps_is_covered_on_both_sides(void **state)
{
    (void)state;
    jumps_check(1);
}

/* Its readings of that time are there twice: no map can separate them, so the
 * bound there covers both. */
static void a_clock_set_backwards_is_covered_on_both_sides(void **state)
{
    (void)state;
    jumps_check(-1);
}

/* A star over a wide network, whose two directions differ: messages between
 * the hosts know better. */
static void messages_undo_what_asymmetry_does_to_probes(void **state)
{
    struct world world;
    ck_time_t worst;
    int seen;

    (void)state;
    world_init(&world, CLOCKS_MAX, 40 * CK_TIME_S);
    for (ck_time_t at = START; at < START + world.span; at += CK_TIME_S) {
        for (uint32_t i = 0; i + 1 < world.count; i++) {
            struct worldpath there = {20000000 + (i % 2 ? 3000000 : -3000000),
                                      200000, 0};
            struct worldpath back = {20000000 - (i % 2 ? 3000000 : -3000000),
                                     200000, 0};
            struct ck_clock_probe probe = world_probe(
                &random_state, &world.clocks[i], &world.clocks[world.count - 1],
                &there, &back, at + i * 1000000, 20);

            assert_int_equal(
                world_probe_edges(world.graph, i, world.count - 1, &probe), 0);
        }
    }
    world.count--; /* the reference takes no part in the messages */
    messages_put(&world, 15 * CK_TIME_MS);
    world_solve(&world);
    worst = world_check(&world, 20000, &seen);
    assert_true(seen > 19000);
    assert_true(worst < 6000);
    assert_int_equal(world_violations(world.graph, world.solve), 0);
    world.count++;
    world_fini(&world);
}

/* Collectives as profiles of devices have them, 2 a second, and nothing else.
 */
static void collective_kernels_alone_align_imported_profiles(void **state)
{
    struct world world;
    ck_time_t worst;
    int seen;

    (void)state;
    world_init(&world, CLOCKS_MAX, 60 * CK_TIME_S);
    meetings_put(&world, 500 * CK_TIME_MS);
    world_solve(&world);
    worst = world_check(&world, 20000, &seen);
    assert_true(seen > 19000);
    assert_true(worst < 20000);
    assert_int_equal(world_violations(world.graph, world.solve), 0);
    world_fini(&world);
}

/* Each sends to the next only: the ring closes the circle. */
static void a_ring_of_one_direction_bounds_all_clocks(void **state)
{
    struct world world;
    ck_time_t worst;
    int seen;

    (void)state;
    world_init(&world, 5, 30 * CK_TIME_S);
    for (ck_time_t at = START; at < START + world.span; at += 5 * CK_TIME_MS) {
        for (uint32_t i = 0; i < world.count; i++) {
            struct clock_edge edge = world_message(
                world.clocks, i, (i + 1) % world.count, at + i * 20000,
                3000 + (ck_time_t)between(0, 5000));

            assert_int_equal(clockgraph_edge(world.graph, &edge), 0);
        }
    }
    world_solve(&world);
    worst = world_check(&world, 20000, &seen);
    assert_true(seen > 19000);
    assert_true(worst < 30000);
    assert_int_equal(clocksolve_dropped(world.solve), 0);
    assert_int_equal(world_violations(world.graph, world.solve), 0);
    world_fini(&world);
}

/* Each sends to some others that never answer. */
static void a_mesh_without_answers_breaks_no_fact(void **state)
{
    (void)state;
    for (int round = 0; round < 20; round++) {
        struct world world;
        int seen;

        world_init(&world, CLOCKS_MAX, 30 * CK_TIME_S);
        for (ck_time_t at = START; at < START + world.span;
             at += 50 * CK_TIME_MS) {
            for (uint32_t i = 0; i < world.count; i++) {
                struct clock_edge edge = world_message(
                    world.clocks, i, (i + (i % 2 == 0 ? 1 : 3)) % world.count,
                    at + i * 20000, 3000 + (ck_time_t)between(0, 5000));

                assert_int_equal(clockgraph_edge(world.graph, &edge), 0);
            }
        }
        world_solve(&world);
        (void)world_check(&world, 1000, &seen);
        assert_int_equal(clocksolve_dropped(world.solve), 0);
        assert_null(clocksolve_fault(world.solve, 0));
        assert_int_equal(world_violations(world.graph, world.solve), 0);
        world_fini(&world);
    }
}

/* Nothing comes back: no bound, and no claim. */
static void one_direction_alone_places_no_clock(void **state)
{
    struct world world;
    const struct clocksolve_knot *knots;
    size_t count;

    (void)state;
    world_init(&world, 2, 10 * CK_TIME_S);
    for (int i = 0; i < 100; i++) {
        struct clock_edge edge = world_message(
            world.clocks, 0, 1, START + i * 10 * CK_TIME_MS, 5000);

        assert_int_equal(clockgraph_edge(world.graph, &edge), 0);
    }
    world_solve(&world);
    knots = clocksolve_knots(world.solve, 1, &count);
    for (size_t i = 0; i < count; i++) {
        assert_true(knots[i].bound == CK_CLOCK_NONE);
    }
    world_fini(&world);
}

static void edges_without_sense_are_refused(void **state)
{
    struct clockgraph *graph = clockgraph_create(2);
    struct clock_edge self = {.from = 1, .to = 1};
    struct clock_edge nobody = {.from = 0, .to = 7};
    struct clock_edge wild = {.from = 0, .to = 1, .sent = INT64_MAX};
    struct clock_edge meeting = {.from = 0, .to = CLOCK_MEETING};

    (void)state;
    assert_int_equal(clockgraph_edge(graph, &self), -1);
    assert_int_equal(clockgraph_edge(graph, &nobody), -1);
    assert_int_equal(clockgraph_edge(graph, &wild), -1);
    assert_int_equal(clockgraph_edge(graph, &meeting), -1);
    assert_int_equal(graph->count, 0);
    clockgraph_destroy(graph);
}

/* Worlds of a test: CK_WORLDS, else as many as are quick. */
static int worlds(int otherwise)
{
    const char *given = getenv("CK_WORLDS");

    return given != NULL ? atoi(given) : otherwise;
}

/* Rates of each clock that swing by up to `most` ppm within 30 s or longer: how
 * many instants of how many are outside of their bound, and the faults `rate`.
 */
static void wander_count(int rounds, double most, int outside[3])
{
    for (int round = 0; round < rounds; round++) {
        uint64_t seed = random_state.state;
        int out = outside[1], before = outside[1] + outside[2];
        struct world world;

        world_init(&world, 2 + (uint32_t)between(0, 3),
                   (ck_time_t)between(20e9, 120e9));
        for (uint32_t i = 0; i < world.count; i++) {
            world.clocks[i].wander_ppm = between(0, most);
            world.clocks[i].wander_period_s = between(30, 300);
        }
        if (round % 3 > 0) {
            probes_put(&world, CK_TIME_S);
        }
        if (round % 3 < 2) {
            messages_put(&world, (ck_time_t)between(1e7, 1e9));
        }
        world_solve(&world);
        for (int i = 0; i < 500; i++) {
            uint32_t d = 1 + (uint32_t)between(0, world.count - 1);
            ck_time_t at = START + (ck_time_t)between(0, (double)world.span);
            ck_time_t local = worldclock_at(&world.clocks[d], at);
            struct ck_clock_offset offset;
            size_t count;
            const struct clocksolve_knot *knots =
                clocksolve_knots(world.solve, d, &count);

            if (world_solved(knots, count, local, &offset)) {
                ck_time_t error =
                    local + offset.offset - worldclock_at(&world.clocks[0], at);

                outside[0]++;
                outside[1] += llabs(error) > offset.bound;
            }
        }
        outside[2] += clocksolve_fault(world.solve, 0) != NULL;
        assert_int_equal(world_violations(world.graph, world.solve), 0);
        if (outside[1] + outside[2] > before) {
            print_message("world %d, which begins with CK_SEED=%llu: %d "
                          "instants outside, %s\n",
                          round, (unsigned long long)seed, outside[1] - out,
                          clocksolve_fault(world.solve, 0) != NULL
                              ? "a fault"
                              : "no fault");
        }
        world_fini(&world);
    }
}

static void clocks_that_wander_are_covered(void **state)
{
    int rounds = worlds(20);
    int counts[3] = {0, 0, 0};

    (void)state;
    wander_count(rounds, 2.5, counts);
    print_message("%d of %d instants outside, faults in %d of %d worlds\n",
                  counts[1], counts[0], counts[2], rounds);
    assert_true(counts[0] > 100 * rounds);
    assert_int_equal(counts[1], 0);
    assert_true(counts[2] <= 1 + rounds / 1000);
}

/* Two clocks, messages each `period` alone, and the rate of one swings by so
 * much within 30 s. */
static void swing_init(struct world *world, double ppm, ck_time_t period)
{
    const struct worldpath path = {3000, 3000, 0};

    world_init(world, 2, 120 * CK_TIME_S);
    for (uint32_t i = 0; i < world->count; i++) {
        world->clocks[i].wander_ppm = i * ppm;
        world->clocks[i].wander_period_s = 30;
    }
    for (ck_time_t at = START; at < START + world->span; at += period) {
        for (uint32_t i = 0; i < world->count; i++) {
            struct clock_edge edge = world_message(
                world->clocks, i, 1 - i, at + (ck_time_t)between(0, 1e6),
                world_delay(&random_state, &path));

            assert_int_equal(clockgraph_edge(world->graph, &edge), 0);
        }
    }
    world_solve(world);
}

/* Reported is what a clock leaves its trend by, and a trend follows as closely
 * as messages allow: each second they do not follow 8 ppm, each 20 ms they may.
 * It holds for what messages show: up to 5 ppm, or close to each other. */
static void the_wander_that_messages_need_is_reported(void **state)
{
    static const struct {
        double ppm;
        ck_time_t period;
        int64_t least, most;
        bool is_shown;
    } cases[] = {
        {0, 20 * CK_TIME_MS, CK_CLOCK_WANDER_PPB, CK_CLOCK_WANDER_PPB, true},
        {8, 20 * CK_TIME_MS, CK_CLOCK_WANDER_PPB, 32000, true},
        {5, 200 * CK_TIME_MS, CK_CLOCK_WANDER_PPB, 32000, true},
        {8, CK_TIME_S, 2 * CK_CLOCK_WANDER_PPB, 32000, false},
    };
    int rounds = worlds(8);

    (void)state;
    for (int round = 0; round < rounds; round++) {
        struct world world;
        int64_t hidden;
        int which = round % 4, seen;

        swing_init(&world, cases[which].ppm, cases[which].period);
        assert_in_range(clocksolve_wander(world.solve, 1, &hidden),
                        cases[which].least, cases[which].most);
        assert_true(hidden > 0 && hidden <= 8000);
        assert_int_equal(clocksolve_wander(world.solve, 0, &hidden), 0);
        assert_int_equal(hidden, 0);
        if (cases[which].is_shown) {
            (void)world_check(&world, 1000, &seen);
            assert_true(seen > 900);
        }
        world_fini(&world);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_worlds_are_covered_and_no_fact_is_broken),
        cmocka_unit_test(a_message_that_cannot_be_is_named_and_left_out),
        cmocka_unit_test(a_clock_that_jumps_is_covered_on_both_sides),
        cmocka_unit_test(a_clock_set_backwards_is_covered_on_both_sides),
        cmocka_unit_test(messages_undo_what_asymmetry_does_to_probes),
        cmocka_unit_test(collective_kernels_alone_align_imported_profiles),
        cmocka_unit_test(a_ring_of_one_direction_bounds_all_clocks),
        cmocka_unit_test(a_mesh_without_answers_breaks_no_fact),
        cmocka_unit_test(one_direction_alone_places_no_clock),
        cmocka_unit_test(clocks_that_wander_are_covered),
        cmocka_unit_test(the_wander_that_messages_need_is_reported),
        cmocka_unit_test(edges_without_sense_are_refused),
    };

    worldrandom_init(&random_state, 20261121);
    print_message("CK_SEED=%llu\n", (unsigned long long)random_state.state);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
