/* launching.c - what the host did that a device had its work from
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "merge/analysis/idle/launching.h"

/* The call at its first instant, and the range it is in. */
struct entering {
    struct scene *scene;
    uint32_t thread;
    struct region part;
    int64_t number;
};

static int
entering_take(void *state, struct region piece, const struct host_state *did)
{
    struct entering *entering = state;

    (void)piece;
    if (did->is_known && did->call != NULL) {
        entering->number =
            scene_did(entering->scene, entering->thread, entering->part, did);
        return entering->number < 0 ? -1 : 0;
    }
    return 0;
}

int64_t launching_call(struct scene *scene,
                       uint32_t thread,
                       uint32_t call,
                       struct region part)
{
    const struct host *host = scene_host(scene);
    struct entering entering = {scene, thread, part, CAST_NONE};
    ck_time_t enter;

    if (thread != HOST_NONE && host_call(host, thread, call, &enter) &&
        enter == part.start &&
        host_walk(host, thread, (struct region){enter, enter + 1},
                  entering_take, &entering) != 0) {
        return -1;
    }
    return entering.number;
}

int64_t launching_queued(struct scene *scene, uint32_t process, uint32_t name)
{
    struct host_span kernel = {
        .process = process, .name = name, .kind = CK_KIND_QUEUE};
    struct host_state did = {.is_known = true, .kernel = &kernel};

    return name == 0 ? CAST_NONE : scene_activity(scene, &did);
}

int64_t
launching_longest(struct scene *scene, uint32_t thread, struct region *part)
{
    struct host_span call, range;
    struct host_state did = {.is_known = true, .call = &call};
    struct region cut = *part;

    if (!host_longest(scene_host(scene), thread, &call, &range)) {
        return CAST_NONE;
    }
    cut.start = call.start > cut.start ? call.start : cut.start;
    cut.end = call.end < cut.end ? call.end : cut.end;
    if (cut.end - cut.start <= (part->end - part->start) / 2) {
        return CAST_NONE;
    }
    *part = cut;
    did.range = range.is_call ? NULL : &range;
    return scene_did(scene, thread, cut, &did);
}
