/* ticks.h - ticks of a time stamp counter as CLOCK_MONOTONIC_RAW
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Points (ticks, RAW) in order of RAW. Between two of them a stamp lies on
 * their straight line, with the error of that line; outside, the line of the
 * first two, or of the last two, goes on.
 *
 * Where the counter jumped, or ran backwards, a new piece begins: between the
 * last point of one and the first of the next both lines go on, and a stamp
 * that may be of either has their distance as its error.
 */
#ifndef CK_MERGE_TIMELINE_TICKS_H
#define CK_MERGE_TIMELINE_TICKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "schema/time.h"

/* A line that is known no better is doubtful: something happened there. */
#define TICKS_DOUBT CK_TIME_US
/* No time is further from a pair, and no error larger: sums of some do not
 * wrap. Pairs themselves lie within TICKS_MAX, their widths within
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

/* A reading of both clocks that an agent stored. */
struct ticks_pair {
    uint32_t agent;
    uint32_t key; /* the agent with the lowest leads */
    int64_t ticks;
    int64_t raw;
    int64_t width;  /* raw may be wrong by it */
    int64_t source; /* the kernel's clocksource (clocksource.h); 0 = unknown */
};

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

/* Points `first` to `last`, and what its lines may be asked for. */
struct ticks_piece {
    size_t first;
    size_t last;
    int64_t from; /* ticks */
    int64_t to;
    double before; /* RAW ns a tick in front of it */
    double after;
    double doubt;  /* what these may be wrong by */
    bool is_rated; /* they are its own, and well known */
    bool is_odd;   /* its first or last stretch is */
    bool is_lent;  /* they are another piece's */
};

struct ticks {
    struct ticks_point *points;
    size_t count;
    struct ticks_piece *pieces;
    size_t pieces_count;
    size_t hint;     /* where the last stamp was found */
    ck_time_t bound; /* the largest error that is not doubtful */
    ck_time_t worst; /* the largest error */
    bool is_lacking; /* ticks were asked for, and there were no points */
};

/* Make it of a domain's pairs, in any order: the leader's, and others' before
 * and after. 0, or -1 with ENOMEM. */
int ticks_make(struct ticks *ticks, struct ticks_pair *pairs, size_t count);
void ticks_fini(struct ticks *ticks);
int64_t ticks_raw(struct ticks *ticks, int64_t stamp);
/* The most that ticks_raw() is off by. */
ck_time_t ticks_error(struct ticks *ticks, int64_t stamp);
/* The largest error of stamps that were made from one time of RAW to another.
 */
ck_time_t
ticks_error_between(const struct ticks *ticks, ck_time_t from, ck_time_t to);
/* When stamps from `first` to `last` were made at the earliest and latest;
 * `is_safe`: none can be outside, else as near as is known. */
void ticks_span(struct ticks *ticks,
                const int64_t stamps[2],
                bool is_safe,
                ck_time_t span[2]);
/* What happened from a point to the next: the jump in ns of RAW, 0 = none. */
ck_time_t ticks_jump(const struct ticks *ticks, size_t point);

#endif
