/* test_delay.c - what waits cost, against the definition
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * In random programs (play.h) that sleep, write, compute and lose their CPU
 * between their MPI calls, the delay costs of each wait are compared with those
 * that follow from the definition in delay.h by a look at each nanosecond.
 * CK_SEED repeats a run, CK_WORLDS is how many worlds.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "merge/analysis/analysis.h"
#include "merge/analysis/delays/delay.h"
#include "merge/analysis/delays/delaysums.h"
#include "merge/analysis/waits/waitstates.h"
#include "tests/merge/chance.h"
#include "tests/merge/play.h"

#define RANKS PLAY_RANKS
#define LABELS 64
#define LENGTH 8192

/* What distinguishes the things that ranks do. */
struct label {
    char text[48];
};

/* A program by the definition. */
struct truths {
    const struct world *world;
    struct label labels[LABELS];
    size_t labels_count;
    int8_t did[RANKS][LENGTH]; /* label; -1 = waits */
    ck_time_t begun[RANKS];    /* first MPI call */
    double costs[SPANS][RANKS][LABELS];
    bool is_done[SPANS];
};

static int label_find(struct truths *truths, const struct play_deed *deed)
{
    char text[sizeof(truths->labels[0].text)];

    snprintf(text, sizeof(text), "%s %d %s",
             deed->call == NULL ? "-" : deed->call, (int)deed->site,
             deed->is_preempted ? "ready" : "runs");
    for (size_t i = 0; i < truths->labels_count; i++) {
        if (strcmp(truths->labels[i].text, text) == 0) {
            return (int)i;
        }
    }
    assert_true(truths->labels_count < LABELS);
    strcpy(truths->labels[truths->labels_count].text, text);
    return (int)truths->labels_count++;
}

static bool waits_at(const struct world *world, int rank, ck_time_t t)
{
    for (size_t i = 0; i < world->truths_count; i++) {
        const struct truth *truth = &world->truths[i];

        if (truth->rank == rank && truth->start <= t && t < truth->until) {
            return true;
        }
    }
    return false;
}

static void truths_look(struct truths *truths, const struct world *world)
{
    memset(truths, 0, sizeof(*truths));
    truths->world = world;
    assert_true(world->region.end <= LENGTH);
    for (int rank = 0; rank < RANKS; rank++) {
        truths->begun[rank] = INT64_MAX;
        for (ck_time_t t = 0; t < world->region.end; t++) {
            struct play_deed deed = play_deed(world, rank, t);

            truths->did[rank][t] = waits_at(world, rank, t)
                                       ? -1
                                       : (int8_t)label_find(truths, &deed);
        }
    }
    for (size_t i = 0; i < world->count; i++) {
        const struct event *event = &world->events[i];
        unsigned kind = event->record.e.kind;

        if (kind != CK_KIND_POSIX && kind != CK_KIND_PREEMPTED &&
            event->record.e.start < truths->begun[event->rank]) {
            truths->begun[event->rank] = event->record.e.start;
        }
    }
}

/* Does the rank have the instant at which `truth` ended? */
static bool
is_shared(const struct truths *truths, const struct truth *truth, int rank)
{
    const struct world *world = truths->world;

    if (rank == truth->whom) {
        return true;
    }
    for (size_t i = 0; i < world->truths_count; i++) {
        const struct truth *other = &world->truths[i];

        if (other->rank == rank && other->until == truth->until &&
            other->whom == truth->whom && other->start < other->until) {
            return true;
        }
    }
    return false;
}

/* The last instant that two ranks have in common; INT64_MIN = none. */
static ck_time_t common_find(const struct truths *truths,
                             const struct truth *wait)
{
    ck_time_t best = INT64_MIN;

    for (size_t i = 0; i < truths->world->truths_count; i++) {
        const struct truth *truth = &truths->world->truths[i];

        if (truth->start < truth->until && truth->until <= wait->start &&
            truth->until > best && is_shared(truths, truth, wait->rank) &&
            is_shared(truths, truth, wait->whom)) {
            best = truth->until;
        }
    }
    return best;
}

static ck_time_t from_of(const struct truths *truths, ck_time_t from, int rank)
{
    return from > truths->begun[rank] ? from : truths->begun[rank];
}

static void costs_find(struct truths *truths, size_t number);

/* What the waits of a rank cost since then, as often as `sign`; returns what of
 * them is not explained. */
static double inherited(struct truths *truths,
                        size_t number,
                        int rank,
                        struct region part,
                        int sign)
{
    double unexplained = 0;

    for (size_t i = 0; i < truths->world->truths_count; i++) {
        const struct truth *truth = &truths->world->truths[i];

        if (truth->rank != rank || truth->start < part.start ||
            truth->until > part.end || truth->start >= truth->until) {
            continue;
        }
        unexplained += (double)(truth->until - truth->start);
        costs_find(truths, i);
        for (int r = 0; r < RANKS; r++) {
            for (size_t k = 0; k < truths->labels_count; k++) {
                truths->costs[number][r][k] += sign * truths->costs[i][r][k];
                unexplained -= truths->costs[i][r][k];
            }
        }
    }
    return unexplained;
}

/* How much longer the late rank did each thing, or the other one. */
static void difference(struct truths *truths, size_t number, ck_time_t from)
{
    const struct truth *wait = &truths->world->truths[number];
    double more[LABELS] = {0};

    for (ck_time_t t = from_of(truths, from, wait->whom); t < wait->until;
         t++) {
        int did = truths->did[wait->whom][t];

        more[did < 0 ? LABELS - 1 : did] += did >= 0;
    }
    for (ck_time_t t = from_of(truths, from, wait->rank); t < wait->start;
         t++) {
        int did = truths->did[wait->rank][t];

        more[did < 0 ? LABELS - 1 : did] -= did >= 0;
    }
    for (size_t k = 0; k < truths->labels_count; k++) {
        truths->costs[number][more[k] > 0 ? wait->whom : wait->rank][k] +=
            more[k];
    }
}

static void costs_find(struct truths *truths, size_t number)
{
    const struct truth *wait = &truths->world->truths[number];
    double length = (double)(wait->until - wait->start);
    double whole, theirs;
    ck_time_t from;

    if (truths->is_done[number]) {
        return;
    }
    truths->is_done[number] = true;
    from = common_find(truths, wait);
    whole = inherited(truths, number, wait->whom,
                      (struct region){from, wait->until}, 1);
    theirs = inherited(truths, number, wait->rank,
                       (struct region){from, wait->start}, -1);
    whole = whole > theirs ? whole - theirs : 0;
    difference(truths, number, from);
    for (int rank = 0; rank < RANKS; rank++) {
        for (size_t k = 0; k < truths->labels_count; k++) {
            double *cost = &truths->costs[number][rank][k];

            *cost = *cost > 0 ? *cost : 0;
            whole += *cost;
        }
    }
    whole = whole > length ? whole : length;
    for (int rank = 0; rank < RANKS; rank++) {
        for (size_t k = 0; k < truths->labels_count; k++) {
            truths->costs[number][rank][k] *= length / whole;
        }
    }
}

/* ---- the comparison ----------------------------------------------------- */

/* The label of a source. */
static int source_label(struct truths *truths,
                        const struct delaysources *sources,
                        uint32_t source)
{
    struct report_activity did = delaysources_report(sources, source);
    struct play_deed deed = {.call = did.call};
    char wanted[48];

    deed.is_preempted = delaysources_off(sources, source) == HISTORY_PREEMPTED;
    /* Its places are not known: a site is known by what is cut off. */
    for (uint64_t site = 0; site <= PLAY_SITES; site++) {
        snprintf(wanted, sizeof(wanted), "%s %d %s",
                 did.call == NULL ? "-" : did.call, (int)site,
                 deed.is_preempted ? "ready" : "runs");
        for (size_t i = 0; i < truths->labels_count; i++) {
            if (strcmp(truths->labels[i].text, wanted) == 0 &&
                (did.call == NULL || strncmp(did.call, "MPI_", 4) == 0 ||
                 did.place.line == site)) {
                return (int)i;
            }
        }
    }
    return -1;
}

static bool wait_differs(struct truths *truths,
                         size_t number,
                         const struct delaysources *sources,
                         const struct delay_of *of)
{
    double seen[RANKS][LABELS] = {{0}};
    bool is_wrong = false;

    costs_find(truths, number);
    for (size_t i = 0; i < of->count; i++) {
        struct delay_source source =
            delaysources_get(sources, of->costs[i].source);
        int label = source_label(truths, sources, of->costs[i].source);

        assert_true(label >= 0);
        seen[source.thread][label] += of->costs[i].ns;
    }
    for (int rank = 0; rank < RANKS && of->count < DELAY_COSTS_MAX; rank++) {
        for (size_t k = 0; k < truths->labels_count; k++) {
            double want = truths->costs[number][rank][k];

            if (fabs(seen[rank][k] - want) > 1e-3) {
                const struct truth *wait = &truths->world->truths[number];

                print_error("rank %d waits %lld..%lld for %d: %s on rank %d "
                            "costs %.3f, not %.3f\n",
                            wait->rank, (long long)wait->start,
                            (long long)wait->until, wait->whom,
                            truths->labels[k].text, rank, seen[rank][k], want);
                is_wrong = true;
            }
        }
    }
    return is_wrong;
}

/* Compare the waits that the analysis knows by now and did not before. */
static bool
waits_differ(struct truths *truths, const struct delay *delay, bool *is_seen)
{
    bool is_wrong = false;

    for (size_t i = 0; i < truths->world->truths_count; i++) {
        const struct truth *wait = &truths->world->truths[i];
        struct region part = {wait->start, wait->until};
        struct delay_of of;

        if (is_seen[i] || wait->start >= wait->until) {
            continue;
        }
        of = delay_find(delay, (uint32_t)wait->rank, part);
        if (of.ns == region_length(part)) {
            is_seen[i] = true;
            is_wrong |= wait_differs(truths, i, delay_sources(delay), &of);
        }
    }
    return is_wrong;
}

/* Causes and what is unexplained are what the ranks waited, exactly. */
static bool sums_differ(const struct world *world, const struct analysis *blame)
{
    struct delaysums *sums = waitstates_delays(analysis_waitstates(blame));
    const struct delaysums_cost *costs;
    ck_time_t want = 0, seen = 0;
    size_t count;

    for (size_t i = 0; i < world->truths_count; i++) {
        want += world->truths[i].until - world->truths[i].start;
    }
    delaysums_begin(sums);
    delaysums_gather_all(sums);
    costs = delaysums_costs(sums, &count);
    for (size_t i = 0; i < count; i++) {
        seen += costs[i].ns;
    }
    if (seen != want) {
        print_error("waits of %lld ns cost %lld ns\n", (long long)want,
                    (long long)seen);
    }
    return seen != want;
}

static bool world_is_wrong(void *state)
{
    static struct truths truths;
    struct world *world = state;
    bool is_seen[SPANS] = {false};
    struct analysis *blame;
    bool is_wrong = false;

    play_world(world);
    play_deeds(world);
    truths_look(&truths, world);
    blame = analysis_create(world->defs, world->align, world->region);
    assert_non_null(blame);
    for (size_t i = 0; i <= world->count; i++) {
        const struct event *event = &world->events[i];
        struct timeline_event given = {.record = &event->record.e,
                                       .start = event->record.e.start,
                                       .end = event->end,
                                       .rank = event->rank,
                                       .process = (uint32_t)event->rank,
                                       .thread = (uint32_t)event->rank};

        if (i == world->count) {
            analysis_finish(blame);
        } else {
            assert_int_equal(analysis_take(blame, &given), 0);
        }
        is_wrong |= waits_differ(&truths, analysis_delay(blame), is_seen);
    }
    for (size_t i = 0; i < world->truths_count; i++) {
        if (!is_seen[i] && world->truths[i].start < world->truths[i].until) {
            print_error("wait %zu of rank %d was not looked at\n", i,
                        world->truths[i].rank);
            is_wrong = true;
        }
    }
    is_wrong |= sums_differ(world, blame);
    analysis_destroy(blame);
    return is_wrong;
}

/* The sites of play_deeds() as lines. */
static void sites_say(struct world *world)
{
    for (int rank = 0; rank < RANKS; rank++) {
        struct names *names = world->defs->processes[rank].names;

        for (uint32_t site = 1; site <= PLAY_SITES; site++) {
            struct place place = {
                .file = texts_keep(world->defs->texts, "deeds.c", 7),
                .line = site};

            names_set_place(names, site, place);
        }
    }
}

static void costs_of_waits_are_those_of_the_definition(void **unused)
{
    static struct world world;

    (void)unused;
    play_cast(&world);
    sites_say(&world);
    chance_worlds(1000, world_is_wrong, &world);
    align_destroy(world.align);
    defs_destroy(world.defs);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(costs_of_waits_are_those_of_the_definition),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
