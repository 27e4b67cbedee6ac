/* clocksolve.h - the offset of every clock from all facts at once
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * One axis, that of a root clock. The bounds are the tightest that the facts
 * and the rates allow; the middle of them contradicts no fact that was kept
 * (docs/clock.md). Facts that contradict each other are found, named and left
 * out one by one.
 */
#ifndef CK_MERGE_CLOCKS_SOLVE_CLOCKSOLVE_H
#define CK_MERGE_CLOCKS_SOLVE_CLOCKSOLVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "merge/clocks/solve/clockgraph.h"
#include "schema/clock/clockband.h"
#include "schema/time.h"

/* Zeros mean the defaults. */
struct clocksolve_options {
    int64_t wander_ppb; /* about a trend (1000) */
    int64_t blind_ppb;  /* without one (100000) */
};

/* What is known of a clock at one of its instants. */
struct clocksolve_knot {
    ck_time_t at;
    ck_time_t offset;
    ck_time_t bound;  /* CK_CLOCK_NONE: not bounded */
    ck_time_t upper;  /* of the offset, where one side alone is bounded; */
    ck_time_t lower;  /* CK_CLOCK_NONE, -CK_CLOCK_NONE: it is not */
    int64_t rate_ppb; /* theta leaves the straight line to the next no faster */
    bool is_last;     /* the clock jumped before the next */
};

/* Events that share a node, and rounding, may put the ends of a fact so many ns
 * the wrong way round: facts are added with as much to spare. */
#define CLOCKSOLVE_GRAIN ((ck_time_t)16)
struct clocksolve;
/* For a closed graph, borrowed. */
struct clocksolve *clocksolve_create(struct clockgraph *graph,
                                     const struct clocksolve_options *options);
void clocksolve_destroy(struct clocksolve *solve);

/* Solve about a root; edges that contradict the others are marked as
 * dropped. */
void clocksolve_run(struct clocksolve *solve, uint32_t root);
/* Knots of a domain, borrowed; *count = 0: nothing ties it to the root. */
const struct clocksolve_knot *clocksolve_knots(const struct clocksolve *solve,
                                               uint32_t domain,
                                               size_t *count);
/* The index-th fault, borrowed; NULL beyond the last. */
const struct clocksolve_fault *clocksolve_fault(const struct clocksolve *solve,
                                                size_t index);
/* Facts that were left out. */
uint64_t clocksolve_dropped(const struct clocksolve *solve);
/* The wander about its trend that a domain was solved with, ppb; *hidden_ppb:
 * what was added to it for the bound, as its facts are vague. */
int64_t clocksolve_wander(const struct clocksolve *solve,
                          uint32_t domain,
                          int64_t *hidden_ppb);
/* Sizes of the last solve. */
void clocksolve_size(const struct clocksolve *solve,
                     size_t *nodes,
                     size_t *links,
                     unsigned *sweeps);

#endif
