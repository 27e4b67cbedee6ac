/* launching.c - what the host did that a device had its work from
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "merge/analysis/idle/launching.h"

/* The call at its first instant, and the range it is in. */
struct entering {
    struct lookback *lookback;
    uint32_t thread;
    struct region part;
    int64_t number;
};

static void
entering_take(void *state, struct region piece, const struct history_state *did)
{
    struct entering *entering = state;

    (void)piece;
    if (did->is_known && did->call != NULL) {
        entering->number = lookback_did(entering->lookback, entering->thread,
                                        entering->part, did);
    }
}

int64_t launching_call(struct lookback *lookback,
                       uint32_t thread,
                       uint32_t call,
                       struct region part)
{
    const struct history *host = lookback_history(lookback);
    struct entering entering = {lookback, thread, part, DEFS_NONE};
    ck_time_t enter;

    if (thread != HISTORY_NONE && history_call(host, thread, call, &enter) &&
        enter == part.start) {
        history_walk(host, thread, (struct region){enter, enter + 1},
                     entering_take, &entering);
    }
    return entering.number;
}

int64_t
launching_queued(struct lookback *lookback, uint32_t process, uint32_t name)
{
    struct history_span kernel = {
        .process = process, .name = name, .kind = CK_KIND_QUEUE};
    struct history_state did = {.is_known = true, .kernel = &kernel};

    return name == 0 ? DEFS_NONE : lookback_activity(lookback, &did);
}

int64_t launching_longest(struct lookback *lookback,
                          uint32_t thread,
                          struct region *part)
{
    struct history_span call, range;
    struct history_state did = {.is_known = true, .call = &call};
    struct region cut = *part;

    if (!history_longest(lookback_history(lookback), thread, &call, &range)) {
        return DEFS_NONE;
    }
    cut.start = call.start > cut.start ? call.start : cut.start;
    cut.end = call.end < cut.end ? call.end : cut.end;
    if (cut.end - cut.start <= (part->end - part->start) / 2) {
        return DEFS_NONE;
    }
    *part = cut;
    did.range = range.is_call ? NULL : &range;
    return lookback_did(lookback, thread, cut, &did);
}
