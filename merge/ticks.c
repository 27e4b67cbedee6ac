/* ticks.c - ticks of a time stamp counter as CLOCK_MONOTONIC_RAW
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * A part's slope is a double: a part of an hour has 2^44 ticks, so the product
 * is good to well under a nanosecond.
 */
#include "merge/ticks.h"

#include <stdlib.h>

/* Two points nearer than this are one: their brackets would tilt the line. */
#define PAIR_GAP CK_TIME_MS

/* Take a pair if it goes on from the last point. */
static void pair_take(struct ticks *ticks, const struct ticks_pair *pair)
{
    struct ticks_point *point = &ticks->points[ticks->count];

    if (ticks->count > 0 && (pair->ticks <= point[-1].ticks ||
                             pair->raw < point[-1].raw + PAIR_GAP)) {
        return;
    }
    point->ticks = pair->ticks;
    point->raw = pair->raw;
    ticks->count++;
    ticks->bound = pair->width > ticks->bound ? pair->width : ticks->bound;
}

static double slope_of(const struct ticks_point *a, const struct ticks_point *b)
{
    return (double)(b->raw - a->raw) / (double)(b->ticks - a->ticks);
}

static void slopes_set(struct ticks *ticks)
{
    struct ticks_point *points = ticks->points;
    size_t last = ticks->count - 1;

    ticks->slope = 1.0;
    if (ticks->count < 2) {
        return;
    }
    for (size_t i = 0; i < last; i++) {
        points[i].slope = slope_of(&points[i], &points[i + 1]);
    }
    ticks->slope = points[last].slope = slope_of(&points[0], &points[last]);
}

int ticks_make(struct ticks *ticks,
               const struct ticks_pair *pairs,
               size_t count)
{
    const struct ticks_pair *leader = &pairs[0];
    int64_t first = INT64_MAX;
    int64_t last = INT64_MIN;

    if (count == 0) {
        return 0;
    }
    ticks->points = calloc(count, sizeof(*ticks->points));
    if (ticks->points == NULL) {
        return -1;
    }
    for (size_t i = 1; i < count; i++) {
        leader = pairs[i].key < leader->key ? &pairs[i] : leader;
    }
    for (size_t i = 0; i < count; i++) {
        if (pairs[i].agent == leader->agent) {
            first = pairs[i].ticks < first ? pairs[i].ticks : first;
            last = pairs[i].ticks > last ? pairs[i].ticks : last;
        }
    }
    for (size_t i = 0; i < count; i++) {
        if (pairs[i].agent == leader->agent || pairs[i].ticks < first ||
            pairs[i].ticks > last) {
            pair_take(ticks, &pairs[i]);
        }
    }
    slopes_set(ticks);
    return 0;
}

void ticks_fini(struct ticks *ticks)
{
    free(ticks->points);
    ticks->points = NULL;
    ticks->count = 0;
}

int64_t ticks_raw(struct ticks *ticks, int64_t stamp)
{
    const struct ticks_point *points = ticks->points;
    size_t at = ticks->hint;
    size_t low = 0;
    size_t high = ticks->count;

    if (ticks->count < 2) {
        ticks->is_lacking = true;
        return ticks->count == 0 ? stamp
                                 : points[0].raw + (stamp - points[0].ticks);
    }
    if (stamp < points[0].ticks) {
        return points[0].raw -
               (int64_t)((double)(points[0].ticks - stamp) * ticks->slope);
    }
    if (stamp < points[at].ticks ||
        (at + 1 < ticks->count && stamp >= points[at + 1].ticks)) {
        while (high - low > 1) {
            size_t middle = low + (high - low) / 2;

            if (points[middle].ticks <= stamp) {
                low = middle;
            } else {
                high = middle;
            }
        }
        at = low;
        ticks->hint = at;
    }
    return points[at].raw +
           (int64_t)((double)(stamp - points[at].ticks) * points[at].slope);
}
