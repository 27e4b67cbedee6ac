/* clockline.c - how one clock moves against another, from one-sided facts
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Over a window, a straight line below all upper limits and above all lower
 * ones is sought: the one with the widest gap on both sides,
 *
 *   f(s) = min(upper - s c) - max(lower - s c),   s in +-500 ppm,
 *
 * which is concave in s, and needs the convex hulls of the limits only. Where
 * no line fits, the window is halved; a window that is already short is cut
 * where the two parts fit best, and when the parts are further apart than
 * 20 ppm explain, the clock jumped there.
 */
#include "merge/clockline.h"

#include <math.h>
#include <stdlib.h>

#include "merge/array.h"

#define SLOPE_MAX ((double)CK_CLOCK_RATE_CAP_PPB * 1e-9)
#define GOLDEN 0.6180339887498949
#define SEARCHES 48
/* No shorter window, nor one with fewer facts, is halved. */
#define WINDOW_MIN (500 * CK_TIME_MS)
#define WINDOW_FACTS 8
#define JUMP_RATE 20e-6
#define JUMP_MIN 1000.0
/* A point this much vaguer than both its neighbours says nothing. */
#define VAGUE 8
/* A bad fact is off by more than so many times what is left without it. */
#define REPAIR_ROOM 2

struct corner {
    double at;
    double value;
};

/* Limits relative to a middle and a base. */
struct fitter {
    struct ck_clock_constraint *facts;
    struct corner *upper; /* lower hull of the upper limits */
    struct corner *lower; /* upper hull of the lower ones */
    size_t uppers, lowers;
    ck_time_t middle;
    ck_time_t base;
    struct clockline *line;
    int64_t wander_ppb;
    int64_t blind_ppb;
};

struct gap {
    double slope;
    double value; /* in the middle */
    double half;
    double slope_slack;
    bool is_bounded; /* limits on both sides */
};

void clockline_fini(struct clockline *line)
{
    free(line->points);
    *line = (struct clockline){0};
}

static int point_add(struct clockline *line, struct clockline_point point)
{
    if (array_grow(&line->points, &line->room, line->count, sizeof(point)) !=
        0) {
        return -1;
    }
    line->points[line->count++] = point;
    return 0;
}

int clockline_exact(struct clockline *line)
{
    return point_add(line, (struct clockline_point){.is_last = true,
                                                    .until = CK_CLOCK_NONE});
}

/* Add a corner on the right; `sign` 1: keep the lower hull, -1: the upper. */
static void
hull_add(struct corner *hull, size_t *count, struct corner corner, double sign)
{
    size_t n = *count;

    if (n > 0 && hull[n - 1].at == corner.at) {
        if ((corner.value - hull[n - 1].value) * sign >= 0) {
            return;
        }
        n--;
    }
    while (n > 1) {
        double ax = hull[n - 1].at - hull[n - 2].at;
        double ay = hull[n - 1].value - hull[n - 2].value;
        double bx = corner.at - hull[n - 2].at;
        double by = corner.value - hull[n - 2].value;

        if ((ax * by - ay * bx) * sign > 0) {
            break;
        }
        n--;
    }
    hull[n++] = corner;
    *count = n;
}

static void hulls_make(struct fitter *fitter, size_t lo, size_t hi)
{
    const struct ck_clock_constraint *facts = fitter->facts;

    fitter->uppers = fitter->lowers = 0;
    fitter->middle = facts[lo].at + (facts[hi - 1].at - facts[lo].at) / 2;
    fitter->base = facts[lo].value;
    for (size_t i = lo; i < hi; i++) {
        struct corner corner = {(double)(facts[i].at - fitter->middle),
                                (double)(facts[i].value - fitter->base)};

        if (facts[i].is_dropped) {
            continue;
        }
        if (facts[i].is_upper) {
            hull_add(fitter->upper, &fitter->uppers, corner, 1);
        } else {
            hull_add(fitter->lower, &fitter->lowers, corner, -1);
        }
    }
}

static double ceiling(const struct fitter *fitter, double slope)
{
    double least = INFINITY;

    for (size_t i = 0; i < fitter->uppers; i++) {
        least =
            fmin(least, fitter->upper[i].value - slope * fitter->upper[i].at);
    }
    return least;
}

static double floor_of(const struct fitter *fitter, double slope)
{
    double most = -INFINITY;

    for (size_t i = 0; i < fitter->lowers; i++) {
        most = fmax(most, fitter->lower[i].value - slope * fitter->lower[i].at);
    }
    return most;
}

static double height(const struct fitter *fitter, double slope)
{
    return ceiling(fitter, slope) - floor_of(fitter, slope);
}

static double depth(const struct fitter *fitter, double slope)
{
    return -floor_of(fitter, slope);
}

/* Where a concave function of the slope is largest. */
static double peak(const struct fitter *fitter,
                   double (*of)(const struct fitter *, double),
                   double low,
                   double high)
{
    double left = high - GOLDEN * (high - low);
    double right = low + GOLDEN * (high - low);
    double at_left = of(fitter, left);
    double at_right = of(fitter, right);

    for (int i = 0; i < SEARCHES; i++) {
        if (at_left < at_right) {
            low = left;
            left = right;
            at_left = at_right;
            right = low + GOLDEN * (high - low);
            at_right = of(fitter, right);
        } else {
            high = right;
            right = left;
            at_right = at_left;
            left = high - GOLDEN * (high - low);
            at_left = of(fitter, left);
        }
    }
    return (low + high) / 2;
}

/* The slope between a good one and `end` beyond which no line fits. */
static double slope_edge(const struct fitter *fitter, double good, double end)
{
    if (height(fitter, end) >= 0) {
        return end;
    }
    for (int i = 0; i < SEARCHES; i++) {
        double middle = (good + end) / 2;

        if (height(fitter, middle) >= 0) {
            good = middle;
        } else {
            end = middle;
        }
    }
    return good;
}

/* The line of a window; false: there is none. */
static bool
window_fit(struct fitter *fitter, size_t lo, size_t hi, struct gap *gap)
{
    double best, low, high, top, bottom;

    hulls_make(fitter, lo, hi);
    *gap = (struct gap){.slope_slack = SLOPE_MAX};
    if (fitter->uppers == 0 || fitter->lowers == 0) {
        return true;
    }
    gap->is_bounded = true;
    gap->slope = peak(fitter, height, -SLOPE_MAX, SLOPE_MAX);
    best = height(fitter, gap->slope);
    if (best < -0.5) {
        return false;
    }
    low = slope_edge(fitter, gap->slope, -SLOPE_MAX);
    high = slope_edge(fitter, gap->slope, SLOPE_MAX);
    top = ceiling(fitter, peak(fitter, ceiling, low, high));
    bottom = floor_of(fitter, peak(fitter, depth, low, high));
    gap->slope_slack = fmax(high - gap->slope, gap->slope - low);
    gap->value =
        (ceiling(fitter, gap->slope) + floor_of(fitter, gap->slope)) / 2;
    gap->half = fmax(fmax(top - gap->value, gap->value - bottom), best / 2);
    return true;
}

/* Append the point of a window that fitted. */
static int
window_point(struct fitter *fitter, size_t lo, size_t hi, const struct gap *gap)
{
    if (!gap->is_bounded) {
        return 0;
    }
    return point_add(fitter->line,
                     (struct clockline_point){
                         .at = fitter->middle,
                         .theta = fitter->base + (ck_time_t)llround(gap->value),
                         .half = (ck_time_t)ceil(gap->half) + 1,
                         .rate_ppb = (int64_t)ceil(gap->slope_slack * 1e9),
                         .since = fitter->facts[lo].at,
                         .until = fitter->facts[hi - 1].at,
                         .slope = gap->slope,
                     });
}

/* The fact at which a window is best cut in two. */
static size_t break_find(struct fitter *fitter, size_t lo, size_t hi)
{
    size_t low = lo + 1;
    size_t high = hi - 1;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        struct gap gap;
        double left, right;

        (void)window_fit(fitter, lo, middle, &gap);
        left = gap.is_bounded ? height(fitter, gap.slope) : INFINITY;
        (void)window_fit(fitter, middle, hi, &gap);
        right = gap.is_bounded ? height(fitter, gap.slope) : INFINITY;
        if (left > right) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

/* True when theta jumped between the facts cut - 1 and cut. */
static bool is_jump(struct fitter *fitter, size_t lo, size_t cut, size_t hi)
{
    const struct ck_clock_constraint *facts = fitter->facts;
    double span = (double)(facts[hi - 1].at - facts[lo].at);
    struct gap left, right;
    double from, to;
    ck_time_t base;

    if (!window_fit(fitter, lo, cut, &left) || !left.is_bounded) {
        return false;
    }
    from = left.value + left.slope * (double)(facts[cut].at - fitter->middle);
    base = fitter->base;
    if (!window_fit(fitter, cut, hi, &right) || !right.is_bounded) {
        return false;
    }
    to = right.value + right.slope * (double)(facts[cut].at - fitter->middle) +
         (double)(fitter->base - base);
    return fabs(to - from) >
           JUMP_MIN + JUMP_RATE * span + left.half + right.half;
}

static size_t window_middle(const struct fitter *fitter, size_t lo, size_t hi)
{
    const struct ck_clock_constraint *facts = fitter->facts;
    ck_time_t middle = facts[lo].at + (facts[hi - 1].at - facts[lo].at) / 2;
    size_t low = lo + 1;
    size_t high = hi - 1;

    while (low < high) {
        size_t at = low + (high - low) / 2;

        if (facts[at].at < middle) {
            low = at + 1;
        } else {
            high = at;
        }
    }
    return low;
}

/* The fact of a window that is furthest off a slope on its side. */
static size_t
extreme_find(const struct fitter *fitter, size_t lo, size_t hi, bool is_upper)
{
    double slope = peak(fitter, height, -SLOPE_MAX, SLOPE_MAX);
    double best = INFINITY;
    size_t found = lo;

    for (size_t i = lo; i < hi; i++) {
        const struct ck_clock_constraint *fact = &fitter->facts[i];
        double off = (double)(fact->value - fitter->base) -
                     slope * (double)(fact->at - fitter->middle);

        off = is_upper ? off : -off;
        if (!fact->is_dropped && fact->is_upper == is_upper && off < best) {
            best = off;
            found = i;
        }
    }
    return found;
}

/* A window without a line may have one bad fact: left out, a line fits with
 * room to spare. */
static bool
window_repair(struct fitter *fitter, size_t lo, size_t hi, struct gap *gap)
{
    double missing =
        -height(fitter, peak(fitter, height, -SLOPE_MAX, SLOPE_MAX));
    size_t worst[2];

    if (hi - lo < WINDOW_FACTS) {
        return false;
    }
    worst[0] = extreme_find(fitter, lo, hi, true);
    worst[1] = extreme_find(fitter, lo, hi, false);
    for (int i = 0; i < 2; i++) {
        struct ck_clock_constraint *fact = &fitter->facts[worst[i]];

        fact->is_dropped = true;
        if (window_fit(fitter, lo, hi, gap) && gap->is_bounded &&
            height(fitter, gap->slope) * REPAIR_ROOM <= missing &&
            missing > JUMP_MIN) {
            return true;
        }
        fact->is_dropped = false;
    }
    return false;
}

/* Depth: halves a time at most, then facts one by one. */
static int window_solve(struct fitter *fitter, size_t lo, size_t hi)
{
    struct gap gap;
    bool is_short, is_broken = false;
    size_t cut;

    if (hi - lo < 2) {
        return 0;
    }
    if (window_fit(fitter, lo, hi, &gap) ||
        window_repair(fitter, lo, hi, &gap)) {
        return window_point(fitter, lo, hi, &gap);
    }
    is_short = hi - lo <= WINDOW_FACTS ||
               fitter->facts[hi - 1].at - fitter->facts[lo].at <= WINDOW_MIN;
    if (is_short) {
        cut = break_find(fitter, lo, hi);
        is_broken = is_jump(fitter, lo, cut, hi);
    } else {
        cut = window_middle(fitter, lo, hi);
    }
    if (window_solve(fitter, lo, cut) != 0) {
        return -1;
    }
    if (is_broken && fitter->line->count > 0) {
        fitter->line->points[fitter->line->count - 1].is_last = true;
    }
    return window_solve(fitter, cut, hi);
}

/* Leave out points that are far vaguer than both neighbours. */
static void points_sift(struct clockline *line, size_t first)
{
    struct clockline_point *points = line->points;
    size_t kept = first;

    for (size_t i = first; i < line->count; i++) {
        bool has_left = kept > first && !points[kept - 1].is_last;
        bool has_right = i + 1 < line->count && !points[i].is_last;

        if (has_left && has_right &&
            points[i].half > VAGUE * points[kept - 1].half &&
            points[i].half > VAGUE * points[i + 1].half) {
            continue;
        }
        points[kept++] = points[i];
    }
    line->count = kept;
}

/* A point alone in its stretch: its own slope, unless that says nothing. */
static void point_rate_alone(const struct fitter *fitter,
                             struct clockline_point *point)
{
    point->rate_ppb += fitter->wander_ppb;
    if (point->rate_ppb >= fitter->blind_ppb) {
        point->slope = 0;
        point->rate_ppb = fitter->blind_ppb;
    }
}

/* A rate for each interval, from how vague its ends are. */
static void points_rate(const struct fitter *fitter, size_t first)
{
    const struct clockline *line = fitter->line;
    struct clockline_point *points = line->points;

    for (size_t i = first; i < line->count; i++) {
        struct clockline_point *point = &points[i];
        bool has_next = i + 1 < line->count && !point->is_last;
        bool has_left = i > first && !point[-1].is_last;

        if (has_next) {
            point->rate_ppb =
                fitter->wander_ppb + 1 +
                (int64_t)((__int128)(point->half + point[1].half) * 1000000000 /
                          (point[1].at - point->at));
        } else if (has_left) {
            point->rate_ppb = point[-1].rate_ppb;
        } else {
            point_rate_alone(fitter, point);
        }
    }
}

int clockline_fit(struct clockline *line,
                  struct ck_clock_constraint *facts,
                  size_t count,
                  int64_t wander_ppb,
                  int64_t blind_ppb)
{
    struct fitter fitter = {
        .facts = facts,
        .upper = malloc((count + 1) * sizeof(struct corner)),
        .lower = malloc((count + 1) * sizeof(struct corner)),
        .line = line,
        .wander_ppb = wander_ppb,
        .blind_ppb = blind_ppb,
    };
    size_t first = line->count;
    int rc = -1;

    if (fitter.upper != NULL && fitter.lower != NULL) {
        rc = window_solve(&fitter, 0, count);
    }
    if (rc == 0) {
        points_sift(line, first);
    }
    if (rc == 0 && line->count > first) {
        line->points[line->count - 1].is_last = true;
        points_rate(&fitter, first);
    }
    free(fitter.upper);
    free(fitter.lower);
    return rc;
}

/* Number of points at or before `at`. */
static size_t points_before(const struct clockline *line, ck_time_t at)
{
    size_t low = 0;
    size_t high = line->count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (line->points[middle].at <= at) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

/* The point whose stretch an instant belongs to, and before which it lies if
 * it can. */
static size_t point_find(const struct clockline *line, ck_time_t at)
{
    size_t after = points_before(line, at);

    if (after == 0) {
        return 0;
    }
    if (line->points[after - 1].is_last && at > line->points[after - 1].until &&
        after < line->count) {
        return after;
    }
    return after - 1;
}

static ck_time_t
line_at(const struct clockline *line, size_t index, ck_time_t at)
{
    const struct clockline_point *a = &line->points[index];

    if (a->is_last && index > 0 && !a[-1].is_last) {
        a--;
    }
    if (a->is_last) {
        return a->theta + (ck_time_t)llround(a->slope * (double)(at - a->at));
    }
    return a->theta + (ck_time_t)((__int128)(a[1].theta - a->theta) *
                                  (at - a->at) / (a[1].at - a->at));
}

ck_time_t clockline_theta(const struct clockline *line, ck_time_t at)
{
    return line->count == 0 ? 0 : line_at(line, point_find(line, at), at);
}

bool clockline_at(const struct clockline *line,
                  ck_time_t at,
                  ck_time_t *theta,
                  ck_time_t *half)
{
    const struct clockline_point *point;
    size_t index;

    if (line->count == 0) {
        return false;
    }
    index = point_find(line, at);
    point = &line->points[index];
    if (index > 0 && point->at > at && point[-1].is_last &&
        at > point[-1].until && at < point->since) {
        return false;
    }
    *theta = line_at(line, index, at);
    *half = point->half;
    if (!point->is_last && point[1].half > *half) {
        *half = point[1].half;
    }
    return true;
}

ck_time_t
clockline_slack(const struct clockline *line, ck_time_t from, ck_time_t to)
{
    const struct clockline_point *points = line->points;
    size_t index = point_find(line, from);
    size_t end = point_find(line, to);
    __int128 sum = 0;
    ck_time_t at = from;

    for (size_t i = index; i < end; i++) {
        if (points[i].is_last) {
            return CK_CLOCK_NONE;
        }
        if (points[i + 1].at > at) {
            sum += (__int128)(points[i + 1].at - at) * points[i].rate_ppb;
            at = points[i + 1].at;
        }
    }
    if (to > at) {
        sum += (__int128)(to - at) * points[end].rate_ppb;
    }
    return (ck_time_t)((sum + 999999999) / 1000000000);
}
