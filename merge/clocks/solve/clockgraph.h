/* clockgraph.h - what is known of the order of instants on different clocks
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Every fact has the same form: what happened at `sent` on one clock came
 * before what happened at `received` on another, a packet, a message, or a
 * collective that is entered and left,
 *
 *   T_from(sent) <= T_to(received),    T(c) = c + theta(c).
 *
 * An error of stamps is added to `received`, a delay that is sure taken off.
 * A collective that all enter before anyone leaves is a meeting: a clock of
 * its own with one instant, received from all and sent to all.
 */
#ifndef CK_MERGE_CLOCKS_SOLVE_CLOCKGRAPH_H
#define CK_MERGE_CLOCKS_SOLVE_CLOCKGRAPH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "merge/model/clockfinding.h"
#include "schema/time.h"

#define CLOCK_EDGES_MAX ((size_t)1 << 30)

/* Someone's part in a meeting; CK_CLOCK_NONE: it does not wait, or is not
 * waited for. */
struct clock_member {
    uint32_t domain;
    ck_time_t enter;
    ck_time_t exit;
};

/* A domain's clock is not trusted to be one from `from` to `to`. */
struct clock_cut {
    uint32_t domain;
    uint32_t shown_by; /* the domain whose probes show it */
    ck_time_t from;
    ck_time_t to;
    ck_time_t size; /* theta is no further from one side to the other */
};

/* An edge as seen from the domain at one of its ends. */
struct clock_end {
    ck_time_t own;    /* the domain's clock */
    ck_time_t theirs; /* the clock at the other end; a meeting has none */
    uint32_t other;   /* domain, or CLOCK_MEETING + its number */
    uint32_t which;   /* edge << 1 | this is its receiving end */
};

struct clockgraph {
    struct clock_edge *edges;
    size_t count, room;
    struct clock_cut *cuts;
    size_t cuts_count, cuts_room;
    uint32_t domains;
    uint32_t meetings;
    uint64_t used[CLOCK_SOURCES]; /* edges by source */
    uint64_t dropped;             /* edges that are */
    /* By domain and time, once closed. */
    struct clock_end *ends;
    size_t *first; /* of each domain, and behind the last */
};

struct clockgraph *clockgraph_create(uint32_t domains);
void clockgraph_destroy(struct clockgraph *graph);
/* Add a fact; copied. 0, or -1 with errno: ENOMEM, EINVAL (one clock, no such
 * domain, a time out of range). */
int clockgraph_edge(struct clockgraph *graph, const struct clock_edge *edge);
/* Add the facts of a meeting; of a domain the last to enter and the first to
 * leave. Fewer than two domains give none. */
void clockgraph_meeting(struct clockgraph *graph,
                        const struct clock_member *members,
                        size_t count,
                        enum clock_source source);
void clockgraph_cut(struct clockgraph *graph, const struct clock_cut *cut);
/* Order the ends; again after more was added. */
void clockgraph_close(struct clockgraph *graph);

static inline bool clockgraph_is_dropped(const struct clockgraph *graph,
                                         const struct clock_end *end)
{
    return graph->dropped > 0 && graph->edges[end->which >> 1].is_dropped;
}

#endif
