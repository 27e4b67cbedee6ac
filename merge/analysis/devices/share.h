/* share.h - the time of a union shared out among its intervals
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * n intervals that run at once get an n-th of each nanosecond they share, what
 * does not divide goes to the first of them by start. Of many that run at once
 * (crowd.h) a share may be some ns off. The shares add up to the union exactly.
 */
#ifndef CK_MERGE_ANALYSIS_DEVICES_SHARE_H
#define CK_MERGE_ANALYSIS_DEVICES_SHARE_H

#include <stddef.h>
#include <stdint.h>

#include "merge/analysis/devices/crowd.h"
#include "merge/model/interval.h"

/* In full here, because it is asked for each kernel. */
struct share {
    struct share_running *items; /* in order of start */
    size_t count;
    size_t room;
    ck_time_t now;       /* all before it is shared out */
    struct crowd *crowd; /* many run: the first of the items are in it */
    size_t crowded;      /* so many */
};

struct share *share_create(void);
void share_destroy(struct share *share);
/* Share out what is still running. */
void share_finish(struct share *share, share_f give, void *state);

/* For share_add(): what more than two share, up to `until`; room for one. */
void share_several(struct share *share,
                   ck_time_t until,
                   share_f give,
                   void *state);
void share_grow(struct share *share);

/* What two share, which is what a queue that is never empty has. */
static inline __attribute__((always_inline)) void
share_two(struct share *share, ck_time_t until, share_f give, void *state)
{
    struct share_running first = share->items[0];
    struct share_running second = share->items[1];
    ck_time_t end = first.end < second.end ? first.end : second.end;
    ck_time_t next = end < until ? end : until;
    uint64_t ns = (uint64_t)(next - share->now);

    give(state, first.owner, (ck_time_t)((ns + 1) / 2));
    give(state, second.owner, (ck_time_t)(ns / 2));
    share->now = next;
    if (first.end <= next) {
        share->items[0] = second;
        share->count = second.end > next;
    } else {
        share->count = second.end > next ? 2 : 1;
    }
}

static inline __attribute__((always_inline)) void
share_advance(struct share *share, ck_time_t until, share_f give, void *state)
{
    if (share->count > 2) {
        share_several(share, until, give, state);
    }
    while (share->count == 2 && share->now < until) {
        share_two(share, until, give, state);
    }
    if (share->count == 1 && share->now < until) {
        struct share_running only = share->items[0];
        ck_time_t next = only.end < until ? only.end : until;

        give(state, only.owner, next - share->now);
        share->now = next;
        share->count = only.end > next;
    }
    if (share->now < until) {
        share->now = until;
    }
}

/* Starts never step back. */
static inline __attribute__((always_inline)) void share_add(struct share *share,
                                                            uint32_t owner,
                                                            struct region part,
                                                            share_f give,
                                                            void *state)
{
    if (share->count == share->room) {
        share_grow(share);
    }
    share_advance(share, part.start, give, state);
    if (part.end > share->now) {
        share->items[share->count].end = part.end;
        share->items[share->count].owner = owner;
        share->count++;
    }
}

#endif
