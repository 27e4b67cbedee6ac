/* clocktrend.h - how an offset moves on the whole
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Inside of clockband: the constraints that probes give, and the trend g(c)
 * about which theta may wander. A cluster is what is within 2 ms.
 */
#ifndef CK_SCHEMA_CLOCK_CLOCKTREND_H
#define CK_SCHEMA_CLOCK_CLOCKTREND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "schema/time.h"

/* No bound on this side. */
#define CK_CLOCK_NONE INT64_MAX
/* What no oscillator of a computer exceeds: 500 ppm. */
#define CK_CLOCK_RATE_CAP_PPB 500000

/* theta(at) <= value, or >= value. */
struct ck_clock_constraint {
    ck_time_t at; /* local clock */
    ck_time_t value;
    bool is_upper;
    bool is_dropped;
};

struct ck_clock_point {
    ck_time_t at;
    ck_time_t middle;
    ck_time_t half;
};

/* Points in order of time. None: flat at 0; one: flat. */
struct ck_clocktrend {
    struct ck_clock_point *points;
    size_t count;
    int64_t rate_ppb;   /* theta - g moves no faster */
    int64_t hidden_ppb; /* but for this, which probes so vague do not show */
};

/* 0, or -1 with ENOMEM. */
int ck_clocktrend_init(struct ck_clocktrend *trend);
void ck_clocktrend_fini(struct ck_clocktrend *trend);

/* Flat, with this rate. */
void ck_clocktrend_flatten(struct ck_clocktrend *trend, int64_t rate_ppb);
/* Fit `count` constraints in order of time. The rate is half of `wander_ppb`,
 * to be tested, and what is not known of the slope. Where that is more than
 * `blind_ppb`, the trend is flat with that rate. 0, or -1 with ENOMEM. */
int ck_clocktrend_fit(struct ck_clocktrend *trend,
                      const struct ck_clock_constraint *constraints,
                      size_t count,
                      int64_t wander_ppb,
                      int64_t blind_ppb);
/* One straight line, which a jump somewhere in it does not bend; `wander_ppb`
 * is the rate that theta may have about it. The same otherwise. */
int ck_clocktrend_line(struct ck_clocktrend *trend,
                       const struct ck_clock_constraint *constraints,
                       size_t count,
                       int64_t wander_ppb,
                       int64_t blind_ppb);
/* What wander limits that leave theta `half` to both sides do not show. */
int64_t ck_clocktrend_hidden(ck_time_t half);
/* g(at): linear between points, the outer slopes beyond them. */
ck_time_t ck_clocktrend_at(const struct ck_clocktrend *trend, ck_time_t at);

/* End (exclusive) of the constraints that share a cluster with the first. */
size_t ck_clock_cluster(const struct ck_clock_constraint *constraints,
                        size_t first,
                        size_t end);

/* Answers come that much after their probes at most: far away, or late. */
#define CK_CLOCK_ANSWER (200 * CK_TIME_MS)
/* The same of a burst of probes: where its answers come so late that a cluster
 * has but one side, it reaches to the first of the other side within that.
 * `is_both`: it has both; if not, the end is that of the cluster. */
size_t ck_clock_burst(const struct ck_clock_constraint *constraints,
                      size_t first,
                      size_t end,
                      bool *is_both);

/* How many of them have both sides. */
size_t ck_clock_bursts(const struct ck_clock_constraint *constraints,
                       size_t count);

/* ceil(span * ppb / 1e9) for span >= 0: a bound may only grow. */
static inline ck_time_t ck_clock_drift(ck_time_t span, int64_t ppb)
{
    return (ck_time_t)(((__int128)span * ppb + 999999999) / 1000000000);
}

static inline ck_time_t ck_clock_distance(ck_time_t a, ck_time_t b)
{
    return a > b ? a - b : b - a;
}

#endif
