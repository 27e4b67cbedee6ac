/* rootcause.c - the rank at the end of a chain of waits, and what it did
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "merge/analysis/delays/rootcause.h"

#include "merge/analysis/history/kernelwait.h"

struct rootcause {
    const struct lookback *lookback;
    rootcause_take_f take;
    void *state;
    uint32_t thread;
    unsigned hops;
};

/* The chain ends here; behind the end of its process the thread did nothing. */
static void
origin_take(void *state, struct region piece, const struct history_state *did)
{
    static const struct history_state nothing = {.is_known = false};
    const struct rootcause *rootcause = state;
    struct rootcause_origin origin = {rootcause->thread, rootcause->hops, did,
                                      false};
    ck_time_t end = lookback_ended(rootcause->lookback, rootcause->thread);
    struct region before = {piece.start, piece.end < end ? piece.end : end};

    if (before.start < before.end) {
        rootcause->take(rootcause->state, before, &origin);
    }
    piece.start = piece.start < end ? before.end : piece.start;
    origin.did = &nothing;
    origin.has_ended = true;
    if (piece.start < piece.end) {
        rootcause->take(rootcause->state, piece, &origin);
    }
}

/* For whom the thread waits at the beginning of a piece, and for longer than
 * clocks may be wrong. Either holds until wait->until. */
static bool wait_find(const struct rootcause *rootcause,
                      ck_time_t time,
                      const struct history_state *did,
                      struct wait *wait)
{
    wait->until = INT64_MAX;
    if (!did->is_known || did->call == NULL ||
        rootcause->hops >= ROOTCAUSE_MAX) {
        return false;
    }
    if (did->call->kind == CK_KIND_POSIX) {
        return lookback_data_wait(rootcause->lookback, rootcause->thread,
                                  did->call, time, wait);
    }
    if (lookback_wait(rootcause->lookback, rootcause->thread, did->call,
                      wait) &&
        !wait->is_circle && wait->until > time &&
        wait->until - did->call->start > wait->error) {
        return true;
    }
    wait->until = INT64_MAX;
    return false;
}

static void rootcause_take(void *state,
                           struct region piece,
                           const struct history_state *did);

/* A piece in which one wait holds, or none. */
static void rootcause_step(struct rootcause *rootcause,
                           struct region piece,
                           const struct history_state *did,
                           const struct wait *wait)
{
    struct rootcause next = *rootcause;

    if (wait == NULL) {
        kernelwait_walk(rootcause->lookback, rootcause->thread, piece, did,
                        (struct history_taker){origin_take, rootcause});
        return;
    }
    next.thread = wait->thread;
    next.hops++;
    history_walk(lookback_history(rootcause->lookback), next.thread, piece,
                 rootcause_take, &next);
}

static void rootcause_take(void *state,
                           struct region piece,
                           const struct history_state *did)
{
    struct rootcause *rootcause = state;
    ck_time_t end = piece.end;
    struct wait wait;

    for (; piece.start < end; piece.start = piece.end) {
        bool is_wait = wait_find(rootcause, piece.start, did, &wait);

        piece.end = wait.until < end ? wait.until : end;
        rootcause_step(rootcause, piece, did, is_wait ? &wait : NULL);
    }
}

void rootcause_follow(const struct lookback *lookback,
                      uint32_t thread,
                      struct region part,
                      rootcause_take_f take,
                      void *state)
{
    struct rootcause rootcause = {lookback, take, state, thread, 0};

    history_walk(lookback_history(lookback), thread, part, rootcause_take,
                 &rootcause);
}
