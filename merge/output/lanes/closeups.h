/* closeups.h - what was going on around the longest piece of each cause, item
 * by item
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * The lanes of a long run are folded, so that what a finding is about would be
 * drawn together with what is around it. Which piece is the longest is known
 * at the end only: the last items are remembered, and copied from there when
 * they are about to be forgotten and the piece is still the longest.
 */
#ifndef CK_MERGE_OUTPUT_LANES_CLOSEUPS_H
#define CK_MERGE_OUTPUT_LANES_CLOSEUPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "merge/model/interval.h"

/* Ranks that are seen in one: who waited, for whom, and who was blamed. */
#define CLOSEUP_RANKS 3
/* Items of one, at most. */
#define CLOSEUP_ITEMS ((size_t)4096)

/* Pieces of the same are compared with each other: what the report joins to one
 * cause may be several of them, but none is of several causes. */
struct closeup_of {
    uint32_t cause;
    uint32_t wait; /* its kind, or which device */
    int32_t rank;  /* that it is of alone */
    int32_t blamed;
    uint64_t did; /* its call, or the range that it is in; 0 = none */
    bool is_start;
};

struct closeup_item {
    ck_time_t start;
    ck_time_t end;
    const char *name; /* borrowed, NULL = none */
    uint32_t row;     /* of the lanes */
    uint8_t class;
};

/* All items of its ranks that touch a part of time, by row and start. */
struct closeup {
    struct region part;
    int32_t ranks[CLOSEUP_RANKS]; /* some may be the same */
    struct closeup_item *items;
    size_t count;
};

/* Items that are remembered, forgotten a part at a time. */
#define CLOSEUPS_RING ((size_t)1 << 16)
#define CLOSEUPS_PART ((size_t)1 << 12)

/* What a struct closeups begins with. */
struct closeups_ring {
    struct closeup_item *items;
    uint32_t *rows; /* of the items: all that is read of most again */
    size_t put;     /* items so far */
    ck_time_t now;  /* latest start of any */
};

struct closeups;
struct closeups *closeups_create(void);
void closeups_destroy(struct closeups *closeups);
/* A row of a rank: numbers from 0 on, each before its items. is_late: items of
 * it come some time after they were. */
void closeups_row(struct closeups *closeups,
                  uint32_t row,
                  int32_t rank,
                  bool is_late);
/* A part of what is remembered is full: not for callers. */
void closeups_full(struct closeups *closeups);
/* The last item of a row whose items come late ends then. */
void closeups_late(struct closeups *closeups, uint32_t row, ck_time_t end);
/* An item: those of a row come in order of time. Here, for it is done for
 * nearly each record; and field by field, for a copy of a structure that was
 * just filled waits until that has left the processor's store buffer. */
static inline __attribute__((always_inline)) void
closeups_put(struct closeups *closeups,
             uint32_t row,
             struct region part,
             uint8_t class,
             const char *name)
{
    struct closeups_ring *ring = (struct closeups_ring *)closeups;
    struct closeup_item *item = &ring->items[ring->put % CLOSEUPS_RING];

    item->start = part.start;
    item->end = part.end;
    item->name = name;
    item->row = row;
    item->class = class;
    ring->rows[ring->put++ % CLOSEUPS_RING] = row;
    ring->now = part.start > ring->now ? part.start : ring->now;
    if (ring->put % CLOSEUPS_PART == 0) {
        closeups_full(closeups);
    }
}
/* A step took so long: one has two of them on each side, where it can. */
void closeups_step(struct closeups *closeups, ck_time_t length);
/* A piece of a cause: one that goes on from the last one is longer by it. */
void closeups_piece(struct closeups *closeups,
                    const struct closeup_of *of,
                    struct region piece,
                    const int32_t ranks[CLOSEUP_RANKS]);
/* Nothing comes any more. */
void closeups_finish(struct closeups *closeups);
/* The one of a piece of a rank, else the one that shows most of it; NULL =
 * none. Borrowed. */
const struct closeup *closeups_find(const struct closeups *closeups,
                                    struct region piece,
                                    int32_t rank);

#endif
