/* standings.c - where threads were when their collectors looked last
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "merge/analysis/waits/standings.h"

#include <stdlib.h>
#include <string.h>

#include "merge/model/memory.h"
#include "merge/model/userfile.h"
#include "merge/timeline/axis.h"
#include "schema/order.h"
#include "schema/store/run.h"

#define VALUE_BYTES 600

/* A line's value as a kept text; "" where there is none. */
static const char *
line_keep(const struct defs *defs, const char *lines, const char *key)
{
    char value[VALUE_BYTES] = "";

    (void)ck_lines_get(lines, strlen(lines), key, value, sizeof(value));
    return texts_keep(defs->texts, value, strlen(value));
}

static uint64_t line_number(const char *lines, const char *key, int base)
{
    char value[32] = "";

    (void)ck_lines_get(lines, strlen(lines), key, value, sizeof(value));
    return strtoull(value, NULL, base);
}

static uint32_t
process_find(const struct defs *defs, uint32_t agent, uint32_t incarnation)
{
    for (uint32_t p = 0; p < defs->processes_count; p++) {
        if (defs->processes[p].agent == agent &&
            defs->processes[p].incarnation == incarnation) {
            return p;
        }
    }
    return DEFS_NONE;
}

/* Frames of ck are left out. */
static void frames_fill(const struct defs *defs,
                        const struct defs_standing *from,
                        struct report_standing *row)
{
    const struct defs_agent *agent =
        &defs->agents[defs->processes[row->process].agent];
    const struct defs_stack *stack = defs_stack_find(agent, from->stack);
    uint32_t depth = stack == NULL ? 0 : stack->depth;

    row->frames = xcalloc(depth + 1, sizeof(*row->frames));
    row->is_users = xcalloc(depth + 1, sizeof(*row->is_users));
    for (uint32_t i = 0; i < depth; i++) {
        uint64_t address = stack->frames[i];
        struct place place = defs_place(defs, row->process, address);

        if (!defs_is_own(defs, row->process, address)) {
            row->is_users[row->frames_count] =
                userfile_is(defs, row->process, address);
            row->frames[row->frames_count++] = place;
        }
    }
}

/* The outermost call that the thread is in; NULL = none is known. */
static const struct defs_open *open_find(const struct defs_agent *agent,
                                         const struct defs_standing *from)
{
    const struct defs_open *outermost = NULL;

    for (size_t i = 0; i < agent->opens_count; i++) {
        const struct defs_open *open = &agent->opens[i];

        if (open->open.incarnation == from->incarnation &&
            open->open.tid == from->tid && !open->is_completed &&
            (outermost == NULL || open->open.depth < outermost->open.depth)) {
            outermost = open;
        }
    }
    return outermost;
}

/* A thread that runs and is seldom sampled, or may not be read, is in its call
 * at least: that and who called it are its frames, where there is no stack, or
 * one of a sample from before the call. */
static void call_fill(const struct defs *defs,
                      const struct axis *axis,
                      const struct defs_standing *from,
                      struct report_standing *row)
{
    const struct defs_process *process = &defs->processes[row->process];
    const struct defs_open *open =
        open_find(&defs->agents[process->agent], from);
    ck_time_t sampled = row->at - row->age;

    if (open == NULL || (row->frames_count > 0 &&
                         (strcmp(row->how, "sampled") != 0 ||
                          sampled >= axis_time(axis, process->agent,
                                               open->is_ticks, open->start)))) {
        return;
    }
    free(row->frames);
    free(row->is_users);
    row->frames = xcalloc(2, sizeof(*row->frames));
    row->is_users = xcalloc(2, sizeof(*row->is_users));
    row->frames[0].function = defs_name(defs, row->process, open->open.e.name);
    row->frames[1] = defs_place(defs, row->process, open->open.site);
    row->is_users[1] = userfile_is(defs, row->process, open->open.site);
    row->frames_count = 2;
    row->how = "call";
    row->age = 0;
}

static void row_fill(const struct defs *defs,
                     const struct axis *axis,
                     const struct defs_standing *from,
                     struct report_standing *row)
{
    const struct defs_process *process = &defs->processes[row->process];
    uint32_t program = defs->agents[process->agent].pid;
    char state[4] = "";

    (void)ck_lines_get(from->lines, strlen(from->lines), "state", state,
                       sizeof(state));
    row->rank = process->rank;
    row->tid = from->tid;
    row->is_first = from->tid == process->pid;
    row->state = state[0];
    row->name = line_keep(defs, from->lines, "name");
    row->call = line_keep(defs, from->lines, "call");
    row->file = line_keep(defs, from->lines, "file");
    row->how = line_keep(defs, from->lines, "stack");
    row->age = (ck_time_t)line_number(from->lines, "age", 10);
    row->lock = line_number(from->lines, "lock", 16);
    row->owner = (uint32_t)line_number(from->lines, "owner", 10);
    row->at = axis_time(axis, process->agent, false, from->at);
    row->signal = (int)line_number(from->lines, "signal", 10);
    row->is_cause = line_number(from->lines, "died", 10) != 0;
    row->is_program = program == 0 || process->pid == program;
    row->has_address = line_keep(defs, from->lines, "address")[0] != '\0';
    row->address = line_number(from->lines, "address", 16);
    frames_fill(defs, from, row);
    call_fill(defs, axis, from, row);
}

/* The newest look of each process: what a thread was in that has ended since
 * stays from an older one. */
static int64_t newest_look(const struct defs_agent *agent, uint32_t incarnation)
{
    int64_t newest = 0;

    for (size_t i = 0; i < agent->standings_count; i++) {
        if (agent->standings[i].incarnation == incarnation &&
            agent->standings[i].at > newest) {
            newest = agent->standings[i].at;
        }
    }
    return newest;
}

/* Looks at one process take less. */
#define LOOK_LENGTH (2 * CK_TIME_S)

/* Is it a look at a thread at its end? Those are of interest in any run. */
static bool is_death(const struct defs_standing *from)
{
    return line_number(from->lines, "signal", 10) != 0;
}

/* The row that is filled next. */
static struct report_standing *row_next(struct report *report, bool is_dead)
{
    struct report_standing *row =
        is_dead ? &report->deaths[report->deaths_count++]
                : &report->standings[report->standings_count++];

    memset(row, 0, sizeof(*row));
    return row;
}

static void agent_report(const struct defs *defs,
                         const struct axis *axis,
                         const struct hang *hang,
                         uint32_t agent,
                         bool is_asked,
                         struct report *report)
{
    const struct defs_agent *owner = &defs->agents[agent];

    for (size_t i = 0; i < owner->standings_count; i++) {
        const struct defs_standing *from = &owner->standings[i];
        struct report_standing *row;
        bool is_dead = is_death(from);
        uint32_t process = process_find(defs, agent, from->incarnation);
        ck_time_t last;

        if (process == DEFS_NONE ||
            !defs_is_wanted(defs, defs->processes[process].rank) ||
            from->at + LOOK_LENGTH < newest_look(owner, from->incarnation)) {
            continue;
        }
        last = hang_last(hang, defs->processes[process].rank);
        if (!is_dead && !is_asked &&
            last > axis_time(axis, agent, false, from->at)) {
            continue;
        }
        row = row_next(report, is_dead);
        row->process = process;
        row_fill(defs, axis, from, row);
    }
}

CK_ORDER(by_thread,
         struct report_standing,
         CK_UP(rank) ?: CK_UP(process) ?: CK_DOWN(is_first) ?: CK_UP(tid))

void standings_report(const struct defs *defs,
                      const struct axis *axis,
                      const struct hang *hang,
                      bool is_asked,
                      struct report *report)
{
    size_t room = 1;

    for (size_t i = 0; i < defs->agents_count; i++) {
        room += defs->agents[i].standings_count;
    }
    report->standings = xcalloc(room, sizeof(*report->standings));
    report->deaths = xcalloc(room, sizeof(*report->deaths));
    for (uint32_t a = 0; a < defs->agents_count; a++) {
        agent_report(defs, axis, hang, a, is_asked, report);
    }
    qsort(report->standings, report->standings_count,
          sizeof(*report->standings), by_thread);
    qsort(report->deaths, report->deaths_count, sizeof(*report->deaths),
          by_thread);
}
