/* clocks.c - how well clocks are known, on worlds with a known truth
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * bench_clocks [FIGURE]...: each line is `figure | measured | target | verdict`
 * and, for figure 4, a table of what others' methods make of the same probes.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "merge/timeline/clockmap.h"
#include "schema/clock/clocktrend.h"
#include "tests/bench/clockpeers.h"
#include "tests/bench/figure.h"
#include "tests/merge/clockworld.h"

#define START (10 * CK_TIME_S)

static struct worldrandom rnd;

static double between(double low, double high)
{
    return world_between(&rnd, low, high);
}

/* CPU time: the machine may be busy with other things. */
static double now(void)
{
    struct timespec ts;

    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
    return (double)ts.tv_sec + (double)ts.tv_nsec * 1e-9;
}

static void
line(const char *figure, double value, double target, const char *unit)
{
    printf("%-58s | %9.4g %-3s | <= %5g %-3s | %s\n", figure, value, unit,
           target, unit, figure_verdict(value, target, 1));
}

static struct worldclock clock_make(double drift_ppm)
{
    return (struct worldclock){
        .offset = (ck_time_t)between(-1e12, 1e12),
        .drift_ppm = drift_ppm,
        .wander_ppm = 0.3,
        .wander_period_s = 900,
        .phase = between(0, 6.28),
    };
}

static struct clockmap map_of(const struct ck_clockband *band)
{
    struct clockmap map = {0};
    struct ck_clockband_knot knot;
    struct clockmap_point *points = NULL;
    size_t count = 0, index = 0, room = 0;

    while (ck_clockband_knot(band, &index, &knot)) {
        if (count == room) {
            room = room * 2 + 1024;
            points = realloc(points, room * sizeof(*points));
        }
        points[count++] = (struct clockmap_point){.at = knot.at,
                                                  .offset = knot.theta.offset,
                                                  .bound = knot.theta.bound,
                                                  .rate_ppb = knot.rate_ppb,
                                                  .is_last = knot.is_last};
    }
    if (clockmap_make(&map, points, count) != 0) {
        abort();
    }
    free(points);
    return map;
}

/* Bursts of 8 probes of a clock against a perfect one. */
static size_t probes_make(const struct worldclock *clock,
                          const struct worldpath *there,
                          const struct worldpath *back,
                          ck_time_t span,
                          ck_time_t period,
                          struct ck_clock_probe *probes)
{
    const struct worldclock reference = {0};
    size_t count = 0;

    for (ck_time_t at = START; at <= START + span; at += period) {
        for (int k = 0; k < 8; k++) {
            probes[count++] = world_probe(&rnd, clock, &reference, there, back,
                                          at + k * 150000, 20);
        }
    }
    return count;
}

/* Figure 4, and others' methods on the same probes. */
static void hour(const char *name,
                 struct worldpath there,
                 struct worldpath back,
                 double target)
{
    struct worldclock clock = clock_make(20);
    ck_time_t span = 3600 * CK_TIME_S;
    struct ck_clock_probe *probes = malloc(8 * 3602 * sizeof(*probes));
    size_t count = probes_make(&clock, &there, &back, span, CK_TIME_S, probes);
    struct ck_clockband *band = ck_clockband_create(NULL);
    struct clockpeer_error peers[CLOCKPEERS];
    struct clockmap map;
    ck_time_t worst = 0, bound = 0;
    int outside = 0;
    char figure[80];

    for (size_t i = 0; i < count; i++) {
        (void)ck_clockband_add(band, &probes[i]);
    }
    (void)ck_clockband_solve(band);
    map = map_of(band);
    clockpeers_fit(probes, count);
    memset(peers, 0, sizeof(peers));
    for (int i = 0; i < 200000; i++) {
        ck_time_t time = START + (ck_time_t)between(0, (double)span);
        ck_time_t local = worldclock_at(&clock, time);
        ck_time_t truth = time - local;
        ck_time_t error = llabs(clock_map(&map, local) - truth);
        ck_time_t said = clockmap_error(&map, local);

        worst = error > worst ? error : worst;
        bound = said > bound ? said : bound;
        outside += error > said;
        clockpeers_check(local, truth, peers);
    }
    (void)snprintf(figure, sizeof(figure), "4  1 h, 20 ppm, %s: max error",
                   name);
    line(figure, (double)worst / 1e3, target, "us");
    printf("   %-36s | max error us | bound\n", "method, on the same probes");
    printf("   %-36s | %12.3f | %.3f us, truth outside %d times\n", "ck",
           (double)worst / 1e3, (double)bound / 1e3, outside);
    for (int i = 0; i < CLOCKPEERS; i++) {
        if (peers[i].is_infeasible) {
            printf("   %-36s | %12s | none\n", clockpeers_name(i),
                   "no line fits");
        } else {
            printf("   %-36s | %12.1f | none\n", clockpeers_name(i),
                   (double)peers[i].worst / 1e3);
        }
    }
    clockmap_fini(&map);
    ck_clockband_destroy(band);
    free(probes);
}

static void figure_4(void)
{
    hour("kernel stamps", (struct worldpath){3000, 500, 0},
         (struct worldpath){3400, 500, 0}, 1);
    hour("user stamps", (struct worldpath){12000, 5000, 0},
         (struct worldpath){13000, 5000, 0}, 2);
}

/* ---- joint worlds ---------------------------------------------------------
 */

struct joint {
    struct worldclock *clocks;
    uint32_t count;
    ck_time_t span;
    struct clockgraph *graph;
    struct clocksolve *solve;
    double seconds; /* of the solve */
};

static struct joint
joint_make(uint32_t count, ck_time_t span, double offset, double drift)
{
    struct joint joint = {.count = count, .span = span};

    joint.clocks = calloc(count, sizeof(*joint.clocks));
    for (uint32_t i = 0; i < count; i++) {
        joint.clocks[i] = clock_make(between(-drift, drift));
        joint.clocks[i].offset = (ck_time_t)between(-offset, offset);
    }
    joint.graph = clockgraph_create(count);
    return joint;
}

static void joint_end(struct joint *joint)
{
    clocksolve_destroy(joint->solve);
    clockgraph_destroy(joint->graph);
    free(joint->clocks);
}

static void joint_message(struct joint *joint,
                          uint32_t from,
                          uint32_t to,
                          ck_time_t at,
                          ck_time_t delay)
{
    struct clock_edge edge = world_message(joint->clocks, from, to, at, delay);

    (void)clockgraph_edge(joint->graph, &edge);
}

static void joint_solve(struct joint *joint)
{
    double start = now();

    joint->solve = world_solution(joint->graph);
    if (joint->solve == NULL) {
        abort();
    }
    joint->seconds = now() - start;
}

/* What the solution is wrong by about clock `d` at `at`, and how far it leaves
 * its bound; false outside of the clock's facts. */
static bool joint_look(const struct joint *joint,
                       uint32_t d,
                       ck_time_t at,
                       ck_time_t *off,
                       int *outside)
{
    ck_time_t local = worldclock_at(&joint->clocks[d], at);
    struct ck_clock_offset said;
    const struct clocksolve_knot *knots;
    size_t count;

    *off = 0;
    if (d == 0) {
        return true;
    }
    knots = clocksolve_knots(joint->solve, d, &count);
    if (!world_solved(knots, count, local, &said)) {
        return false;
    }
    *off = said.offset - (worldclock_at(&joint->clocks[0], at) - local);
    *outside += llabs(*off) > said.bound + 2;
    return true;
}

/* Largest error between two random clocks at one instant; checks inside. Both
 * are -1 where the facts of most pairs do not reach: nothing was measured. */
static ck_time_t
joint_check(const struct joint *joint, uint32_t ranks, int checks, int *outside)
{
    ck_time_t worst = 0;
    int made = 0;

    *outside = 0;
    for (int i = 0; i < 2 * checks && made < checks; i++) {
        ck_time_t at = START + (ck_time_t)between(0, (double)joint->span);
        uint32_t one = (uint32_t)between(0, ranks - 0.01);
        uint32_t other = (uint32_t)between(0, ranks - 0.01);
        ck_time_t off[2];

        if (joint_look(joint, one, at, &off[0], outside) &&
            joint_look(joint, other, at, &off[1], outside)) {
            off[0] = llabs(off[0] - off[1]);
            worst = off[0] > worst ? off[0] : worst;
            made++;
        }
    }
    if (made < checks) {
        *outside = -1;
        return -1;
    }
    return worst;
}

static void figure_5(void)
{
    struct joint joint = joint_make(65, 120 * CK_TIME_S, 1e12, 20);
    struct worldpath path = {3000, 2000, 0};
    int outside;
    ck_time_t worst;

    for (uint32_t i = 0; i < 64; i++) {
        double skew = between(-3e6, 3e6);
        struct worldpath there = {(ck_time_t)(20e6 + skew), 0, 500000};
        struct worldpath back = {(ck_time_t)(20e6 - skew), 0, 500000};

        for (ck_time_t at = START; at < START + joint.span; at += CK_TIME_S) {
            for (int k = 0; k < 8; k++) {
                struct ck_clock_probe probe = world_probe(
                    &rnd, &joint.clocks[i], &joint.clocks[64], &there, &back,
                    at + i * 1000000 + k * 150000, 30);

                (void)world_probe_edges(joint.graph, i, 64, &probe);
            }
        }
    }
    for (ck_time_t at = START; at < START + joint.span; at += CK_TIME_S / 10) {
        for (uint32_t i = 0; i < 64; i++) {
            for (uint32_t k = 1; k <= 6; k++) {
                joint_message(&joint, i, (i + (k <= 3 ? k : 67 - k)) % 64,
                              at + (ck_time_t)between(0, 1e8),
                              world_delay(&rnd, &path));
            }
        }
    }
    joint_solve(&joint);
    worst = joint_check(&joint, 64, 200000, &outside);
    line("5  WAN 40 ms, +-3 ms asymmetry, 64 hosts, MPI: pairwise max",
         (double)worst / 1e3, 6, "us");
    line("5  the same: facts broken",
         (double)world_violations(joint.graph, joint.solve), 0, "");
    line("5  the same: truth outside its bound, of 200,000", outside, 0, "");
    joint_end(&joint);
}

/* Coverage: random clocks and networks, alone and together. */
static void figure_7(void)
{
    long checks = 0, outside = 0, faults = 0, missed = 0, steps = 0;

    for (int round = 0; round < 300; round++) {
        struct worldclock clock = clock_make(between(-40, 40));
        double base = pow(10, between(2.5, 7.5));
        struct worldpath there = {(ck_time_t)(base * between(1, 2)),
                                  base * between(0, 1), 0};
        struct worldpath back = {(ck_time_t)(base * between(1, 2)),
                                 base * between(0, 1), 0};
        ck_time_t span = (ck_time_t)pow(10, between(9.3, 11.3));
        bool has_step = round % 3 == 0;
        struct ck_clock_probe *probes =
            malloc(8 * (size_t)(span / CK_TIME_S + 2) * sizeof(*probes));
        struct ck_clockband *band = ck_clockband_create(NULL);
        struct clockmap map;
        size_t count;

        clock.wander_ppm = between(0, 0.4);
        if (has_step) {
            clock.step_at = START + span / 2 + CK_TIME_S / 3;
            clock.step =
                2 * (there.least + back.least) + (ck_time_t)(20 * base) + 4000;
        }
        count = probes_make(&clock, &there, &back, span, CK_TIME_S, probes);
        for (size_t i = 0; i < count; i++) {
            (void)ck_clockband_add(band, &probes[i]);
        }
        (void)ck_clockband_solve(band);
        if (has_step) {
            steps++;
            missed += ck_clockband_fault(band, 0) == NULL;
        } else {
            faults += ck_clockband_fault(band, 0) != NULL;
        }
        map = map_of(band);
        for (int i = 0; i < 4000; i++) {
            ck_time_t at = START + (ck_time_t)between(0, (double)span);
            ck_time_t local = worldclock_at(&clock, at);

            checks++;
            outside += llabs(clock_map(&map, local) - (at - local)) >
                       clockmap_error(&map, local);
        }
        clockmap_fini(&map);
        ck_clockband_destroy(band);
        free(probes);
    }
    printf("   %ld checks\n", checks);
    line("7  truth outside its bound", (double)outside, 0, "");
    line("7  false faults", (double)faults, 0, "");
    line("7  steps not found", (double)missed, 0, "");
    (void)steps;
}

/* 1000 hosts, 60 s, each with 6 peers: events of a host come together once a
 * second. */
static void figure_8_solve(void)
{
    struct joint joint = joint_make(1000, 60 * CK_TIME_S, 1e12, 20);
    uint32_t *peers = malloc(6000 * sizeof(*peers));
    struct worldpath path = {3000, 2000, 0};
    double best = 1e9;
    size_t nodes = 0, links = 0;
    unsigned sweeps = 0;

    for (uint32_t i = 0; i < 1000; i++) {
        /* Three rounds of partners: what one sends the other answers. */
        static const uint32_t strides[] = {1, 37, 411};

        for (uint32_t k = 0; k < 3; k++) {
            peers[i * 6 + 2 * k] = (i + strides[k]) % 1000;
            peers[i * 6 + 2 * k + 1] = (i + 1000 - strides[k]) % 1000;
        }
    }
    for (ck_time_t at = START; at < START + joint.span; at += CK_TIME_S) {
        for (uint32_t i = 0; i < 1000; i++) {
            for (uint32_t k = 1; k <= 6; k++) {
                joint_message(&joint, i, peers[i * 6 + k - 1], at + k * 1000,
                              world_delay(&rnd, &path));
            }
        }
    }
    for (int i = 0; i < 3; i++) {
        joint_solve(&joint);
        clocksolve_size(joint.solve, &nodes, &links, &sweeps);
        best = joint.seconds < best ? joint.seconds : best;
        clocksolve_destroy(joint.solve);
        joint.solve = NULL;
    }
    printf("   %zu nodes, %zu edges, %u sweeps in the last pass\n", nodes,
           links, sweeps);
    line("8  solve of 60,000 nodes and 360,000 edges", best, 0.2, "s");
    free(peers);
    joint_end(&joint);
}

static void figure_8_hour(void)
{
    ck_time_t span = 3600 * CK_TIME_S;
    struct ck_clock_probe *probes = malloc(8 * 1802 * sizeof(*probes));
    struct worldpath there = {3000, 500, 0}, back = {3400, 500, 0};
    double seconds = 0;
    size_t count = 0;

    /* 20 worlds, each solved 50 times: making them takes longer. */
    for (int w = 0; w < 20; w++) {
        struct worldclock clock = clock_make(between(-20, 20));
        double start;

        count = probes_make(&clock, &there, &back, span, 2 * CK_TIME_S, probes);
        start = now();
        for (int k = 0; k < 50; k++) {
            struct ck_clockband *band = ck_clockband_create(NULL);
            struct clockmap map;

            for (size_t i = 0; i < count; i++) {
                (void)ck_clockband_add(band, &probes[i]);
            }
            (void)ck_clockband_solve(band);
            map = map_of(band);
            clockmap_fini(&map);
            ck_clockband_destroy(band);
        }
        seconds += now() - start;
    }
    printf("   %zu probes a domain\n", count);
    line("8  1 h x 1000 domains, bands and maps, one thread", seconds, 10, "s");
    free(probes);
}

static void figure_9(void)
{
    struct joint joint = joint_make(16, 120 * CK_TIME_S, 5e9, 20);
    int outside;
    ck_time_t worst;

    for (ck_time_t at = START; at < START + joint.span; at += CK_TIME_S / 2) {
        struct clock_member members[16];
        ck_time_t start[16], last = 0;

        for (uint32_t i = 0; i < 16; i++) {
            start[i] = at + (ck_time_t)between(0, 200000);
            last = start[i] > last ? start[i] : last;
        }
        for (uint32_t i = 0; i < 16; i++) {
            members[i] = (struct clock_member){
                i, worldclock_at(&joint.clocks[i], start[i]),
                worldclock_at(&joint.clocks[i],
                              last + (ck_time_t)between(5000, 20000)) -
                    CLOCKSOLVE_GRAIN};
        }
        clockgraph_meeting(joint.graph, members, 16, CLOCK_SOURCE_COLLECTIVE);
    }
    joint_solve(&joint);
    worst = joint_check(&joint, 16, 200000, &outside);
    line("9  kernels alone, 2 collectives a second: pairwise max",
         (double)worst / 1e3, 20, "us");
    line("9  the same: facts broken",
         (double)world_violations(joint.graph, joint.solve), 0, "");
    line("9  the same: truth outside its bound, of 200,000", outside, 0, "");
    joint_end(&joint);
}

/* Lookups in order of time, as a merge asks. */
static void figure_10(void)
{
    struct worldclock clock = clock_make(20);
    ck_time_t span = 600 * CK_TIME_S;
    struct worldpath path = {3000, 500, 0};
    struct ck_clock_probe *probes = malloc(8 * 602 * sizeof(*probes));
    size_t count = probes_make(&clock, &path, &path, span, CK_TIME_S, probes);
    struct ck_clockband *band = ck_clockband_create(NULL);
    struct clockmap map;
    ck_time_t first, sum = 0;
    long lookups = 50000000;
    double start;

    for (size_t i = 0; i < count; i++) {
        (void)ck_clockband_add(band, &probes[i]);
    }
    (void)ck_clockband_solve(band);
    map = map_of(band);
    first = worldclock_at(&clock, START);
    start = now();
    for (long i = 0; i < lookups; i++) {
        sum += clock_map(&map, first + i * (span / lookups));
    }
    printf("   %zu pieces, checksum %lld\n", map.count, (long long)sum);
    line("10 map lookup, amortised", (now() - start) * 1e9 / (double)lookups, 5,
         "ns");
    clockmap_fini(&map);
    ck_clockband_destroy(band);
    free(probes);
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)(void);
    } figures[] = {{"4", figure_4},       {"5", figure_5},      {"7", figure_7},
                   {"8", figure_8_solve}, {"8", figure_8_hour}, {"9", figure_9},
                   {"10", figure_10}};

    worldrandom_init(&rnd, 20261121);
    for (size_t i = 0; i < sizeof(figures) / sizeof(figures[0]); i++) {
        bool is_wanted = argc < 2;

        for (int k = 1; k < argc; k++) {
            is_wanted = is_wanted || strcmp(argv[k], figures[i].name) == 0;
        }
        if (is_wanted) {
            figures[i].run();
        }
    }
    return 0;
}
