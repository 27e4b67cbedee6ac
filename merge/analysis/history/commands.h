/* commands.h - commands that were enqueued: what they wait for, and their end
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * A command is known by the thread and the number of the call that enqueued it;
 * so are user events, by the call that made them. Processes that enqueue no
 * command so (kind.def, API_OPENCL) take no room. The newest commands of a
 * process are kept; what the bound pushes out waits for nothing, as far as is
 * known, and is counted while it has not ended.
 */
#ifndef CK_MERGE_ANALYSIS_HISTORY_COMMANDS_H
#define CK_MERGE_ANALYSIS_HISTORY_COMMANDS_H

#include "merge/model/defs.h"
#include "merge/model/interval.h"
#include "merge/timeline/timeline.h"

/* Commands kept of one process, in all processes together, and at least in
 * each; powers of two. */
#define COMMANDS_MAX ((size_t)1 << 13)
#define COMMANDS_ALL ((size_t)1 << 18)
#define COMMANDS_MIN ((size_t)1 << 8)
/* Links of a chain of waits that are followed. */
#define COMMANDS_LINKS 32
/* Steps to answer a question: each command that is kept and each wait once.
 * What takes more goes round in circles; the rest of it is not known. */
#define COMMANDS_STEPS (2 * COMMANDS_MAX)

/* A command, or a user event. */
struct command {
    ck_time_t enter; /* of the call */
    ck_time_t start; /* of its work; INT64_MIN = not begun, or none */
    ck_time_t end;   /* of its work, or when a user event was set */
    uint64_t site;   /* of the call */
    uint32_t tid;    /* 0 = a free place */
    uint32_t call;
    uint32_t name;     /* of the work; 0 = it has none, as a marker */
    uint32_t queue;    /* 0 = not known */
    uint32_t physical; /* that its work ran on; DEFS_NONE = not known */
    uint32_t setter;   /* tid that set the user event; 0 = it is none */
    uint32_t set_call; /* in which call */
    uint32_t await;    /* the newest thing that it waits for */
    uint64_t prior;    /* command before it in its queue that has ended */
    uint64_t barrier;  /* what is known of its queue when it was enqueued */
    uint32_t asked;    /* the last question that came by */
    bool is_event;     /* it is a user event */
    bool is_barrier;   /* what comes later in its queue waits, too */
    bool has_ended;    /* by some record */
};

/* What a command waited for, in a piece of time. */
enum commands_reason {
    COMMANDS_RUNS,   /* `command` was at work */
    COMMANDS_QUEUED, /* it was enqueued, did not run, for an unknown reason */
    COMMANDS_EVENT,  /* it is a user event that was not set yet */
};
typedef void (*commands_take_f)(void *state,
                                struct region piece,
                                enum commands_reason reason,
                                const struct command *command);

/* A command that never ended. */
struct commands_undone {
    uint32_t process;
    uint32_t physical;      /* DEFS_NONE = not known */
    struct command command; /* the first of its queue */
    struct command awaited; /* tid 0 = it waited for nothing that is known */
    uint64_t count;         /* in its queue, itself included */
};

struct commands;
struct failures;
/* `defs` is borrowed. */
struct commands *commands_create(const struct defs *defs);
void commands_destroy(struct commands *commands);
/* A timeline_take_f. */
int commands_take(void *commands, const struct timeline_event *event);
/* What failed. */
const struct failures *commands_failures(const struct commands *commands);
/* Where the command was enqueued: the site of that call; 0 = not known. */
uint64_t commands_site(const struct commands *commands,
                       uint32_t process,
                       uint32_t tid,
                       uint32_t call);
/* Is it known of the process which commands it enqueued? */
bool commands_is_known(const struct commands *commands, uint32_t process);
/* Until when the command waited for others, as far as is known; INT64_MIN = it
 * did not. */
ck_time_t commands_awaited(const struct commands *commands,
                           uint32_t process,
                           uint32_t tid,
                           uint32_t call);
/* What it waited for in `part`, which ends by then, piece by piece and without
 * holes. What take returns, if that is not 0. */
void commands_walk(const struct commands *commands,
                   uint32_t process,
                   uint32_t tid,
                   uint32_t call,
                   struct region part,
                   commands_take_f take,
                   void *state);
/* Once all was taken: what never ended, a queue each, by when it was enqueued;
 * none of processes that miss records. Freed with free(). */
struct commands_undone *commands_undone(const struct commands *commands,
                                        size_t *count);

#endif
