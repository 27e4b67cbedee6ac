/* clockfold.c - times on the axis that a clock's jump makes doubtful
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * A jump is a row of pieces that are marked as faults, from the last good point
 * to the first one after it. The clock, or that of the axis, jumped anywhere in
 * between, so its times on the axis are those of its pieces, give or take their
 * error: that covers the line of either side, up to the other point. Jumps are
 * in order of stamps; their times may overlap, so what is asked for by time is
 * found by the latest end so far and the earliest begin from there on.
 */
#include "merge/timeline/clockfold.h"

#include <stdlib.h>

#include "merge/model/memory.h"
#include "schema/clock/clocktrend.h"
#include "schema/order.h"

/* Of two neighbours slopes differ by no more than 500 ppm, so each turn leaves
 * a part in 2000 of what was wrong: nothing, of a year. */
#define TURNS 6

static bool is_fault(const struct clockmap_piece *piece)
{
    return (piece->flags & CLOCKMAP_FAULT) != 0;
}

static ck_time_t piece_start(const struct clockmap_piece *piece)
{
    return piece->c0 + piece->offset;
}

static ck_time_t piece_end(const struct clockmap_piece *piece)
{
    return piece_start(piece) + piece->length +
           (ck_time_t)(((__int128)piece->length * piece->slope) >>
                       CLOCKMAP_SLOPE_BITS);
}

/* No error in the piece is larger. */
static ck_time_t piece_error(const struct clockmap_piece *piece)
{
    ck_time_t most =
        piece->error0 > piece->error1 ? piece->error0 : piece->error1;

    most += most == CLOCKMAP_ERROR_UNKNOWN ? 0 : (ck_time_t)piece->bulge + 2;
    return most < CLOCKMAP_ERROR_UNKNOWN ? most : CLOCKMAP_ERROR_UNKNOWN;
}

static void error_raise(ck_time_t *error, ck_time_t other)
{
    *error = other > *error ? other : *error;
}

static void jump_reach(struct clockfold_jump *jump, ck_time_t time)
{
    jump->from = time < jump->from ? time : jump->from;
    jump->to = time > jump->to ? time : jump->to;
}

static bool is_outside(const struct clockfold_jump *jump,
                       const struct clockmap_piece *piece)
{
    return piece_end(piece) < jump->from || piece_start(piece) > jump->to;
}

/* The error of what is beside a jump, as far as its times reach. */
static void jump_sides(struct clockfold_jump *jump,
                       struct clockmap *map,
                       size_t first,
                       size_t behind)
{
    size_t at = first;

    while (at > 0 && !is_outside(jump, &map->pieces[at - 1])) {
        error_raise(&jump->error, piece_error(&map->pieces[--at]));
    }
    if (at == 0 && piece_start(map->pieces) > jump->from) {
        error_raise(
            &jump->error,
            clockmap_error(map, map->pieces[0].c0 -
                                    (piece_start(map->pieces) - jump->from)));
    }
    at = behind;
    while (at < map->count && !is_outside(jump, &map->pieces[at])) {
        error_raise(&jump->error, piece_error(&map->pieces[at++]));
    }
    if (at == map->count && piece_end(&map->pieces[at - 1]) < jump->to) {
        const struct clockmap_piece *last = &map->pieces[at - 1];

        error_raise(&jump->error,
                    clockmap_error(map, last->c0 + last->length +
                                            (jump->to - piece_end(last))));
    }
}

/* The jump that the pieces from `first` up to `behind` are. */
static struct clockfold_jump
jump_of(struct clockmap *map, size_t first, size_t behind)
{
    const struct clockmap_piece *pieces = map->pieces;
    struct clockfold_jump jump = {
        .from = piece_start(&pieces[first]),
        .to = piece_start(&pieces[first]),
        .raw = {pieces[first].c0,
                pieces[behind - 1].c0 + pieces[behind - 1].length},
        .end = piece_start(&pieces[first]),
    };

    for (size_t i = first; i < behind; i++) {
        jump_reach(&jump, piece_start(&pieces[i]));
        jump_reach(&jump, piece_end(&pieces[i]));
        error_raise(&jump.error, piece_error(&pieces[i]));
    }
    if (jump.error < CLOCKMAP_ERROR_UNKNOWN) {
        jump.from -= jump.error;
        jump.to += jump.error;
    } else {
        jump.from = -CK_CLOCK_NONE / 4;
        jump.to = CK_CLOCK_NONE / 4;
    }
    jump_sides(&jump, map, first, behind);
    return jump;
}

/* The latest end so far and the earliest begin from there on. */
static void jumps_order(struct clockfold *fold)
{
    for (size_t i = 0; i < fold->count; i++) {
        struct clockfold_jump *jump = &fold->jumps[i];

        jump->latest = jump->to;
        if (i > 0) {
            error_raise(&jump->latest, jump[-1].latest);
            error_raise(&jump->end, jump[-1].end);
        }
    }
    for (size_t i = fold->count; i-- > 0;) {
        struct clockfold_jump *jump = &fold->jumps[i];

        jump->earliest = jump->from;
        if (i + 1 < fold->count && jump[1].earliest < jump->earliest) {
            jump->earliest = jump[1].earliest;
        }
    }
}

void clockfold_make(struct clockfold *fold, struct clockmap *map)
{
    size_t most = 0;

    clockfold_fini(fold);
    for (size_t i = 0; i < map->count; i++) {
        most += is_fault(&map->pieces[i]);
    }
    if (most == 0) {
        return;
    }
    fold->jumps = xcalloc(most, sizeof(*fold->jumps));
    for (size_t i = 0; i < map->count; i++) {
        size_t first = i;

        while (i < map->count && is_fault(&map->pieces[i])) {
            i++;
        }
        if (i > first) {
            fold->jumps[fold->count++] = jump_of(map, first, i);
        }
    }
    jumps_order(fold);
}

void clockfold_fini(struct clockfold *fold)
{
    free(fold->jumps);
    *fold = (struct clockfold){0};
}

/* ---- what is asked for by time ------------------------------------------- */

CK_BEFORE(jumps_ended, struct clockfold_jump, ck_time_t, a->end < key)

ck_time_t clockfold_undo(const struct clockfold *fold,
                         struct clockmap *map,
                         ck_time_t time)
{
    const struct clockfold_jump *jumps = fold->jumps;
    /* The first jump that stamps before it reach that time. */
    size_t low = jumps_ended(jumps, fold->count, time);
    ck_time_t raw;

    if (low < fold->count) {
        raw = jumps[low].raw[0];
    } else if (low > 0) {
        raw = jumps[low - 1].raw[1];
    } else {
        raw = time - map->pieces[0].offset;
    }
    for (int i = 0; i < TURNS; i++) {
        raw = time - clock_map(map, raw);
        if (low > 0 && raw < jumps[low - 1].raw[1]) {
            raw = jumps[low - 1].raw[1];
        }
        if (low < fold->count && raw > jumps[low].raw[0]) {
            raw = jumps[low].raw[0];
        }
    }
    return raw;
}

/* The first jump that may touch times from `from` on. */
CK_BEFORE(jumps_before, struct clockfold_jump, ck_time_t, a->latest < key)

static bool is_touched(const struct clockfold_jump *jump,
                       const ck_time_t span[2])
{
    return jump->from <= span[1] && jump->to >= span[0];
}

void clockfold_stamps(const struct clockfold *fold,
                      struct clockmap *map,
                      const ck_time_t span[2],
                      ck_time_t raw[2])
{
    ck_time_t ends[2] = {clockfold_undo(fold, map, span[0]),
                         clockfold_undo(fold, map, span[1])};

    raw[0] = ends[0] < ends[1] ? ends[0] : ends[1];
    raw[1] = ends[0] < ends[1] ? ends[1] : ends[0];
    for (size_t i = jumps_before(fold->jumps, fold->count, span[0]);
         i < fold->count && fold->jumps[i].earliest <= span[1]; i++) {
        const struct clockfold_jump *jump = &fold->jumps[i];

        if (is_touched(jump, span)) {
            raw[0] = jump->raw[0] < raw[0] ? jump->raw[0] : raw[0];
            raw[1] = jump->raw[1] > raw[1] ? jump->raw[1] : raw[1];
        }
    }
}

void clockfold_reach(const struct clockfold *fold,
                     const ck_time_t raw[2],
                     ck_time_t span[2])
{
    for (size_t i = 0; i < fold->count; i++) {
        const struct clockfold_jump *jump = &fold->jumps[i];

        if (jump->raw[0] <= raw[1] && jump->raw[1] >= raw[0]) {
            span[0] = jump->from < span[0] ? jump->from : span[0];
            span[1] = jump->to > span[1] ? jump->to : span[1];
        }
    }
}

ck_time_t clockfold_error(const struct clockfold *fold, const ck_time_t span[2])
{
    ck_time_t error = 0;

    for (size_t i = jumps_before(fold->jumps, fold->count, span[0]);
         i < fold->count && fold->jumps[i].earliest <= span[1]; i++) {
        if (is_touched(&fold->jumps[i], span)) {
            error_raise(&error, fold->jumps[i].error);
        }
    }
    return error;
}

void clockfold_raise(const struct clockfold *fold,
                     const ck_time_t stretch[2],
                     const ck_time_t *room,
                     ck_time_t parts[CLOCKPARTS])
{
    double width = (double)(stretch[1] - stretch[0]) / CLOCKPARTS;

    for (size_t i = 0; fold->count > 0 && i < CLOCKPARTS; i++) {
        ck_time_t more = room == NULL ? 1 : room[i] + 1;
        ck_time_t span[2] = {stretch[0] + (ck_time_t)(width * (double)i) - more,
                             stretch[0] + (ck_time_t)(width * (double)(i + 1)) +
                                 more};

        error_raise(&parts[i], clockfold_error(fold, span));
    }
}
