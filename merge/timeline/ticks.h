/* ticks.h - ticks of a time stamp counter as CLOCK_MONOTONIC_RAW
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Points (ticks, RAW) in order of RAW. Between two of them a stamp is on
 * their straight line, with the error of that line; outside, the line of the
 * first two, or of the last two, goes on.
 *
 * Where the counter jumped, or ran backwards, a new piece begins: between the
 * last point of one and the first of the next both lines go on, and a stamp
 * that may be of either has their distance as its error.
 */
#ifndef CK_MERGE_TIMELINE_TICKS_H
#define CK_MERGE_TIMELINE_TICKS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "merge/timeline/tickspoint.h"
#include "schema/time.h"

/* A reading of both clocks that an agent stored. */
struct ticks_pair {
    uint32_t agent;
    uint32_t key; /* the agent with the lowest leads */
    int64_t ticks;
    int64_t raw;
    int64_t width;  /* raw may be wrong by it */
    int64_t source; /* the kernel's clocksource (clocksource.h); 0 = unknown */
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
    _Atomic size_t hint; /* where the last stamp was found, by any thread */
    ck_time_t bound;     /* the largest error that is not doubtful */
    ck_time_t worst;     /* the largest error */
    /* Ticks were asked for, by any thread, and there were no points. */
    atomic_bool is_lacking;
};

/* Make it of a domain's pairs, in any order: the leader's, and others' before
 * and after. */
void ticks_make(struct ticks *ticks, struct ticks_pair *pairs, size_t count);
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
