/* test_clockmixed.c - probes and messages together, and a clock that jumps
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Two to four machines that probe a reference (one of them, or a machine
 * without ranks) each second, and send each other messages meanwhile. One clock
 * of them jumps. CK_WORLDS is how many random worlds, CK_SEED repeats a run, or
 * with the printed state of a world and CK_WORLDS=1 that world.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "merge/clocks/align.h"
#include "merge/clocks/clockedges.h"
#include "merge/model/comm.h"
#include "merge/timeline/clockmap.h"
#include "schema/clock/clocktrend.h"
#include "tests/merge/clockworld.h"

#define SEED 20261128
#define MACHINES_MAX 4
#define START (1000 * CK_TIME_S)
/* Probes of a burst. */
#define BURST 8
#define CHECKS 300

static struct worldrandom random_state;

static double between(double low, double high)
{
    return world_between(&random_state, low, high);
}

/* How the machines talk. */
enum talk {
    TALK_MEET,  /* all meet */
    TALK_ANY,   /* anyone sends to anyone */
    TALK_UP,    /* to those of higher numbers only */
    TALK_QUIET, /* some messages in all */
    TALKS
};

struct world {
    uint64_t seed; /* CK_SEED, to repeat it */
    struct defs *defs;
    struct align *align;
    struct clockedges *edges;
    /* The reference's is the last, if it has no rank. */
    struct worldclock clocks[MACHINES_MAX + 1];
    uint32_t count;
    uint32_t reference;
    ck_time_t span;
    struct worldpath path; /* of probes */
    struct worldpath way;  /* of messages */
    enum talk talk;
    ck_time_t period;
    ck_time_t talk_from;
    ck_time_t first[MACHINES_MAX + 1]; /* burst of each */
    uint32_t who;                      /* whose clock jumps */
};

static void agents_make(struct world *world)
{
    for (uint8_t i = 0; i < world->count; i++) {
        uint8_t id[16] = {(uint8_t)(i + 1)};
        uint32_t index = defs_agent_find(world->defs, id);
        struct defs_agent *agent = &world->defs->agents[index];
        char lines[200];
        int length = snprintf(lines, sizeof(lines),
                              "boot_id=b%u\ntimens=t\nreference_boot_id=b%u\n"
                              "reference_timens=t\n",
                              i, world->reference);

        agent->identity =
            texts_keep(world->defs->texts, lines, (size_t)length + 1);
        agent->rank = i;
        agent->size = (int32_t)world->count;
        (void)defs_process_find(world->defs, index, 0);
    }
}

static void world_init(struct world *world)
{
    uint64_t seed = random_state.state;
    double base = 250 * pow(80, world_unit(&random_state));
    double least = 500 * pow(20, world_unit(&random_state));

    *world = (struct world){.seed = seed,
                            .defs = defs_create(),
                            .align = align_create(),
                            .count = (uint32_t)between(2, MACHINES_MAX + 1)};
    world->reference = (uint32_t)between(0, world->count + 1);
    world->span = (ck_time_t)between(5e9, 20e9);
    world->path = (struct worldpath){(ck_time_t)base, between(0, base), 0};
    world->way = (struct worldpath){(ck_time_t)least, between(0, 2 * least), 0};
    world->talk = (enum talk)between(0, TALKS);
    world->period = (ck_time_t)(1e6 * pow(200, world_unit(&random_state)));
    if (world->talk == TALK_QUIET) {
        world->period = (ck_time_t)between(3e8, 3e9);
    }
    for (uint32_t i = 0; i <= world->count; i++) {
        world->clocks[i] = world_clock(&random_state);
        world->first[i] = START + (ck_time_t)between(0, 1e9);
    }
    world->talk_from = START + (ck_time_t)between(0, 5e8);
}

/* A step that no delay hides, at any instant. */
static void step_make(struct world *world)
{
    double hidden = 8 * ((double)world->path.least + world->path.tail) + 60000;
    ck_time_t size = (ck_time_t)(hidden + pow(10, between(4, 9)));

    world->who =
        (uint32_t)between(0, world->count + (world->reference == world->count));
    /* Behind the first burst of each, and before the last. */
    world->clocks[world->who].step_at =
        START + (ck_time_t)between(1.01e9, (double)world->span - 1e9);
    world->clocks[world->who].step =
        world_unit(&random_state) < 0.5 ? size : -size;
}

static void burst_put(struct world *world, uint32_t i, ck_time_t at)
{
    for (int k = 0; k < BURST && i != world->reference; k++) {
        struct ck_clock_probe probe = world_probe(
            &random_state, &world->clocks[i], &world->clocks[world->reference],
            &world->path, &world->path, at, 20);
        struct ck_clock_fact fact = {
            .e = {.kind = CK_KIND_CLOCK_PROBE, .start = probe.a1},
            .value = probe.r2,
            .t3 = probe.r3,
            .t4 = probe.a4,
            .width = 20,
        };

        align_fact(world->align, i, &fact);
        at += 2 * (world->path.least + (ck_time_t)world->path.tail) +
              (ck_time_t)between(5e4, 2e5);
    }
}

static void probes_put(struct world *world)
{
    for (uint32_t i = 0; i < world->count; i++) {
        for (ck_time_t at = world->first[i]; at < START + world->span;
             at += CK_TIME_S) {
            burst_put(world, i, at);
        }
    }
}

static void readings_put(struct world *world)
{
    for (uint32_t i = 0; i < world->count; i++) {
        for (ck_time_t at = START; at < START + world->span; at += CK_TIME_S) {
            struct ck_clock_fact fact = {
                .e = {.kind = CK_KIND_CLOCK_PAIR, .start = at + 77 * CK_TIME_S},
                .value = worldclock_at(&world->clocks[i], at),
                .width = 30,
                .clock = CK_CLOCK_BOOTTIME,
            };

            align_fact(world->align, i, &fact);
        }
    }
}

static void meet(struct world *world, ck_time_t at)
{
    struct clock_member members[MACHINES_MAX];
    ck_time_t enter[MACHINES_MAX], last = 0;

    for (uint32_t i = 0; i < world->count; i++) {
        enter[i] = at + (ck_time_t)between(0, 2e5);
        last = enter[i] > last ? enter[i] : last;
    }
    for (uint32_t i = 0; i < world->count; i++) {
        const struct worldclock *clock = &world->clocks[i];

        members[i] = (struct clock_member){
            world->defs->agents[i].domain, worldclock_at(clock, enter[i]),
            worldclock_at(clock,
                          last + world_delay(&random_state, &world->way)) -
                CLOCKEDGES_DELAY};
    }
    clockedges_meet(world->edges, members, world->count,
                    CLOCK_SOURCE_COLLECTIVE);
}

static void message(struct world *world, ck_time_t at)
{
    uint32_t from = (uint32_t)between(0, world->count);
    uint32_t to = (uint32_t)between(0, world->count);
    struct clock_edge edge;

    if (from == to || (world->talk == TALK_UP && from > to)) {
        return;
    }
    edge = world_message(world->clocks, from, to, at,
                         world_delay(&random_state, &world->way));
    edge.from = world->defs->agents[from].domain;
    edge.to = world->defs->agents[to].domain;
    clockedges_add(world->edges, &edge);
}

static void messages_put(struct world *world)
{
    ck_time_t at = world->talk_from;

    world->edges = clockedges_create(world->defs, align_axis(world->align));
    for (; at < START + world->span; at += world->period) {
        if (world->talk == TALK_MEET) {
            meet(world, at);
        } else {
            message(world, at + (ck_time_t)between(0, 3e5));
        }
    }
}

static void world_settle(struct world *world)
{
    agents_make(world);
    probes_put(world);
    readings_put(world);
    defs_close(world->defs);
    comm_close(world->defs);
    align_close(world->align, world->defs);
    messages_put(world);
    align_settle(world->align, world->edges);
}

static void world_fini(struct world *world)
{
    clockedges_destroy(world->edges);
    align_destroy(world->align);
    defs_destroy(world->defs);
}

static ck_time_t
pair_bound(const struct align *align, uint32_t a, uint32_t b, ck_time_t time)
{
    ck_time_t bound;

    return align_pair_bound(align, a, b, time, &bound) == 0
               ? bound
               : CLOCKMAP_ERROR_UNKNOWN;
}

static ck_time_t own_bound(const struct align *align, uint32_t i, int64_t stamp)
{
    ck_time_t bound;

    return align_bound(align, i, false, stamp, &bound) == 0 ? bound
                                                            : CK_CLOCK_NONE / 4;
}

struct tally {
    long instants, outside;
    ck_time_t largest; /* bound more than 2.5 s from the step */
};

/* What is stated of two records of one instant. */
static ck_time_t stated(const struct world *world,
                        uint32_t a,
                        uint32_t b,
                        ck_time_t at,
                        ck_time_t *apart)
{
    const struct align *align = world->align;
    const ck_time_t own[2] = {worldclock_at(&world->clocks[a], at),
                              worldclock_at(&world->clocks[b], at)};
    ck_time_t x = axis_time(align_axis(align), a, false, own[0]);
    ck_time_t y = axis_time(align_axis(align), b, false, own[1]);
    ck_time_t bound = pair_bound(align, a, b, x);
    ck_time_t its = pair_bound(align, a, b, y);
    ck_time_t sum = own_bound(align, a, own[0]) + own_bound(align, b, own[1]);

    *apart = llabs(x - y);
    bound = its < bound ? its : bound;
    return bound == CLOCKMAP_ERROR_UNKNOWN || sum < bound ? sum : bound;
}

/* An instant of the run, each second one near the step. */
static ck_time_t instant_draw(const struct world *world, int number)
{
    ck_time_t at = START + (ck_time_t)between(0, (double)world->span);
    ck_time_t end = START + world->span;

    if (number % 2 == 1) {
        at = world->clocks[world->who].step_at +
             (ck_time_t)between(-1.5e9, 1.5e9);
        at = at < START ? START : at;
    }
    return at > end ? end : at;
}

static void
pair_count(const struct world *world, uint32_t a, uint32_t b, struct tally *t)
{
    ck_time_t step_at = world->clocks[world->who].step_at;

    for (int i = 0; i < CHECKS; i++) {
        ck_time_t at = instant_draw(world, i);
        ck_time_t apart, bound = stated(world, a, b, at, &apart);

        t->instants++;
        if (apart > bound + 2) {
            t->outside++;
            print_message("machines %u and %u at %.6f: %lld ns apart, bound "
                          "%lld\n",
                          a, b, (double)(at - START) * 1e-9, (long long)apart,
                          (long long)bound);
        }
        if (llabs(at - step_at) > 2500 * CK_TIME_MS && bound > t->largest) {
            t->largest = bound;
        }
    }
}

static void world_print(const struct world *world, int round)
{
    static const char *const talks[TALKS] = {"meet", "any", "up", "quiet"};
    const struct worldclock *clock = &world->clocks[world->who];

    print_message("world %d (state %llu): %u machines, reference %u, %.1f s, "
                  "path %lld + %.0f ns, messages %s each %.1f ms\n"
                  "  %u jumps by %lld ns at %.6f\n",
                  round, (unsigned long long)world->seed, world->count,
                  world->reference, (double)world->span * 1e-9,
                  (long long)world->path.least, world->path.tail,
                  talks[world->talk], (double)world->period * 1e-6, world->who,
                  (long long)clock->step,
                  (double)(clock->step_at - START) * 1e-9);
}

/* Settle a world, and count what is outside in it. */
static void world_count(struct world *world, int round, struct tally *tally)
{
    long before = tally->outside;

    world_settle(world);
    for (uint32_t i = 1; i < world->count; i++) {
        pair_count(world, i, i - 1, tally);
    }
    if (tally->outside > before) {
        world_print(world, round);
    }
}

static void steps_among_probes_and_messages_are_covered(void **state)
{
    const char *given = getenv("CK_WORLDS");
    int rounds = given != NULL ? atoi(given) : 60;
    struct tally tally = {0};

    (void)state;
    /* So that CK_SEED=STATE CK_WORLDS=1 repeats one world. */
    worldrandom_init(&random_state, SEED);
    for (int round = 0; round < rounds; round++) {
        struct world world;

        world_init(&world);
        step_make(&world);
        world_count(&world, round, &tally);
        world_fini(&world);
    }
    print_message("%d worlds: %ld of %ld instants outside\n", rounds,
                  tally.outside, tally.instants);
    assert_int_equal(tally.outside, 0);
}

/* Two machines, the first one the axis and the reference, that talk each 5 ms;
 * one clock jumps by 5 ms so long after the first burst. */
static void pair_init(struct world *world, uint32_t who, ck_time_t after)
{
    world_init(world);
    world->count = 2;
    world->reference = 0;
    world->span = 6 * CK_TIME_S;
    world->path = (struct worldpath){250, 100, 0};
    world->way = (struct worldpath){1000, 3000, 0};
    world->period = 5 * CK_TIME_MS;
    world->talk_from = START + 500 * CK_TIME_MS;
    world->first[1] = START + 540 * CK_TIME_MS;
    world->who = who;
    world->clocks[who].step_at = world->first[1] + after;
}

/* Behind the first burst, before the last one, and in between. */
static void a_step_next_to_the_only_burst_of_its_side_is_covered(void **state)
{
    static const ck_time_t afters[] = {170 * CK_TIME_MS, 4170 * CK_TIME_MS,
                                       2600 * CK_TIME_MS};
    struct tally tally = {0};

    (void)state;
    for (int i = 0; i < 3 * 2 * 2 * 2; i++) {
        struct world world;
        struct calibration_domain clocks[2];

        pair_init(&world, (uint32_t)(i / 3 % 2), afters[i % 3]);
        world.talk = i / 6 % 2 ? TALK_UP : TALK_MEET;
        world.clocks[world.who].step =
            i / 12 % 2 ? 5 * CK_TIME_MS : -5 * CK_TIME_MS;
        world_count(&world, i, &tally);
        for (uint32_t d = 0; d < 2; d++) {
            clocks[d] = align_domain(world.align, d).clock;
        }
        assert_int_equal(clocks[world.who].band.faults, 1);
        assert_int_equal(clocks[1 - world.who].band.faults, 0);
        world_fini(&world);
    }
    assert_int_equal(tally.outside, 0);
    assert_true(tally.largest < 20000);
}

/* As a job that is set by 5 ms and 0.7 s later by 3 ms the other way: no probe
 * is between them, but messages in both directions are. */
static void two_jumps_between_two_bursts_are_covered(void **state)
{
    struct tally tally = {0};

    (void)state;
    for (int i = 0; i < 8; i++) {
        struct world world;
        struct worldclock *clock;

        pair_init(&world, (uint32_t)(i % 2), (i / 4 * 2000 + 170) * CK_TIME_MS);
        world.talk = TALK_MEET;
        clock = &world.clocks[world.who];
        clock->step = i / 2 % 2 ? 5 * CK_TIME_MS : -5 * CK_TIME_MS;
        clock->again_at = clock->step_at + 700 * CK_TIME_MS;
        clock->again = -clock->step / 5 * 3;
        world_count(&world, i, &tally);
        world_fini(&world);
    }
    assert_int_equal(tally.outside, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_step_next_to_the_only_burst_of_its_side_is_covered),
        cmocka_unit_test(two_jumps_between_two_bursts_are_covered),
        cmocka_unit_test(steps_among_probes_and_messages_are_covered),
    };

    worldrandom_init(&random_state, SEED);
    print_message("CK_SEED=%llu\n", (unsigned long long)random_state.state);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
