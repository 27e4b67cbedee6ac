/* calibration.h - the offset of each clock domain, with its bound
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Domains probed the reference clock (the ckagg's domain, named by
 * reference_boot_id and reference_timens among an agent's identity or exit
 * lines). Their probes give a band each (schema/clock/clockband.h). Where
 * messages or collectives went between domains, all facts are solved together
 * (clocksolve.h) on the axis of domain 0; else the axis is the reference's RAW
 * when domain 0 can be put on it, else domain 0's, and then no other domain is
 * calibrated.
 */
#ifndef CK_MERGE_CLOCKS_CALIBRATION_H
#define CK_MERGE_CLOCKS_CALIBRATION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "merge/clocks/calibrationprobe.h"
#include "merge/clocks/clockstep.h"
#include "merge/clocks/solve/clockgraph.h"
#include "merge/model/defs.h"
#include "merge/timeline/clockmap.h"
#include "merge/timeline/clockparts.h"
#include "schema/clock/clockband.h"
#include "schema/event.h"
#include "schema/time.h"

enum calibration_method {
    CALIBRATION_NONE,
    CALIBRATION_SAME,  /* it is the axis's clock: exactly 0 */
    CALIBRATION_FACTS, /* by facts that are counted by their source */
    CALIBRATION_DATES, /* its date is believed: of profiles */
};

struct calibration;
struct clockedges;
struct clocksolve_fault;
struct calibration *calibration_create(void);
void calibration_destroy(struct calibration *calibration);

/* A CLOCK_PROBE that an agent stored. */
void calibration_probe(struct calibration *calibration,
                       uint32_t agent,
                       const struct ck_clock_fact *fact);
/* The probes so far, borrowed. */
const struct calibration_probe *
calibration_probes(const struct calibration *calibration, size_t *count);
/* Forget the probes so far. */
void calibration_forget(struct calibration *calibration);
/* Once the definitions is closed: the bands of all domains. `defs` is read only
 * now. */
void calibration_close(struct calibration *calibration,
                       const struct defs *defs);
/* Make the maps, with the facts of messages and collectives if there are any
 * (NULL = none), else of the bands alone. `stamp_error` has by domain how wrong
 * its RAW may be where it was made of ticks. */
void calibration_solve(struct calibration *calibration,
                       const struct clockedges *edges,
                       const ck_time_t *stamp_error);

/* In place of that: all domains are one clock, by their dates. */
void calibration_believe(struct calibration *calibration);

/* The reference's number among the domains, DEFS_NONE = it is none of them. */
uint32_t calibration_reference(const struct defs *defs);
/* Once solved: name each step on the clock that jumped. Of the clocks, as many
 * as there are domains, the readings are given; their faults are the caller's
 * to free. */
void calibration_blame(struct calibration *calibration,
                       struct clockstep_clock *clocks);
/* The map of a domain's RAW to the axis; NULL = there is none: it is the axis,
 * or not calibrated. */
struct clockmap *calibration_map(const struct calibration *calibration,
                                 uint32_t domain);

struct calibration_domain {
    enum calibration_method method;
    ck_time_t offset;             /* at half of what its map covers */
    int64_t drift_ppb;            /* over all of it */
    int64_t wander_ppb;           /* about its trend, as is assumed */
    int64_t hidden_ppb;           /* more for the bound, as facts are vague */
    uint64_t lost;                /* probes without an answer */
    uint64_t used[CLOCK_SOURCES]; /* facts, by source */
    uint64_t dropped; /* of them, no probes, that contradicted the others */
    struct ck_clockband_summary band;
};
struct calibration_domain
calibration_domain(const struct calibration *calibration, uint32_t domain);
/* A domain's clock against another's, at a time on the axis: how far the truth
 * may be from the difference of their maps. CK_CLOCK_NONE: no more is known
 * than of each alone. */
ck_time_t calibration_pair(const struct calibration *calibration,
                           uint32_t a,
                           uint32_t b,
                           ck_time_t time);
/* The largest of it in each part of a stretch of the axis. False: no more is
 * known than of each alone. */
bool calibration_pair_parts(const struct calibration *calibration,
                            uint32_t a,
                            uint32_t b,
                            const ck_time_t stretch[2],
                            ck_time_t parts[CLOCKPARTS]);
/* Is that so? True as well where their sum is all that can be known: next to
 * the axis, and where each has been probed alone. */
bool calibration_pair_is_solved(const struct calibration *calibration,
                                uint32_t a,
                                uint32_t b,
                                ck_time_t time);
/* The map of a device that was set apart (clockedges_device()), by its domain.
 * NULL = it is not known from both sides. */
struct clockmap *calibration_device(const struct calibration *calibration,
                                    uint32_t domain);
/* Facts that contradicted each other when all were solved together, borrowed;
 * NULL beyond the last. */
const struct clocksolve_fault *
calibration_conflict(const struct calibration *calibration, size_t index);
/* The index-th fault of a domain, borrowed; NULL beyond the last. */
const struct ck_clock_fault *calibration_fault(
    const struct calibration *calibration, uint32_t domain, size_t index);
/* The name of how a domain was calibrated, for people and for JSON: "none",
 * "same clock", "probes", "messages", "probes, messages and kernels" ... */
const char *calibration_name(const struct calibration_domain *domain);
/* 'A' below 1 us, 'B' 10 us, 'C' 100 us, else 'D'. */
char calibration_grade(ck_time_t bound);

#endif
