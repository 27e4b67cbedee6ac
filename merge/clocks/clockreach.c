/* clockreach.c - how far a clock may be off where it jumped
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "merge/clocks/clockreach.h"

#include <string.h>

#include "merge/model/array.h"
#include "schema/clock/clocktrend.h"

/* Where nothing is known of its rate a clock runs no faster: 100 ppm. */
#define RATE_BLIND 100000
/* So many knots away a limit of the other side is of the same time. */
#define NEIGHBOURS 64

/* What a clock's offset is within, and how far facts put it out of that. */
struct room {
    ck_time_t low;
    ck_time_t high;
    ck_time_t below;
    ck_time_t above;
};

static void lift(ck_time_t *most, ck_time_t other)
{
    *most = other > *most ? other : *most;
}

static bool has_upper(const struct clocksolve_knot *knot)
{
    return knot->bound == CK_CLOCK_NONE && knot->upper != CK_CLOCK_NONE;
}

static bool has_lower(const struct clocksolve_knot *knot)
{
    return knot->bound == CK_CLOCK_NONE && knot->lower != -CK_CLOCK_NONE;
}

/* A limit puts the clock out of the room on one side. */
static bool is_below(const struct clocksolve_knot *knot,
                     const struct room *room)
{
    return has_upper(knot) && knot->upper < room->low;
}

static bool is_above(const struct clocksolve_knot *knot,
                     const struct room *room)
{
    return has_lower(knot) && knot->lower > room->high;
}

/* How far the clock may have been out by one knot. */
static void
room_widen(struct room *room, const struct clocksolve_knot *knot, bool is_low)
{
    if (is_low) {
        lift(&room->below, has_upper(knot) ? room->low - knot->upper : 0);
        lift(&room->below, has_lower(knot) ? room->low - knot->lower : 0);
    } else {
        lift(&room->above, has_upper(knot) ? knot->upper - room->high : 0);
        lift(&room->above, has_lower(knot) ? knot->lower - room->high : 0);
    }
}

/* If a knot puts the clock out of the room, the limits of the other side next
 * to it show how far it may have been then. */
static void knot_look(const struct clocksolve_knot *knots,
                      const size_t span[2],
                      size_t at,
                      struct room *room)
{
    bool is_low = is_below(&knots[at], room);
    size_t before = at, after = at;
    size_t first = at < span[0] + NEIGHBOURS ? span[0] : at - NEIGHBOURS;
    size_t last = span[1] - at < NEIGHBOURS ? span[1] - 1 : at + NEIGHBOURS;

    if (!is_low && !is_above(&knots[at], room)) {
        return;
    }
    while (before > first &&
           !(is_low ? has_lower(&knots[before]) : has_upper(&knots[before]))) {
        before--;
    }
    while (after < last &&
           !(is_low ? has_lower(&knots[after]) : has_upper(&knots[after]))) {
        after++;
    }
    room_widen(room, &knots[at], is_low);
    room_widen(room, &knots[before], is_low);
    room_widen(room, &knots[after], is_low);
}

/* Number of knots up to an instant. */
static size_t knots_until(const struct clockreach *reach, ck_time_t at)
{
    return array_until(reach->knots, reach->count, sizeof(*reach->knots),
                       offsetof(struct clocksolve_knot, at), at);
}

/* Look at all knots after one time and before another. */
static void room_look(const struct clockreach *reach,
                      ck_time_t from,
                      ck_time_t to,
                      struct room *room)
{
    const size_t span[2] = {knots_until(reach, from),
                            knots_until(reach, to - 1)};

    for (size_t i = span[0]; i < span[1]; i++) {
        knot_look(reach->knots, span, i, room);
    }
}

/* The largest of several jumps by cuts between two points; of one, both points
 * show as much. */
static ck_time_t cuts_within(const struct clockreach *reach,
                             const struct clockmap_point *point)
{
    ck_time_t most = 0;
    size_t cuts = 0;

    for (size_t i = 0; i < reach->graph->cuts_count; i++) {
        const struct clock_cut *cut = &reach->graph->cuts[i];

        if (cut->domain == reach->domain && cut->from < point[1].at &&
            cut->to > point->at) {
            lift(&most, cut->size);
            cuts++;
        }
    }
    return cuts > 1 ? most : 0;
}

static void point_reach(const struct clockreach *reach,
                        struct clockmap_point *point)
{
    const struct clockmap_point *next = point + 1;
    ck_time_t vague = point->bound + next->bound +
                      ck_clock_drift(next->at - point->at, RATE_BLIND);
    bool is_up = next->offset > point->offset;
    struct room room = {.low = (is_up ? point->offset : next->offset) - vague,
                        .high = (is_up ? next->offset : point->offset) + vague};

    room_look(reach, point->at, next->at, &room);
    lift(&point->reach, cuts_within(reach, point));
    if (room.below > 0) {
        lift(&point->reach, point->offset - room.low + room.below);
    }
    if (room.above > 0) {
        lift(&point->reach, room.high + room.above - point->offset);
    }
}

void clockreach_between(const struct clockreach *reach,
                        struct clockmap_point *points,
                        size_t count)
{
    for (size_t i = 0; i + 1 < count; i++) {
        if (points[i].is_last) {
            point_reach(reach, &points[i]);
        }
    }
}

/* How far the clock jumped, by all cuts before a point or behind it. */
static ck_time_t cuts_beyond(const struct clockreach *reach,
                             const struct clockmap_point *point,
                             bool is_before)
{
    ck_time_t sum = 0;

    for (size_t i = 0; i < reach->graph->cuts_count; i++) {
        const struct clock_cut *cut = &reach->graph->cuts[i];

        if (cut->domain == reach->domain &&
            (is_before ? cut->from < point->at : cut->to > point->at)) {
            sum = sum < CK_CLOCK_NONE / 16 ? sum + cut->size : sum;
        }
    }
    return sum;
}

/* The same, and what facts there show. */
static ck_time_t size_beyond(const struct clockreach *reach,
                             const struct clockmap_point *point,
                             bool is_before)
{
    ck_time_t size = cuts_beyond(reach, point, is_before);
    struct room room = {.low = point->offset - point->bound - size,
                        .high = point->offset + point->bound + size};

    if (size == 0) {
        return 0;
    }
    room_look(reach, is_before ? INT64_MIN : point->at,
              is_before ? point->at : INT64_MAX, &room);
    return size + (room.below > room.above ? room.below : room.above);
}

/* A point beside another one, from which on nothing is known but how far the
 * clock jumped. */
static struct clockmap_point
point_beyond(const struct clockmap_point *point, int side, ck_time_t jumped)
{
    return (struct clockmap_point){.at = point->at + side,
                                   .offset = point->offset,
                                   .bound = point->bound + jumped,
                                   .rate_ppb = RATE_BLIND,
                                   .is_last = side < 0};
}

void clockreach_ends(const struct clockreach *reach,
                     struct clockmap_point **points,
                     size_t *count)
{
    struct clockmap_point *last = &(*points)[*count - 1];
    ck_time_t before = size_beyond(reach, &(*points)[0], true);
    ck_time_t behind = size_beyond(reach, last, false);
    size_t room = *count;

    if (behind > 0) {
        last->is_last = true;
        array_grow(points, &room, *count, sizeof(**points));
        (*points)[*count] = point_beyond(&(*points)[*count - 1], 1, behind);
        (*count)++;
    }
    if (before > 0) {
        array_grow(points, &room, *count, sizeof(**points));
        memmove(*points + 1, *points, *count * sizeof(**points));
        (*points)[0] = point_beyond(&(*points)[1], -1, before);
        (*count)++;
    }
}
