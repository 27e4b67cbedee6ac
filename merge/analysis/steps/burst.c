/* burst.c - the one stretch of time in which most of a thing happened
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "merge/analysis/steps/burst.h"

/* Of all the time it has an n-th or more, and the next one no n-th of it. */
#define SHARE_ALL 2
#define SHARE_NEXT 5
/* Its longest part is an n-th of it or more. */
#define SHARE_LONGEST 2

static bool touches(const struct burst_stretch *stretch, struct region part)
{
    return stretch->ns > 0 && part.start <= stretch->part.end &&
           part.end >= stretch->part.start;
}

static void stretch_add(struct burst_stretch *stretch,
                        const struct burst_stretch *more)
{
    if (more->part.start < stretch->part.start) {
        stretch->part.start = more->part.start;
    }
    if (more->part.end > stretch->part.end) {
        stretch->part.end = more->part.end;
    }
    if (region_length(more->longest) > region_length(stretch->longest)) {
        stretch->longest = more->longest;
        stretch->rank = more->rank;
    }
    stretch->ns += more->ns;
}

static void next_raise(struct burst *burst, ck_time_t ns)
{
    burst->next = ns > burst->next ? ns : burst->next;
}

/* Field by field: where `more` was just filled, copying it as a whole waits
 * until it has left the processor's store buffer, with all that was stored
 * before it. */
static inline void stretch_copy(struct burst_stretch *to,
                                const struct burst_stretch *more)
{
    to->part.start = more->part.start;
    to->part.end = more->part.end;
    to->longest.start = more->longest.start;
    to->longest.end = more->longest.end;
    to->rank = more->rank;
    to->ns = more->ns;
}

static inline __attribute__((always_inline)) void
stretch_take(struct burst *burst, const struct burst_stretch *more)
{
    if (more->ns <= 0) {
        return;
    }
    if (touches(&burst->most, more->part)) {
        stretch_add(&burst->most, more);
        return;
    }
    if (touches(&burst->open, more->part)) {
        stretch_add(&burst->open, more);
    } else {
        next_raise(burst, burst->open.ns);
        stretch_copy(&burst->open, more);
    }
    if (burst->open.ns > burst->most.ns) {
        next_raise(burst, burst->most.ns);
        burst->most = burst->open;
        burst->open = (struct burst_stretch){.ns = 0};
    }
}

void burst_add(struct burst *burst, uint32_t rank, struct region part)
{
    struct burst_stretch more = {part, part, rank, region_length(part)};

    burst->all += more.ns;
    stretch_take(burst, &more);
}

void burst_join(struct burst *burst, const struct burst *other)
{
    burst->all += other->all;
    next_raise(burst, other->next);
    stretch_take(burst, &other->most);
    stretch_take(burst, &other->open);
}

bool burst_is_single(const struct burst *burst)
{
    ck_time_t next =
        burst->open.ns > burst->next ? burst->open.ns : burst->next;

    return burst->most.ns > 0 && burst->most.ns >= burst->all / SHARE_ALL &&
           next <= burst->most.ns / SHARE_NEXT &&
           region_length(burst->most.longest) >=
               region_length(burst->most.part) / SHARE_LONGEST;
}
