/* clockpiece.c - the band of a stretch in which a clock did not jump
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "schema/clock/clockpiece.h"

/* How far around a constraint its contradictions are counted. */
#define WITNESS_SPAN (15 * CK_TIME_S)
#define WITNESS_ENOUGH 3
/* As near as the probes of a burst. */
#define WITNESS_BESIDE (2 * CK_TIME_MS)

static void knot_fill(struct ck_clock_knot *knot,
                      const struct ck_clock_constraint *constraints,
                      size_t first,
                      size_t end,
                      const struct ck_clocktrend *trend)
{
    for (size_t i = first; i < end; i++) {
        const struct ck_clock_constraint *c = &constraints[i];
        ck_time_t moved = ck_clock_drift(c->at - knot->at, trend->rate_ppb);
        ck_time_t value = c->value - ck_clocktrend_at(trend, c->at);

        if (c->is_dropped) {
            continue;
        }
        if (c->is_upper && value + moved < knot->upper) {
            knot->upper = value + moved;
            knot->upper_of = i;
        } else if (!c->is_upper && value - moved > knot->lower) {
            knot->lower = value - moved;
            knot->lower_of = i;
        }
    }
}

/* Carry the bounds of `from` to `to`, `rate` and their distance between. */
static void knot_relax(struct ck_clock_knot *to,
                       const struct ck_clock_knot *from,
                       int64_t rate)
{
    ck_time_t moved = ck_clock_drift(ck_clock_distance(to->at, from->at), rate);

    if (from->upper != CK_CLOCK_NONE && from->upper + moved < to->upper) {
        to->upper = from->upper + moved;
        to->upper_of = from->upper_of;
    }
    if (from->lower != -CK_CLOCK_NONE && from->lower - moved > to->lower) {
        to->lower = from->lower - moved;
        to->lower_of = from->lower_of;
    }
}

size_t ck_clockpiece_build(struct ck_clock_knot *knots,
                           const struct ck_clock_constraint *constraints,
                           size_t lo,
                           size_t hi,
                           const struct ck_clocktrend *trend)
{
    size_t count = 0;

    for (size_t at = lo; at < hi;) {
        size_t end = ck_clock_cluster(constraints, at, hi);
        struct ck_clock_knot *knot = &knots[count++];

        *knot = (struct ck_clock_knot){
            .at = constraints[at].at,
            .trend = ck_clocktrend_at(trend, constraints[at].at),
            .upper = CK_CLOCK_NONE,
            .lower = -CK_CLOCK_NONE,
            .rate_ppb = trend->rate_ppb,
        };
        knot_fill(knot, constraints, at, end, trend);
        at = end;
    }
    knots[count - 1].is_last = true;
    return count;
}

/* Keep the conflict of an upper and a lower bound if it is the largest. */
static void conflict_note(struct ck_clock_conflict *worst,
                          const struct ck_clock_knot *upper,
                          const struct ck_clock_knot *lower,
                          int64_t rate)
{
    ck_time_t span = ck_clock_distance(upper->at, lower->at);
    ck_time_t excess;

    if (upper->upper == CK_CLOCK_NONE || lower->lower == -CK_CLOCK_NONE) {
        return;
    }
    excess = lower->lower - upper->upper - ck_clock_drift(span, rate);
    if (excess > worst->excess) {
        *worst = (struct ck_clock_conflict){upper->upper_of, lower->lower_of,
                                            excess};
    }
}

static bool is_two_sided(const struct ck_clock_knot *knot)
{
    return knot->upper != CK_CLOCK_NONE && knot->lower != -CK_CLOCK_NONE;
}

/* The knots of one burst as one; where its answers never came, the first alone.
 * Returns the first knot behind it. */
static size_t burst_join(const struct ck_clock_knot *knots,
                         size_t first,
                         size_t count,
                         struct ck_clock_knot *burst)
{
    size_t at = first + 1;

    *burst = knots[first];
    while (!is_two_sided(burst) && at < count &&
           knots[at].at - burst->at <= CK_CLOCK_ANSWER) {
        knot_relax(burst, &knots[at], burst->rate_ppb);
        at++;
    }
    if (!is_two_sided(burst)) {
        *burst = knots[first];
        return first + 1;
    }
    return at;
}

struct ck_clock_conflict ck_clockpiece_jump(const struct ck_clock_knot *knots,
                                            size_t count)
{
    struct ck_clock_conflict worst = {0, 0, 0};
    /* The last ones that have such a limit. */
    struct ck_clock_knot upper = {.upper = CK_CLOCK_NONE};
    struct ck_clock_knot lower = {.lower = -CK_CLOCK_NONE};
    struct ck_clock_knot burst;

    for (size_t at = 0; at < count;) {
        at = burst_join(knots, at, count, &burst);
        conflict_note(&worst, &burst, &burst, 0);
        conflict_note(&worst, &upper, &burst, burst.rate_ppb);
        conflict_note(&worst, &burst, &lower, burst.rate_ppb);
        upper = burst.upper != CK_CLOCK_NONE ? burst : upper;
        lower = burst.lower != -CK_CLOCK_NONE ? burst : lower;
    }
    return worst;
}

void ck_clockpiece_spread(struct ck_clock_knot *knots, size_t count)
{
    for (size_t k = 1; k < count; k++) {
        knot_relax(&knots[k], &knots[k - 1], knots[k - 1].rate_ppb);
    }
    for (size_t k = count - 1; k > 0; k--) {
        knot_relax(&knots[k - 1], &knots[k], knots[k - 1].rate_ppb);
    }
}

struct ck_clock_conflict
ck_clockpiece_refuted(const struct ck_clock_knot *knots, size_t count)
{
    struct ck_clock_conflict worst = {0, 0, 0};

    for (size_t k = 0; k < count; k++) {
        conflict_note(&worst, &knots[k], &knots[k], 0);
    }
    return worst;
}

/* Constraints near by that contradict one. */
struct witnesses {
    unsigned count;
    bool is_sure; /* in its own cluster, or both before and after it */
};

static struct witnesses
witnesses_count(const struct ck_clock_constraint *constraints,
                size_t lo,
                size_t hi,
                size_t i,
                const struct ck_clocktrend *trend)
{
    const struct ck_clock_constraint *c = &constraints[i];
    ck_time_t value = c->value - ck_clocktrend_at(trend, c->at);
    unsigned before = 0, after = 0, beside = 0;

    for (size_t k = lo; k < hi; k++) {
        const struct ck_clock_constraint *other = &constraints[k];
        ck_time_t span = ck_clock_distance(other->at, c->at);
        ck_time_t moved;
        ck_time_t theirs;

        if (other->is_dropped || other->is_upper == c->is_upper ||
            span > WITNESS_SPAN) {
            continue;
        }
        theirs = other->value - ck_clocktrend_at(trend, other->at);
        moved = ck_clock_drift(span, trend->rate_ppb);
        if (c->is_upper ? value + moved < theirs : value - moved > theirs) {
            beside += span <= WITNESS_BESIDE;
            before += span > WITNESS_BESIDE && other->at < c->at;
            after += span > WITNESS_BESIDE && other->at > c->at;
        }
    }
    return (struct witnesses){before + after + beside,
                              beside > 0 || (before > 0 && after > 0)};
}

size_t ck_clockpiece_outlier(const struct ck_clock_conflict *conflict,
                             const struct ck_clock_constraint *constraints,
                             size_t lo,
                             size_t hi,
                             const struct ck_clocktrend *trend)
{
    struct witnesses upper =
        witnesses_count(constraints, lo, hi, conflict->upper_of, trend);
    struct witnesses lower =
        witnesses_count(constraints, lo, hi, conflict->lower_of, trend);

    if (upper.count >= WITNESS_ENOUGH && upper.is_sure && lower.count <= 1) {
        return conflict->upper_of;
    }
    if (lower.count >= WITNESS_ENOUGH && lower.is_sure && upper.count <= 1) {
        return conflict->lower_of;
    }
    return SIZE_MAX;
}

/* What an upper and a lower limit contradict each other by, if positive. */
static ck_time_t pair_excess(const struct ck_clock_constraint *constraints,
                             size_t upper,
                             size_t lower,
                             const struct ck_clocktrend *trend)
{
    const struct ck_clock_constraint *u = &constraints[upper];
    const struct ck_clock_constraint *l = &constraints[lower];

    return (l->value - ck_clocktrend_at(trend, l->at)) -
           (u->value - ck_clocktrend_at(trend, u->at)) -
           ck_clock_drift(ck_clock_distance(u->at, l->at), trend->rate_ppb);
}

/* The same of one before and one after a jump up or down. */
static ck_time_t jump_excess(const struct ck_clock_constraint *constraints,
                             size_t before,
                             size_t after,
                             const struct ck_clocktrend *trend)
{
    return constraints[before].is_upper
               ? pair_excess(constraints, before, after, trend)
               : pair_excess(constraints, after, before, trend);
}

/* A later limit of the same side is tighter than an earlier one, from its
 * instant on. */
static bool is_tighter(const struct ck_clock_constraint *constraints,
                       size_t later,
                       size_t earlier,
                       const struct ck_clocktrend *trend)
{
    const struct ck_clock_constraint *a = &constraints[earlier];
    const struct ck_clock_constraint *b = &constraints[later];
    ck_time_t gained = (b->value - ck_clocktrend_at(trend, b->at)) -
                       (a->value - ck_clocktrend_at(trend, a->at));
    ck_time_t moved = ck_clock_drift(b->at - a->at, trend->rate_ppb);

    return a->is_upper ? gained < moved : -gained < moved;
}

struct ck_clock_conflict
ck_clockpiece_narrow(const struct ck_clock_conflict *conflict,
                     const struct ck_clock_constraint *constraints,
                     const struct ck_clocktrend *trend)
{
    bool is_up = conflict->upper_of < conflict->lower_of;
    size_t first = is_up ? conflict->upper_of : conflict->lower_of;
    size_t last = is_up ? conflict->lower_of : conflict->upper_of;
    size_t tight = first, at = first + 1;

    for (; at < last; at++) {
        const struct ck_clock_constraint *c = &constraints[at];

        if (c->is_dropped) {
            continue;
        }
        if (c->is_upper != is_up) {
            if (jump_excess(constraints, tight, at, trend) > 0) {
                break;
            }
        } else if (is_tighter(constraints, at, tight, trend)) {
            tight = at;
        }
    }
    last = at;
    for (at = last - 1; at > tight; at--) {
        const struct ck_clock_constraint *c = &constraints[at];

        if (!c->is_dropped && c->is_upper == is_up &&
            jump_excess(constraints, at, last, trend) > 0) {
            break;
        }
    }
    return (struct ck_clock_conflict){
        is_up ? at : last, is_up ? last : at,
        jump_excess(constraints, at, last, trend)};
}
