/* clockreach.h - how far a clock may be off where it jumped
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Between the last point of one time and the first one of the next, a clock is
 * on the line of either side, unless it jumped more than once: then it was off
 * by what its cuts have, or by what facts in between show.
 */
#ifndef CK_MERGE_CLOCKS_CLOCKREACH_H
#define CK_MERGE_CLOCKS_CLOCKREACH_H

#include <stddef.h>
#include <stdint.h>

#include "merge/clocks/solve/clockgraph.h"
#include "merge/clocks/solve/clocksolve.h"
#include "merge/timeline/clockmap.h"

/* All borrowed. */
struct clockreach {
    const struct clockgraph *graph;
    uint32_t domain;
    const struct clocksolve_knot *knots;
    size_t count;
};

/* Set how far jumps between points reach. */
void clockreach_between(const struct clockreach *reach,
                        struct clockmap_point *points,
                        size_t count);
/* Where a cut leaves no point on one side: a point there that is as vague as
 * the jump is large. There is a point. */
void clockreach_ends(const struct clockreach *reach,
                     struct clockmap_point **points,
                     size_t *count);

#endif
