/* stuck.c - for whom ranks wait in calls of MPI that they never left
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "merge/analysis/waits/stuck.h"

#include <stdlib.h>
#include <string.h>

#include "merge/model/array.h"
#include "merge/model/memory.h"

/* Ranks that a circle is looked for through. */
#define CIRCLE_MAX 64

/* A call that is never left. */
struct item {
    uint32_t thread;
    uint32_t process;
    bool is_final; /* MPI_Finalize */
    union {
        struct ck_call call;
        struct ck_message message;
        struct ck_collective collective;
    } record;
};

struct stuck {
    const struct defs *defs; /* borrowed */
    const struct hang *hang; /* borrowed */
    struct item *items;
    size_t count, room;
    uint32_t *of_thread;  /* number of its item, from 1; 0 = none */
    uint32_t *of_process; /* the same of the latest of its threads */
    uint32_t *mains;      /* by process: its first thread, DEFS_NONE */
    bool *is_final;       /* by process: it entered MPI_Finalize */
};

struct stuck *stuck_create(const struct defs *defs, const struct hang *hang)
{
    struct stuck *stuck = xcalloc(1, sizeof(*stuck));

    stuck->defs = defs;
    stuck->hang = hang;
    stuck->mains = xcalloc(defs->processes_count + 1, sizeof(*stuck->mains));
    stuck->of_process =
        xcalloc(defs->processes_count + 1, sizeof(*stuck->of_process));
    stuck->of_thread =
        xcalloc(defs->threads_count + 1, sizeof(*stuck->of_thread));
    for (size_t i = 0; i < defs->processes_count; i++) {
        stuck->mains[i] = DEFS_NONE;
    }
    for (uint32_t i = (uint32_t)defs->threads_count; i-- > 0;) {
        const struct defs_thread *thread = &defs->threads[i];

        if (stuck->mains[thread->process] == DEFS_NONE ||
            thread->tid == defs->processes[thread->process].pid) {
            stuck->mains[thread->process] = i;
        }
    }
    return stuck;
}

void stuck_destroy(struct stuck *stuck)
{
    if (stuck == NULL) {
        return;
    }
    free(stuck->items);
    free(stuck->of_thread);
    free(stuck->of_process);
    free(stuck->mains);
    free(stuck);
}

void stuck_take(struct stuck *stuck, const struct timeline_event *event)
{
    const char *name =
        defs_name(stuck->defs, event->process, event->record->name);
    struct item *item;

    array_grow(&stuck->items, &stuck->room, stuck->count, sizeof(*item));
    item = &stuck->items[stuck->count++];
    stuck->of_thread[event->thread] = (uint32_t)stuck->count;
    stuck->of_process[event->process] = (uint32_t)stuck->count;
    memset(item, 0, sizeof(*item));
    item->thread = event->thread;
    item->process = event->process;
    item->is_final = name != NULL && strcmp(name, "MPI_Finalize") == 0;
    memcpy(&item->record, event->record,
           (size_t)event->record->units * CK_UNIT_BYTES < sizeof(item->record)
               ? (size_t)event->record->units * CK_UNIT_BYTES
               : sizeof(item->record));
}

static const struct item *item_of(const struct stuck *stuck, uint32_t process)
{
    uint32_t number = stuck->of_process[process];

    return number == 0 ? NULL : &stuck->items[number - 1];
}

/* The latest process of a rank that began MPI. */
static uint32_t process_of(const struct defs *defs, int32_t rank)
{
    for (uint32_t p = (uint32_t)defs->processes_count; p-- > 0;) {
        if (rank >= 0 && defs->processes[p].rank == rank &&
            stamps_has(&defs->processes[p].init)) {
            return p;
        }
    }
    return DEFS_NONE;
}

/* Who never called MPI_Finalize. */
static uint32_t final_absent(const struct stuck *stuck)
{
    const struct defs *defs = stuck->defs;
    uint32_t found = DEFS_NONE;

    for (uint32_t p = 0; p < defs->processes_count; p++) {
        const struct defs_process *process = &defs->processes[p];
        const struct item *item = item_of(stuck, p);

        if (process->rank < 0 || stamps_has(&process->finalize) ||
            !stamps_has(&process->init) || (item != NULL && item->is_final)) {
            continue;
        }
        if (process_of(defs, process->rank) != p) {
            continue; /* it was started again */
        }
        if (item == NULL) {
            return p;
        }
        found = found == DEFS_NONE ? p : found;
    }
    return found;
}

/* The same of a collective. */
static uint32_t absent_of(const struct stuck *stuck, const struct item *item)
{
    const struct ck_collective *record = &item->record.collective;
    uint32_t found = DEFS_NONE;

    for (uint32_t p = 0; p < stuck->defs->processes_count; p++) {
        if (!hang_is_absent(stuck->hang, item->process, record, p)) {
            continue;
        }
        if (item_of(stuck, p) == NULL) {
            return p;
        }
        found = found == DEFS_NONE ? p : found;
    }
    return found;
}

/* The process that the call waits for, and how; DEFS_NONE = not known. */
static uint32_t
whom(const struct stuck *stuck, const struct item *item, enum wait_kind *kind)
{
    const struct ck_event *record = &item->record.call.e;

    *kind = WAIT_FINALIZE;
    if (item->is_final) {
        return final_absent(stuck);
    }
    if (record->kind == CK_KIND_COLLECTIVE) {
        *kind = wait_kind_of(collective_role(
            defs_name(stuck->defs, item->process, record->name)));
        return *kind == WAIT_NONE ? DEFS_NONE : absent_of(stuck, item);
    }
    *kind =
        record->kind == CK_KIND_SEND ? WAIT_LATE_RECEIVER : WAIT_LATE_SENDER;
    return process_of(stuck->defs, hang_peer(stuck->hang, item->process,
                                             &item->record.message));
}

/* Does the wait for that process come back to the one that waits? */
static bool
is_circle(const struct stuck *stuck, uint32_t process, uint32_t waiting)
{
    enum wait_kind kind;

    for (unsigned i = 0; i < CIRCLE_MAX && process != DEFS_NONE; i++) {
        const struct item *item = item_of(stuck, process);

        if (process == waiting || item == NULL) {
            return process == waiting;
        }
        process = whom(stuck, item, &kind);
    }
    return false;
}

bool stuck_final(const struct stuck *stuck,
                 uint32_t thread,
                 const struct history_span *call,
                 struct wait *wait)
{
    uint32_t process = final_absent(stuck);

    if (process == DEFS_NONE || stuck->mains[process] == DEFS_NONE ||
        process == stuck->defs->threads[thread].process) {
        return false;
    }
    *wait = (struct wait){.kind = WAIT_FINALIZE,
                          .until = call->end,
                          .thread = stuck->mains[process],
                          .mark = INT64_MIN};
    return true;
}

bool stuck_find(const struct stuck *stuck,
                uint32_t thread,
                const struct history_span *call,
                struct wait *wait)
{
    uint32_t number = stuck->of_thread[thread];
    const struct item *item;
    enum wait_kind kind;
    uint32_t process;

    if (number == 0) {
        return false;
    }
    item = &stuck->items[number - 1];
    if (item->record.call.call != call->call) {
        return false;
    }
    process = whom(stuck, item, &kind);
    if (process == DEFS_NONE || process == item->process ||
        stuck->mains[process] == DEFS_NONE) {
        return false;
    }
    *wait =
        (struct wait){.kind = kind,
                      .until = call->end,
                      .thread = stuck->mains[process],
                      .mark = INT64_MIN,
                      .is_circle = is_circle(stuck, process, item->process)};
    return true;
}
