/* clockfit.c - a line through what is known of an offset
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
 * where the two parts fit best. clockbreak.c finds where the clock jumped
 * between two windows.
 */
#include "merge/clocks/solve/clockline.h"

#include <math.h>
#include <stdlib.h>

#include "merge/clocks/solve/clockbreak.h"
#include "merge/model/memory.h"

#define SLOPE_MAX ((double)CK_CLOCK_RATE_CAP_PPB * 1e-9)
#define GOLDEN 0.6180339887498949
#define SEARCHES 48
/* No shorter window, nor one with fewer facts, is halved. */
#define WINDOW_MIN (500 * CK_TIME_MS)
#define WINDOW_FACTS 8
/* A point this much vaguer than both its neighbours is no evidence. */
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
    double slope_low; /* no line has another slope */
    double slope_high;
};

struct gap {
    double slope;
    double value; /* halfway */
    double half;
    double slope_slack;
    bool is_bounded; /* limits on both sides */
};

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
        double here = fitter->upper[i].value - slope * fitter->upper[i].at;

        least = here < least ? here : least;
    }
    return least;
}

static double floor_of(const struct fitter *fitter, double slope)
{
    double most = -INFINITY;

    for (size_t i = 0; i < fitter->lowers; i++) {
        double here = fitter->lower[i].value - slope * fitter->lower[i].at;

        most = here > most ? here : most;
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

/* Where a concave function of the slope is largest, between two slopes. */
static double peak_between(const struct fitter *fitter,
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

/* Where the gap is widest. */
static double slope_widest(const struct fitter *fitter)
{
    return peak_between(fitter, height, fitter->slope_low, fitter->slope_high);
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
    gap->slope = slope_widest(fitter);
    best = height(fitter, gap->slope);
    if (best < -0.5) {
        return false;
    }
    low = slope_edge(fitter, gap->slope, fitter->slope_low);
    high = slope_edge(fitter, gap->slope, fitter->slope_high);
    top = ceiling(fitter, peak_between(fitter, ceiling, low, high));
    bottom = floor_of(fitter, peak_between(fitter, depth, low, high));
    gap->slope_slack = fmax(high - gap->slope, gap->slope - low);
    gap->value =
        (ceiling(fitter, gap->slope) + floor_of(fitter, gap->slope)) / 2;
    gap->half = fmax(fmax(top - gap->value, gap->value - bottom), best / 2);
    return true;
}

/* Facts that are that vague may fit a line that the clock does not follow: a
 * narrow gap does not exclude that. */
static ck_time_t
window_vague(const struct fitter *fitter, size_t lo, size_t hi, double slope)
{
    const struct ck_clock_constraint *last = NULL;
    double least = INFINITY;

    for (size_t i = lo; i < hi; i++) {
        const struct ck_clock_constraint *fact = &fitter->facts[i];

        if (fact->is_dropped) {
            continue;
        }
        if (last != NULL && last->is_upper != fact->is_upper) {
            double width = (double)(fact->value - last->value) -
                           slope * (double)(fact->at - last->at);

            width = fact->is_upper ? width : -width;
            least = width < least ? width : least;
        }
        last = fact;
    }
    return least > 0 && least < INFINITY ? (ck_time_t)(least / 2) : 0;
}

/* Append the point of a window that fitted. */
static void
window_point(struct fitter *fitter, size_t lo, size_t hi, const struct gap *gap)
{
    if (!gap->is_bounded) {
        return;
    }
    clockline_add(fitter->line,
                  (struct clockline_point){
                      .at = fitter->middle,
                      .theta = fitter->base + (ck_time_t)llround(gap->value),
                      .half = (ck_time_t)ceil(gap->half) + 1,
                      .vague = window_vague(fitter, lo, hi, gap->slope),
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
    double slope = slope_widest(fitter);
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
    double missing = -height(fitter, slope_widest(fitter));
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
            missing > CLOCKBREAK_MIN) {
            return true;
        }
        fact->is_dropped = false;
    }
    return false;
}

/* Depth: halves a time at most, then facts one by one. */
static void window_solve(struct fitter *fitter, size_t lo, size_t hi)
{
    struct gap gap;
    size_t cut;

    if (hi - lo < 2) {
        return;
    }
    if (window_fit(fitter, lo, hi, &gap) ||
        window_repair(fitter, lo, hi, &gap)) {
        window_point(fitter, lo, hi, &gap);
        return;
    }
    if (hi - lo > WINDOW_FACTS &&
        fitter->facts[hi - 1].at - fitter->facts[lo].at > WINDOW_MIN) {
        cut = window_middle(fitter, lo, hi);
    } else {
        cut = break_find(fitter, lo, hi);
    }
    window_solve(fitter, lo, cut);
    window_solve(fitter, cut, hi);
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

/* A point alone in its stretch: its own slope, unless that is no evidence. */
static void point_rate_alone(const struct fitter *fitter,
                             struct clockline_point *point)
{
    point->doubt_ppb = point->rate_ppb;
    point->rate_ppb += fitter->wander_ppb;
    if (point->rate_ppb >= fitter->blind_ppb) {
        point->slope = 0;
        point->doubt_ppb = point->rate_ppb = fitter->blind_ppb;
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
            point->doubt_ppb =
                (int64_t)((__int128)(point->half + point[1].half) * 1000000000 /
                          (point[1].at - point->at));
            point->rate_ppb = fitter->wander_ppb + 1 + point->doubt_ppb;
        } else if (has_left) {
            point->doubt_ppb = point[-1].doubt_ppb;
            point->rate_ppb = point[-1].rate_ppb;
        } else {
            point_rate_alone(fitter, point);
        }
    }
}

/* Slopes that a clock may have whose slope is known best at a point; false: all
 * points have such a one. */
static bool slopes_limit(struct fitter *fitter, size_t first)
{
    const struct clockline *line = fitter->line;
    const struct clockline_point *best = clockbreak_best(line, first);
    double room = CLOCKBREAK_RATE + clockbreak_doubt(best);
    bool is_kept = true;

    for (size_t i = first; i < line->count; i++) {
        is_kept = is_kept && fabs(line->points[i].slope - best->slope) <= room;
    }
    fitter->slope_low = fmax(-SLOPE_MAX, best->slope - room);
    fitter->slope_high = fmin(SLOPE_MAX, best->slope + room);
    return !is_kept;
}

/* Points for all facts. A clock does not run at one rate here and at one that
 * is 20 ppm off there: where a short window shows that, its facts contradict
 * each other, and no line goes through them. */
static void points_fit(struct fitter *fitter, size_t count, size_t first)
{
    fitter->slope_low = -SLOPE_MAX;
    fitter->slope_high = SLOPE_MAX;
    window_solve(fitter, 0, count);
    if (fitter->line->count < first + 2 || !slopes_limit(fitter, first)) {
        return;
    }
    fitter->line->count = first;
    for (size_t i = 0; i < count; i++) {
        fitter->facts[i].is_dropped = false;
    }
    window_solve(fitter, 0, count);
}

void clockline_fit(struct clockline *line,
                   struct ck_clock_constraint *facts,
                   size_t count,
                   int64_t wander_ppb,
                   int64_t blind_ppb)
{
    struct fitter fitter = {
        .facts = facts,
        .upper = xmalloc((count + 1) * sizeof(struct corner)),
        .lower = xmalloc((count + 1) * sizeof(struct corner)),
        .line = line,
        .wander_ppb = wander_ppb,
        .blind_ppb = blind_ppb,
    };
    size_t first = line->count;

    points_fit(&fitter, count, first);
    points_sift(line, first);
    clockbreak_find(line, first, facts, count);
    if (line->count > first) {
        line->points[line->count - 1].is_last = true;
        points_rate(&fitter, first);
    }
    free(fitter.upper);
    free(fitter.lower);
}

void clockline_guess(struct clockline *line,
                     struct ck_clock_constraint *facts,
                     size_t count,
                     int64_t blind_ppb)
{
    struct fitter fitter = {
        .facts = facts,
        .upper = xmalloc((count + 1) * sizeof(struct corner)),
        .lower = xmalloc((count + 1) * sizeof(struct corner)),
        .line = line,
    };
    struct gap gap = {.is_bounded = true, .half = (double)CLOCKLINE_GUESS};

    hulls_make(&fitter, 0, count);
    gap.value = fitter.uppers > 0 ? ceiling(&fitter, 0) : floor_of(&fitter, 0);
    window_point(&fitter, 0, count, &gap);
    line->points[line->count - 1].is_last = true;
    line->points[line->count - 1].rate_ppb = blind_ppb;
    line->points[line->count - 1].doubt_ppb = blind_ppb;
    free(fitter.upper);
    free(fitter.lower);
}
