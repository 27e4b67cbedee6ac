/* clockmap.h - a clock onto another one, with its error
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Straight pieces:
 *
 *   T(c) = c + offset + ((c - c0) slope >> 36)
 *   error(c) = between error0 and error1, plus what the clock may leave the
 *              straight line by, which is largest halfway
 *
 * Outside of what was measured the first and the last stretch go on, and the
 * error grows. T ascends everywhere but at a piece that is marked as a fault.
 * Used by every reader of times, in any thread; a map remembers where it was
 * asked last.
 */
#ifndef CK_MERGE_TIMELINE_CLOCKMAP_H
#define CK_MERGE_TIMELINE_CLOCKMAP_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "schema/time.h"

#define CLOCKMAP_SLOPE_BITS 36
/* A piece is no longer, so that its product stays in 64 bits. */
#define CLOCKMAP_PIECE_MAX (32 * CK_TIME_S)
#define CLOCKMAP_ERROR_UNKNOWN UINT32_MAX
#define CLOCKMAP_FAULT 1

struct clockmap_piece {
    int64_t c0;
    int64_t offset; /* at c0 */
    int64_t slope;  /* of the offset, times 2^36 */
    uint32_t error0;
    uint32_t error1;
    uint32_t bulge; /* more error halfway */
    uint32_t flags;
    int64_t length; /* to the next piece */
};

_Static_assert(sizeof(struct clockmap_piece) == 48, "a piece of a map");

struct clockmap {
    struct clockmap_piece *pieces;
    size_t count, room;
    _Atomic size_t hint; /* where it was asked last: by any thread */
    int64_t slope[2];    /* before the first piece, and after the last */
    int64_t rate_ppb[2]; /* the error grows by it there */
};

/* A point that a map goes through. */
struct clockmap_point {
    ck_time_t at;
    ck_time_t offset;
    ck_time_t bound;
    int64_t rate_ppb; /* up to the next point */
    bool is_last;     /* the clock jumped before the next */
    ck_time_t reach;  /* in that jump the offset is no further from this one */
};

void clockmap_fini(struct clockmap *map);
/* Make a map through points in order of time; those that a straight line
 * between others does without are left out. Empty before. 0, or -1 with errno:
 * ENOMEM, EINVAL no point. */
int clockmap_make(struct clockmap *map,
                  const struct clockmap_point *points,
                  size_t count);

/* Find the piece: not for callers. */
const struct clockmap_piece *clockmap_seek(struct clockmap *map, ck_time_t at);
/* Offset outside of the map. */
ck_time_t clockmap_far(const struct clockmap *map, ck_time_t at);

/* What to add to a local time. */
static inline ck_time_t clock_map(struct clockmap *map, ck_time_t at)
{
    const struct clockmap_piece *piece =
        &map->pieces[atomic_load_explicit(&map->hint, memory_order_relaxed)];
    int64_t from = (int64_t)((uint64_t)at - (uint64_t)piece->c0);

    if ((uint64_t)from >= (uint64_t)piece->length) {
        piece = clockmap_seek(map, at);
        from = (int64_t)((uint64_t)at - (uint64_t)piece->c0);
        if ((uint64_t)from >= (uint64_t)piece->length) {
            return clockmap_far(map, at);
        }
    }
    return piece->offset +
           ((from * piece->slope + ((int64_t)1 << (CLOCKMAP_SLOPE_BITS - 1))) >>
            CLOCKMAP_SLOPE_BITS);
}

/* Outside of the map, where no slope is known of it; whether there is such a
 * side. */
bool clockmap_is_blind(const struct clockmap *map, ck_time_t at);
bool clockmap_has_blind(const struct clockmap *map);

/* How wrong that may be; CLOCKMAP_ERROR_UNKNOWN = nothing is known. */
ck_time_t clockmap_error(struct clockmap *map, ck_time_t at);

#endif
