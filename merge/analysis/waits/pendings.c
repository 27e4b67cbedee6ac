/* pendings.c - MPI calls that were not looked at yet, by end and by thread
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * A heap by end, for as many ranks as are in one collective are pending at
 * once, and a list for each thread, which has few.
 */
#include "merge/analysis/waits/pendings.h"

#include <stdlib.h>

#include "merge/model/array.h"
#include "merge/model/memory.h"

#define NONE UINT32_MAX

struct item {
    struct pending pending;
    uint32_t next; /* of its thread, or free; NONE */
};

struct heaped {
    ck_time_t end;
    uint64_t order; /* of adding */
    uint32_t item;
};

struct pendings {
    struct item *items;
    size_t items_count, items_room;
    uint32_t free; /* item; NONE */
    struct heaped *heap;
    size_t count, room;
    uint64_t order;
    uint32_t *firsts; /* by thread */
};

struct pendings *pendings_create(size_t threads)
{
    struct pendings *pendings = xcalloc(1, sizeof(*pendings));

    pendings->free = NONE;
    pendings->firsts = xcalloc(threads + 1, sizeof(*pendings->firsts));
    for (size_t i = 0; i < threads; i++) {
        pendings->firsts[i] = NONE;
    }
    return pendings;
}

void pendings_destroy(struct pendings *pendings)
{
    if (pendings == NULL) {
        return;
    }
    free(pendings->items);
    free(pendings->heap);
    free(pendings->firsts);
    free(pendings);
}

/* ---- the heap ----------------------------------------------------------- */

static bool is_earlier(const struct heaped *a, const struct heaped *b)
{
    return a->end < b->end || (a->end == b->end && a->order < b->order);
}

static void heap_rise(struct heaped *heap, size_t at, struct heaped moved)
{
    while (at > 0 && is_earlier(&moved, &heap[(at - 1) / 2])) {
        heap[at] = heap[(at - 1) / 2];
        at = (at - 1) / 2;
    }
    heap[at] = moved;
}

static void heap_sink(struct heaped *heap, size_t count, struct heaped moved)
{
    size_t at = 0, child;

    for (; (child = at * 2 + 1) < count; at = child) {
        child +=
            child + 1 < count && is_earlier(&heap[child + 1], &heap[child]);
        if (!is_earlier(&heap[child], &moved)) {
            break;
        }
        heap[at] = heap[child];
    }
    heap[at] = moved;
}

/* ---- items -------------------------------------------------------------- */

/* A free item. */
static uint32_t item_get(struct pendings *pendings)
{
    uint32_t at = pendings->free;

    if (at != NONE) {
        pendings->free = pendings->items[at].next;
        return at;
    }
    array_grow(&pendings->items, &pendings->items_room, pendings->items_count,
               sizeof(*pendings->items));
    return (uint32_t)pendings->items_count++;
}

/* Put an item in its thread's list, behind those that end no later. */
static void item_link(struct pendings *pendings, uint32_t at)
{
    struct item *items = pendings->items;
    uint32_t *link = &pendings->firsts[items[at].pending.thread];

    while (*link != NONE &&
           items[*link].pending.call.end <= items[at].pending.call.end) {
        link = &items[*link].next;
    }
    items[at].next = *link;
    *link = at;
}

struct pending *pendings_add(struct pendings *pendings,
                             const struct pending *pending)
{
    uint32_t at;

    array_grow(&pendings->heap, &pendings->room, pendings->count,
               sizeof(*pendings->heap));
    at = item_get(pendings);
    pendings->items[at].pending = *pending;
    item_link(pendings, at);
    heap_rise(pendings->heap, pendings->count++,
              (struct heaped){pending->call.end, pendings->order++, at});
    return &pendings->items[at].pending;
}

struct pending *pendings_first(const struct pendings *pendings)
{
    return pendings->count == 0
               ? NULL
               : &pendings->items[pendings->heap[0].item].pending;
}

ck_time_t pendings_due(const struct pendings *pendings)
{
    return pendings->count == 0 ? INT64_MAX : pendings->heap[0].end;
}

void pendings_pop(struct pendings *pendings)
{
    uint32_t at = pendings->heap[0].item;
    struct item *item = &pendings->items[at];
    uint32_t *link = &pendings->firsts[item->pending.thread];

    while (*link != at) {
        link = &pendings->items[*link].next;
    }
    *link = item->next;
    item->next = pendings->free;
    pendings->free = at;
    pendings->count--;
    heap_sink(pendings->heap, pendings->count, pendings->heap[pendings->count]);
}

static struct pending *item_at(const struct pendings *pendings, uint32_t at)
{
    return at == NONE ? NULL : &pendings->items[at].pending;
}

struct pending *pendings_of(const struct pendings *pendings, uint32_t thread)
{
    return item_at(pendings, pendings->firsts[thread]);
}

struct pending *pendings_next(const struct pendings *pendings,
                              const struct pending *pending)
{
    /* The call is the first thing in its item. */
    return item_at(pendings,
                   ((const struct item *)(const void *)pending)->next);
}

ck_time_t pendings_horizon(const struct pendings *pendings, ck_time_t now)
{
    ck_time_t horizon = now;

    for (size_t i = 0; i < pendings->count; i++) {
        const struct item *item = &pendings->items[pendings->heap[i].item];

        horizon = item->pending.call.start < horizon ? item->pending.call.start
                                                     : horizon;
    }
    return horizon;
}
