/* clocktrend.c - how an offset moves on the whole
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * The constraints are cut into windows; the tightest burst of a window is
 * its point, with middle m and half width h. Between neighbouring points the
 * true mean slope differs from theirs by at most
 *
 *   (h[i] + h[j]) / (c[j] - c[i]),
 *
 * so that much is added to the rate at which theta may leave the trend. A
 * longer window makes it smaller and follows a changing drift less well.
 */
#include "schema/clock/clocktrend.h"

#include <math.h>
#include <stdlib.h>

#include "schema/order.h"

#define CLUSTER_SPAN (2 * CK_TIME_MS)
/* theta may move while a cluster lasts: 100 ppm, 200 ns. */
#define CLUSTER_RATE_PPB 100000
/* Shorter for a clock that wanders by more than 1 ppm. */
#define WINDOW_MIN (20 * CK_TIME_S)
#define WINDOW_PPB 1000
#define WINDOW_PERIODS 5
#define WINDOW_PERIODS_LEAST 2
/* A swing of the rate within 30 s that limits 2 us apart do not refute. */
#define HIDDEN_PPB 300
#define HIDDEN_MAX_PPB 8000
/* Points of a line, and what part of them is between the two of a pair. */
#define LINE_POINTS 512
#define LINE_LEAST 6
#define LINE_SPAN (1000 * CK_TIME_S)
#define LINE_SHARE 4
#define SPAN_MIN (100 * CK_TIME_MS)
#define POINTS_MAX 4096

int ck_clocktrend_init(struct ck_clocktrend *trend)
{
    trend->points = calloc(POINTS_MAX + 1, sizeof(*trend->points));
    trend->count = 0;
    trend->rate_ppb = CK_CLOCK_RATE_CAP_PPB;
    return trend->points == NULL ? -1 : 0;
}

void ck_clocktrend_fini(struct ck_clocktrend *trend)
{
    free(trend->points);
    trend->points = NULL;
}

void ck_clocktrend_flatten(struct ck_clocktrend *trend, int64_t rate_ppb)
{
    trend->count = 0;
    trend->rate_ppb = rate_ppb;
    trend->hidden_ppb = 0;
}

size_t ck_clock_cluster(const struct ck_clock_constraint *constraints,
                        size_t first,
                        size_t end)
{
    size_t at = first + 1;

    while (at < end &&
           constraints[at].at - constraints[first].at <= CLUSTER_SPAN) {
        at++;
    }
    return at;
}

static bool is_two_sided(const struct ck_clock_constraint *constraints,
                         size_t first,
                         size_t end)
{
    for (size_t i = first + 1; i < end; i++) {
        if (constraints[i].is_upper != constraints[first].is_upper) {
            return true;
        }
    }
    return false;
}

size_t ck_clock_burst(const struct ck_clock_constraint *constraints,
                      size_t first,
                      size_t end,
                      bool *is_both)
{
    size_t plain = ck_clock_cluster(constraints, first, end);
    size_t at = plain;

    *is_both = is_two_sided(constraints, first, at);
    while (!*is_both && at < end &&
           constraints[at].at - constraints[first].at <= CK_CLOCK_ANSWER) {
        at = ck_clock_cluster(constraints, at, end);
        *is_both = is_two_sided(constraints, first, at);
    }
    return *is_both ? at : plain;
}

/* What one cluster alone gives; false: one side only, or a contradiction. */
static bool cluster_point(const struct ck_clock_constraint *constraints,
                          size_t first,
                          size_t end,
                          struct ck_clock_point *point)
{
    ck_time_t upper = CK_CLOCK_NONE;
    ck_time_t lower = -CK_CLOCK_NONE;

    for (size_t i = first; i < end; i++) {
        const struct ck_clock_constraint *c = &constraints[i];

        if (c->is_dropped) {
            continue;
        }
        if (c->is_upper) {
            upper = c->value < upper ? c->value : upper;
        } else {
            lower = c->value > lower ? c->value : lower;
        }
    }
    if (upper == CK_CLOCK_NONE || lower == -CK_CLOCK_NONE || upper < lower) {
        return false;
    }
    point->at = constraints[first].at;
    point->middle = lower + (upper - lower) / 2;
    point->half =
        (upper - lower + 1) / 2 +
        ck_clock_drift(constraints[end - 1].at - point->at, CLUSTER_RATE_PPB);
    return true;
}

CK_ORDER(time_order, ck_time_t, CK_LESS(*a, *b))

/* Median half width over the clusters, -1 = none is two-sided, and how many
 * there are. 0 or -1. */
static int half_median(const struct ck_clock_constraint *constraints,
                       size_t count,
                       ck_time_t *median,
                       size_t *clusters)
{
    size_t found = 0;
    ck_time_t *halves = malloc(count * sizeof(*halves));

    if (halves == NULL) {
        return -1;
    }
    for (size_t at = 0; at < count;) {
        bool is_both;
        size_t end = ck_clock_burst(constraints, at, count, &is_both);
        struct ck_clock_point point;

        if (cluster_point(constraints, at, end, &point)) {
            halves[found++] = point.half;
        }
        at = end;
    }
    *median = -1;
    if (found > 0) {
        qsort(halves, found, sizeof(*halves), time_order);
        *median = halves[found / 2];
    }
    free(halves);
    *clusters = found;
    return 0;
}

/* Each window is so long that its slope is known to a quarter of the wander,
 * and some periods more, so that a jump inside of it bends the slope less than
 * what it exceeds the wander by; at least two windows. */
static size_t windows_count(ck_time_t span,
                            ck_time_t half,
                            ck_time_t period,
                            int64_t wander_ppb)
{
    __int128 window = (__int128)half * 8 * 1000000000 / wander_ppb;
    bool is_calm = wander_ppb <= WINDOW_PPB;
    ck_time_t least =
        is_calm ? WINDOW_MIN : WINDOW_MIN / wander_ppb * WINDOW_PPB;
    __int128 count;

    if (window < least) {
        window = least;
    }
    count = span / (window +
                    (is_calm ? WINDOW_PERIODS : WINDOW_PERIODS_LEAST) * period);
    if (count < 2) {
        return 2;
    }
    return count > POINTS_MAX ? POINTS_MAX : (size_t)count;
}

/* Points are taken from the first half of a window (the last: from its
 * second), so that they are at least half a window apart. */
static void points_collect(struct ck_clocktrend *trend,
                           const struct ck_clock_constraint *constraints,
                           size_t count,
                           size_t windows)
{
    ck_time_t start = constraints[0].at;
    ck_time_t span = constraints[count - 1].at - start + 1;

    for (size_t at = 0; at < count;) {
        bool is_both;
        size_t end = ck_clock_burst(constraints, at, count, &is_both);
        ck_time_t from = constraints[at].at - start;
        size_t window = (size_t)((__int128)from * (__int128)windows / span);
        ck_time_t begin =
            (ck_time_t)((__int128)span * (__int128)window / (__int128)windows);
        bool is_first_half = from - begin < span / (ck_time_t)windows / 2;
        struct ck_clock_point *next = &trend->points[trend->count];
        struct ck_clock_point point;

        if (is_first_half != (window + 1 == windows) &&
            cluster_point(constraints, at, end, &point)) {
            if (trend->count == 0 || next[-1].at - start < begin) {
                *next = point;
                trend->count++;
            } else if (point.half < next[-1].half) {
                next[-1] = point;
            }
        }
        at = end;
    }
}

/* The most that a slope between neighbouring points may be wrong. */
static int64_t slopes_slack(const struct ck_clocktrend *trend)
{
    __int128 slack = 0;

    for (size_t i = 1; i < trend->count; i++) {
        const struct ck_clock_point *a = &trend->points[i - 1];
        const struct ck_clock_point *b = &trend->points[i];
        __int128 error =
            (__int128)(a->half + b->half) * 1000000000 / (b->at - a->at) + 1;

        slack = error > slack ? error : slack;
    }
    return slack > CK_CLOCK_RATE_CAP_PPB ? CK_CLOCK_RATE_CAP_PPB
                                         : (int64_t)slack;
}

/* No clock drifts like that: a jump is between two points. */
static bool is_steep(const struct ck_clocktrend *trend)
{
    for (size_t i = 1; i < trend->count; i++) {
        const struct ck_clock_point *a = &trend->points[i - 1];
        const struct ck_clock_point *b = &trend->points[i];

        if (ck_clock_distance(a->middle, b->middle) - a->half - b->half >
            ck_clock_drift(b->at - a->at, CK_CLOCK_RATE_CAP_PPB)) {
            return true;
        }
    }
    return false;
}

/* Flat at the first two-sided cluster. */
static void trend_blind(struct ck_clocktrend *trend,
                        const struct ck_clock_constraint *constraints,
                        size_t count,
                        int64_t blind_ppb)
{
    ck_clocktrend_flatten(trend, blind_ppb);
    for (size_t at = 0; trend->count == 0 && at < count;) {
        bool is_both;
        size_t end = ck_clock_burst(constraints, at, count, &is_both);

        if (cluster_point(constraints, at, end, &trend->points[0])) {
            trend->count = 1;
        }
        at = end;
    }
}

int64_t ck_clocktrend_hidden(ck_time_t half)
{
    /* A damaged probe may leave centuries. */
    if (half >= HIDDEN_MAX_PPB * CK_TIME_US / HIDDEN_PPB) {
        return HIDDEN_MAX_PPB;
    }
    return half < 0 ? 0 : half * HIDDEN_PPB / CK_TIME_US;
}

int ck_clocktrend_fit(struct ck_clocktrend *trend,
                      const struct ck_clock_constraint *constraints,
                      size_t count,
                      int64_t wander_ppb,
                      int64_t blind_ppb)
{
    ck_time_t span = constraints[count - 1].at - constraints[0].at;
    ck_time_t half;
    size_t clusters;
    int64_t rate_ppb;

    if (half_median(constraints, count, &half, &clusters) != 0) {
        return -1;
    }
    ck_clocktrend_flatten(trend, blind_ppb);
    if (half >= 0 && span >= SPAN_MIN) {
        points_collect(
            trend, constraints, count,
            windows_count(span, half, span / (ck_time_t)clusters, wander_ppb));
    }
    rate_ppb = wander_ppb / 2 + slopes_slack(trend);
    trend->hidden_ppb = ck_clocktrend_hidden(half);
    if (trend->count < 2 || rate_ppb >= blind_ppb || is_steep(trend)) {
        /* A slope this vague is no evidence. */
        trend_blind(trend, constraints, count, blind_ppb);
        return 0;
    }
    trend->rate_ppb = rate_ppb;
    return 0;
}

size_t ck_clock_bursts(const struct ck_clock_constraint *constraints,
                       size_t count)
{
    size_t found = 0;

    for (size_t at = 0; at < count;) {
        bool is_both;

        at = ck_clock_burst(constraints, at, count, &is_both);
        found += is_both;
    }
    return found;
}

CK_ORDER(slope_order, double, CK_LESS(*a, *b))

/* The slopes that pairs of points allow, a quarter of all points between the
 * two of a pair: of the limits of a slope no more than `apart` are wrong when
 * the clock jumps once. */
static bool
slope_limits(const struct ck_clocktrend *trend, double *low, double *high)
{
    double lows[LINE_POINTS], highs[LINE_POINTS];
    size_t apart = trend->count / LINE_SHARE;
    size_t count = trend->count - apart;

    for (size_t i = 0; i < count; i++) {
        const struct ck_clock_point *a = &trend->points[i];
        const struct ck_clock_point *b = &trend->points[i + apart];
        double span = (double)(b->at - a->at);
        double slope = (double)(b->middle - a->middle) / span;
        double error = (double)(a->half + b->half) / span;

        lows[i] = slope - error;
        highs[i] = slope + error;
    }
    qsort(lows, count, sizeof(*lows), slope_order);
    qsort(highs, count, sizeof(*highs), slope_order);
    *low = lows[count - 1 - apart];
    *high = highs[apart];
    return *low <= *high;
}

int ck_clocktrend_line(struct ck_clocktrend *trend,
                       const struct ck_clock_constraint *constraints,
                       size_t count,
                       int64_t wander_ppb,
                       int64_t blind_ppb)
{
    size_t bursts = ck_clock_bursts(constraints, count);
    size_t windows = bursts / 2 < LINE_POINTS ? bursts / 2 : LINE_POINTS;
    double low, high;

    ck_clocktrend_flatten(trend, blind_ppb);
    if (windows >= LINE_LEAST) {
        points_collect(trend, constraints, count, windows);
    }
    if (trend->count < LINE_LEAST) {
        trend_blind(trend, constraints, count, blind_ppb);
        return 0;
    }
    if (!slope_limits(trend, &low, &high) ||
        (high - low) / 2 * 1e9 + (double)wander_ppb >= (double)blind_ppb ||
        fabs(low + high) / 2 * 1e9 > CK_CLOCK_RATE_CAP_PPB) {
        trend_blind(trend, constraints, count, blind_ppb);
        return 0;
    }
    trend->rate_ppb = wander_ppb + (int64_t)((high - low) / 2 * 1e9) + 1;
    trend->count = 2;
    trend->points[1] = trend->points[0];
    trend->points[1].at += LINE_SPAN;
    trend->points[1].middle += llround((low + high) / 2 * (double)LINE_SPAN);
    return 0;
}

CK_BEFORE(points_before, struct ck_clock_point, ck_time_t, a->at <= key)

ck_time_t ck_clocktrend_at(const struct ck_clocktrend *trend, ck_time_t at)
{
    size_t low = points_before(trend->points, trend->count, at);
    const struct ck_clock_point *a;
    const struct ck_clock_point *b;

    if (trend->count < 2) {
        return trend->count == 0 ? 0 : trend->points[0].middle;
    }
    low -= low > 0;
    if (low + 1 == trend->count) {
        low--;
    }
    a = &trend->points[low];
    b = &trend->points[low + 1];
    return a->middle + (ck_time_t)((__int128)(b->middle - a->middle) *
                                   (at - a->at) / (b->at - a->at));
}
