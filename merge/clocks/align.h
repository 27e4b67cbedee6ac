/* align.h - every rank's clock onto one axis
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * The axis is CLOCK_MONOTONIC_RAW of the reference clock, or else of domain 0
 * (calibration.h), in nanoseconds. Within a domain RAW is one clock, so its
 * ranks are exactly aligned; ticks of the time stamp counter go to RAW by one
 * piecewise straight line a domain, made of the (ticks, RAW) pairs that its
 * collectors stored. Domains whose offset was not measured are placed by their
 * REALTIME snapshot, and reported as such.
 */
#ifndef CK_MERGE_CLOCKS_ALIGN_H
#define CK_MERGE_CLOCKS_ALIGN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "merge/clocks/calibration.h"
#include "merge/clocks/clockwatch.h"
#include "merge/model/defs.h"
#include "merge/model/clocktaker.h"
#include "merge/timeline/axis.h"
#include "merge/timeline/clockparts.h"
#include "schema/event.h"
#include "schema/time.h"

struct align;
struct clockedges;
struct align *align_create(void);
void align_destroy(struct align *align);

/* A clock fact that an agent stored. */
void align_fact(struct align *align,
                uint32_t agent,
                const struct ck_clock_fact *fact);
/* The same for those who read a run; `align` is borrowed. */
struct clocktaker align_taker(struct align *align);
/* Do without the probes that were stored. Before align_close(). */
void align_forget_probes(struct align *align);
/* Once the definitions is closed: place every domain roughly, by one offset.
 * `defs` is read only now. */
void align_close(struct align *align, const struct defs *defs);
/* Make the maps for good, with the facts of messages and collectives (NULL =
 * none). */
void align_settle(struct align *align, const struct clockedges *edges);

/* Before that: the dates are believed. `errors` (by rank of the definitions) is
 * how far one may be off. */
void align_believe(struct align *align,
                   const struct defs *defs,
                   const ck_time_t *errors);
/* Let the clocks of profiles that have a map keep one offset each, that of the
 * middle of their recording (`defs`), until align_release(): then no length in
 * them changes. False: none of them has a map. */
bool align_hold(struct align *align, const struct defs *defs);
void align_release(struct align *align);

/* How far from the truth the axis may put a stamp of an agent, relative to the
 * reference; two stamps of one domain are exact to each other. 0, or -1 when
 * the agent's domain is not calibrated. */
int align_bound(const struct align *align,
                uint32_t agent,
                bool is_ticks,
                int64_t stamp,
                ck_time_t *bound);
/* The same of stamps of two agents at a time on the axis, relative to each
 * other: often less than both bounds together. 0, or -1. */
int align_pair_bound(const struct align *align,
                     uint32_t agent,
                     uint32_t other,
                     ck_time_t time,
                     ck_time_t *bound);
/* The largest bound of an agent's clock in each part of a stretch of the axis;
 * CLOCKMAP_ERROR_UNKNOWN: not known there. 0, or -1: not calibrated. */
int align_bound_parts(const struct align *align,
                      uint32_t agent,
                      const ck_time_t stretch[2],
                      ck_time_t parts[CLOCKPARTS]);
/* The same of two agents, relative to each other. */
int align_pair_parts(const struct align *align,
                     uint32_t agent,
                     uint32_t other,
                     const ck_time_t stretch[2],
                     ck_time_t parts[CLOCKPARTS]);
/* Stamps onto the axis, from align_close() on. Borrowed. */
const struct axis *align_axis(const struct align *align);
/* Borrowed. */
const struct calibration *align_calibration(const struct align *align);
/* By how much a stamp of an agent that is put at a time may be off against
 * others of its own clock: ticks of a counter that jumped there. Mostly 0. */
ck_time_t
align_doubt(const struct align *align, uint32_t agent, ck_time_t time);
/* How a domain was placed. */
struct align_domain {
    bool is_calibrated; /* on the axis, with a bound */
    struct calibration_domain clock;
    bool has_place;   /* else it starts where domain 0 starts */
    size_t pairs;     /* (ticks, RAW) pairs of its map */
    ck_time_t bound;  /* of the map: the most that it is off by */
    ck_time_t offset; /* added to its RAW where it is not calibrated */
    bool lacks_pairs; /* ticks were recorded and no pair was stored */
};
struct align_domain align_domain(const struct align *align, uint32_t domain);
/* What happened to a domain's other clocks; the caller's to free. */
void align_watch(const struct align *align,
                 uint32_t domain,
                 struct clockwatch_event **events,
                 size_t *count);
/* REALTIME of the axis's zero, for dates; 0 = not known. */
int64_t align_realtime(const struct align *align);

#endif
