/* devicehistory.c - what each process's devices did lately
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "merge/analysis/history/devicehistory.h"

#include <stdlib.h>

#include "merge/model/memory.h"

/* A ring: item n is at n modulo the room. */
struct ring {
    struct devicehistory_item *items;
    size_t room; /* a power of two, or 0 */
    size_t begun;
    size_t count; /* that ever came */
};

struct devicehistory {
    size_t processes;
    size_t limit; /* items of a process, a power of two */
    struct ring *rings;
};

struct devicehistory *devicehistory_create(size_t processes)
{
    struct devicehistory *devicehistory = xcalloc(1, sizeof(*devicehistory));

    devicehistory->processes = processes;
    devicehistory->limit = DEVICEHISTORY_MAX;
    while (devicehistory->limit > DEVICEHISTORY_MIN &&
           devicehistory->limit * processes > DEVICEHISTORY_ALL) {
        devicehistory->limit /= 2;
    }
    devicehistory->rings =
        xcalloc(processes + 1, sizeof(*devicehistory->rings));
    return devicehistory;
}

void devicehistory_destroy(struct devicehistory *devicehistory)
{
    if (devicehistory == NULL) {
        return;
    }
    for (size_t i = 0; i < devicehistory->processes; i++) {
        free(devicehistory->rings[i].items);
    }
    free(devicehistory->rings);
    free(devicehistory);
}

static inline struct devicehistory_item *ring_at(const struct ring *ring,
                                                 size_t number)
{
    return &ring->items[number & (ring->room - 1)];
}

static bool is_full(const struct ring *ring, size_t limit)
{
    return ring->count - ring->begun == ring->room && ring->room < limit;
}

bool devicehistory_is_full(const struct devicehistory *devicehistory,
                           uint32_t process)
{
    return is_full(&devicehistory->rings[process], devicehistory->limit);
}

/* Twice the room, until the limit is reached. */
static void ring_grow(struct ring *ring, size_t limit)
{
    struct ring grown = *ring;

    grown.room = ring->room == 0 ? DEVICEHISTORY_FIRST : ring->room * 2;
    grown.room = grown.room < limit ? grown.room : limit;
    grown.items = xmalloc(grown.room * sizeof(*grown.items));
    for (size_t i = ring->begun; i < ring->count; i++) {
        *ring_at(&grown, i) = *ring_at(ring, i);
    }
    free(ring->items);
    *ring = grown;
}

void devicehistory_make_room(struct devicehistory *devicehistory,
                             uint32_t process,
                             ck_time_t from)
{
    struct ring *ring = &devicehistory->rings[process];

    while (ring->begun < ring->count &&
           ring_at(ring, ring->begun)->end <= from) {
        ring->begun++;
    }
    /* With little room it would soon be asked again. */
    if (!(ring->count - ring->begun <= ring->room / 2 && ring->room > 0)) {
        ring_grow(ring, devicehistory->limit);
    }
}

void devicehistory_place(struct devicehistory *devicehistory,
                         uint32_t process,
                         struct region part,
                         struct devicehistory_item **place)
{
    struct ring *ring = &devicehistory->rings[process];

    *place = NULL;
    if (ring->count > ring->begun &&
        part.start < ring_at(ring, ring->count - 1)->end) {
        part.start = ring_at(ring, ring->count - 1)->end;
    }
    if (part.start >= part.end) {
        return;
    }
    if (is_full(ring, devicehistory->limit)) {
        ring_grow(ring, devicehistory->limit);
    }
    *place = ring_at(ring, ring->count++);
    (*place)->start = part.start;
    (*place)->end = part.end;
    if (ring->count - ring->begun > ring->room) {
        ring->begun++;
    }
}

/* The first item that ends after `time`; the count when there is none. */
static size_t item_after(const struct ring *ring, ck_time_t time)
{
    size_t low = ring->begun, high = ring->count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (ring_at(ring, middle)->end <= time) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

void devicehistory_walk(const struct devicehistory *devicehistory,
                        uint32_t process,
                        struct region part,
                        devicehistory_take_f take,
                        void *state)
{
    const struct ring *ring = &devicehistory->rings[process];
    ck_time_t time = part.start;

    size_t i = item_after(ring, time);

    for (; i < ring->count && ring_at(ring, i)->start < part.end; i++) {
        const struct devicehistory_item *item = ring_at(ring, i);
        struct region piece = {item->start, item->end};

        (void)region_clip(part, &piece.start, &piece.end);
        if (time < piece.start) {
            take(state, (struct region){time, piece.start}, item, false);
        }
        take(state, piece, item, true);
        time = piece.end;
    }
    if (time < part.end) {
        take(state, (struct region){time, part.end},
             i < ring->count ? ring_at(ring, i) : NULL, false);
    }
}
