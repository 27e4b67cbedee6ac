/* clockbreak.c - where one clock's line is of two times
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Where neighbours are further apart than 20 ppm explain, or their lines where
 * they meet are, the clock jumped between them. What may be of either side of a
 * jump is of none.
 */
#include "merge/clocks/solve/clockbreak.h"

#include <math.h>
#include <string.h>

#include "merge/model/array.h"

/* Facts of a window leave a line so many times the room that they do at least.
 */
#define VAGUE 8

/* Facts come from lines that are wrong by some 1 us too: those of a short
 * window may leave a needle's eye that no clock goes through. */
double clockbreak_doubt(const struct clockline_point *point)
{
    double length = (double)(point->until - point->since);

    return (double)point->rate_ppb * 1e-9 +
           (length > 0 ? CLOCKBREAK_MIN / length : INFINITY);
}

const struct clockline_point *clockbreak_best(const struct clockline *line,
                                              size_t first)
{
    const struct clockline_point *best = &line->points[first];

    for (size_t i = first + 1; i < line->count; i++) {
        if (clockbreak_doubt(&line->points[i]) < clockbreak_doubt(best)) {
            best = &line->points[i];
        }
    }
    return best;
}

/* The fact does not contradict a line through the point. */
static bool point_allows(const struct clockline_point *point,
                         double slope,
                         const struct ck_clock_constraint *fact)
{
    double off = (double)(point->theta - fact->value) +
                 slope * (double)(fact->at - point->at);

    return fact->is_upper ? off <= (double)point->half
                          : off >= -(double)point->half;
}

/* Number of facts up to an instant. */
static size_t
facts_until(const struct ck_clock_constraint *facts, size_t count, ck_time_t at)
{
    return array_until(facts, count, sizeof(*facts),
                       offsetof(struct ck_clock_constraint, at), at);
}

/* Theta jumped between a point and the next. What is between them and may
 * belong to either side belongs to none. */
static void jump_mark(const struct ck_clock_constraint *facts,
                      size_t count,
                      struct clockline_point *left,
                      double slope)
{
    struct clockline_point *right = left + 1;
    size_t after = facts_until(facts, count, left->until);
    size_t before = after == 0 ? 0 : after - 1;

    while (before > 0 && facts[before].at > left->since &&
           point_allows(right, slope, &facts[before])) {
        before--;
    }
    while (after + 1 < count && facts[after].at < right->until &&
           (facts[after].at < right->since ||
            point_allows(left, slope, &facts[after]))) {
        after++;
    }
    left->is_last = true;
    left->until = facts[before].at;
    right->since = after < count ? facts[after].at : right->until;
}

/* A clock that was set back by `twice` showed as much of its readings twice,
 * and a reading does not show which of the two it was: from one step before the
 * last one of the old time to one step after the first one of the new time all
 * belong to neither side. */
static void
jump_clear(struct clockline *line, size_t first, size_t *at, ck_time_t twice)
{
    struct clockline_point *points = line->points;
    ck_time_t until = points[*at].until - twice;
    ck_time_t since = points[*at + 1].since + twice;
    size_t left = *at, right = *at + 1;

    while (left > first && !points[left - 1].is_last &&
           points[left].at > until) {
        left--;
    }
    while (right + 1 < line->count && points[right].at < since) {
        right++;
    }
    points[left].is_last = true;
    points[left].until =
        until < points[left].until ? until : points[left].until;
    points[right].since =
        since > points[right].since ? since : points[right].since;
    memmove(&points[left + 1], &points[right],
            (line->count - right) * sizeof(*points));
    line->count -= right - left - 1;
    *at = left;
}

/* Put a point to the end of its stretch, which a jump made shorter. */
static void point_move(struct clockline_point *point, ck_time_t at)
{
    double by = (double)(at - point->at);

    point->at = at;
    point->theta += (ck_time_t)llround(point->slope * by);
    point->half += (ck_time_t)ceil(fabs(by) * (double)point->rate_ppb * 1e-9);
}

/* A stretch between two jumps that has nothing left. */
static bool
point_is_gone(const struct clockline *line, size_t kept, size_t first, size_t i)
{
    const struct clockline_point *point = &line->points[i];

    return kept > first && line->points[kept - 1].is_last && point->is_last &&
           i + 1 < line->count && point->since > point->until;
}

/* Both sides of a jump keep to theirs. */
static void points_keep(struct clockline *line, size_t first)
{
    struct clockline_point *points = line->points;
    size_t kept = first;

    for (size_t i = first; i < line->count; i++) {
        if (!point_is_gone(line, kept, first, i)) {
            points[kept++] = points[i];
        }
    }
    line->count = kept;
    for (size_t i = first; i + 1 < line->count; i++) {
        struct clockline_point *point = &points[i];

        if (point->is_last && point->at > point->until) {
            point_move(point, point->until);
        }
        if (point->is_last && point[1].at < point[1].since) {
            point_move(&point[1], point[1].since);
        }
    }
}

/* The lines of two neighbours where one window ends and the next begins: a
 * clock that wanders goes from the one to the other, wherever facts leave it
 * room. *room: so much is no jump. */
static double seam_of(const struct clockline_point *point, double *room)
{
    const struct clockline_point *next = point + 1;
    double gap = (double)(next->since - point->until);
    double left = (double)(point->until - point->at) + gap / 2;
    double right = (double)(next->at - next->since) + gap / 2;

    *room = CLOCKBREAK_MIN + (double)(point->half + next->half) +
            VAGUE * (double)(point->vague + next->vague) +
            CLOCKBREAK_RATE * gap +
            (left * (double)point->rate_ppb + right * (double)next->rate_ppb) *
                1e-9;
    return (double)(next->theta - point->theta) - next->slope * right -
           point->slope * left;
}

/* How far theta jumped from a point to the next; 0: it did not. Between the
 * middles of two long windows, 20 ppm hide what their seam may show. */
static double jump_of(const struct clockline_point *point,
                      const struct clockline_point *best)
{
    double span = (double)(point[1].at - point->at);
    double off = (double)(point[1].theta - point->theta) - best->slope * span;
    double room = CLOCKBREAK_MIN + (double)(point->half + point[1].half) +
                  (CLOCKBREAK_RATE + (double)best->rate_ppb * 1e-9) * span;

    if (fabs(off) <= room) {
        off = seam_of(point, &room);
    }
    return fabs(off) > room ? off + (off > 0 ? room : -room) : 0;
}

void clockbreak_find(struct clockline *line,
                     size_t first,
                     const struct ck_clock_constraint *facts,
                     size_t count)
{
    struct clockline_point best;
    size_t i = first;

    if (line->count < first + 2) {
        return;
    }
    best = *clockbreak_best(line, first);
    while (i + 1 < line->count) {
        double jump = jump_of(&line->points[i], &best);
        size_t was = line->count;

        if (jump != 0) {
            jump_mark(facts, count, &line->points[i], best.slope);
        }
        if (jump > 0) {
            jump_clear(line, first, &i, (ck_time_t)ceil(jump));
        }
        /* What is beside it now may be of another time again. */
        i += line->count == was;
    }
    points_keep(line, first);
}
