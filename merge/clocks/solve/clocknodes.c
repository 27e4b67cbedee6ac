/* clocknodes.c - facts of clocks as nodes and links
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Events of one clock within so short a time that its rate cannot matter share
 * a node; so do those of a meeting.
 */
#include "merge/clocks/solve/clocksystem.h"

#include <stdlib.h>

#include "merge/model/array.h"
#include "merge/model/memory.h"

/* Events of a node are so near that theta moves less than 1 ns. */
#define CLUSTER_SPAN(rate) (1000000000 / ((rate) + 1))
#define CLUSTER_MAX CK_TIME_MS
#define NO_NODE CLOCKRELAX_ORIGIN
/* So many links ahead are fetched into the cache. */
#define AHEAD 16

/* A new node, the last. */
static struct clockrelax_place *node_add(struct clocksolve *solve)
{
    struct clockrelax *relax = &solve->relax;
    struct clockrelax_place *place;

    array_grow(&relax->nodes, &solve->nodes_room, relax->nodes_count,
               sizeof(*relax->nodes));
    array_grow(&relax->places, &solve->places_room, relax->nodes_count,
               sizeof(*place));
    relax->nodes[relax->nodes_count] = (struct clockrelax_node){
        .upper = CK_CLOCK_NONE,
        .lower = -CK_CLOCK_NONE,
        .slack = CK_CLOCK_NONE,
        .upper_of = CLOCKRELAX_ORIGIN,
        .lower_of = CLOCKRELAX_ORIGIN,
    };
    place = &relax->places[relax->nodes_count++];
    *place = (struct clockrelax_place){.group = CLOCKRELAX_MEETING};
    return place;
}

/* Rate of the line around an instant: behind it, or before a jump. */
static int64_t line_rate(const struct clocksolve *solve,
                         const struct clockline *line,
                         ck_time_t at)
{
    ck_time_t slack = clockline_slack(line, at, at + CK_TIME_S);

    if (slack == CK_CLOCK_NONE) {
        slack = clockline_slack(line, at - CK_TIME_S, at);
    }
    return slack == CK_CLOCK_NONE ? solve->rates.blind_ppb : slack;
}

/* The node of an end, a new one unless the last is near enough. */
static struct clockrelax_place *
end_node(struct clocksolve *solve, uint32_t domain, ck_time_t at)
{
    struct clockrelax *relax = &solve->relax;
    const struct clockline *line = &solve->lines[domain];
    size_t count = relax->nodes_count;
    struct clockrelax_place *place;

    if (count > solve->first[domain]) {
        ck_time_t slack;
        ck_time_t span;

        place = &relax->places[count - 1];
        slack = clockline_slack(line, place->at, at);
        span = CLUSTER_SPAN(place->rate_ppb);
        span = span < CLUSTER_MAX ? span : CLUSTER_MAX;
        if (at - place->at <= span && slack != CK_CLOCK_NONE) {
            return place;
        }
        relax->nodes[count - 1].slack = slack;
    }
    place = node_add(solve);
    if (place == NULL) {
        return NULL;
    }
    place->domain = domain;
    place->at = at;
    place->trend = clockline_theta(line, at);
    place->rate_ppb = domain == solve->root ? 0 : line_rate(solve, line, at);
    if (domain == solve->root) {
        relax->nodes[count].upper = relax->nodes[count].lower = 0;
    }
    return place;
}

/* Tie one end of an edge to its node. */
static void link_tie(struct clocksolve *solve,
                     uint32_t end,
                     const struct clockrelax_place *place,
                     ck_time_t time,
                     ck_time_t slack)
{
    struct clockrelax_link *link = &solve->relax.links[end >> 1];
    uint32_t number = (uint32_t)(place - solve->relax.places);

    if ((end & 1) != 0) {
        link->y = number;
        link->w += time + slack;
    } else {
        link->x = number;
        link->w += slack - time;
    }
}

static void domain_build(struct clocksolve *solve, uint32_t domain)
{
    const struct clockgraph *graph = solve->graph;
    const struct clockline *line = &solve->lines[domain];
    size_t last = graph->first[domain + 1];

    solve->first[domain] = solve->relax.nodes_count;
    for (size_t i = graph->first[domain]; line->count > 0 && i < last; i++) {
        const struct clock_end *end = &graph->ends[i];
        struct clockrelax_place *place;
        ck_time_t at = end->own;

        if (i + AHEAD < last) {
            __builtin_prefetch(&solve->relax.links[end[AHEAD].which >> 1], 1);
        }
        if (clockgraph_is_dropped(graph, end)) {
            continue;
        }
        place = end_node(solve, domain, at);
        link_tie(solve, end->which, place, at + clockline_theta(line, at),
                 ck_clock_drift(at - place->at, place->rate_ppb));
    }
}

/* A node for each meeting, at an instant of some member. */
static void meetings_build(struct clocksolve *solve)
{
    const struct clockgraph *graph = solve->graph;
    size_t first = solve->relax.nodes_count;

    for (uint32_t i = 0; i < graph->meetings; i++) {
        struct clockrelax_place *place = node_add(solve);

        place->trend = CK_CLOCK_NONE;
    }
    for (size_t i = 0; i < graph->count; i++) {
        const struct clock_edge *edge = &graph->edges[i];
        struct clockrelax_link *link = &solve->relax.links[i];
        bool is_in = (edge->to & CLOCK_MEETING) != 0;
        struct clockrelax_place *place;

        if (((edge->from | edge->to) & CLOCK_MEETING) == 0 ||
            (is_in ? link->x : link->y) == NO_NODE) {
            continue;
        }
        place = &solve->relax.places[first + ((is_in ? edge->to : edge->from) &
                                              ~CLOCK_MEETING)];
        if (place->trend == CK_CLOCK_NONE) {
            place->trend = is_in ? -link->w : link->w;
        }
        link_tie(solve, (uint32_t)i << 1 | is_in, place, place->trend, 0);
    }
}

/* Links with an end that has no place are none. */
static void links_sift(struct clocksolve *solve)
{
    struct clockrelax *relax = &solve->relax;

    relax->links_count = solve->graph->count;
    for (size_t i = 0; i < relax->links_count; i++) {
        struct clockrelax_link *link = &relax->links[i];

        if (link->x == NO_NODE || link->y == NO_NODE) {
            *link = (struct clockrelax_link){NO_NODE, NO_NODE, 0};
        }
    }
}

static void groups_make(struct clocksolve *solve)
{
    const struct clockgraph *graph = solve->graph;
    struct clockrelax *relax = &solve->relax;

    relax->groups_count = 0;
    for (uint32_t i = 0;
         i < graph->domains && solve->order[i] != CLOCKPLACE_END; i++) {
        uint32_t domain = solve->order[i];

        for (size_t k = solve->first[domain]; k < solve->first[domain + 1];
             k++) {
            relax->places[k].group = (uint32_t)relax->groups_count;
        }
        relax->groups[relax->groups_count++] = (struct clockrelax_group){
            .first = solve->first[domain],
            .end = solve->first[domain + 1],
            .touching = &graph->ends[graph->first[domain]],
            .touching_count = graph->first[domain + 1] - graph->first[domain],
        };
    }
}

void clocksystem_build(struct clocksolve *solve)
{
    size_t edges = solve->graph->count;
    struct clockrelax *relax = &solve->relax;

    if (relax->links == NULL) {
        relax->links = xmalloc((edges + 1) * sizeof(*relax->links));
        relax->groups = xmalloc(((size_t)solve->graph->domains + 1) *
                                sizeof(*relax->groups));
    }
    for (size_t i = 0; i < edges; i++) {
        relax->links[i] = (struct clockrelax_link){NO_NODE, NO_NODE, 0};
    }
    relax->nodes_count = 0;
    for (uint32_t d = 0; d < solve->graph->domains; d++) {
        domain_build(solve, d);
    }
    solve->first[solve->graph->domains] = relax->nodes_count;
    meetings_build(solve);
    links_sift(solve);
    groups_make(solve);
}
