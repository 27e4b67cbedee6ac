/* clockedges.h - what the messages and collectives of a run show of clocks
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Takes all events once, before the clocks are aligned, and keeps of each pair
 * of domains the facts that may bound an offset: of a short window the lower
 * hull of (sent, received - sent), since the tightest fact is on it whatever
 * the drift. Memory is bounded: when there are too many, windows double.
 */
#ifndef CK_MERGE_CLOCKS_CLOCKEDGES_H
#define CK_MERGE_CLOCKS_CLOCKEDGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "merge/clocks/solve/clockgraph.h"
#include "merge/clocks/solve/clocksolve.h"
#include "merge/model/defs.h"
#include "merge/timeline/axis.h"
#include "merge/timeline/timeline.h"

/* Facts that are kept. */
#define CLOCKEDGES_MAX ((size_t)1 << 19)
/* No message between two clocks takes less. */
#define CLOCKEDGES_DELAY CLOCKSOLVE_GRAIN

struct clockedges;
/* Borrowed. */
struct clockedges *clockedges_create(const struct defs *defs,
                                     const struct axis *axis);
void clockedges_destroy(struct clockedges *edges);
/* A timeline_take_f; the timeline of an axis that is not settled. */
int clockedges_take(void *edges, const struct timeline_event *event);
/* A message, or what is like one. */
void clockedges_add(struct clockedges *edges, const struct clock_edge *edge);
/* All enter before any leaves. */
void clockedges_meet(struct clockedges *edges,
                     const struct clock_member *members,
                     size_t count,
                     enum clock_source source);
/* Facts seen, and those kept that are of use. */
uint64_t clockedges_seen(const struct clockedges *edges);
uint64_t clockedges_kept(const struct clockedges *edges);

/* A device, whose clock may be one of its own: a domain behind those of the
 * definitions and the reference. Facts about it are of no use until it is set
 * apart.
 */
struct clockedges_device {
    uint32_t agent;
    uint32_t number; /* of its process */
    bool is_apart;
};
/* Its domain. */
uint32_t
clockedges_device(struct clockedges *edges, uint32_t agent, uint32_t number);
void clockedges_apart(struct clockedges *edges, uint32_t domain);
/* The index-th, borrowed; NULL beyond the last. Its domain is that of the
 * first one plus the index. */
const struct clockedges_device *
clockedges_device_at(const struct clockedges *edges, size_t index);
size_t clockedges_devices(const struct clockedges *edges);
/* Put what was kept into a graph. */
void clockedges_fill(const struct clockedges *edges, struct clockgraph *graph);

#endif
