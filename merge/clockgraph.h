/* clockgraph.h - what is known of the order of instants on different clocks
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Every fact says the same thing: what happened at `sent` on one clock came
 * before what happened at `received` on another, a packet, a message, or a
 * collective that is entered and left,
 *
 *   T_from(sent) <= T_to(received),    T(c) = c + theta(c).
 *
 * An error of stamps is added to `received`, a delay that is sure taken off.
 * A collective that all enter before anyone leaves is a meeting: a clock of
 * its own with one instant, received from all and sent to all.
 */
#ifndef CK_MERGE_CLOCKGRAPH_H
#define CK_MERGE_CLOCKGRAPH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "schema/time.h"

/* By trust, the least first. */
enum clock_source {
    CLOCK_SOURCE_DEVICE, /* a launch, a synchronisation */
    CLOCK_SOURCE_KERNEL, /* a collective of devices */
    CLOCK_SOURCE_MESSAGE,
    CLOCK_SOURCE_COLLECTIVE,
    CLOCK_SOURCE_PROBE,
    CLOCK_SOURCES
};

#define CLOCK_MEETING ((uint32_t)1 << 31)
#define CLOCK_EDGES_MAX ((size_t)1 << 30)

struct clock_edge {
    ck_time_t sent;
    ck_time_t received;
    uint32_t from; /* domain, or CLOCK_MEETING + its number */
    uint32_t to;
    enum clock_source source;
    bool is_dropped; /* it contradicts the others */
};

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
    ck_time_t from;
    ck_time_t to;
};

struct clockgraph {
    struct clock_edge *edges;
    size_t count, room;
    struct clock_cut *cuts;
    size_t cuts_count, cuts_room;
    uint32_t domains;
    uint32_t meetings;
    uint64_t used[CLOCK_SOURCES]; /* edges by source */
    /* By domain and time, once closed: edge << 1 | its receiving end. */
    uint32_t *ends;
    size_t *first; /* of each domain, and behind the last */
};

/* NULL with ENOMEM. */
struct clockgraph *clockgraph_create(uint32_t domains);
void clockgraph_destroy(struct clockgraph *graph);
/* Add a fact; copied. 0, or -1 with errno: ENOMEM, EINVAL (one clock, no such
 * domain, a time out of range). */
int clockgraph_edge(struct clockgraph *graph, const struct clock_edge *edge);
/* Add what a meeting says; of a domain the last to enter and the first to
 * leave. Fewer than two domains say nothing. 0, or -1 with ENOMEM. */
int clockgraph_meeting(struct clockgraph *graph,
                       const struct clock_member *members,
                       size_t count,
                       enum clock_source source);
int clockgraph_cut(struct clockgraph *graph, const struct clock_cut *cut);
/* Order the ends; again after more was added. 0, or -1 with ENOMEM. */
int clockgraph_close(struct clockgraph *graph);

/* The time of an end on its own clock. */
static inline ck_time_t clockgraph_time(const struct clockgraph *graph,
                                        uint32_t end)
{
    const struct clock_edge *edge = &graph->edges[end >> 1];

    return (end & 1) != 0 ? edge->received : edge->sent;
}

#endif
