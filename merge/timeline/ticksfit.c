/* ticksfit.c - how well the stretches between pairs of clocks fit together
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * A stretch is between two neighbouring points. A pair gives the counter's
 * value at a time of RAW that is known to its width; what the counter did in
 * between is not seen. It is taken that at most one thing happens in a stretch:
 * a jump, or a change of the rate. Before it the line of the stretches in front
 * holds, after it that of those behind. So a stretch whose rate is that of a
 * neighbour has nothing in it that is larger than what the pairs leave open,
 *
 *   error = width + |rate - neighbour's| ticks + what both are not known by
 *
 * and one that fits none is between the two lines: its error is the larger
 * distance to them. Next to another one that fits none no line is known, and
 * any time between the two points is possible.
 *
 * While the kernel keeps RAW by this counter, RAW is a multiple of it. By any
 * other clocksource the rate may wander by 1 ppm (clockband.h assumes it, too).
 */
#include "merge/timeline/ticksfit.h"

#include <math.h>
#include <stdlib.h>

#include "merge/model/memory.h"
#include "schema/clock/clocksource.h"

/* The counter is read without a fence, so beside its bracket. */
#define PAIR_SLACK 5.0
/* Of the rate, where RAW is not kept by the counter. */
#define WANDER 1e-6
/* How often a clocksource is read: it may have changed before. */
#define SOURCE_PERIOD (11 * CK_TIME_S)
/* Stretches that one is compared with, on each side. */
#define NEIGHBOURS 3
/* What differs by more of its length is a jump. */
#define JUMP 500e-6

/* No counter is faster: ticks a ns. */
#define RATE_MOST 10

/* From a point to the next. */
struct stretch {
    double ticks;
    double ns;
    double rate;
    double room; /* ns that its length may be wrong by */
};

static struct stretch stretch_of(const struct ticks_point *points, size_t at)
{
    const struct ticks_point *from = &points[at];
    const struct ticks_point *to = &points[at + 1];
    struct stretch stretch = {
        .ticks = (double)(to->ticks - from->ticks),
        .ns = (double)(to->raw - from->raw),
        .room = (double)(from->width + to->width) + 2 * PAIR_SLACK,
    };

    stretch.rate = stretch.ticks > 0 ? stretch.ns / stretch.ticks : 0;
    if (from->is_foreign || to->is_foreign) {
        stretch.room += WANDER * stretch.ns;
    }
    return stretch;
}

static double apart(double a, double b)
{
    return fabs(a - b);
}

/* Whether two may have one rate. */
static bool is_alike(const struct ticks_point *points, size_t a, size_t b)
{
    struct stretch one = stretch_of(points, a);
    struct stretch other = stretch_of(points, b);

    return one.ticks > 0 && other.ticks > 0 &&
           apart(one.rate, other.rate) <=
               one.room / one.ticks + other.room / other.ticks;
}

/* It fits none of its neighbours. Not only the nearest ones: what is next to a
 * jump at either end of a run has no other one. */
static bool is_odd(const struct ticks_point *points, size_t count, size_t at)
{
    bool is_alone = true;

    if (points[at + 1].ticks <= points[at].ticks) {
        return true;
    }
    for (size_t by = 1; by <= NEIGHBOURS && count > 2 && is_alone; by++) {
        is_alone = !(at >= by && is_alike(points, at, at - by)) &&
                   !(at + by + 1 < count && is_alike(points, at, at + by));
    }
    return count > 2 && is_alone;
}

/* Of more than one stretch it would be better known, but would not show a small
 * change between them. */
static struct ticksfit_rate
rate_of(const struct ticks_point *points, size_t count, size_t at)
{
    struct stretch stretch = stretch_of(points, at);

    if (is_odd(points, count, at)) {
        return (struct ticksfit_rate){0, 0};
    }
    return (struct ticksfit_rate){stretch.rate, stretch.room / stretch.ticks};
}

struct ticksfit_rate
ticksfit_before(const struct ticks_point *points, size_t count, size_t point)
{
    return point == 0 ? (struct ticksfit_rate){0, 0}
                      : rate_of(points, count, point - 1);
}

struct ticksfit_rate
ticksfit_behind(const struct ticks_point *points, size_t count, size_t point)
{
    return point + 1 >= count ? (struct ticksfit_rate){0, 0}
                              : rate_of(points, count, point);
}

/* How far a stretch's line may be from a neighbour's. */
static double away(const struct stretch *stretch, struct ticksfit_rate beside)
{
    return (apart(stretch->rate, beside.rate) + beside.doubt) * stretch->ticks +
           stretch->room;
}

/* A stretch that fits a neighbour: by the one that shows most. */
static double
plain_error(const struct ticks_point *points, size_t count, size_t at)
{
    struct stretch stretch = stretch_of(points, at);
    double error = INFINITY;

    for (size_t by = 1; by <= NEIGHBOURS; by++) {
        struct ticksfit_rate left = {0, 0}, right = {0, 0};

        if (at >= by) {
            left = rate_of(points, count, at - by);
        }
        if (at + by + 1 < count) {
            right = rate_of(points, count, at + by);
        }
        if (left.rate > 0) {
            error = fmin(error, away(&stretch, left));
        }
        if (right.rate > 0) {
            error = fmin(error, away(&stretch, right));
        }
    }
    /* The only one: nothing to compare it with. */
    return isinf(error) ? stretch.room : error;
}

/* A stretch that fits none. *is_jump: it is no line at all. */
static double odd_error(const struct ticks_point *points,
                        size_t count,
                        size_t at,
                        bool *is_jump)
{
    struct stretch stretch = stretch_of(points, at);
    struct ticksfit_rate left = ticksfit_before(points, count, at);
    struct ticksfit_rate right = ticksfit_behind(points, count, at + 1);
    double error = 0;
    double least = INFINITY;

    for (int side = 0; side < 2; side++) {
        struct ticksfit_rate beside = side == 0 ? left : right;
        bool is_edge = side == 0 ? at == 0 : at + 2 == count;
        double its = beside.rate > 0 ? away(&stretch, beside) : stretch.ns;

        if (beside.rate > 0 || !is_edge) {
            error = its > error ? its : error;
            least = its < least ? its : least;
        }
    }
    *is_jump = stretch.ticks <= 0 ||
               (!isinf(least) && least > stretch.room + JUMP * stretch.ns);
    /* Whatever happened, RAW went from one point to the other. */
    return error > stretch.ns || stretch.ticks <= 0 ? stretch.ns : error;
}

/* Whether RAW is kept by another clock than the counter: what is so at a point,
 * may have been so since the clocksource was read before. */
static void foreign_set(struct ticks_point *points, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (points[i].source == 0 ||
            ck_clocksource_is_counter(points[i].source)) {
            continue;
        }
        points[i].is_foreign = true;
        for (size_t k = i; k-- > 0 && !points[k].is_foreign &&
                           points[i].raw - points[k].raw <= SOURCE_PERIOD;) {
            points[k].is_foreign = true;
        }
    }
}

static ck_time_t rounded(double error)
{
    return error < (double)TICKS_FAR ? (ck_time_t)ceil(error) : TICKS_FAR;
}

static void error_add(struct ticks_point *point, double error)
{
    if (rounded(error) > point->error) {
        point->error = rounded(error);
    }
}

void ticksfit_points(struct ticks_point *points, size_t count)
{
    double *odd = xcalloc(count + 1, sizeof(*odd));

    foreign_set(points, count);
    for (size_t i = 0; i + 1 < count; i++) {
        struct stretch stretch = stretch_of(points, i);
        ck_time_t width = points[i].width > points[i + 1].width
                              ? points[i].width
                              : points[i + 1].width;

        points[i].slope = stretch.rate;
        points[i].is_odd = is_odd(points, count, i);
        if (points[i].is_odd) {
            odd[i] = odd_error(points, count, i, &points[i].is_last);
            points[i].error = width + rounded(odd[i]);
        } else {
            points[i].error = width + rounded(plain_error(points, count, i));
        }
    }
    /* A small step back puts stamps a little beyond the two points. */
    for (size_t i = 0; i + 1 < count; i++) {
        if (odd[i] > 0 && !points[i].is_last) {
            if (i > 0) {
                error_add(&points[i - 1], (double)points[i - 1].error + odd[i]);
            }
            error_add(&points[i + 1], (double)points[i + 1].error + odd[i]);
        }
    }
    free(odd);
}

/* As many ticks as a counter may count beyond the points of a piece. */
static int64_t beyond_most(const struct ticks_point *points, size_t count)
{
    ck_time_t longest = TICKS_OUTSIDE;

    for (size_t i = 1; i < count; i++) {
        ck_time_t gap = points[i].raw - points[i - 1].raw;

        longest = gap > longest ? gap : longest;
    }
    return longest < TICKS_MAX / RATE_MOST ? longest * RATE_MOST : TICKS_MAX;
}

/* All points from the second on as one line from the lowest stamp to the
 * highest. A stamp of it may have been made at any time since the first. Stamps
 * of other pieces may be of this one, so its error is in theirs, too. */
static void rest_join(struct ticks_point *points, size_t count)
{
    const struct ticks_point *last = &points[count - 1];
    struct ticks_point ends[2] = {points[1], *last};
    int64_t beyond = beyond_most(points, count);

    for (const struct ticks_point *at = &points[1]; at <= last; at++) {
        ends[0].ticks = at->ticks < ends[0].ticks ? at->ticks : ends[0].ticks;
        ends[1].ticks = at->ticks > ends[1].ticks ? at->ticks : ends[1].ticks;
        ends[1].width = at->width > ends[1].width ? at->width : ends[1].width;
    }
    ends[0].ticks = ends[0].ticks > beyond - TICKS_MAX ? ends[0].ticks - beyond
                                                       : -TICKS_MAX;
    ends[1].ticks =
        ends[1].ticks < TICKS_MAX - beyond ? ends[1].ticks + beyond : TICKS_MAX;
    ends[0].is_last = ends[1].is_last = false;
    ends[0].is_odd = true;
    ends[0].slope = (double)(ends[1].raw - ends[0].raw) /
                    (double)(ends[1].ticks - ends[0].ticks);
    ends[0].error = ends[1].error =
        rounded((double)(last->raw - points[0].raw) + (double)TICKS_OUTSIDE +
                2.0 * (double)ends[1].width);
    points[1] = ends[0];
    points[2] = ends[1];
}

size_t ticksfit_limit(struct ticks_point *points, size_t count)
{
    size_t jumps = 0, until = 0;

    for (size_t i = 0; i + 1 < count; i++) {
        jumps += points[i].is_last;
        until = jumps < TICKS_PIECES ? i + 1 : until;
    }
    if (jumps < TICKS_PIECES) {
        return count;
    }
    /* The last piece that may be begins behind the jump before. */
    while (!points[until - 1].is_last) {
        until--;
    }
    rest_join(&points[until - 1], count - until + 1);
    return until + 2;
}
