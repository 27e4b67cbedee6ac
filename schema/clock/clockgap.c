/* clockgap.c - what a clock may do between two bursts of probes
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * What a clock that wanders moves by between two bursts is about what it moved
 * by between the two before, or will between the next two. A rate that
 * changes goes on to change as it does beside the gap. What is more than both
 * may as well be a step, at any instant of the gap: up to it the clock is where
 * the first burst has it, and from then on where the second one has.
 */
#include "schema/clock/clockgap.h"

#include <math.h>
#include <stdbool.h>

#include "schema/clock/clocktrend.h"

/* Shorter ones are within a burst. */
#define GAP_MIN (20 * CK_TIME_MS)
/* Of what the first and the last gap's ends are known to: a quarter may seem a
 * change of the rate that is none. */
#define END_SHARE 4

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

/* The same if its rate changes evenly from one of two others to the other one,
 * and beyond them. */
static ck_time_t move_along(const struct ck_clock_knot *gap,
                            const struct ck_clock_knot *a,
                            const struct ck_clock_knot *b)
{
    double rate = (double)move_over(a) / (double)(a[1].at - a->at);
    double more = (double)move_over(b) / (double)(b[1].at - b->at) - rate;
    double way = (double)(gap->at - a->at + gap[1].at - a[1].at) /
                 (double)(b->at - a->at + b[1].at - a[1].at);

    return llround((rate + more * way) * (double)(gap[1].at - gap->at));
}

/* A gap with two before it and two behind it; NULL = none. */
struct beside {
    const struct ck_clock_knot *gap;
    const struct ck_clock_knot *before, *earlier;
    const struct ck_clock_knot *after, *later;
    ck_time_t noise; /* by which a move beyond others is known worse */
};

/* How far the clock moves over it if its rate goes on to change as it does
 * beside it; false: that is not known. */
static bool move_expected(const struct beside *beside, ck_time_t *move)
{
    const struct ck_clock_knot *a = beside->before, *b = beside->after;

    if (a == NULL && b != NULL) {
        a = beside->after;
        b = beside->later;
    } else if (b == NULL && a != NULL) {
        a = beside->earlier;
        b = beside->before;
    }
    if (a == NULL || b == NULL) {
        return false;
    }
    *move = move_along(beside->gap, a, b);
    return true;
}

/* What may be a step of a gap's move; where nothing is beside it, what the
 * trend does not explain. Beyond two moves, what is not known of them makes a
 * change of the rate that is none. */
static ck_time_t step_of(const struct beside *beside)
{
    const struct ck_clock_knot *gap = beside->gap;
    ck_time_t move = move_over(gap), expected, step = CK_CLOCK_NONE;
    const struct ck_clock_knot *near[2] = {beside->before, beside->after};

    if (near[0] == NULL && near[1] == NULL) {
        return distance(middle_of(&gap[1]), middle_of(gap));
    }
    for (int i = 0; i < 2; i++) {
        ck_time_t more =
            near[i] == NULL ? step : distance(move, move_as(gap, near[i]));

        step = more < step ? more : step;
    }
    if (move_expected(beside, &expected)) {
        expected = distance(move, expected) + beside->noise;
        step = expected < step ? expected : step;
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

static const struct ck_clock_knot *
gap_at(const struct ck_clock_knot *knots, size_t count, size_t k)
{
    return k < count ? &knots[k] : NULL;
}

void ck_clockgap_widen(struct ck_clock_knot *knots, size_t count)
{
    struct beside beside = {.gap = NULL};
    ck_time_t kept = 0; /* half of the last gap's second knot, as it was */

    for (size_t k = gap_find(knots, count, 0), next; k < count; k = next) {
        struct ck_clock_knot *gap = &knots[k];
        bool is_shared = beside.before != NULL && beside.before + 1 == gap;
        ck_time_t left = is_shared ? kept : half_of(gap);
        ck_time_t right = half_of(&gap[1]);
        ck_time_t step;

        next = gap_find(knots, count, k + 1);
        beside.gap = gap;
        beside.after = gap_at(knots, count, next);
        beside.later = next < count ? gap_at(knots, count,
                                             gap_find(knots, count, next + 1))
                                    : NULL;
        beside.noise = beside.before == NULL || beside.after == NULL
                           ? (left + right) / 2 / END_SHARE
                           : 0;
        step = step_of(&beside);
        knot_widen(gap, step + right);
        knot_widen(&gap[1], step + left);
        beside.earlier = beside.before;
        beside.before = gap;
        kept = right;
    }
}
