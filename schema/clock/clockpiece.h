/* clockpiece.h - the band of a stretch in which a clock did not jump
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Inside of clockband. Constraints are gathered in knots, one a cluster;
 * relative to the trend g, |d(theta - g)/dc| <= rate, so one pass forward and
 * one backward give the exact envelope of all constraints at every knot,
 *
 *   U[k] = min(U[k], U[k-1] + rate * (c[k] - c[k-1])),  L likewise,
 *
 * and each U, L remembers the constraint that it comes from.
 */
#ifndef CK_SCHEMA_CLOCK_CLOCKPIECE_H
#define CK_SCHEMA_CLOCK_CLOCKPIECE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "schema/clock/clocktrend.h"
#include "schema/time.h"

struct ck_clock_knot {
    ck_time_t at;
    ck_time_t trend; /* g(at) */
    ck_time_t upper; /* of theta - g; CK_CLOCK_NONE = none */
    ck_time_t lower; /* -CK_CLOCK_NONE = none */
    size_t upper_of; /* constraint that it comes from */
    size_t lower_of;
    int64_t rate_ppb; /* to the next knot */
    bool is_last;     /* of its piece: nothing ties it to the next */
};

/* Both sides bounded. */
static inline bool ck_clock_knot_is_bounded(const struct ck_clock_knot *knot)
{
    return knot->upper != CK_CLOCK_NONE && knot->lower != -CK_CLOCK_NONE;
}

/* Two constraints that contradict each other at the rate of the trend. */
struct ck_clock_conflict {
    size_t upper_of;
    size_t lower_of;
    ck_time_t excess; /* 0 = there is none */
};

/* Make the knots of constraints [lo, hi) about a trend, each from its own
 * cluster alone. Returns how many; there is room for hi - lo. */
size_t ck_clockpiece_build(struct ck_clock_knot *knots,
                           const struct ck_clock_constraint *constraints,
                           size_t lo,
                           size_t hi,
                           const struct ck_clocktrend *trend);
/* The largest conflict between neighbouring bursts, of their knots as they were
 * built. A jump of the clock bends the trend, and then much contradicts much;
 * but nowhere in so short a time as across the jump. */
struct ck_clock_conflict ck_clockpiece_jump(const struct ck_clock_knot *knots,
                                            size_t count);
/* The envelope: every knot gets the bounds of all others. */
void ck_clockpiece_spread(struct ck_clock_knot *knots, size_t count);
/* The largest conflict of all, once spread. */
struct ck_clock_conflict
ck_clockpiece_refuted(const struct ck_clock_knot *knots, size_t count);
/* Of what contradicts each other within the constraints of a conflict, two with
 * little time between: what comes first, with the last one before it. */
struct ck_clock_conflict
ck_clockpiece_narrow(const struct ck_clock_conflict *conflict,
                     const struct ck_clock_constraint *constraints,
                     const struct ck_clocktrend *trend);
/* Of a conflict, the constraint that contradicts several others near by while
 * the other one contradicts none but it; SIZE_MAX when neither is alone. */
size_t ck_clockpiece_outlier(const struct ck_clock_conflict *conflict,
                             const struct ck_clock_constraint *constraints,
                             size_t lo,
                             size_t hi,
                             const struct ck_clocktrend *trend);

#endif
