/* commands.c - commands that were enqueued: what they wait for, and their end
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * A command's place follows from its thread and call: numbers of calls count
 * up, so the newest ones of a thread are side by side, and one that comes
 * pushes an old one out. What it waits for is a list in a ring of its own,
 * whose items name their owner: one that was overwritten ends the list.
 *
 * A command that waits is looked at when it has begun: what ended before is
 * known. Of several that it waits for the one that ended last held it up.
 */
#include "merge/analysis/history/commandstate.h"

#include <stdlib.h>
#include <string.h>

#include "merge/model/array.h"
#include "merge/model/memory.h"

struct commands *commands_create(const struct defs *defs)
{
    struct commands *commands = xcalloc(1, sizeof(*commands));
    size_t count = defs->processes_count;

    commands->defs = defs;
    commands->room = COMMANDS_MAX;
    while (commands->room > COMMANDS_MIN &&
           commands->room * count > COMMANDS_ALL) {
        commands->room /= 2;
    }
    commands->histories = xcalloc(count + 1, sizeof(*commands->histories));
    commands->failures = failures_create(defs);
    return commands;
}

void commands_destroy(struct commands *commands)
{
    if (commands == NULL) {
        return;
    }
    for (size_t i = 0;
         commands->histories != NULL && i < commands->defs->processes_count;
         i++) {
        free(commands->histories[i].items);
        free(commands->histories[i].awaits);
        free(commands->histories[i].queues);
        table_destroy(commands->histories[i].queue_keys);
    }
    failures_destroy(commands->failures);
    free(commands->histories);
    free(commands);
}

static void history_begin(const struct commands *commands,
                          struct history *history)
{
    if (history->items != NULL) {
        return;
    }
    history->awaits = xcalloc(commands->room, sizeof(*history->awaits));
    history->items = xcalloc(commands->room, sizeof(*history->items));
}

struct queue *
commands_queue(const struct commands *commands, uint32_t process, uint32_t id)
{
    struct history *history = &commands->histories[process];
    const struct defs_queue *known;
    struct queue *queue;
    int64_t number;

    if (history->queue_keys == NULL) {
        history->queue_keys = table_create();
    }
    number = table_number(history->queue_keys, (struct table_key){id, 0, 0});
    if ((size_t)number < history->queues_count) {
        return &history->queues[number];
    }
    array_grow(&history->queues, &history->queues_room, history->queues_count,
               sizeof(*history->queues));
    queue = &history->queues[history->queues_count++];
    known = defs_queue(commands->defs, process, id);
    *queue = (struct queue){.id = id,
                            .is_in_order = known != NULL && known->is_in_order,
                            .done_until = INT64_MIN};
    return queue;
}

/* ---- taking ------------------------------------------------------------- */

/* The place becomes the command's, which is found there afterwards. */
static struct command *command_claim(const struct commands *commands,
                                     uint32_t process,
                                     uint64_t key,
                                     ck_time_t enter)
{
    struct command *place =
        place_of(commands, &commands->histories[process], key);
    struct queue *queue;

    if (key_of(place->tid, place->call) == key) {
        return place;
    }
    if (place->tid != 0 && place->name != 0 && !place->has_ended) {
        queue = commands_queue(commands, process, place->queue);
        if (is_undone(place, queue)) {
            queue->undone_enter =
                queue->undone++ == 0 || place->enter < queue->undone_enter
                    ? place->enter
                    : queue->undone_enter;
        }
    }
    *place = (struct command){.enter = enter,
                              .start = INT64_MIN,
                              .end = INT64_MIN,
                              .tid = (uint32_t)(key >> 32),
                              .call = (uint32_t)key,
                              .physical = DEFS_NONE,
                              .await = COMMANDS_NONE};
    return place;
}

/* All that the queue had got before has ended. */
static void queue_done(struct queue *queue, ck_time_t enter)
{
    if (enter > queue->done_until) {
        queue->done_until = enter;
        queue->undone = queue->undone_enter < enter ? 0 : queue->undone;
    }
}

/* The command has ended, so far as any thread waited for it. */
static void command_end(struct queue *queue, struct command *command)
{
    command->has_ended = true;
    if (queue->is_in_order) {
        queue_done(queue, command->enter);
    }
}

/* A call that enqueued a command, or made a user event. */
static void command_enter(struct commands *commands,
                          const struct timeline_event *event,
                          const struct ck_call *call)
{
    uint32_t process = event->process;
    uint32_t tid = commands->defs->threads[event->thread].tid;
    struct command *command;
    struct queue *queue;

    history_begin(commands, &commands->histories[process]);
    queue = commands_queue(commands, process, call->object);
    command =
        command_claim(commands, process, key_of(tid, call->call), event->start);
    command->site = call->site;
    command->queue = call->object;
    command->name = (uint32_t)call->extra;
    command->barrier = queue->barrier;
    command->is_event = (call->extra & CK_COMMAND_EVENT) != 0;
    if ((call->extra & CK_COMMAND_DONE) != 0) {
        command_end(queue, command);
    }
}

/* clFinish returned. */
static void finish_take(struct commands *commands,
                        const struct timeline_event *event,
                        const struct ck_call *call)
{
    uint32_t process = event->process;
    struct history *history = &commands->histories[process];
    struct queue *queue;

    if (history->finish == 0) {
        const char *name =
            defs_name(commands->defs, event->process, call->e.name);

        history->finish =
            name != NULL && strcmp(name, "clFinish") == 0 ? call->e.name : 0;
    }
    if (call->e.name != history->finish ||
        (call->e.flags & (CK_FLAG_FAILED | CK_FLAG_CUT)) != 0) {
        return;
    }
    queue = commands_queue(commands, process, call->object);
    queue_done(queue, event->start);
}

static void call_take(struct commands *commands,
                      const struct timeline_event *event)
{
    const struct ck_call *call = (const struct ck_call *)event->record;

    if (call->e.kind != CK_KIND_API_OPENCL ||
        event->thread >= commands->defs->threads_count) {
        return;
    }
    if ((call->e.flags & CK_FLAG_FAILED) != 0) {
        failures_add(commands->failures, event, call->site);
        return;
    }
    if (call->extra != 0) {
        command_enter(commands, event, call);
        return;
    }
    if (call->object != 0 && commands_is_known(commands, event->process)) {
        finish_take(commands, event, call);
    }
}

static void await_add(struct commands *commands,
                      const struct timeline_event *event,
                      uint64_t key)
{
    const struct ck_await *record = (const struct ck_await *)event->record;
    uint32_t process = event->process;
    struct history *history = &commands->histories[process];
    struct command *command =
        command_claim(commands, process, key, event->start);
    struct queue *queue = commands_queue(commands, process, record->queue);
    uint32_t at = history->awaits_used++ & ((uint32_t)commands->room - 1);

    command->queue = record->queue;
    history->awaits[at] = (struct await){
        key, key_of(record->awaited_tid, record->awaited_call), command->await};
    command->await = at;
    if (record->e.kind == CK_KIND_AWAIT_QUEUE && !command->is_barrier) {
        command->is_barrier = true;
        command->barrier = queue->barrier;
        queue->barrier = key;
    }
}

/* A user event was set by the call. */
static void set_take(struct commands *commands,
                     const struct timeline_event *event,
                     uint32_t tid)
{
    const struct ck_await *record = (const struct ck_await *)event->record;
    struct command *command = command_claim(
        commands, event->process,
        key_of(record->awaited_tid, record->awaited_call), event->start);

    command->end = event->start;
    command->setter = tid;
    command->set_call = record->call;
    command->has_ended = true;
}

/* A thread waited for the command, and went on. */
static void ended_take(struct commands *commands,
                       const struct timeline_event *event)
{
    const struct ck_await *record = (const struct ck_await *)event->record;
    uint32_t process = event->process;
    struct command *command =
        command_find(commands, &commands->histories[process],
                     key_of(record->awaited_tid, record->awaited_call));
    struct queue *queue;

    if (command == NULL) {
        return;
    }
    queue = commands_queue(commands, process, command->queue);
    command_end(queue, command);
}

static void await_take(struct commands *commands,
                       const struct timeline_event *event)
{
    const struct ck_await *record = (const struct ck_await *)event->record;
    struct history *history = &commands->histories[event->process];
    uint32_t tid;

    if (event->thread >= commands->defs->threads_count) {
        return;
    }
    history_begin(commands, history);
    tid = commands->defs->threads[event->thread].tid;
    switch (record->e.kind) {
    case CK_KIND_AWAIT_HOST:
        ended_take(commands, event);
        return;
    case CK_KIND_AWAIT_SET:
        set_take(commands, event, tid);
        return;
    default:
        await_add(commands, event, key_of(tid, record->call));
        return;
    }
}

/* A command's work. All of its record's head is alike in both classes. */
static int work_take(struct commands *commands,
                     const struct timeline_event *event)
{
    const struct ck_kernel *record = (const struct ck_kernel *)event->record;
    uint32_t process = event->process;
    struct history *history = &commands->histories[process];
    uint64_t key = key_of(record->tid, record->call);
    const struct defs_device *device;
    struct command *command;
    struct queue *queue;

    if (history->items == NULL) {
        return 0;
    }
    command = command_find(commands, history, key);
    queue = commands_queue(commands, process, record->queue);
    if (command == NULL) {
        queue->undone -= queue->undone > 0;
        return 0;
    }
    command->has_ended = true;
    if ((record->e.flags & CK_FLAG_BAD_TIME) != 0) {
        return 0;
    }
    device = defs_device(commands->defs, event->process, record->device);
    command->physical = device == NULL ? DEFS_NONE : device->physical;
    command->start = event->start;
    command->end = event->end;
    if (queue->prior != key) { /* a second record of it is no other command */
        command->prior = queue->prior;
        queue->prior = key;
    }
    return 0;
}

/* Work that failed. */
static void failed_take(struct commands *commands,
                        const struct timeline_event *event)
{
    const struct ck_kernel *record = (const struct ck_kernel *)event->record;

    if (!((record->e.flags & CK_FLAG_FAILED) == 0)) {
        failures_add(
            commands->failures, event,
            commands_site(commands, event->process, record->tid, record->call));
    }
}

int commands_take(void *state, const struct timeline_event *event)
{
    struct commands *commands = state;

    switch (ck_kind_class(event->record->kind)) {
    case CK_CLASS_CALL:
        call_take(commands, event);
        return 0;
    case CK_CLASS_AWAIT:
        await_take(commands, event);
        return 0;
    case CK_CLASS_KERNEL:
    case CK_CLASS_COPY:
        failed_take(commands, event);
        return work_take(commands, event);
    default:
        return 0;
    }
}

bool commands_is_known(const struct commands *commands, uint32_t process)
{
    return commands->histories[process].items != NULL;
}

uint64_t commands_site(const struct commands *commands,
                       uint32_t process,
                       uint32_t tid,
                       uint32_t call)
{
    const struct command *command = command_find(
        commands, &commands->histories[process], key_of(tid, call));

    return command == NULL ? 0 : command->site;
}

const struct failures *commands_failures(const struct commands *commands)
{
    return commands->failures;
}
