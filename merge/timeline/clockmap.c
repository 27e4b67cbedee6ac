/* clockmap.c - a clock onto another one, with its error
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Between two points D apart, whose offsets are known to b0 and b1, an offset
 * that moves no faster than a rate leaves their straight line by at most
 * 2 rate D a (1 - a) at the share a of the way: half a rate times D in the
 * middle, the bulge.
 */
#include "merge/timeline/clockmap.h"

#include <errno.h>
#include <stdlib.h>

#include "merge/model/array.h"
#include "schema/clock/clocktrend.h"
#include "schema/order.h"

/* A point is left out when its neighbours' line is no further from it. */
#define TOLERANCE 2
/* A point that is better known by that share of the bound is kept. */
#define DIP 4
/* At most so many are left out in a row. */
#define SKIP_MAX 64
/* Where no slope is known: 100 ppm. */
#define RATE_BLIND 100000
/* A slope of 1. */
#define SLOPE_ONE ((__int128)1 << CLOCKMAP_SLOPE_BITS)
/* No clock runs away faster: 500 ppm. */
#define SLOPE_MAX                                                              \
    ((int64_t)(500e-6 * (double)((int64_t)1 << CLOCKMAP_SLOPE_BITS)))

void clockmap_fini(struct clockmap *map)
{
    free(map->pieces);
    *map = (struct clockmap){0};
}

static uint32_t error_of(ck_time_t bound)
{
    return bound < 0 || bound > UINT32_MAX - 1 ? CLOCKMAP_ERROR_UNKNOWN
                                               : (uint32_t)bound;
}

static ck_time_t between(const struct clockmap_point *a,
                         const struct clockmap_point *b,
                         ck_time_t at)
{
    return a->offset + (ck_time_t)((__int128)(b->offset - a->offset) *
                                   (at - a->at) / (b->at - a->at));
}

/* One piece from a point to another, in parts that are short enough. */
static void pieces_add(struct clockmap *map,
                       const struct clockmap_point *a,
                       const struct clockmap_point *b,
                       ck_time_t bend,
                       uint32_t flags)
{
    ck_time_t span = b->at - a->at;
    ck_time_t parts = span / CLOCKMAP_PIECE_MAX + 1;
    uint32_t bulge = error_of(bend);

    for (ck_time_t i = 0; i < parts; i++) {
        ck_time_t from = a->at + (ck_time_t)((__int128)span * i / parts);
        ck_time_t to = a->at + (ck_time_t)((__int128)span * (i + 1) / parts);
        ck_time_t offset = between(a, b, from);
        struct clockmap_piece *piece;

        array_grow(&map->pieces, &map->room, map->count, sizeof(*piece));
        piece = &map->pieces[map->count++];
        *piece = (struct clockmap_piece){
            .c0 = from,
            .offset = offset,
            .slope =
                (int64_t)(((__int128)(between(a, b, to) - offset) * SLOPE_ONE) /
                          (to - from)),
            .error0 = error_of(a->bound + (b->bound - a->bound) / parts * i),
            .error1 =
                error_of(a->bound + (b->bound - a->bound) / parts * (i + 1)),
            .bulge = bulge,
            .flags = flags,
            .length = to - from,
        };
        if (parts > 1) {
            /* Somewhere in it the whole bulge applies. */
            piece->error0 = piece->error1 =
                error_of((a->bound > b->bound ? a->bound : b->bound) + bulge);
        }
    }
}

/* How the offset moves over a stretch, from its first to its last point. A
 * single point is no evidence of it. */
struct course {
    int64_t slope; /* times 2^36 */
    int64_t rate_ppb;
};

static struct course course_of(const struct clockmap_point *first,
                               const struct clockmap_point *last)
{
    __int128 slope;
    __int128 vague;

    if (last->at <= first->at) {
        return (struct course){0, RATE_BLIND};
    }
    /* The ends may be wrong, each on another side: of a stretch as short as a
     * burst the slope is worse than no evidence. */
    vague = (__int128)(first->bound + last->bound) * 1000000000 /
            (last->at - first->at);
    if (vague + last->rate_ppb > RATE_BLIND) {
        return (struct course){0, RATE_BLIND};
    }
    slope = ((__int128)(last->offset - first->offset) * SLOPE_ONE) /
            (last->at - first->at);
    if (slope > SLOPE_MAX || slope < -SLOPE_MAX) {
        return (struct course){0, CK_CLOCK_RATE_CAP_PPB};
    }
    return (struct course){(int64_t)slope, last->rate_ppb + (int64_t)vague};
}

/* A clock that jumped between two points: the line before goes on to the next
 * point, and the error covers either side. */
static void jump_add(struct clockmap *map,
                     const struct clockmap_point *stretch,
                     const struct clockmap_point *a)
{
    const struct clockmap_point *b = a + 1;
    struct course course = course_of(stretch, a);
    struct clockmap_point left = *a;
    struct clockmap_point right = *b;
    ck_time_t span = b->at - a->at;
    ck_time_t step, reach;

    right.offset = a->offset + (ck_time_t)(((__int128)span * course.slope) >>
                                           CLOCKMAP_SLOPE_BITS);
    step = b->offset - right.offset;
    step = step < 0 ? -step : step;
    reach = a->reach == 0
                ? 0
                : a->reach + ck_clock_distance(right.offset, a->offset);
    step = reach > step ? reach : step;
    left.bound = right.bound =
        (a->bound > b->bound ? a->bound : b->bound) + step +
        ck_clock_drift(span, course.rate_ppb > RATE_BLIND ? course.rate_ppb
                                                          : RATE_BLIND);
    pieces_add(map, &left, &right, 0, CLOCKMAP_FAULT);
}

/* Whether all points between two are near their line, are no vaguer, and not
 * much better known. */
static bool
is_straight(const struct clockmap_point *points, size_t first, size_t last)
{
    const struct clockmap_point *a = &points[first];
    const struct clockmap_point *b = &points[last];

    if (b->at - a->at > CLOCKMAP_PIECE_MAX || last - first > SKIP_MAX) {
        return false;
    }
    for (size_t i = first; i < last; i++) {
        ck_time_t off = between(a, b, points[i].at) - points[i].offset;
        ck_time_t bound =
            a->bound + (ck_time_t)((__int128)(b->bound - a->bound) *
                                   (points[i].at - a->at) / (b->at - a->at));

        if (points[i].is_last || off > TOLERANCE || off < -TOLERANCE ||
            points[i].bound > bound + TOLERANCE ||
            points[i].bound < bound - bound / DIP - TOLERANCE) {
            return false;
        }
    }
    return true;
}

/* The last point that one piece from `first` reaches. */
static size_t
piece_end(const struct clockmap_point *points, size_t first, size_t count)
{
    size_t end = first + 1;

    for (size_t step = 1; end + step < count;) {
        if (is_straight(points, first, end + step)) {
            end += step;
            step *= 2;
        } else if (step == 1) {
            break;
        } else {
            step = 1;
        }
    }
    return end;
}

/* A single point: its offset for ever. */
static void single_add(struct clockmap *map, const struct clockmap_point *point)
{
    struct clockmap_point next = *point;

    next.at++;
    pieces_add(map, point, &next, 0, 0);
}

static ck_time_t bend_of(const struct clockmap_point *point)
{
    return ck_clock_drift(point[1].at - point->at, point->rate_ppb) / 2 + 1;
}

/* The piece between two points; those between them are left out, and their
 * bends may be anywhere. */
static void straight_add(struct clockmap *map,
                         const struct clockmap_point *points,
                         size_t first,
                         size_t last)
{
    struct clockmap_point a = points[first];
    struct clockmap_point b = points[last];
    ck_time_t bend = 0;

    if (last == first + 1) {
        pieces_add(map, &a, &b, bend_of(&points[first]), 0);
        return;
    }
    for (size_t i = first; i < last; i++) {
        ck_time_t here = bend_of(&points[i]);

        bend = here > bend ? here : bend;
    }
    a.bound += bend + TOLERANCE;
    b.bound += bend + TOLERANCE;
    pieces_add(map, &a, &b, 0, 0);
}

/* Outside, the first and the last stretch go on. */
static void ends_set(struct clockmap *map,
                     const struct clockmap_point *points,
                     size_t count)
{
    size_t first = 0, last = count - 1;

    while (first + 1 < count && !points[first].is_last) {
        first++;
    }
    while (last > 0 && !points[last - 1].is_last) {
        last--;
    }
    for (int side = 0; side < 2; side++) {
        struct course course =
            side == 0 ? course_of(&points[0], &points[first])
                      : course_of(&points[last], &points[count - 1]);

        map->slope[side] = course.slope;
        map->rate_ppb[side] = course.rate_ppb;
    }
}

int clockmap_make(struct clockmap *map,
                  const struct clockmap_point *points,
                  size_t count)
{
    size_t stretch = 0;

    if (count == 0) {
        errno = EINVAL;
        return -1;
    }
    ends_set(map, points, count);
    for (size_t at = 0; at + 1 < count;) {
        size_t end = points[at].is_last ? at + 1 : piece_end(points, at, count);

        if (points[at].is_last) {
            jump_add(map, &points[stretch], &points[at]);
        } else {
            straight_add(map, points, at, end);
        }
        stretch = points[at].is_last ? end : stretch;
        at = end;
    }
    if (count == 1) {
        single_add(map, &points[0]);
    }
    return 0;
}

CK_BEFORE(pieces_begun, struct clockmap_piece, ck_time_t, a->c0 <= key)

const struct clockmap_piece *clockmap_seek(struct clockmap *map, ck_time_t at)
{
    size_t next = atomic_load_explicit(&map->hint, memory_order_relaxed) + 1;

    /* Mostly it is the next one. */
    if (next >= map->count || at < map->pieces[next].c0 ||
        at - map->pieces[next].c0 >= map->pieces[next].length) {
        next = pieces_begun(map->pieces, map->count, at);
        next -= next > 0;
    }
    atomic_store_explicit(&map->hint, next, memory_order_relaxed);
    return &map->pieces[next];
}

ck_time_t clockmap_far(const struct clockmap *map, ck_time_t at)
{
    const struct clockmap_piece *last = &map->pieces[map->count - 1];
    ck_time_t end = last->c0 + last->length;
    ck_time_t from = map->pieces[0].c0;
    ck_time_t offset = map->pieces[0].offset;

    if (at >= end) {
        from = end;
        offset =
            last->offset + (ck_time_t)(((__int128)last->length * last->slope) >>
                                       CLOCKMAP_SLOPE_BITS);
    }
    return offset + (ck_time_t)(((__int128)at - from) * map->slope[at >= end] >>
                                CLOCKMAP_SLOPE_BITS);
}

bool clockmap_has_blind(const struct clockmap *map)
{
    return map->rate_ppb[0] >= RATE_BLIND || map->rate_ppb[1] >= RATE_BLIND;
}

bool clockmap_is_blind(const struct clockmap *map, ck_time_t at)
{
    const struct clockmap_piece *last = &map->pieces[map->count - 1];

    return (at < map->pieces[0].c0 && map->rate_ppb[0] >= RATE_BLIND) ||
           (at >= last->c0 + last->length && map->rate_ppb[1] >= RATE_BLIND);
}

ck_time_t clockmap_error(struct clockmap *map, ck_time_t at)
{
    const struct clockmap_piece *piece = clockmap_seek(map, at);
    ck_time_t from = at - piece->c0;
    ck_time_t beyond = from < 0 ? -from : from - piece->length;
    ck_time_t error;

    if (piece->error0 == CLOCKMAP_ERROR_UNKNOWN ||
        piece->error1 == CLOCKMAP_ERROR_UNKNOWN ||
        piece->bulge == CLOCKMAP_ERROR_UNKNOWN) {
        return CLOCKMAP_ERROR_UNKNOWN;
    }
    if (beyond >= 0) {
        error = (from < 0 ? piece->error0 : piece->error1) +
                ck_clock_drift(beyond, map->rate_ppb[from >= 0]);
        return error > CLOCKMAP_ERROR_UNKNOWN ? CLOCKMAP_ERROR_UNKNOWN : error;
    }
    return piece->error0 +
           (ck_time_t)(((int64_t)piece->error1 - piece->error0) * from /
                       piece->length) +
           (ck_time_t)((__int128)4 * piece->bulge * from *
                       (piece->length - from) / piece->length / piece->length) +
           1;
}
