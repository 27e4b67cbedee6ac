/* commandends.c - commands that never ended
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "merge/analysis/history/commandstate.h"

#include <stdlib.h>

#include "merge/model/array.h"
#include "merge/model/memory.h"
#include "schema/order.h"

/* A device's number by the queue's record. */
static uint32_t
queue_physical(const struct defs *defs, uint32_t process, uint32_t queue)
{
    const struct defs_queue *known = defs_queue(defs, process, queue);
    const struct defs_device *device =
        known == NULL ? NULL : defs_device(defs, process, known->device);

    return device == NULL ? DEFS_NONE : device->physical;
}

/* Something that it waits for and that has not ended, tid 0 = none. */
static struct command awaited_find(const struct commands *commands,
                                   const struct history *history,
                                   struct command *command,
                                   unsigned links)
{
    uint64_t key = key_of(command->tid, command->call);
    struct command *barrier = command_find(commands, history, command->barrier);
    struct command none = {.tid = 0};

    command->asked = history->questions;
    if (barrier != NULL && links < COMMANDS_LINKS &&
        barrier->asked != history->questions) {
        none = awaited_find(commands, history, barrier, links + 1);
    }
    for (uint32_t at = command->await;
         none.tid == 0 && at != COMMANDS_NONE &&
         history->awaits[at].owner == key && links < COMMANDS_LINKS;
         at = history->awaits[at].next, links++) {
        uint64_t awaited = history->awaits[at].awaited;
        struct command *other = command_find(commands, history, awaited);

        if (other == NULL || other->has_ended ||
            other->asked == history->questions) {
            continue;
        }
        if (other->name != 0 || other->is_event) {
            return *other;
        }
        none = awaited_find(commands, history, other, links + 1);
    }
    return none;
}

/* Is nothing known to be missing of the process's agent? */
static bool is_whole(const struct defs *defs, uint32_t process)
{
    const struct defs_agent *agent =
        &defs->agents[defs->processes[process].agent];

    for (size_t i = 0; i < DEFS_REASONS; i++) {
        if (i != CK_LOST_UNDONE && agent->lost[i] > 0) {
            return false;
        }
    }
    return agent->gaps == 0;
}

/* The queue's, or NULL. */
static struct commands_undone *
undone_find(struct commands_undone *list, size_t count, uint32_t queue)
{
    for (size_t i = 0; i < count; i++) {
        if (list[i].command.queue == queue) {
            return &list[i];
        }
    }
    return NULL;
}

/* The commands of a process that are kept and did not end. */
static void undone_add(const struct commands *commands,
                       uint32_t process,
                       struct commands_undone **list,
                       size_t *room,
                       size_t *count)
{
    const struct history *history = &commands->histories[process];
    size_t first = *count;

    for (size_t i = 0; i < commands->room; i++) {
        const struct command *command = &history->items[i];
        struct commands_undone *undone;
        const struct queue *queue;

        if (command->tid == 0 || command->name == 0 || command->has_ended) {
            continue;
        }
        queue = commands_queue(commands, process, command->queue);
        if (!is_undone(command, queue)) {
            continue;
        }
        undone = undone_find(*list + first, *count - first, command->queue);
        if (undone == NULL) {
            array_grow(list, room, *count, sizeof(**list));
            undone = &(*list)[(*count)++];
            *undone = (struct commands_undone){
                .process = process,
                .physical =
                    queue_physical(commands->defs, process, command->queue),
                .command = *command,
                .count = queue->undone};
        }
        undone->count++;
        if (command->enter < undone->command.enter) {
            undone->command = *command;
        }
    }
}

CK_ORDER(by_enter, struct commands_undone, CK_UP(command.enter))

struct commands_undone *commands_undone(const struct commands *commands,
                                        size_t *count)
{
    size_t room = 1;
    struct commands_undone *list = xcalloc(1, sizeof(*list));

    *count = 0;
    for (uint32_t i = 0; i < commands->defs->processes_count; i++) {
        if (commands->histories[i].items != NULL &&
            is_whole(commands->defs, i)) {
            undone_add(commands, i, &list, &room, count);
        }
    }
    for (size_t i = 0; i < *count; i++) {
        struct history *history = &commands->histories[list[i].process];

        history->questions++;
        list[i].awaited = awaited_find(commands, history, &list[i].command, 0);
    }
    qsort(list, *count, sizeof(*list), by_enter);
    return list;
}
