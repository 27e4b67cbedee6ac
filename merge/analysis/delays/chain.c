/* chain.c - who made somebody wait in the end, and what that one did
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "merge/analysis/delays/chain.h"

#include "merge/analysis/history/kernelwait.h"

struct chain {
    const struct scene *scene;
    chain_take_f take;
    void *state;
    uint32_t thread;
    unsigned hops;
};

/* The chain ends here. */
static int
origin_take(void *state, struct region piece, const struct host_state *did)
{
    const struct chain *chain = state;
    struct chain_origin origin = {chain->thread, chain->hops, did};

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
        !wait->is_circle && wait->until > time &&
        wait->until - did->call->start > wait->error) {
        return true;
    }
    wait->until = INT64_MAX;
    return false;
}

static int
chain_take(void *state, struct region piece, const struct host_state *did);

/* A piece in which one wait holds, or none. */
static int chain_step(struct chain *chain,
                      struct region piece,
                      const struct host_state *did,
                      const struct wait *wait)
{
    struct chain next = *chain;

    if (wait == NULL) {
        return kernelwait_walk(chain->scene, chain->thread, piece, did,
                               (struct host_taker){origin_take, chain});
    }
    next.thread = wait->thread;
    next.hops++;
    return host_walk(scene_host(chain->scene), next.thread, piece, chain_take,
                     &next);
}

static int
chain_take(void *state, struct region piece, const struct host_state *did)
{
    struct chain *chain = state;
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
