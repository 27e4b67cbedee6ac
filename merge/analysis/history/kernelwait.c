/* kernelwait.c - what ran on its device while a thread waited for that
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "merge/analysis/history/kernelwait.h"

/* A piece of time in such a call. */
struct waiting {
    const struct lookback *lookback;
    uint32_t process;
    const struct history_state *did;
    struct history_taker taker;
};

bool kernelwait_is(const struct history_state *did)
{
    return did->is_known && did->call != NULL && did->call->is_device_wait;
}

bool kernelwait_span(const struct lookback *lookback,
                     uint32_t process,
                     const struct devicehistory_item *item,
                     ck_time_t time,
                     struct history_span *span)
{
    uint32_t thread =
        history_thread(lookback_history(lookback), process, item->tid);
    const struct history_span *launch =
        thread == HISTORY_NONE
            ? NULL
            : history_call_span(lookback_history(lookback), thread, item->call);
    bool is_running = item->start <= time;

    *span = (struct history_span){.process = process,
                                  .name = item->name,
                                  .kind = is_running ? CK_KIND_KERNEL
                                                     : CK_KIND_QUEUE,
                                  .site = launch == NULL ? 0 : launch->site};
    return is_running || (launch != NULL && launch->start <= time);
}

static void work_take(void *state,
                      struct region piece,
                      const struct devicehistory_item *item,
                      bool is_running)
{
    const struct waiting *waiting = state;
    struct history_state did = *waiting->did;
    struct history_span span;

    if (item != NULL && !(is_running && item->is_copy) &&
        kernelwait_span(waiting->lookback, waiting->process, item, piece.start,
                        &span)) {
        did.kernel = &span;
    }
    waiting->taker.take(waiting->taker.state, piece, &did);
}

void kernelwait_walk(const struct lookback *lookback,
                     uint32_t thread,
                     struct region piece,
                     const struct history_state *did,
                     struct history_taker taker)
{
    struct waiting waiting = {.lookback = lookback, .did = did, .taker = taker};

    if (!kernelwait_is(did)) {
        taker.take(taker.state, piece, did);
        return;
    }
    waiting.process = lookback_defs(lookback)->threads[thread].process;

    devicehistory_walk(lookback_work(lookback), waiting.process, piece,
                       work_take, &waiting);
}
