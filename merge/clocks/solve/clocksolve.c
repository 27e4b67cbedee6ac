/* clocksolve.c - the offset of every clock from all facts at once
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Values are kept relative to a trend, so that a chain's slack is small and
 * sums stay in 64 bits. The first trends come from clockplace; once solved, the
 * bounds give better trends, and with these it is solved again.
 * Where facts contradict each other at half of the wander, it is doubled and
 * all begins anew.
 */
#include "merge/clocks/solve/clocksolve.h"

#include <stdlib.h>

#include "merge/clocks/solve/clocksystem.h"
#include "merge/model/memory.h"

/* 1, 2, 4 to 32 ppm. */
#define WANDER_TRIES 6
#define BLIND_DEFAULT 100000
/* No clock that is known leaves its trend as fast: 5 ppm. */
#define RATE_ROUGH 5000
#define REFITS 1
#define REFITS_MOST 3

struct clocksolve *clocksolve_create(struct clockgraph *graph,
                                     const struct clocksolve_options *options)
{
    struct clocksolve *solve = xcalloc(1, sizeof(*solve));

    solve->graph = graph;
    solve->wander_ppb = options != NULL && options->wander_ppb > 0
                            ? options->wander_ppb
                            : CK_CLOCK_WANDER_PPB;
    solve->rates.blind_ppb = options != NULL && options->blind_ppb > 0
                                 ? options->blind_ppb
                                 : BLIND_DEFAULT;
    solve->lines = xcalloc((size_t)graph->domains + 1, sizeof(*solve->lines));
    solve->first = xcalloc((size_t)graph->domains + 2, sizeof(*solve->first));
    solve->order = xcalloc((size_t)graph->domains + 1, sizeof(*solve->order));
    solve->hidden = xcalloc((size_t)graph->domains + 1, sizeof(*solve->hidden));
    return solve;
}

void clocksolve_destroy(struct clocksolve *solve)
{
    if (solve == NULL) {
        return;
    }
    for (uint32_t d = 0; solve->lines != NULL && d < solve->graph->domains;
         d++) {
        clockline_fini(&solve->lines[d]);
    }
    free(solve->lines);
    free(solve->relax.nodes);
    free(solve->relax.places);
    free(solve->relax.links);
    free(solve->order);
    free(solve->hidden);
    free(solve->relax.groups);
    free(solve->first);
    free(solve->knots);
    free(solve);
}

/* ---- better trends ------------------------------------------------------- */

static bool node_is_bounded(const struct clockrelax_node *node)
{
    return node->upper != CK_CLOCK_NONE && node->lower != -CK_CLOCK_NONE &&
           node->upper >= node->lower;
}

/* A domain's line again, from the bounds of its nodes. Where it seemed to have
 * jumped it is looked at anew: the clocks that it was compared with then were
 * not known as well. */
static void domain_refit(struct clocksolve *solve,
                         uint32_t domain,
                         struct ck_clock_constraint *facts)
{
    const struct clockrelax_node *nodes = solve->relax.nodes;
    const struct clockrelax_place *places = solve->relax.places;
    struct clockline line = {0};
    size_t count = 0;

    for (size_t k = solve->first[domain]; k < solve->first[domain + 1]; k++) {
        if (node_is_bounded(&nodes[k])) {
            facts[count++] = (struct ck_clock_constraint){
                places[k].at, places[k].trend + nodes[k].upper, true, false};
            facts[count++] = (struct ck_clock_constraint){
                places[k].at, places[k].trend + nodes[k].lower, false, false};
        }
    }
    clockplace_fit(solve->graph, domain, &solve->rates, facts, count, &line);
    if (line.count > 0) {
        clockline_fini(&solve->lines[domain]);
        solve->lines[domain] = line;
    }
}

static void lines_refit(struct clocksolve *solve)
{
    size_t most = 0;
    struct ck_clock_constraint *facts;

    for (uint32_t d = 0; d < solve->graph->domains; d++) {
        size_t count = solve->first[d + 1] - solve->first[d];

        most = count > most ? count : most;
    }
    facts = xmalloc((2 * most + 1) * sizeof(*facts));
    for (uint32_t d = 0; d < solve->graph->domains; d++) {
        if (d != solve->root) {
            domain_refit(solve, d, facts);
        }
    }
    free(facts);
}

/* ---- results ------------------------------------------------------------- */

static void knots_make(struct clocksolve *solve)
{
    size_t count = solve->first[solve->graph->domains];

    free(solve->knots);
    solve->knots = xmalloc((count + 1) * sizeof(*solve->knots));
    for (size_t k = 0; k < count; k++) {
        const struct clockrelax_node *node = &solve->relax.nodes[k];
        const struct clockrelax_place *place = &solve->relax.places[k];
        int64_t hidden = solve->hidden[place->domain];
        struct clocksolve_knot *knot = &solve->knots[k];
        ck_time_t span = k + 1 < count ? place[1].at - place->at : 0;

        *knot = (struct clocksolve_knot){
            .at = place->at,
            .offset = place->trend,
            .bound = CK_CLOCK_NONE,
            .upper = node->upper == CK_CLOCK_NONE ? CK_CLOCK_NONE
                                                  : place->trend + node->upper,
            .lower = node->lower == -CK_CLOCK_NONE ? -CK_CLOCK_NONE
                                                   : place->trend + node->lower,
            .rate_ppb = place->rate_ppb + hidden,
            .is_last = node->slack == CK_CLOCK_NONE,
        };
        if (node_is_bounded(node)) {
            ck_time_t width = node->upper - node->lower;

            knot->offset += node->lower + width / 2;
            knot->bound = (width + 1) / 2;
        }
        if (!knot->is_last && span > 0) {
            knot->rate_ppb =
                (int64_t)((__int128)node->slack * 1000000000 / span) + 1;
        }
    }
}

/* A line that was guessed, or that jumps about: what it was fitted to may have
 * been wrong. */
static bool line_is_rough(const struct clockline *line)
{
    for (size_t i = 0; i < line->count; i++) {
        const struct clockline_point *point = &line->points[i];
        bool is_end = i + 1 == line->count;

        if (point->half > CLOCKLINE_GUESS ||
            (!is_end && (point->is_last || point->rate_ppb > RATE_ROUGH))) {
            return true;
        }
    }
    return false;
}

/* Better trends are worth their while once, and as long as some are rough. */
static bool is_refit_needed(const struct clocksolve *solve, int refits)
{
    bool is_rough = false;

    for (uint32_t d = 0; d < solve->graph->domains; d++) {
        is_rough = is_rough || line_is_rough(&solve->lines[d]);
    }
    return refits < REFITS || (is_rough && refits < REFITS_MOST);
}

/* What the facts of each clock, as they came, do not show of a wander. */
static void hidden_find(struct clocksolve *solve)
{
    for (uint32_t d = 0; d < solve->graph->domains; d++) {
        const struct clockline *line = &solve->lines[d];
        ck_time_t sum = 0;

        for (size_t i = 0; i < line->count; i++) {
            ck_time_t vague = line->points[i].vague;

            sum += vague < CK_TIME_S ? vague : CK_TIME_S;
        }
        solve->hidden[d] =
            line->count == 0 || d == solve->root
                ? 0
                : ck_clocktrend_hidden(sum / (ck_time_t)line->count);
    }
}

/* Let clocks wander by more than was tested. */
static void lines_loosen(struct clocksolve *solve, int64_t more_ppb)
{
    for (uint32_t d = 0; d < solve->graph->domains; d++) {
        struct clockline *line = &solve->lines[d];

        for (size_t i = 0; i < line->count && d != solve->root; i++) {
            struct clockline_point *point = &line->points[i];

            if (point->rate_ppb < solve->rates.blind_ppb) {
                point->rate_ppb += more_ppb;
            }
        }
    }
}

/* Slack for what is hidden, between the nodes of every clock. Beyond the first
 * and the last point of a trend its slope goes on, from twice as far away as
 * anywhere else: there a clock may leave it twice as fast. */
static void slack_widen(struct clocksolve *solve)
{
    struct clockrelax *relax = &solve->relax;

    for (uint32_t d = 0; d < solve->graph->domains; d++) {
        const struct clockline *line = &solve->lines[d];
        int64_t hidden = solve->hidden[d];

        for (size_t k = solve->first[d];
             d != solve->root && k + 1 < solve->first[d + 1]; k++) {
            ck_time_t span = relax->places[k + 1].at - relax->places[k].at;
            int64_t more = clockline_is_beyond(line, relax->places[k].at)
                               ? 2 * hidden + solve->rates.wander_ppb
                               : hidden;

            if (relax->nodes[k].slack != CK_CLOCK_NONE) {
                relax->nodes[k].slack += ck_clock_drift(span, more);
            }
        }
    }
}

/* Bounds that hold for what is hidden too, about the middles that are there:
 * those are the better guess, and break no fact. */
static void bounds_widen(struct clocksolve *solve)
{
    struct clockrelax_node *nodes = solve->relax.nodes;
    size_t count = solve->first[solve->graph->domains];
    ck_time_t *middles = xmalloc((count + 1) * sizeof(*middles));
    struct clockrelax_conflict conflict;

    for (size_t k = 0; k < count; k++) {
        middles[k] =
            node_is_bounded(&nodes[k])
                ? nodes[k].lower + (nodes[k].upper - nodes[k].lower) / 2
                : CK_CLOCK_NONE;
    }
    slack_widen(solve);
    clocksystem_reset(solve);
    clockrelax_run(&solve->relax, &conflict);
    for (size_t k = 0; k < count; k++) {
        if (middles[k] != CK_CLOCK_NONE && node_is_bounded(&nodes[k])) {
            ck_time_t above = nodes[k].upper - middles[k];
            ck_time_t below = middles[k] - nodes[k].lower;
            ck_time_t half = above > below ? above : below;

            nodes[k].upper = middles[k] + half;
            nodes[k].lower = middles[k] - half;
        }
    }
    free(middles);
}

static void lines_solve(struct clocksolve *solve)
{
    clocksystem_build(solve);
    clocksystem_relax(solve);
}

/* Solve with a wander, after a test with half of it, whose bounds serve for
 * nothing else: they may be too small. *faults: the most contradictions that
 * were met at once. */
static void
wander_solve(struct clocksolve *solve, int64_t wander_ppb, size_t *faults)
{
    int refits = 0;

    solve->faults_count = 0;
    solve->dropped = 0;
    solve->rates.wander_ppb = wander_ppb / 2;
    for (uint32_t d = 0; d < solve->graph->domains; d++) {
        clockline_fini(&solve->lines[d]);
    }
    clockplace_run(solve->graph, solve->root, &solve->rates, solve->lines,
                   solve->order);
    lines_solve(solve);
    *faults = solve->faults_count;
    solve->rates.wander_ppb = wander_ppb;
    hidden_find(solve);
    lines_loosen(solve, wander_ppb - wander_ppb / 2);
    for (;;) {
        lines_solve(solve);
        *faults = solve->faults_count > *faults ? solve->faults_count : *faults;
        if (!is_refit_needed(solve, refits++)) {
            break;
        }
        lines_refit(solve);
    }
    bounds_widen(solve);
}

/* What was left out only because clocks were taken to be steadier is back. */
static void edges_restore(struct clockgraph *graph)
{
    for (size_t i = 0; i < graph->count; i++) {
        graph->edges[i].is_dropped = false;
    }
    graph->dropped = 0;
}

void clocksolve_run(struct clocksolve *solve, uint32_t root)
{
    size_t faults[WANDER_TRIES];
    int64_t wander_ppb = solve->wander_ppb;
    bool is_whole = solve->graph->dropped == 0;
    size_t tries = 0, best = 0;

    solve->root = root;
    for (;;) {
        wander_solve(solve, wander_ppb, &faults[tries]);
        best = faults[tries] < faults[best] ? tries : best;
        if (faults[tries] == 0 || !is_whole) {
            knots_make(solve);
            return;
        }
        edges_restore(solve->graph);
        if (++tries == WANDER_TRIES) {
            /* What no wander explains is no wander. */
            wander_solve(solve, solve->wander_ppb << best, &faults[best]);
            knots_make(solve);
            return;
        }
        wander_ppb *= 2;
    }
}

const struct clocksolve_knot *
clocksolve_knots(const struct clocksolve *solve, uint32_t domain, size_t *count)
{
    *count = solve->first[domain + 1] - solve->first[domain];
    return &solve->knots[solve->first[domain]];
}

const struct clocksolve_fault *clocksolve_fault(const struct clocksolve *solve,
                                                size_t index)
{
    return index < solve->faults_count ? &solve->faults[index] : NULL;
}

uint64_t clocksolve_dropped(const struct clocksolve *solve)
{
    return solve->dropped;
}

int64_t clocksolve_wander(const struct clocksolve *solve,
                          uint32_t domain,
                          int64_t *hidden_ppb)
{
    *hidden_ppb = solve->hidden[domain];
    return domain == solve->root ? 0 : solve->rates.wander_ppb;
}

void clocksolve_size(const struct clocksolve *solve,
                     size_t *nodes,
                     size_t *links,
                     unsigned *sweeps)
{
    *nodes = solve->relax.nodes_count;
    *links = solve->relax.links_count;
    *sweeps = solve->relax.sweeps;
}
