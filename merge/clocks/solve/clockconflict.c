/* clockconflict.c - facts that contradict each other
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * A conflict is a cycle of facts that cannot all be true. One of them that
 * also contradicts the trends is left out; else, if some ppm more explain it,
 * the clocks of the cycle may run faster there; else the one that is trusted
 * least goes.
 */
#include <stdlib.h>

#include "merge/clocks/solve/clocksystem.h"
#include "schema/clock/clocktrend.h"

/* Up to this rate a contradiction may be a clock that wanders: 20 ppm. */
#define RATE_STEP 20000
/* After so many contradictions all that contradict the trends are dropped. */
#define CONFLICTS_MAX 200

static struct clocksolve_fault *
fault_add(struct clocksolve *solve, const struct clockrelax_conflict *conflict)
{
    struct clocksolve_fault *fault;

    if (solve->faults_count == CLOCKSYSTEM_FAULTS_MAX) {
        return NULL;
    }
    fault = &solve->faults[solve->faults_count++];
    *fault = (struct clocksolve_fault){.excess = conflict->excess,
                                       .cycle = conflict->links_count};
    for (size_t i = 0;
         i < conflict->links_count && fault->edges_count < CLOCKSOLVE_NAMED;
         i++) {
        fault->edges[fault->edges_count++] =
            solve->graph->edges[conflict->links[i]];
    }
    return fault;
}

static void link_drop(struct clocksolve *solve, uint32_t number)
{
    struct clockrelax_link *link = &solve->relax.links[number];

    solve->graph->edges[number].is_dropped = true;
    solve->graph->dropped++;
    link->x = link->y = CLOCKRELAX_ORIGIN;
    link->w = 0;
    solve->dropped++;
}

/* The link of a conflict that contradicts the trends most; of two, the one
 * that is trusted less. */
static uint32_t link_worst(const struct clocksolve *solve,
                           const struct clockrelax_conflict *conflict)
{
    const struct clockrelax_link *links = solve->relax.links;
    uint32_t worst = conflict->links[0];

    for (size_t i = 1; i < conflict->links_count; i++) {
        uint32_t link = conflict->links[i];
        enum clock_source mine = solve->graph->edges[link].source;
        enum clock_source best = solve->graph->edges[worst].source;

        if (links[link].w < links[worst].w ||
            (links[link].w == links[worst].w && mine < best)) {
            worst = link;
        }
    }
    return worst;
}

/* Let the clocks of a conflict run faster, if that may explain it. */
static bool conflict_rate(struct clocksolve *solve,
                          const struct clockrelax_conflict *conflict)
{
    struct clockrelax_node *nodes = solve->relax.nodes;
    const struct clockrelax_place *places = solve->relax.places;
    ck_time_t allowed = 0, total = 0, longest = 0;
    struct clocksolve_fault *fault;
    size_t widest = 0;

    for (size_t i = 0; i < conflict->spans_count; i++) {
        const struct clockrelax_span *span = &conflict->spans[i];
        ck_time_t length = places[span->last].at - places[span->first].at;

        if (places[span->first].domain == solve->root) {
            continue;
        }
        total += length;
        allowed += ck_clock_drift(length, RATE_STEP);
        for (size_t n = span->first; n < span->last; n++) {
            allowed -= nodes[n].slack;
        }
        if (length > longest) {
            longest = length;
            widest = i;
        }
    }
    if (total == 0 || allowed < conflict->excess) {
        return false;
    }
    fault = fault_add(solve, conflict);
    for (size_t i = 0; i < conflict->spans_count; i++) {
        const struct clockrelax_span *span = &conflict->spans[i];

        if (places[span->first].domain == solve->root) {
            continue;
        }
        for (size_t n = span->first; n < span->last; n++) {
            nodes[n].slack +=
                1 + (ck_time_t)((__int128)conflict->excess *
                                (places[n + 1].at - places[n].at) / total);
        }
    }
    if (fault != NULL) {
        const struct clockrelax_span *span = &conflict->spans[widest];

        fault->kind = CK_CLOCK_FAULT_RATE;
        fault->domain = places[span->first].domain;
        fault->from = places[span->first].at;
        fault->to = places[span->last].at;
        fault->rate_ppb =
            (int64_t)((__int128)conflict->excess * 1000000000 / total) +
            places[span->first].rate_ppb;
    }
    return true;
}

static void conflict_solve(struct clocksolve *solve,
                           const struct clockrelax_conflict *conflict)
{
    struct clocksolve_fault *fault;
    uint32_t worst;

    if (conflict->links_count == 0) {
        return;
    }
    worst = link_worst(solve, conflict);
    if (solve->relax.links[worst].w > -conflict->excess / 2 &&
        conflict_rate(solve, conflict)) {
        return;
    }
    fault = fault_add(solve, conflict);
    if (fault != NULL) {
        struct clock_edge edge = solve->graph->edges[worst];

        fault->kind = CK_CLOCK_FAULT_PROBE;
        for (size_t i = 1; i < fault->edges_count; i++) {
            if (conflict->links[i] == worst) {
                fault->edges[i] = fault->edges[0];
            }
        }
        fault->edges[0] = edge;
        fault->domain = edge.from;
        fault->from = edge.sent;
        fault->to = edge.received;
    }
    link_drop(solve, worst);
}

/* What contradicts the trends by itself: without it, the trends fit. */
static void conflicts_give_up(struct clocksolve *solve)
{
    for (size_t i = 0; i < solve->relax.links_count; i++) {
        if (solve->relax.links[i].w < 0) {
            link_drop(solve, (uint32_t)i);
        }
    }
}

void clocksystem_reset(struct clocksolve *solve)
{
    for (size_t k = 0; k < solve->relax.nodes_count; k++) {
        struct clockrelax_node *node = &solve->relax.nodes[k];
        bool is_root =
            k >= solve->first[solve->root] && k < solve->first[solve->root + 1];

        node->upper = is_root ? 0 : CK_CLOCK_NONE;
        node->lower = is_root ? 0 : -CK_CLOCK_NONE;
        node->upper_of = node->lower_of = CLOCKRELAX_ORIGIN;
    }
}

/* What was dropped stays so when the trends change; rates are found anew. */
static void faults_keep_dropped(struct clocksolve *solve)
{
    size_t kept = 0;

    for (size_t i = 0; i < solve->faults_count; i++) {
        if (solve->faults[i].kind == CK_CLOCK_FAULT_PROBE) {
            solve->faults[kept++] = solve->faults[i];
        }
    }
    solve->faults_count = kept;
}

void clocksystem_relax(struct clocksolve *solve)
{
    struct clockrelax_conflict conflict;

    faults_keep_dropped(solve);
    for (int round = 0; round <= CONFLICTS_MAX + 1; round++) {
        clockrelax_run(&solve->relax, &conflict);
        if (conflict.excess == 0 || round > CONFLICTS_MAX) {
            break;
        }
        if (round < CONFLICTS_MAX) {
            conflict_solve(solve, &conflict);
        } else {
            conflicts_give_up(solve);
        }
        clocksystem_reset(solve);
    }
}
