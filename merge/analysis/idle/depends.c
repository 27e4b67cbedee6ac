/* depends.c - idle time in which work waited as the program asked
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "merge/analysis/idle/depends.h"

#include "merge/analysis/delays/rootcause.h"
#include "merge/analysis/history/kernelwait.h"

/* Who set a user event, and in which call. */
struct setting {
    struct sharing *sharing;
    uint32_t set; /* activity of the call */
};

/* What the thread that set the event did until then. */
static void setter_take(void *state,
                        struct region piece,
                        const struct rootcause_origin *origin)
{
    const struct setting *setting = state;
    struct sharing *sharing = setting->sharing;
    const struct defs *defs = sharing->books->defs;
    int64_t number = DEFS_NONE;

    if (origin->did->is_known) {
        number = lookback_did(sharing->books->lookback, origin->thread, piece,
                              origin->did);
    }
    sharing->row.cause = CAUSE_DEP_EVENT;
    sharing->row.did = setting->set;
    sharing->row.blamed_did = (uint32_t)number;
    sharing->row.blamed =
        defs->processes[defs->threads[origin->thread].process].rank;
    sharing->row.last = DEFS_RANK_UNKNOWN;
    sharing->row.wait = WAIT_NONE;
    sharing->row.error = 0;
    sharing_piece(sharing, piece);
}

static void event_take(struct sharing *sharing,
                       struct region piece,
                       const struct command *event)
{
    const struct history *host = lookback_history(sharing->books->lookback);
    uint32_t thread = history_thread(host, sharing->process, event->setter);
    const struct history_span *call =
        thread == HISTORY_NONE
            ? NULL
            : history_call_span(host, thread, event->set_call);
    struct history_state did = {.is_known = true, .call = call};
    struct setting setting = {sharing, DEFS_NONE};
    int64_t number;

    if (call == NULL) {
        sharing_plain(sharing, piece, CAUSE_DEP_EVENT, DEFS_NONE);
        return;
    }
    number = lookback_activity(sharing->books->lookback, &did);
    setting.set = (uint32_t)number;
    if (region_clip(sharing_region(sharing), &piece.start, &piece.end)) {
        rootcause_follow(sharing->books->lookback, thread, piece, setter_take,
                         &setting);
    }
}

static void remote_add(struct sharing *sharing,
                       struct region piece,
                       uint32_t physical,
                       uint32_t did)
{
    sharing->row.cause = CAUSE_DEP_REMOTE;
    sharing->row.did = did;
    sharing->row.blamed_did = DEFS_NONE;
    sharing->row.blamed = DEFS_RANK_UNKNOWN;
    sharing->row.last = (int32_t)physical;
    sharing->row.wait = WAIT_NONE;
    sharing->row.error = 0;
    sharing_piece(sharing, piece);
}

static void unmatched_take(void *state,
                           struct region piece,
                           enum commands_reason reason,
                           const struct command *command)
{
    struct sharing *sharing = state;
    struct history_span work = {.process = sharing->process,
                                .name = command->name,
                                .kind = reason == COMMANDS_RUNS ? CK_KIND_KERNEL
                                                                : CK_KIND_QUEUE,
                                .site = command->site};
    struct history_state did = {.is_known = true, .kernel = &work};
    int64_t number = DEFS_NONE;

    if (reason == COMMANDS_EVENT) {
        event_take(sharing, piece, command);
        return;
    }
    if (command->name != 0) {
        number = lookback_activity(sharing->books->lookback, &did);
    }
    if (command->physical == sharing->row.device) {
        sharing_plain(sharing, piece, CAUSE_KERNEL_GAP, (uint32_t)number);
        return;
    }
    remote_add(sharing, piece, command->physical, (uint32_t)number);
}

void depends_share(struct sharing *sharing,
                   uint32_t tid,
                   uint32_t call,
                   struct region *part)
{
    const struct commands *commands =
        lookback_commands(sharing->books->lookback);
    struct region waits = *part;
    ck_time_t until = commands_awaited(commands, sharing->process, tid, call);

    if (until <= part->start) {
        return;
    }
    waits.end = until < part->end ? until : part->end;
    part->start = waits.end;
    commands_walk(commands, sharing->process, tid, call, waits, unmatched_take,
                  sharing);
}

/* A call of h that waits for devices. */
struct waiting {
    struct sharing *sharing;
    const struct history_state *did;
};

static void work_take(void *state,
                      struct region piece,
                      const struct devicehistory_item *item,
                      bool is_running)
{
    const struct waiting *waiting = state;
    struct sharing *sharing = waiting->sharing;
    struct lookback *lookback = sharing->books->lookback;
    struct history_span work;
    struct history_state did = {.is_known = true, .kernel = &work};
    int64_t number;

    if (item == NULL || !is_running || item->is_copy ||
        item->physical == sharing->row.device || item->physical == DEFS_NONE ||
        !kernelwait_span(lookback, sharing->process, item, piece.start,
                         &work)) {
        sharing_host(sharing, piece, waiting->did);
        return;
    }
    number = lookback_activity(lookback, &did);
    remote_add(sharing, piece, item->physical, (uint32_t)number);
}

void depends_host(void *state,
                  struct region piece,
                  const struct history_state *did)
{
    struct waiting waiting = {.sharing = state, .did = did};
    struct sharing *sharing = waiting.sharing;

    if (!kernelwait_is(did) || piece.start < sharing->begin) {
        sharing_host(sharing, piece, did);
        return;
    }
    devicehistory_walk(lookback_work(sharing->books->lookback),
                       sharing->process, piece, work_take, &waiting);
}
