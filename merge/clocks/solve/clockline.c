/* clockline.c - how one clock moves against another
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "merge/clocks/solve/clockline.h"

#include <math.h>
#include <stdlib.h>

#include "merge/model/array.h"

void clockline_fini(struct clockline *line)
{
    free(line->points);
    *line = (struct clockline){0};
}

void clockline_add(struct clockline *line, struct clockline_point point)
{
    array_grow(&line->points, &line->room, line->count, sizeof(point));
    line->points[line->count++] = point;
}

void clockline_exact(struct clockline *line)
{
    clockline_add(line, (struct clockline_point){.is_last = true,
                                                 .until = CK_CLOCK_NONE});
}

/* The point whose stretch an instant belongs to, and which it precedes if
 * it can. */
static size_t point_find(const struct clockline *line, ck_time_t at)
{
    size_t after = array_until(line->points, line->count, sizeof(*line->points),
                               offsetof(struct clockline_point, at), at);

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

/* The clock jumped before or after that instant: which is not known. */
static bool is_between(const struct clockline *line, size_t index, ck_time_t at)
{
    const struct clockline_point *point = &line->points[index];

    return index > 0 && point[-1].is_last && at > point[-1].until &&
           at < point->since;
}

/* On the far side of the first jump or of the last one, and no point is there.
 */
static bool is_outside(const struct clockline *line, ck_time_t at)
{
    return (line->has_begin && at < line->begin) ||
           (line->has_end && at > line->end);
}

/* How far an instant is from the points that the line is drawn through. As far
 * as their facts reach, a slope that is wrong is in the error of the points. */
static ck_time_t
beyond(const struct clockline *line, size_t index, ck_time_t at)
{
    const struct clockline_point *point = &line->points[index];
    bool is_alone = point->is_last && (index == 0 || point[-1].is_last);

    if (is_alone || (point->is_last && at > point->at) ||
        (!point->is_last && at < point->at)) {
        return ck_clock_distance(at, point->at);
    }
    return 0;
}

bool clockline_at(const struct clockline *line,
                  ck_time_t at,
                  ck_time_t *theta,
                  ck_time_t *half)
{
    const struct clockline_point *point;
    ck_time_t doubt;
    size_t index;

    if (line->count == 0 || is_outside(line, at)) {
        return false;
    }
    index = point_find(line, at);
    point = &line->points[index];
    if (point->at > at && is_between(line, index, at)) {
        return false;
    }
    *theta = line_at(line, index, at);
    *half = point->half;
    if (!point->is_last && point[1].half > *half) {
        *half = point[1].half;
    }
    doubt = ck_clock_drift(beyond(line, index, at), point->doubt_ppb);
    *half = doubt > *half ? doubt : *half;
    return true;
}

bool clockline_is_beyond(const struct clockline *line, ck_time_t at)
{
    const struct clockline_point *point;
    size_t index;

    if (line->count == 0) {
        return false;
    }
    index = point_find(line, at);
    point = &line->points[index];
    if (point->is_last) {
        return index > 0 && !point[-1].is_last;
    }
    return at < point->at;
}

ck_time_t
clockline_slack(const struct clockline *line, ck_time_t from, ck_time_t to)
{
    const struct clockline_point *points = line->points;
    size_t index = point_find(line, from);
    size_t end = point_find(line, to);
    __int128 sum = 0;
    ck_time_t at = from;

    if (is_between(line, index, from) || is_between(line, end, to) ||
        is_outside(line, from) || is_outside(line, to)) {
        return CK_CLOCK_NONE;
    }
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
