/* commandstate.h - what commands.c keeps, for those who look at it
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * For commands.c, commandwaits.c and commandends.c alone.
 */
#ifndef CK_MERGE_ANALYSIS_HISTORY_COMMANDSTATE_H
#define CK_MERGE_ANALYSIS_HISTORY_COMMANDSTATE_H

#include "merge/analysis/history/commands.h"
#include "merge/analysis/history/failures.h"
#include "merge/model/table.h"

#define COMMANDS_NONE UINT32_MAX

struct await {
    uint64_t owner; /* tid << 32 | call */
    uint64_t awaited;
    uint32_t next; /* older one of the same owner */
};

struct queue {
    uint32_t id;
    bool is_in_order;
    uint64_t barrier;     /* the newest one */
    uint64_t prior;       /* that began last */
    ck_time_t done_until; /* what was enqueued before has ended */
    uint64_t undone;      /* pushed out before their end */
    ck_time_t undone_enter;
};

/* Of one process. */
struct history {
    struct command *items; /* NULL = it enqueued nothing so */
    struct await *awaits;
    uint32_t awaits_used;     /* ever */
    struct table *queue_keys; /* id -> its place in queues */
    struct queue *queues;
    size_t queues_count, queues_room;
    uint32_t questions; /* that were asked */
    uint32_t finish;    /* names of clFinish; 0 = not seen yet */
};

struct commands {
    const struct defs *defs; /* borrowed */
    struct history *histories;
    struct failures *failures;
    size_t room; /* commands of each, a power of two */
};

static inline uint64_t key_of(uint32_t tid, uint32_t call)
{
    return (uint64_t)tid << 32 | call;
}

static inline struct command *place_of(const struct commands *commands,
                                       const struct history *history,
                                       uint64_t key)
{
    uint32_t tid = (uint32_t)(key >> 32);
    uint32_t at = (uint32_t)key + tid * 0x9e3779b1u;

    return &history->items[at & (commands->room - 1)];
}

/* NULL = it is not known. */
static inline struct command *command_find(const struct commands *commands,
                                           const struct history *history,
                                           uint64_t key)
{
    struct command *place;

    if (key == 0 || history->items == NULL) {
        return NULL;
    }
    place = place_of(commands, history, key);
    return key_of(place->tid, place->call) == key ? place : NULL;
}

/* A queue of the process, made at first sight. */
struct queue *
commands_queue(const struct commands *commands, uint32_t process, uint32_t id);
/* Is nothing known of its end? */
static inline bool is_undone(const struct command *command,
                             const struct queue *queue)
{
    return command->tid != 0 && command->name != 0 && !command->has_ended &&
           command->enter >= queue->done_until;
}

#endif
