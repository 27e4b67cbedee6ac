/* chain.c - who made somebody wait in the end, and what that one did
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "merge/analysis/chain.h"

struct chain {
    const struct scene *scene;
    chain_take_f take;
    void *state;
    uint32_t thread;
    unsigned hops;
};

/* A wait for a device, by the kernels that it ran meanwhile. */
struct device_wait {
    const struct chain *chain;
    const struct host_state *did;
};

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

static int
chain_take(void *state, struct region piece, const struct host_state *did);

static int work_take(void *state,
                     struct region piece,
                     const struct work_item *item,
                     bool is_running)
{
    const struct device_wait *wait = state;
    const struct chain *chain = wait->chain;
    const struct scene *scene = chain->scene;
    uint32_t process = scene_cast(scene)->threads[chain->thread].process;
    struct host_state did = *wait->did;
    struct chain_origin origin = {chain->thread, chain->hops, &did};
    struct host_span span;

    if (item != NULL && !(is_running && item->is_copy) &&
        kernel_span(scene, process, item, piece.start, &span)) {
        did.kernel = &span;
    }
    return chain->take(chain->state, piece, &origin);
}

/* Is it a call that does not return before the device has done its work? */
static bool is_device_wait(const struct cast *cast,
                           const struct host_span *call)
{
    enum cause cause;

    if (call->kind == CK_KIND_POSIX) {
        return false;
    }
    cause =
        cause_of_call(call->kind, cast_name(cast, call->process, call->name));
    return cause == CAUSE_GPU_SYNC || cause == CAUSE_H2D || cause == CAUSE_D2H;
}

/* The chain ends here. */
static int origin_take(const struct chain *chain,
                       struct region piece,
                       const struct host_state *did)
{
    const struct cast *cast = scene_cast(chain->scene);
    struct chain_origin origin = {chain->thread, chain->hops, did};
    struct device_wait wait = {chain, did};

    if (did->is_known && did->call != NULL && is_device_wait(cast, did->call)) {
        return work_walk(scene_work(chain->scene),
                         cast->threads[chain->thread].process, piece, work_take,
                         &wait);
    }
    return chain->take(chain->state, piece, &origin);
}

/* For whom the thread waits at the beginning of a piece, and for longer than
 * clocks may be wrong. Either holds until wait->until. */
static bool wait_find(const struct chain *chain,
                      ck_time_t time,
                      const struct host_state *did,
                      struct wait *wait)
{
    wait->until = INT64_MAX;
    if (!did->is_known || did->call == NULL || chain->hops >= CHAIN_MAX) {
        return false;
    }
    if (did->call->kind == CK_KIND_POSIX) {
        return scene_data_wait(chain->scene, chain->thread, did->call, time,
                               wait);
    }
    if (scene_wait(chain->scene, chain->thread, did->call, wait) &&
        wait->until > time && wait->until - did->call->start > wait->error) {
        return true;
    }
    wait->until = INT64_MAX;
    return false;
}

/* A piece in which one wait holds, or none. */
static int chain_step(const struct chain *chain,
                      struct region piece,
                      const struct host_state *did,
                      const struct wait *wait)
{
    struct chain next = *chain;

    if (wait == NULL) {
        return origin_take(chain, piece, did);
    }
    next.thread = wait->thread;
    next.hops++;
    return host_walk(scene_host(chain->scene), next.thread, piece, chain_take,
                     &next);
}

static int
chain_take(void *state, struct region piece, const struct host_state *did)
{
    const struct chain *chain = state;
    ck_time_t end = piece.end;
    struct wait wait;

    for (; piece.start < end; piece.start = piece.end) {
        bool is_wait = wait_find(chain, piece.start, did, &wait);

        piece.end = wait.until < end ? wait.until : end;
        if (chain_step(chain, piece, did, is_wait ? &wait : NULL) != 0) {
            return -1;
        }
    }
    return 0;
}

int chain_follow(const struct scene *scene,
                 uint32_t thread,
                 struct region part,
                 chain_take_f take,
                 void *state)
{
    struct chain chain = {scene, take, state, thread, 0};

    return host_walk(scene_host(scene), thread, part, chain_take, &chain);
}
