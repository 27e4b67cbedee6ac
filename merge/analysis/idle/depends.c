/* depends.c - idle time in which work waited for what the program told it to
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "merge/analysis/idle/depends.h"

#include "merge/analysis/delays/rootcause.h"

/* Who set a user event, and in which call. */
struct setting {
    struct sharing *sharing;
    uint32_t set; /* activity of the call */
};

/* What the thread that set the event did until then. */
static int setter_take(void *state,
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
        if (number < 0) {
            return -1;
        }
    }
    sharing->row.cause = CAUSE_DEP_EVENT;
    sharing->row.did = setting->set;
    sharing->row.blamed_did = (uint32_t)number;
    sharing->row.blamed =
        defs->processes[defs->threads[origin->thread].process].rank;
    sharing->row.last = DEFS_RANK_UNKNOWN;
    sharing->row.wait = WAIT_NONE;
    sharing->row.error = 0;
    return sharing_piece(sharing, piece);
}

static int event_take(struct sharing *sharing,
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
        return sharing_plain(sharing, piece, CAUSE_DEP_EVENT, DEFS_NONE);
    }
    number = lookback_activity(sharing->books->lookback, &did);
    if (number < 0) {
        return -1;
    }
    setting.set = (uint32_t)number;
    return region_clip(sharing_region(sharing), &piece.start, &piece.end)
               ? rootcause_follow(sharing->books->lookback, thread, piece,
                                  setter_take, &setting)
               : 0;
}

static int unmatched_take(void *state,
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
        return event_take(sharing, piece, command);
    }
    if (command->name != 0) {
        number = lookback_activity(sharing->books->lookback, &did);
    }
    if (number < 0) {
        return -1;
    }
    if (command->physical == sharing->row.device) {
        return sharing_plain(sharing, piece, CAUSE_KERNEL_GAP,
                             (uint32_t)number);
    }
    sharing->row.cause = CAUSE_DEP_REMOTE;
    sharing->row.did = (uint32_t)number;
    sharing->row.blamed_did = DEFS_NONE;
    sharing->row.blamed = DEFS_RANK_UNKNOWN;
    sharing->row.last = (int32_t)command->physical;
    sharing->row.wait = WAIT_NONE;
    sharing->row.error = 0;
    return sharing_piece(sharing, piece);
}

int depends_share(struct sharing *sharing,
                  uint32_t tid,
                  uint32_t call,
                  struct region *part)
{
    const struct commands *commands =
        lookback_commands(sharing->books->lookback);
    struct region waits = *part;
    ck_time_t until = commands_awaited(commands, sharing->process, tid, call);

    if (until <= part->start) {
        return 0;
    }
    waits.end = until < part->end ? until : part->end;
    part->start = waits.end;
    return commands_walk(commands, sharing->process, tid, call, waits,
                         unmatched_take, sharing);
}
