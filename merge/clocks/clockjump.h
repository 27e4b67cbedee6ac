/* clockjump.h - where a clock jumped, by the solution of all facts
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CK_MERGE_CLOCKS_CLOCKJUMP_H
#define CK_MERGE_CLOCKS_CLOCKJUMP_H

#include <stddef.h>

#include "merge/clocks/solve/clocksolve.h"
#include "merge/timeline/clockmap.h"
#include "schema/clock/clockband.h"

/* Points of a map from the knots of a solution, those that are bounded. *points
 * is the caller's to free. */
void clockjump_points(const struct clocksolve_knot *knots,
                      size_t count,
                      struct clockmap_point **points,
                      size_t *kept);
/* How fast an offset moves, ppb: over the stretches between jumps, each for as
 * long as it lasts. */
int64_t clockjump_drift(const struct clockmap_point *points, size_t count);
/* A clock that was set backwards reads the same twice, and no map can separate
 * the two. Leave out the points where that may be, so that the jump's bound
 * covers them. Returns how many stay. */
size_t clockjump_clear(struct clockmap_point *points, size_t count);
/* Jumps between points that a map is made of, as faults of kind STEP: where the
 * bounds of both sides and 100 ppm do not explain what is between them. *faults
 * is the caller's to free. */
void clockjump_find(const struct clockmap_point *points,
                    size_t count,
                    struct ck_clock_fault **faults,
                    size_t *found);

#endif
