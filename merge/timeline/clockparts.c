/* clockparts.c - the largest error of a clock in each part of a stretch of time
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Over a piece of a map the error is a straight line and a parabola: largest at
 * an end or where the slopes of both cancel out.
 */
#include "merge/timeline/clockparts.h"

#include <math.h>

#define UNTOUCHED (-1)

static ck_time_t piece_error(const struct clockmap_piece *piece, double at)
{
    double share = at / (double)piece->length;
    double line = ((double)piece->error1 - (double)piece->error0) * share;

    return piece->error0 +
           (ck_time_t)ceil(line +
                           4.0 * (double)piece->bulge * share * (1 - share)) +
           1;
}

/* The largest error of a piece between two of its instants. */
static ck_time_t
piece_most(const struct clockmap_piece *piece, double from, double to)
{
    ck_time_t most, error;

    if (piece->error0 == CLOCKMAP_ERROR_UNKNOWN ||
        piece->error1 == CLOCKMAP_ERROR_UNKNOWN ||
        piece->bulge == CLOCKMAP_ERROR_UNKNOWN) {
        return CLOCKMAP_ERROR_UNKNOWN;
    }
    most = piece_error(piece, from);
    error = piece_error(piece, to);
    most = error > most ? error : most;
    if (piece->bulge > 0) {
        double top = (double)piece->length *
                     (0.5 + ((double)piece->error1 - (double)piece->error0) /
                                (8.0 * (double)piece->bulge));

        error = top > from && top < to ? piece_error(piece, top) : 0;
        most = error > most ? error : most;
    }
    return most;
}

static void part_raise(ck_time_t *part, ck_time_t error)
{
    *part = error > *part ? error : *part;
}

/* Where the parts are. */
struct stretch {
    ck_time_t start;
    double width; /* of a part */
};

static double clamped(double value, double low, double high)
{
    if (value < low) {
        return low;
    }
    if (value > high) {
        return high;
    }
    return value;
}

/* The part that an instant is in, or the nearest one. */
static size_t part_of(const struct stretch *stretch, double time)
{
    return (size_t)clamped(floor(time / stretch->width), 0, CLOCKPARTS - 1);
}

static void piece_put(const struct stretch *stretch,
                      const struct clockmap_piece *piece,
                      ck_time_t parts[CLOCKPARTS])
{
    double rate = 1 + ldexp((double)piece->slope, -CLOCKMAP_SLOPE_BITS);
    double from = (double)(piece->c0 + piece->offset - stretch->start);
    double to = from + (double)piece->length * rate;
    double end = stretch->width * CLOCKPARTS;

    if (to < -1 || from > end + 1) {
        return;
    }
    for (size_t i = part_of(stretch, from - 1); i <= part_of(stretch, to + 1);
         i++) {
        double left = (stretch->width * (double)i - from) / rate - 2;
        double right = left + stretch->width / rate + 4;

        part_raise(&parts[i],
                   piece_most(piece, clamped(left, 0, (double)piece->length),
                              clamped(right, 0, (double)piece->length)));
    }
}

/* Before the first piece and behind the last: the error grows from there on. */
static void ends_put(const struct stretch *stretch,
                     struct clockmap *map,
                     ck_time_t parts[CLOCKPARTS])
{
    const struct clockmap_piece *first = &map->pieces[0];
    const struct clockmap_piece *last = &map->pieces[map->count - 1];
    double left = (double)(first->c0 + first->offset - stretch->start);
    double rate = 1 + ldexp((double)last->slope, -CLOCKMAP_SLOPE_BITS);
    double right = (double)(last->c0 + last->offset - stretch->start) +
                   (double)last->length * rate;

    for (size_t i = 0; i < CLOCKPARTS; i++) {
        double from = stretch->width * (double)i;
        double to = from + stretch->width;

        if (from <= left) {
            ck_time_t beyond = (ck_time_t)((left - from) * 1.0005) + 2;

            part_raise(&parts[i], clockmap_error(map, first->c0 - beyond));
        }
        if (to >= right) {
            ck_time_t beyond = (ck_time_t)((to - right) * 1.0005) + 2;

            part_raise(&parts[i],
                       clockmap_error(map, last->c0 + last->length + beyond));
        }
    }
}

/* Where a clock jumped nothing leads to: either side may be asked. */
static void gaps_fill(ck_time_t parts[CLOCKPARTS])
{
    for (size_t i = 0; i < CLOCKPARTS; i++) {
        size_t next = i;

        if (parts[i] != UNTOUCHED) {
            continue;
        }
        while (next < CLOCKPARTS && parts[next] == UNTOUCHED) {
            next++;
        }
        parts[i] = next < CLOCKPARTS ? parts[next] : 0;
        part_raise(&parts[i], i > 0 ? parts[i - 1] : 0);
    }
}

void clockparts_fill(struct clockmap *map,
                     ck_time_t start,
                     ck_time_t end,
                     ck_time_t parts[CLOCKPARTS])
{
    struct stretch stretch = {
        start, end > start ? (double)(end - start) / CLOCKPARTS : 1.0};

    for (size_t i = 0; i < CLOCKPARTS; i++) {
        parts[i] = UNTOUCHED;
    }
    for (size_t i = 0; i < map->count; i++) {
        piece_put(&stretch, &map->pieces[i], parts);
    }
    ends_put(&stretch, map, parts);
    gaps_fill(parts);
}
