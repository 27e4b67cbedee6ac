/* commandwaits.c - what a command waited for
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Of all that a command waits for, the one that ended last held it up; that one
 * was at work until then, or was held up itself, and so on.
 */
#include "merge/analysis/history/commandstate.h"

/* A question being answered. */
struct asking {
    const struct commands *commands;
    struct history *history;
    commands_take_f take;
    void *state;
    size_t steps; /* taken */
};

/* Takes a step. False = there were too many. */
static bool may_go_on(struct asking *asking)
{
    asking->steps += asking->steps < COMMANDS_STEPS;
    return asking->steps < COMMANDS_STEPS;
}

static ck_time_t
end_of(struct asking *asking, struct command *command, unsigned links);

/* What held the command up: of all that it waited for what ended last, at
 * *until. NULL = nothing that is known. */
static const struct command *binding_of(struct asking *asking,
                                        const struct command *command,
                                        unsigned links,
                                        ck_time_t *until)
{
    const struct history *history = asking->history;
    struct command *best =
        command_find(asking->commands, history, command->barrier);
    uint64_t key = key_of(command->tid, command->call);
    size_t looked = 0;

    *until = best == NULL ? INT64_MIN : end_of(asking, best, links + 1);
    best = *until == INT64_MIN ? NULL : best;
    for (uint32_t at = command->await;
         at != COMMANDS_NONE && history->awaits[at].owner == key &&
         looked < asking->commands->room && may_go_on(asking);
         at = history->awaits[at].next, looked++) {
        struct command *awaited = command_find(asking->commands, history,
                                               history->awaits[at].awaited);
        ck_time_t end =
            awaited == NULL ? INT64_MIN : end_of(asking, awaited, links + 1);

        if (end > *until) {
            *until = end;
            best = awaited;
        }
    }
    if (!may_go_on(asking)) { /* another one may have ended later */
        *until = INT64_MIN;
        return NULL;
    }
    return best;
}

/* When it had ended, as far as is known; INT64_MIN = that is not known. Who
 * asks has begun, so what it waited for has ended: what is found of a marker
 * holds. Once a question, as several ways may lead to it. */
static ck_time_t
end_of(struct asking *asking, struct command *command, unsigned links)
{
    ck_time_t until;

    if (command->end != INT64_MIN || command->name != 0 ||
        links >= COMMANDS_LINKS ||
        command->asked == asking->history->questions) {
        return command->end;
    }
    command->asked = asking->history->questions;
    (void)binding_of(asking, command, links, &until);
    command->end = until;
    return until;
}

static void command_walk(struct asking *asking,
                         const struct command *command,
                         struct region part,
                         unsigned links);

/* [part.start, until) of the part is the other's; what is left of it begins
 * there. Of a part without length nothing is asked: both ways from a command
 * would lead on from it, and from each that they lead to. */
static void other_walk(struct asking *asking,
                       const struct command *other,
                       ck_time_t until,
                       struct region *part,
                       unsigned links)
{
    struct region before = *part;

    if (other == NULL || until <= part->start || part->start >= part->end ||
        links >= COMMANDS_LINKS || !may_go_on(asking)) {
        return;
    }
    before.end = until < part->end ? until : part->end;
    part->start = before.end;
    command_walk(asking, other, before, links + 1);
}

/* Why it had not ended in `part`. */
static void command_walk(struct asking *asking,
                         const struct command *command,
                         struct region part,
                         unsigned links)
{
    struct region waits = part;
    ck_time_t until;
    const struct command *other;

    if (command->setter != 0) {
        asking->take(asking->state, part, COMMANDS_EVENT, command);
        return;
    }
    if (command->start != INT64_MIN && command->start < waits.end) {
        waits.end = command->start > part.start ? command->start : part.start;
    }
    part.start = waits.end;
    other = binding_of(asking, command, links, &until);
    other_walk(asking, other, until, &waits, links);
    other = command_find(asking->commands, asking->history, command->prior);
    if (other != NULL) {
        other_walk(asking, other, other->end, &waits, links);
    }
    if (waits.start < waits.end) {
        asking->take(asking->state, waits, COMMANDS_QUEUED, command);
    }
    if (part.start < part.end) {
        asking->take(asking->state, part, COMMANDS_RUNS, command);
    }
}

ck_time_t commands_awaited(const struct commands *commands,
                           uint32_t process,
                           uint32_t tid,
                           uint32_t call)
{
    struct asking asking = {.commands = commands,
                            .history = &commands->histories[process]};
    const struct command *command =
        command_find(commands, asking.history, key_of(tid, call));
    ck_time_t until = INT64_MIN;

    if (command != NULL) {
        asking.history->questions++;
        (void)binding_of(&asking, command, 0, &until);
    }
    return until;
}

void commands_walk(const struct commands *commands,
                   uint32_t process,
                   uint32_t tid,
                   uint32_t call,
                   struct region part,
                   commands_take_f take,
                   void *state)
{
    struct asking asking = {.commands = commands,
                            .history = &commands->histories[process],
                            .take = take,
                            .state = state};
    const struct command *command =
        command_find(commands, asking.history, key_of(tid, call));
    const struct command *other = NULL;
    ck_time_t until;

    if (command != NULL) {
        asking.history->questions++;
        other = binding_of(&asking, command, 0, &until);
    }
    if (other != NULL) {
        command_walk(&asking, other, part, 1);
    }
}
