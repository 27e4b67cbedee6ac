/* crowd.c - time shared out among very many intervals at once
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "merge/analysis/devices/crowd.h"

#include <stdlib.h>

#include "merge/model/array.h"
#include "merge/model/memory.h"
#include "schema/order.h"

#define LEVEL_BITS 32

struct member {
    struct share_running running;
    uint64_t number;         /* in order of start */
    unsigned __int128 since; /* the level then */
};

struct crowd {
    struct member *heap; /* the first to end at its top */
    size_t count;
    size_t room;
    uint64_t numbers;
    unsigned __int128 level; /* 2^-32 ns */
    unsigned __int128 carry; /* not given yet; the same */
};

struct crowd *crowd_create(void)
{
    return xcalloc(1, sizeof(struct crowd));
}

void crowd_destroy(struct crowd *crowd)
{
    if (crowd != NULL) {
        free(crowd->heap);
        free(crowd);
    }
}

size_t crowd_count(const struct crowd *crowd)
{
    return crowd->count;
}

void crowd_put(struct crowd *crowd, const struct share_running *running)
{
    size_t at = crowd->count;

    array_grow(&crowd->heap, &crowd->room, crowd->count, sizeof(*crowd->heap));
    crowd->count++;
    while (at > 0 && running->end < crowd->heap[(at - 1) / 2].running.end) {
        crowd->heap[at] = crowd->heap[(at - 1) / 2];
        at = (at - 1) / 2;
    }
    crowd->heap[at] = (struct member){*running, crowd->numbers++, crowd->level};
}

/* What the level rose by while it ran. */
static void member_give(struct crowd *crowd,
                        const struct member *member,
                        share_f give,
                        void *state)
{
    unsigned __int128 part = crowd->level - member->since + crowd->carry;
    ck_time_t ns = (ck_time_t)(part >> LEVEL_BITS);

    crowd->carry = part & (((unsigned __int128)1 << LEVEL_BITS) - 1);
    if (ns > 0) {
        give(state, member->running.owner, ns);
    }
}

/* Take away the first to end. */
static void top_drop(struct crowd *crowd)
{
    struct member last = crowd->heap[--crowd->count];
    size_t at = 0;

    for (;;) {
        size_t below = 2 * at + 1;

        if (below + 1 < crowd->count && crowd->heap[below + 1].running.end <
                                            crowd->heap[below].running.end) {
            below++;
        }
        if (below >= crowd->count ||
            crowd->heap[below].running.end >= last.running.end) {
            break;
        }
        crowd->heap[at] = crowd->heap[below];
        at = below;
    }
    if (crowd->count > 0) {
        crowd->heap[at] = last;
    }
}

ck_time_t crowd_advance(struct crowd *crowd,
                        struct region part,
                        size_t few,
                        share_f give,
                        void *state)
{
    while (crowd->count > few && part.start < part.end) {
        ck_time_t end = crowd->heap[0].running.end;
        ck_time_t next = end < part.end ? end : part.end;
        unsigned __int128 rise = (unsigned __int128)(next - part.start)
                                 << LEVEL_BITS;

        crowd->level += rise / crowd->count;
        crowd->carry += rise % crowd->count;
        part.start = next;
        while (crowd->count > 0 && crowd->heap[0].running.end <= next) {
            member_give(crowd, &crowd->heap[0], give, state);
            top_drop(crowd);
        }
    }
    return part.start;
}

CK_ORDER(by_number, struct member, CK_UP(number))

void crowd_leave(struct crowd *crowd,
                 struct share_running *items,
                 share_f give,
                 void *state)
{
    if (crowd->count > 1) {
        qsort(crowd->heap, crowd->count, sizeof(*crowd->heap), by_number);
    }
    for (size_t i = 0; i < crowd->count; i++) {
        member_give(crowd, &crowd->heap[i], give, state);
        items[i] = crowd->heap[i].running;
    }
    crowd->count = 0;
}
