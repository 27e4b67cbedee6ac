/* work.c - what each process's devices did lately
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "merge/analysis/history/work.h"

#include <stdlib.h>

/* A ring: item n lies at n modulo the room. */
struct ring {
    struct work_item *items;
    size_t room; /* a power of two, or 0 */
    size_t begun;
    size_t count; /* that ever came */
};

struct work {
    size_t processes;
    size_t limit; /* items of a process, a power of two */
    struct ring *rings;
};

struct work *work_create(size_t processes)
{
    struct work *work = calloc(1, sizeof(*work));

    if (work == NULL) {
        return NULL;
    }
    work->processes = processes;
    work->limit = WORK_MAX;
    while (work->limit > WORK_MIN && work->limit * processes > WORK_ALL) {
        work->limit /= 2;
    }
    work->rings = calloc(processes + 1, sizeof(*work->rings));
    if (work->rings == NULL) {
        free(work);
        return NULL;
    }
    return work;
}

void work_destroy(struct work *work)
{
    if (work == NULL) {
        return;
    }
    for (size_t i = 0; i < work->processes; i++) {
        free(work->rings[i].items);
    }
    free(work->rings);
    free(work);
}

static inline struct work_item *ring_at(const struct ring *ring, size_t number)
{
    return &ring->items[number & (ring->room - 1)];
}

static bool is_full(const struct ring *ring, size_t limit)
{
    return ring->count - ring->begun == ring->room && ring->room < limit;
}

bool work_is_full(const struct work *work, uint32_t process)
{
    return is_full(&work->rings[process], work->limit);
}

/* Twice the room, until the limit is reached. 0, or -1 with ENOMEM. */
static int ring_grow(struct ring *ring, size_t limit)
{
    struct ring grown = *ring;

    grown.room = ring->room == 0 ? WORK_FIRST : ring->room * 2;
    grown.room = grown.room < limit ? grown.room : limit;
    grown.items = malloc(grown.room * sizeof(*grown.items));
    if (grown.items == NULL) {
        return -1;
    }
    for (size_t i = ring->begun; i < ring->count; i++) {
        *ring_at(&grown, i) = *ring_at(ring, i);
    }
    free(ring->items);
    *ring = grown;
    return 0;
}

int work_make_room(struct work *work, uint32_t process, ck_time_t from)
{
    struct ring *ring = &work->rings[process];

    while (ring->begun < ring->count &&
           ring_at(ring, ring->begun)->end <= from) {
        ring->begun++;
    }
    /* With little room it would soon be asked again. */
    return ring->count - ring->begun <= ring->room / 2 && ring->room > 0
               ? 0
               : ring_grow(ring, work->limit);
}

int work_place(struct work *work,
               uint32_t process,
               struct region part,
               struct work_item **place)
{
    struct ring *ring = &work->rings[process];

    *place = NULL;
    if (ring->count > ring->begun &&
        part.start < ring_at(ring, ring->count - 1)->end) {
        part.start = ring_at(ring, ring->count - 1)->end;
    }
    if (part.start >= part.end) {
        return 0;
    }
    if (is_full(ring, work->limit) && ring_grow(ring, work->limit) != 0) {
        return -1;
    }
    *place = ring_at(ring, ring->count++);
    (*place)->start = part.start;
    (*place)->end = part.end;
    if (ring->count - ring->begun > ring->room) {
        ring->begun++;
    }
    return 0;
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

int work_walk(const struct work *work,
              uint32_t process,
              struct region part,
              work_take_f take,
              void *state)
{
    const struct ring *ring = &work->rings[process];
    ck_time_t time = part.start;

    size_t i = item_after(ring, time);

    for (; i < ring->count && ring_at(ring, i)->start < part.end; i++) {
        const struct work_item *item = ring_at(ring, i);
        struct region piece = {item->start, item->end};

        (void)region_clip(part, &piece.start, &piece.end);
        if ((time < piece.start &&
             take(state, (struct region){time, piece.start}, item, false) !=
                 0) ||
            take(state, piece, item, true) != 0) {
            return -1;
        }
        time = piece.end;
    }
    return time < part.end
               ? take(state, (struct region){time, part.end},
                      i < ring->count ? ring_at(ring, i) : NULL, false)
               : 0;
}
