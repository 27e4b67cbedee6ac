/* positions.c - how far the streams of one agent are stored
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 *      base        gap            next
 *   ....|===========  ===============|
 *
 * Streams begin anywhere (a slot is reused by the next process image, and may
 * come back to one before), so what precedes the first frame seen is open, but
 * not missing. A gap is, where no other stream of the slot has it either.
 */
#include "aggregator/store/positions.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "schema/order.h"

#define POSITIONS_STEP 64

struct positions {
    struct position **items; /* sorted by stream; pointers move cheaply */
    size_t count;
    size_t room;
};

struct positions *positions_create(void)
{
    return calloc(1, sizeof(struct positions));
}

void positions_destroy(struct positions *positions)
{
    int saved = errno;

    if (positions) {
        for (size_t i = 0; i < positions->count; i++) {
            free(positions->items[i]);
        }
        free(positions->items);
        free(positions);
    }
    errno = saved;
}

static int stream_compare(struct ck_stream a, struct ck_stream b)
{
    if (a.incarnation != b.incarnation) {
        return a.incarnation < b.incarnation ? -1 : 1;
    }
    return (a.slot > b.slot) - (a.slot < b.slot);
}

/* Index of the first entry that is not before the stream. */
static size_t positions_lower(const struct positions *positions,
                              struct ck_stream stream)
{
    size_t low = 0;
    size_t high = positions->count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (stream_compare(positions->items[middle]->stream, stream) < 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

static int positions_grow(struct positions *positions)
{
    size_t room = positions->room + POSITIONS_STEP;
    struct position **items;

    if (positions->count < positions->room) {
        return 0;
    }
    if (positions->count >= POSITIONS_MAX) {
        errno = ENOBUFS;
        return -1;
    }
    if (positions->room > POSITIONS_STEP) {
        room = positions->room * 2;
    }
    items = realloc(positions->items, room * sizeof(*items));
    if (!items) {
        return -1;
    }
    positions->items = items;
    positions->room = room;
    return 0;
}

struct position *positions_get(struct positions *positions,
                               struct ck_stream stream)
{
    size_t at = positions_lower(positions, stream);
    struct position **link;
    struct position *item;

    if (at < positions->count &&
        stream_compare(positions->items[at]->stream, stream) == 0) {
        return positions->items[at];
    }
    if (positions_grow(positions) != 0 || !(item = calloc(1, sizeof(*item)))) {
        return NULL;
    }
    link = &positions->items[at];
    memmove(link + 1, link, (positions->count - at) * sizeof(*link));
    *link = item;
    item->stream = stream;
    positions->count++;
    return item;
}

bool position_has(const struct position *position,
                  uint64_t first,
                  uint32_t units)
{
    uint64_t end = first + units;

    if (!position->is_begun || first < position->base || end > position->next) {
        return false;
    }
    for (unsigned i = 0; i < position->gaps_count; i++) {
        if (first < position->gaps[i].to && position->gaps[i].from < end) {
            return false;
        }
    }
    return true;
}

static void gap_add(struct position *position, uint64_t from, uint64_t to)
{
    if (position->gaps_count == POSITION_GAPS_MAX) {
        position->gaps[POSITION_GAPS_MAX - 1].to = to;
        return;
    }
    position->gaps[position->gaps_count++] = (struct position_gap){from, to};
}

/* Between the oldest frame so far and one that is older still. */
static void gap_add_first(struct position *position, uint64_t from, uint64_t to)
{
    if (position->gaps_count == POSITION_GAPS_MAX) {
        position->gaps[0].from = from;
        return;
    }
    memmove(&position->gaps[1], &position->gaps[0],
            position->gaps_count * sizeof(position->gaps[0]));
    position->gaps[0] = (struct position_gap){from, to};
    position->gaps_count++;
}

static void gap_remove(struct position *position, unsigned i)
{
    position->gaps_count--;
    memmove(&position->gaps[i], &position->gaps[i + 1],
            (position->gaps_count - i) * sizeof(position->gaps[0]));
}

/* A hole within a gap makes two of it, while there is room. */
static void
gap_split(struct position *position, unsigned i, uint64_t first, uint64_t end)
{
    struct position_gap *gap = &position->gaps[i];

    if (position->gaps_count == POSITION_GAPS_MAX) {
        return;
    }
    memmove(gap + 1, gap, (position->gaps_count - i) * sizeof(*gap));
    position->gaps_count++;
    gap[0].to = first;
    gap[1].from = end;
}

static void gaps_fill(struct position *position, uint64_t first, uint64_t end)
{
    for (unsigned i = position->gaps_count; i-- > 0;) {
        struct position_gap *gap = &position->gaps[i];

        if (end <= gap->from || gap->to <= first) {
            continue;
        }
        if (first <= gap->from && gap->to <= end) {
            gap_remove(position, i);
        } else if (first <= gap->from) {
            gap->from = end;
        } else if (gap->to <= end) {
            gap->to = first;
        } else {
            gap_split(position, i, first, end);
        }
    }
}

void position_take(struct position *position, uint64_t first, uint32_t units)
{
    uint64_t end = first + units;

    if (!position->is_begun) {
        position->is_begun = true;
        position->base = first;
        position->next = end;
        return;
    }
    gaps_fill(position, first, end);
    if (first > position->next) {
        gap_add(position, position->next, first);
    }
    if (end < position->base) {
        gap_add_first(position, end, position->base);
    }
    if (first < position->base) {
        position->base = first;
    }
    if (end > position->next) {
        position->next = end;
    }
}

void position_forget(struct position *position, uint64_t first)
{
    position->is_begun = true;
    position->base = 0;
    position->gaps_count = 0;
    if (first > position->next) {
        position->next = first;
    }
}

size_t positions_acks(const struct positions *positions,
                      struct ck_ack *acks,
                      size_t room)
{
    size_t n = 0;

    for (size_t i = 0; i < positions->count && n < room; i++) {
        const struct position *item = positions->items[i];

        if (item->is_begun) {
            acks[n++] = (struct ck_ack){item->stream, item->next};
        }
    }
    return n;
}

size_t positions_acks_due(struct positions *positions,
                          struct ck_ack *acks,
                          size_t room)
{
    size_t n = 0;

    for (size_t i = 0; i < positions->count && n < room; i++) {
        struct position *item = positions->items[i];

        if (item->is_due && item->is_begun) {
            acks[n++] = (struct ck_ack){item->stream, item->next};
            item->is_due = false;
        }
    }
    return n;
}

void positions_due_again(struct positions *positions)
{
    for (size_t i = 0; i < positions->count; i++) {
        positions->items[i]->is_due = true;
    }
}

size_t positions_count(const struct positions *positions)
{
    return positions->count;
}

/* What is stored of a slot, and in whichever stream. */
struct part {
    uint32_t slot;
    uint64_t from;
    uint64_t to;
    uint64_t next; /* of its stream */
};

CK_ORDER(by_slot, struct part, CK_UP(slot) ?: CK_UP(from))

static size_t parts_put(struct part *parts, const struct position *position)
{
    uint32_t slot = position->stream.slot;
    uint64_t from = position->base;

    for (unsigned i = 0; i < position->gaps_count; i++) {
        parts[i] =
            (struct part){slot, from, position->gaps[i].from, position->next};
        from = position->gaps[i].to;
    }
    parts[position->gaps_count] =
        (struct part){slot, from, position->next, position->next};
    return position->gaps_count + 1;
}

/* Units between the parts, which are sorted, where a stream of the slot goes on
 * behind them. */
static uint64_t parts_missing(const struct part *parts, size_t count)
{
    uint64_t units = 0, end = 0, next = 0;

    for (size_t i = 0; i < count; i++) {
        bool is_first = i == 0 || parts[i].slot != parts[i - 1].slot;

        if (!is_first && parts[i].from > end && parts[i].from <= next) {
            units += parts[i].from - end;
        }
        end = is_first || parts[i].to > end ? parts[i].to : end;
        next = is_first || parts[i].next > next ? parts[i].next : next;
    }
    return units;
}

/* Of each stream alone. */
static uint64_t gaps_sum(const struct positions *positions)
{
    uint64_t units = 0;

    for (size_t i = 0; i < positions->count; i++) {
        const struct position *item = positions->items[i];

        for (unsigned g = 0; g < item->gaps_count; g++) {
            units += item->gaps[g].to - item->gaps[g].from;
        }
    }
    return units;
}

uint64_t positions_missing(const struct positions *positions)
{
    size_t room = positions->count * (POSITION_GAPS_MAX + 1), count = 0;
    uint64_t units = gaps_sum(positions);
    struct part *parts = units > 0 ? malloc(room * sizeof(*parts)) : NULL;

    if (!parts) {
        return units;
    }
    for (size_t i = 0; i < positions->count; i++) {
        if (positions->items[i]->is_begun) {
            count += parts_put(&parts[count], positions->items[i]);
        }
    }
    qsort(parts, count, sizeof(*parts), by_slot);
    units = parts_missing(parts, count);
    free(parts);
    return units;
}
