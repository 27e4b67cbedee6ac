/* clockjump.c - where the solution of all facts says that a clock jumped
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "merge/clocks/clockjump.h"

#include <stdlib.h>

#include "merge/model/array.h"
#include "schema/clock/clocktrend.h"

/* No clock runs away faster without a jump: 100 ppm. */
#define RATE_BLIND 100000

int clockjump_points(const struct clocksolve_knot *knots,
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
        if (array_grow(points, &room, *kept, sizeof(**points)) != 0) {
            free(*points);
            *points = NULL;
            return -1;
        }
        (*points)[(*kept)++] = (struct clockmap_point){
            .at = knots[i].at,
            .offset = knots[i].offset,
            .bound = knots[i].bound,
            .rate_ppb = knots[i].rate_ppb,
            .is_last = knots[i].is_last && i + 1 < count,
        };
    }
    return 0;
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

size_t clockjump_clear(struct clockmap_point *points, size_t count)
{
    size_t kept = 0;

    for (size_t i = 0; i < count; i++) {
        ck_time_t bound, step, until;
        size_t first = kept;

        points[kept++] = points[i];
        if (!points[i].is_last || i + 1 >= count) {
            continue;
        }
        step = step_of(&points[i], &bound);
        if (step <= bound) {
            continue;
        }
        /* Readings from a step before to a step after are there twice. */
        until = points[i + 1].at + step + bound;
        while (first > 0 && points[first].at > points[i].at - step - bound) {
            first--;
        }
        while (i + 2 < count && points[i + 1].at < until) {
            i++;
        }
        kept = first + 1;
        points[first].is_last = true;
    }
    return kept;
}

int clockjump_find(const struct clockmap_point *points,
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
        if (array_grow(faults, &room, *found, sizeof(**faults)) != 0) {
            free(*faults);
            *faults = NULL;
            *found = 0;
            return -1;
        }
        (*faults)[(*found)++] = (struct ck_clock_fault){
            .kind = CK_CLOCK_FAULT_STEP,
            .from = points[i].at,
            .to = points[i + 1].at,
            .step = step,
            .bound =
                bound + ck_clock_drift(step < 0 ? -step : step, RATE_BLIND)};
    }
    return 0;
}
