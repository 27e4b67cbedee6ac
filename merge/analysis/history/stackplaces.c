/* stackplaces.c - stacks of threads, and the places in the program that they
 * lead to
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "merge/analysis/history/stackplaces.h"

#include <stdlib.h>

#include "merge/analysis/history/callpaths.h"
#include "merge/analysis/history/evidence.h"
#include "merge/model/memory.h"
#include "merge/model/table.h"
#include "schema/order.h"

struct stackplaces {
    const struct defs *defs;         /* borrowed */
    const struct lookback *lookback; /* borrowed */
    struct table *keys;              /* process, tid, stack */
};

struct stackplaces *stackplaces_create(const struct defs *defs,
                                       const struct lookback *lookback)
{
    struct stackplaces *stacks = xcalloc(1, sizeof(*stacks));

    stacks->defs = defs;
    stacks->lookback = lookback;
    stacks->keys = table_create();
    return stacks;
}

void stackplaces_destroy(struct stackplaces *stacks)
{
    if (stacks != NULL) {
        table_destroy(stacks->keys);
        free(stacks);
    }
}

uint32_t stackplaces_process(const struct stackplaces *stacks,
                             const struct timeline_event *event)
{
    const struct defs *defs = stacks->defs;
    uint32_t process = history_process(lookback_history(stacks->lookback),
                                       defs->processes[event->process].agent,
                                       event->record->name);

    return process != DEFS_NONE &&
                   defs_is_wanted(defs, defs->processes[process].rank)
               ? process
               : DEFS_NONE;
}

size_t stackplaces_number(struct stackplaces *stacks,
                          uint32_t process,
                          const struct ck_sample *record)
{
    /* There are no such numbers: a damaged one must not become another. */
    uint64_t stack = record->stack > UINT32_MAX ? UINT32_MAX : record->stack;

    return (size_t)table_number_of(stacks->keys, process, record->tid, stack);
}

static struct evidence_item item_of(const struct stackplaces *stacks,
                                    size_t number)
{
    struct table_key key = table_key(stacks->keys, number);

    return (struct evidence_item){
        .kind = EVIDENCE_SAMPLE, .a = (uint32_t)key.a, .b = (uint32_t)key.c};
}

int32_t stackplaces_rank(const struct stackplaces *stacks, size_t number)
{
    return stacks->defs->processes[item_of(stacks, number).a].rank;
}

struct stackplace stackplaces_at(const struct stackplaces *stacks,
                                 size_t number)
{
    struct evidence_item item = item_of(stacks, number);

    return (struct stackplace){
        .number = number,
        .process = item.a,
        .tid = (uint32_t)table_key(stacks->keys, number).b,
        .rank = stackplaces_rank(stacks, number),
        .place = evidence_place(stacks->defs, &item),
        .path =
            callpaths_number(lookback_paths(stacks->lookback), item.a, item.b)};
}

void stackplaces_move(const struct stackplaces *stacks,
                      struct stackplace *row,
                      struct place place)
{
    row->place = place;
    row->path =
        callpaths_cut(lookback_paths(stacks->lookback), row->path, &place);
}

bool stackplaces_is_own(const struct stackplaces *stacks, size_t number)
{
    struct evidence_item item = item_of(stacks, number);

    return evidence_is_own(stacks->defs, &item);
}

/* Kept texts: equal ones are one pointer. */
CK_ORDER(by_place,
         struct stackplace,
         CK_UP(place.function) ?: CK_UP(place.file) ?: CK_UP(rank)
             ?: CK_UP(process) ?: CK_UP(tid) ?: CK_UP(place.line))

void stackplaces_sort(struct stackplace *rows, size_t count)
{
    if (count > 1) {
        qsort(rows, count, sizeof(*rows), by_place);
    }
}

bool stackplaces_is_function(const struct stackplace *a,
                             const struct stackplace *b)
{
    return a->place.function == b->place.function &&
           a->place.file == b->place.file;
}

struct place stackplaces_line(const struct stackplace *rows, size_t count)
{
    struct table *lines = table_create();
    uint64_t *sums = xcalloc(count, sizeof(*sums));
    struct place best = rows[0].place;
    uint64_t most = 0;

    for (size_t i = 0; i < count; i++) {
        sums[table_number_of(lines, rows[i].place.line, 0, 0)] +=
            rows[i].weight;
    }
    for (size_t i = 0; i < count; i++) {
        uint64_t sum = sums[table_number_of(lines, rows[i].place.line, 0, 0)];

        if (sum > most) {
            most = sum;
            best = rows[i].place;
        }
    }
    free(sums);
    table_destroy(lines);
    return best;
}

struct report_callers stackplaces_callers(const struct stackplaces *stacks,
                                          const struct stackplace *rows,
                                          size_t count)
{
    struct callpaths_part *parts = xcalloc(count, sizeof(*parts));
    struct report_callers callers;

    for (size_t i = 0; i < count; i++) {
        parts[i] = (struct callpaths_part){.path = rows[i].path,
                                           .is_meant = true,
                                           .ns = (double)rows[i].weight};
    }
    callers = callpaths_explain(lookback_paths(stacks->lookback), rows[0].place,
                                parts, count);
    free(parts);
    return callers;
}
