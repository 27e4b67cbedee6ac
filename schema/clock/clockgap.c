/* clockgap.c - what a clock may do between two bursts of probes
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * What a clock that wanders moves by between two bursts is about what it moved
 * by between the two before, or will between the next two. What is more than
 * that may as well be a step, at any instant of the gap: up to it the clock is
 * where the first burst has it, and from then on where the second one has.
 */
#include "schema/clock/clockgap.h"

#include "schema/clock/clocktrend.h"

/* Shorter ones are within a burst. */
#define GAP_MIN (20 * CK_TIME_MS)

static ck_time_t middle_of(const struct ck_clock_knot *knot)
{
    return knot->lower + (knot->upper - knot->lower) / 2;
}

static ck_time_t half_of(const struct ck_clock_knot *knot)
{
    return (knot->upper - knot->lower + 1) / 2;
}

static ck_time_t distance(ck_time_t a, ck_time_t b)
{
    return a > b ? a - b : b - a;
}

/* The first gap from a knot on: the knot before it; `count` = none. */
static size_t
gap_find(const struct ck_clock_knot *knots, size_t count, size_t k)
{
    for (; k + 1 < count; k++) {
        if (ck_clock_knot_is_bounded(&knots[k]) &&
            ck_clock_knot_is_bounded(&knots[k + 1]) &&
            knots[k + 1].at - knots[k].at > GAP_MIN) {
            return k;
        }
    }
    return count;
}

/* How far a clock moves over a gap. A step bends the trend, so what it left the
 * trend by would be too little. */
static ck_time_t move_over(const struct ck_clock_knot *gap)
{
    return gap[1].trend + middle_of(&gap[1]) - gap->trend - middle_of(gap);
}

/* How far a clock moves over one gap if it does as over another one. */
static ck_time_t move_as(const struct ck_clock_knot *gap,
                         const struct ck_clock_knot *other)
{
    return (ck_time_t)((__int128)move_over(other) * (gap[1].at - gap->at) /
                       (other[1].at - other->at));
}

/* What may be a step of a gap's move; the gaps beside it, NULL = none: then it
 * is what the trend does not say. */
static ck_time_t step_of(const struct ck_clock_knot *gap,
                         const struct ck_clock_knot *before,
                         const struct ck_clock_knot *after)
{
    ck_time_t move = move_over(gap);
    ck_time_t step = before == NULL && after == NULL
                         ? distance(middle_of(&gap[1]), middle_of(gap))
                         : CK_CLOCK_NONE;
    const struct ck_clock_knot *beside[2] = {before, after};

    for (int i = 0; i < 2; i++) {
        ck_time_t more =
            beside[i] == NULL ? step : distance(move, move_as(gap, beside[i]));

        step = more < step ? more : step;
    }
    return step;
}

/* To at least that half width. */
static void knot_widen(struct ck_clock_knot *knot, ck_time_t half)
{
    ck_time_t middle = middle_of(knot);

    if (half > half_of(knot)) {
        knot->lower = middle - half;
        knot->upper = middle + half;
    }
}

void ck_clockgap_widen(struct ck_clock_knot *knots, size_t count)
{
    const struct ck_clock_knot *before = NULL;
    ck_time_t kept = 0; /* half of the last gap's second knot, as it was */

    for (size_t k = gap_find(knots, count, 0), next; k < count; k = next) {
        struct ck_clock_knot *gap = &knots[k];
        bool is_shared = before != NULL && before + 1 == gap;
        ck_time_t left = is_shared ? kept : half_of(gap);
        ck_time_t right = half_of(&gap[1]);
        ck_time_t step;

        next = gap_find(knots, count, k + 1);
        step = step_of(gap, before, next < count ? &knots[next] : NULL);
        knot_widen(gap, step + right);
        knot_widen(&gap[1], step + left);
        before = gap;
        kept = right;
    }
}
