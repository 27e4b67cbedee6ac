/* interval.c - unions of intervals, exact in integer nanoseconds
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "merge/interval.h"

#include <stdlib.h>
#include <string.h>

#include "merge/array.h"

void interval_union_init(struct interval_union *u, struct region region)
{
    memset(u, 0, sizeof(*u));
    u->region = region;
    u->from = region.start;
    u->to = region.start;
}

ck_time_t interval_union_length(const struct interval_union *u)
{
    return u->closed + (u->to - u->from);
}

ck_time_t interval_union_idle(const struct interval_union *u)
{
    return u->idle + (u->region.end - u->to);
}

uint64_t interval_union_gaps(const struct interval_union *u)
{
    return u->gaps + (u->region.end > u->to);
}

ck_time_t interval_union_longest_gap(const struct interval_union *u)
{
    ck_time_t tail = u->region.end - u->to;

    return tail > u->longest_gap ? tail : u->longest_gap;
}

/* One running interval. */
struct running {
    ck_time_t end;
    uint32_t owner;
};

struct share {
    struct running *items; /* in order of start */
    size_t count;
    size_t room;
    ck_time_t now; /* all before it is shared out */
};

struct share *share_create(void)
{
    return calloc(1, sizeof(struct share));
}

void share_destroy(struct share *share)
{
    if (share == NULL) {
        return;
    }
    free(share->items);
    free(share);
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

/* What several intervals share, up to the first end of one. */
static void
share_several(struct share *share, ck_time_t until, share_f give, void *state)
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

/* The same of two, which is what a queue that is never empty has. */
static void
share_two(struct share *share, ck_time_t until, share_f give, void *state)
{
    struct running first = share->items[0];
    struct running second = share->items[1];
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

static void
share_advance(struct share *share, ck_time_t until, share_f give, void *state)
{
    while (share->count > 2 && share->now < until) {
        share_several(share, until, give, state);
    }
    while (share->count == 2 && share->now < until) {
        share_two(share, until, give, state);
    }
    if (share->count == 1 && share->now < until) {
        struct running only = share->items[0];
        ck_time_t next = only.end < until ? only.end : until;

        give(state, only.owner, next - share->now);
        share->now = next;
        share->count = only.end > next;
    }
    if (share->now < until) {
        share->now = until;
    }
}

int share_add(struct share *share,
              uint32_t owner,
              struct region part,
              share_f give,
              void *state)
{
    if (array_grow(&share->items, &share->room, share->count,
                   sizeof(*share->items)) != 0) {
        return -1;
    }
    if (share->count == 0 && part.start > share->now) {
        share->now = part.start;
    }
    share_advance(share, part.start, give, state);
    if (part.end > share->now) {
        share->items[share->count].end = part.end;
        share->items[share->count].owner = owner;
        share->count++;
    }
    return 0;
}

void share_finish(struct share *share, share_f give, void *state)
{
    share_advance(share, INT64_MAX, give, state);
}
