/* ticksfit.h - how well the stretches between pairs of clocks fit together
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Part of ticks.c.
 */
#ifndef CK_MERGE_TIMELINE_TICKSFIT_H
#define CK_MERGE_TIMELINE_TICKSFIT_H

#include <stddef.h>

#include "merge/timeline/tickspoint.h"

/* Of a rate in ns of RAW a tick. */
struct ticksfit_rate {
    double rate;  /* 0 = nothing is known */
    double doubt; /* it may be wrong by it */
};

/* Fill slope, error and is_last of points that have all else. */
void ticksfit_points(struct ticks_point *points, size_t count);
/* The rate in front of a point or behind it. */
struct ticksfit_rate
ticksfit_before(const struct ticks_point *points, size_t count, size_t point);
struct ticksfit_rate
ticksfit_behind(const struct ticks_point *points, size_t count, size_t point);

/* Make what is behind too many jumps one piece, of two points: any time of it
 * is possible, and that is its error. Returns how many points there are. */
size_t ticksfit_limit(struct ticks_point *points, size_t count);

#endif
