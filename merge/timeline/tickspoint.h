/* tickspoint.h - a point at which ticks and RAW are known
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CK_MERGE_TIMELINE_TICKSPOINT_H
#define CK_MERGE_TIMELINE_TICKSPOINT_H

#include <stdbool.h>
#include <stdint.h>

#include "schema/time.h"

/* A line that is known no better is doubtful: something happened there. */
#define TICKS_DOUBT CK_TIME_US
/* No time is further from a pair, and no error larger: sums of some do not
 * wrap. Pairs themselves are within TICKS_MAX, their widths within
 * TICKS_WIDTH_MAX: what does not is damage. */
#define TICKS_FAR (INT64_MAX / 20)
#define TICKS_MAX (INT64_MAX / 3)
#define TICKS_WIDTH_MAX (86400 * CK_TIME_S)

/* Nothing is recorded so long before the first or after the last pair, by far:
 * only asked where there are several pieces. */
#define TICKS_OUTSIDE (10 * CK_TIME_S)
/* Pieces at most: of what jumps more often, the rest is one piece in which any
 * time is possible. */
#define TICKS_PIECES 64

struct ticks_point {
    int64_t ticks;
    int64_t raw;
    double slope;    /* RAW ns a tick from here on */
    ck_time_t width; /* raw may be wrong by it */
    ck_time_t error; /* the most that a stamp up to the next point is off by */
    int64_t source;
    bool is_foreign; /* RAW may be kept by another clock than the counter */
    bool is_odd;     /* up to the next point it fits no neighbour */
    bool is_last;    /* of a piece */
    bool is_other;   /* stamps from here on may be of an earlier piece */
};

#endif
