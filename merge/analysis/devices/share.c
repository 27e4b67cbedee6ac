/* share.c - the time of a union shared out among its intervals
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "merge/analysis/devices/share.h"

#include <stdlib.h>

#include "merge/model/array.h"
#include "merge/analysis/devices/crowd.h"
#include "merge/model/memory.h"

/* More at once are a crowd, until so few are left. */
#define CROWD_MANY 64
#define CROWD_FEW 16

struct share *share_create(void)
{
    return xcalloc(1, sizeof(struct share));
}

void share_destroy(struct share *share)
{
    if (share == NULL) {
        return;
    }
    crowd_destroy(share->crowd);
    free(share->items);
    free(share);
}

void share_grow(struct share *share)
{
    array_grow(&share->items, &share->room, share->count,
               sizeof(*share->items));
}

/* Give [now, until), in which the same intervals run, to them. */
static void
share_piece(struct share *share, ck_time_t until, share_f give, void *state)
{
    ck_time_t ns = until - share->now;
    ck_time_t each = ns / (ck_time_t)share->count;
    ck_time_t rest = ns % (ck_time_t)share->count;

    for (size_t i = 0; ns > 0 && i < share->count; i++) {
        give(state, share->items[i].owner,
             each + ((ck_time_t)i < rest ? 1 : 0));
    }
    share->now = until;
}

/* What all share, up to the first end of one. */
static void
share_step(struct share *share, ck_time_t until, share_f give, void *state)
{
    ck_time_t next = until;
    size_t kept = 0;

    for (size_t i = 0; i < share->count; i++) {
        if (share->items[i].end < next) {
            next = share->items[i].end;
        }
    }
    share_piece(share, next, give, state);
    for (size_t i = 0; i < share->count; i++) {
        if (share->items[i].end > next) {
            share->items[kept++] = share->items[i];
        }
    }
    share->count = kept;
}

static void
share_crowd(struct share *share, ck_time_t until, share_f give, void *state)
{
    while (share->crowded < share->count) {
        crowd_put(share->crowd, &share->items[share->crowded++]);
    }
    share->now = crowd_advance(share->crowd, (struct region){share->now, until},
                               CROWD_FEW, give, state);
    share->count = share->crowded = crowd_count(share->crowd);
    if (share->count <= CROWD_FEW) {
        crowd_leave(share->crowd, share->items, give, state);
        crowd_destroy(share->crowd);
        share->crowd = NULL;
        share->crowded = 0;
    }
}

void share_several(struct share *share,
                   ck_time_t until,
                   share_f give,
                   void *state)
{
    if (share->crowd == NULL && share->count > CROWD_MANY) {
        share->crowd = crowd_create();
    }
    if (share->crowd != NULL) {
        share_crowd(share, until, give, state);
    }
    while (share->count > 2 && share->now < until) {
        share_step(share, until, give, state);
    }
}

void share_finish(struct share *share, share_f give, void *state)
{
    share_advance(share, INT64_MAX, give, state);
}
