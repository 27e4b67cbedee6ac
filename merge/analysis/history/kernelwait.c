/* kernelwait.c - what ran on its device while a thread waited for that
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "merge/analysis/history/kernelwait.h"

/* A piece of time in such a call. */
struct waiting {
    const struct scene *scene;
    uint32_t process;
    const struct host_state *did;
    struct host_taker taker;
};

bool kernelwait_is(const struct host_state *did)
{
    return did->is_known && did->call != NULL && did->call->is_device_wait;
}

/* A kernel as a span, its site that of its launch. False for one that was not
 * launched by `time`. */
static bool kernel_span(const struct scene *scene,
                        uint32_t process,
                        const struct work_item *item,
                        ck_time_t time,
                        struct host_span *span)
{
    uint32_t thread = host_thread(scene_host(scene), process, item->tid);
    const struct host_span *launch =
        thread == HOST_NONE
            ? NULL
            : host_call_span(scene_host(scene), thread, item->call);
    bool is_running = item->start <= time;

    *span =
        (struct host_span){.process = process,
                           .name = item->name,
                           .kind = is_running ? CK_KIND_KERNEL : CK_KIND_QUEUE,
                           .site = launch == NULL ? 0 : launch->site};
    return is_running || (launch != NULL && launch->start <= time);
}

static int work_take(void *state,
                     struct region piece,
                     const struct work_item *item,
                     bool is_running)
{
    const struct waiting *waiting = state;
    struct host_state did = *waiting->did;
    struct host_span span;

    if (item != NULL && !(is_running && item->is_copy) &&
        kernel_span(waiting->scene, waiting->process, item, piece.start,
                    &span)) {
        did.kernel = &span;
    }
    return waiting->taker.take(waiting->taker.state, piece, &did);
}

int kernelwait_walk(const struct scene *scene,
                    uint32_t thread,
                    struct region piece,
                    const struct host_state *did,
                    struct host_taker taker)
{
    struct waiting waiting = {.scene = scene, .did = did, .taker = taker};

    if (!kernelwait_is(did)) {
        return taker.take(taker.state, piece, did);
    }
    waiting.process = scene_cast(scene)->threads[thread].process;

    return work_walk(scene_work(scene), waiting.process, piece, work_take,
                     &waiting);
}
