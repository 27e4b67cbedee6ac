/* clockjump.c - where a clock jumped, by the solution of all facts
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "merge/clocks/clockjump.h"

#include <stdlib.h>

#include "merge/model/array.h"
#include "schema/clock/clocktrend.h"

/* No clock runs away faster without a jump: 100 ppm. */
#define RATE_BLIND 100000

void clockjump_points(const struct clocksolve_knot *knots,
                      size_t count,
                      struct clockmap_point **points,
                      size_t *kept)
{
    size_t room = 0;

    *points = NULL;
    *kept = 0;
    for (size_t i = 0; i < count; i++) {
        if (knots[i].bound == CK_CLOCK_NONE) {
            if (*kept > 0) {
                (*points)[*kept - 1].is_last |= knots[i].is_last;
            }
            continue;
        }
        array_grow(points, &room, *kept, sizeof(**points));
        (*points)[(*kept)++] = (struct clockmap_point){
            .at = knots[i].at,
            .offset = knots[i].offset,
            .bound = knots[i].bound,
            .rate_ppb = knots[i].rate_ppb,
            .is_last = knots[i].is_last && i + 1 < count,
        };
    }
}

int64_t clockjump_drift(const struct clockmap_point *points, size_t count)
{
    __int128 moved = 0, span = 0;

    for (size_t i = 0; i + 1 < count; i++) {
        if (!points[i].is_last) {
            moved += points[i + 1].offset - points[i].offset;
            span += points[i + 1].at - points[i].at;
        }
    }
    return span == 0 ? 0 : (int64_t)(moved * 1000000000 / span);
}

/* What is between a point and the next, and how well that is known. */
static ck_time_t step_of(const struct clockmap_point *point, ck_time_t *bound)
{
    *bound = point[0].bound + point[1].bound +
             ck_clock_drift(point[1].at - point[0].at, RATE_BLIND);
    return point[1].offset - point[0].offset;
}

/* Whether a clock was set back behind a point, and by how much at most. */
static bool
is_back(const struct clockmap_point *points, size_t at, ck_time_t *most)
{
    ck_time_t bound, step;

    if (!points[at].is_last) {
        return false;
    }
    step = step_of(&points[at], &bound);
    *most = step + bound;
    return step > bound;
}

/* Put a point where the clock may have left it by now. */
static void point_move(struct clockmap_point *point, ck_time_t at)
{
    point->bound +=
        ck_clock_drift(ck_clock_distance(at, point->at), RATE_BLIND);
    point->at = at;
}

/* The first point behind a jump back whose readings are there once only; what
 * is set back again in between has readings that are there twice, too. */
static size_t back_end(struct clockmap_point *points, size_t count, size_t jump)
{
    ck_time_t most = 0, until = INT64_MIN;
    size_t at = jump;

    do {
        if (is_back(points, at, &most) && points[at + 1].at + most > until) {
            until = points[at + 1].at + most;
        }
        at++;
    } while (at + 1 < count && points[at].at < until);
    if (points[at].at < until) {
        point_move(&points[at], until);
    }
    return at;
}

/* Points that are left out behind another one stay within its jump's error. */
static void reach_over(struct clockmap_point *point,
                       const struct clockmap_point *left_out,
                       size_t count)
{
    for (size_t i = 0; i < count; i++) {
        ck_time_t reach = ck_clock_distance(left_out[i].offset, point->offset) +
                          left_out[i].bound + left_out[i].reach;

        point->reach = reach > point->reach ? reach : point->reach;
    }
}

size_t clockjump_clear(struct clockmap_point *points, size_t count)
{
    size_t kept = 0;

    for (size_t i = 0; i < count; i++) {
        ck_time_t most, until;
        size_t first = kept, end;

        points[kept++] = points[i];
        if (i + 1 >= count || !is_back(points, i, &most)) {
            continue;
        }
        /* Readings from a step before to a step after are there twice. */
        end = back_end(points, count, i);
        until = points[i].at - most;
        while (first > 0 && points[first].at > until) {
            first--;
        }
        if (points[first].at > until) {
            point_move(&points[first], until);
        }
        reach_over(&points[first], &points[first + 1], kept - first - 1);
        reach_over(&points[first], &points[i + 1], end - i - 1);
        kept = first + 1;
        points[first].is_last = true;
        i = end - 1;
    }
    return kept;
}

void clockjump_find(const struct clockmap_point *points,
                    size_t count,
                    struct ck_clock_fault **faults,
                    size_t *found)
{
    size_t room = 0;

    *faults = NULL;
    *found = 0;
    for (size_t i = 0; i + 1 < count; i++) {
        ck_time_t bound;
        ck_time_t step = step_of(&points[i], &bound);

        if (!points[i].is_last || (step < 0 ? -step : step) <= bound) {
            continue;
        }
        array_grow(faults, &room, *found, sizeof(**faults));
        (*faults)[(*found)++] = (struct ck_clock_fault){
            .kind = CK_CLOCK_FAULT_STEP,
            .from = points[i].at,
            .to = points[i + 1].at,
            .step = step,
            .bound =
                bound + ck_clock_drift(step < 0 ? -step : step, RATE_BLIND)};
    }
}
