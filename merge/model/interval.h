/* interval.h - unions of intervals, exact in integer nanoseconds
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Intervals are half open, [start, end). They come in order of start, so a
 * union needs no memory for what is behind it.
 */
#ifndef CK_MERGE_MODEL_INTERVAL_H
#define CK_MERGE_MODEL_INTERVAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "schema/time.h"

/* The part of time that a result is about. */
struct region {
    ck_time_t start;
    ck_time_t end;
};

static inline ck_time_t region_length(struct region region)
{
    return region.end - region.start;
}

/* So much from a start on; up to the end of all times if that is behind it. */
static inline struct region region_from(ck_time_t start, ck_time_t length)
{
    struct region region = {start, INT64_MAX};

    if (!__builtin_add_overflow(start, length, &region.end)) {
        return region;
    }
    region.end = length > 0 ? INT64_MAX : start;
    return region;
}

/* Cut [*start, *end) to the region; false when nothing is left. A point
 * within the region is left as it is. */
static inline bool
region_clip(struct region region, ck_time_t *start, ck_time_t *end)
{
    if (*start >= *end) {
        *end = *start;
        return *start >= region.start && *start < region.end;
    }
    if (*start < region.start) {
        *start = region.start;
    }
    if (*end > region.end) {
        *end = region.end;
    }
    return *start < *end;
}

/* A union being built within a region. */
struct interval_union {
    struct region region;
    ck_time_t from; /* of the piece being built */
    ck_time_t to;
    ck_time_t closed;      /* length of the pieces before it */
    ck_time_t idle;        /* length of the holes before it */
    ck_time_t core;        /* sum of all lengths, overlap counted again */
    ck_time_t longest_gap; /* among those closed so far, the head included */
    uint64_t gaps;         /* holes closed so far, the head included */
    uint64_t count;        /* intervals that touched the region */
};

void interval_union_init(struct interval_union *u, struct region region);
/* The hole between the piece being built and the next one. */
static inline void interval_gap_close(struct interval_union *u, ck_time_t start)
{
    ck_time_t gap = start - u->to;

    if (gap <= 0) {
        return;
    }
    u->gaps++;
    u->idle += gap;
    if (gap > u->longest_gap) {
        u->longest_gap = gap;
    }
}

/* Add [start, end), clipped; starts never step back (they may where the part
 * before the region's start is clipped away). */
static inline void
interval_union_add(struct interval_union *u, ck_time_t start, ck_time_t end)
{
    if (!region_clip(u->region, &start, &end)) {
        return;
    }
    u->count++;
    if (start == end) {
        return;
    }
    u->core += end - start;
    if (start > u->to) {
        interval_gap_close(u, start);
        u->closed += u->to - u->from;
        u->from = start;
        u->to = end;
    } else if (end > u->to) {
        u->to = end;
    }
}

/* Length of the union. */
ck_time_t interval_union_length(const struct interval_union *u);
/* Region minus union: head, holes and tail, counted piece by piece and not by
 * subtraction, so that the two can be compared. */
ck_time_t interval_union_idle(const struct interval_union *u);
/* Holes with head and tail, and the longest of them. */
uint64_t interval_union_gaps(const struct interval_union *u);
ck_time_t interval_union_longest_gap(const struct interval_union *u);

#endif
