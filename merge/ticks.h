/* ticks.h - ticks of a time stamp counter as CLOCK_MONOTONIC_RAW
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Points (ticks, RAW) in ascending order. Between two of them a stamp lies on
 * their straight line; outside, the line through the first and the last point
 * goes on.
 */
#ifndef CK_MERGE_TICKS_H
#define CK_MERGE_TICKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "schema/time.h"

/* A reading of both clocks that an agent stored. */
struct ticks_pair {
    uint32_t agent;
    uint32_t key; /* the agent with the lowest leads */
    int64_t ticks;
    int64_t raw;
    int64_t width; /* raw may be wrong by it */
};

struct ticks_point {
    int64_t ticks;
    int64_t raw;
    double slope; /* RAW ns a tick from here on */
};

struct ticks {
    struct ticks_point *points;
    size_t count;
    size_t hint;     /* where the last stamp was found */
    double slope;    /* outside */
    ck_time_t bound; /* half the widest bracket */
    bool is_lacking; /* ticks were asked for, and there were no points */
};

/* Make it of a domain's pairs, in ascending order of ticks: the leader's, and
 * others' before and after. 0, or -1 with ENOMEM. */
int ticks_make(struct ticks *ticks,
               const struct ticks_pair *pairs,
               size_t count);
void ticks_fini(struct ticks *ticks);
int64_t ticks_raw(struct ticks *ticks, int64_t stamp);

#endif
