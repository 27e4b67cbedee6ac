/* blockedplaces.c - where in the program threads waited without a CPU
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "merge/analysis/samples/blockedplaces.h"

#include <stdlib.h>

#include "merge/analysis/history/callpaths.h"
#include "merge/analysis/history/stackplaces.h"
#include "merge/model/array.h"
#include "merge/model/memory.h"
#include "schema/order.h"

/* Waits of a thread with one stack. */
struct spot {
    uint64_t waits;
    ck_time_t ns;
    ck_time_t longest;
};

struct blockedplaces {
    struct region region;
    struct stackplaces *stacks;
    struct spot *spots; /* by the number of the stack */
    size_t count, room;
    struct report_blocked_sums sums;
};

struct blockedplaces *blockedplaces_create(const struct defs *defs,
                                           const struct lookback *lookback,
                                           struct region region)
{
    struct blockedplaces *places = xcalloc(1, sizeof(*places));

    places->region = region;
    places->stacks = stackplaces_create(defs, lookback);
    return places;
}

void blockedplaces_destroy(struct blockedplaces *places)
{
    if (places != NULL) {
        stackplaces_destroy(places->stacks);
        free(places->spots);
        free(places);
    }
}

static void spot_add(struct blockedplaces *places,
                     uint32_t process,
                     const struct ck_sample *record,
                     ck_time_t ns)
{
    size_t number = stackplaces_number(places->stacks, process, record);
    struct spot *spot;

    if (number == places->count) {
        array_grow(&places->spots, &places->room, places->count,
                   sizeof(*places->spots));
        places->spots[places->count++] = (struct spot){0};
    }
    spot = &places->spots[number];
    spot->waits++;
    spot->ns += ns;
    spot->longest = ns > spot->longest ? ns : spot->longest;
}

/* What of the wait is in the region. */
static struct region part_in(const struct blockedplaces *places,
                             const struct timeline_event *event)
{
    struct region part = {event->start, event->end};

    if (event->record->kind == CK_KIND_OFF_CPU) {
        part = region_from(event->start,
                           ((const struct ck_sample *)event->record)->weight);
    }
    part.start =
        part.start > places->region.start ? part.start : places->region.start;
    part.end = part.end < places->region.end ? part.end : places->region.end;
    return part;
}

void blockedplaces_take(void *consumer, const struct timeline_event *event)
{
    struct blockedplaces *places = consumer;
    const struct ck_event *record = event->record;
    struct region part;
    uint32_t process;

    if (record->kind != CK_KIND_BLOCKED && record->kind != CK_KIND_OFF_CPU) {
        return;
    }
    part = part_in(places, event);
    process = stackplaces_process(places->stacks, event);
    if (part.end <= part.start || process == DEFS_NONE) {
        return;
    }
    if (record->kind == CK_KIND_BLOCKED) {
        places->sums.blocked += part.end - part.start;
        return;
    }
    places->sums.waits++;
    places->sums.ns += part.end - part.start;
    spot_add(places, process, (const struct ck_sample *)record,
             part.end - part.start);
}

/* ---- rows ---------------------------------------------------------------- */

static struct report_blocked row_make(const struct blockedplaces *places,
                                      const struct stackplace *rows,
                                      size_t count)
{
    struct report_blocked row = {
        .place = stackplaces_line(rows, count),
        .callers = stackplaces_callers(places->stacks, rows, count)};
    ck_time_t rank = 0;

    for (size_t i = 0; i < count; i++) {
        const struct spot *spot = &places->spots[rows[i].number];
        const struct stackplace *last = i == 0 ? NULL : &rows[i - 1];
        bool is_new = last == NULL || last->rank != rows[i].rank;

        rank = (is_new ? 0 : rank) + spot->ns;
        row.ranks += is_new;
        row.threads += is_new || last->process != rows[i].process ||
                       last->tid != rows[i].tid;
        row.waits += spot->waits;
        row.ns += spot->ns;
        row.longest = spot->longest > row.longest ? spot->longest : row.longest;
        row.is_users |= rows[i].path != CALLPATHS_NONE;
        if (rank > row.rank_ns) {
            row.rank_ns = rank;
            row.rank = rows[i].rank;
        }
    }
    return row;
}

CK_ORDER(most_first, struct report_blocked, CK_DOWN(ns) ?: CK_DOWN(waits))

/* All stacks of waits, in order of functions; the caller frees them. */
static struct stackplace *rows_of(const struct blockedplaces *places)
{
    struct stackplace *rows = xcalloc(places->count + 1, sizeof(*rows));

    for (size_t i = 0; i < places->count; i++) {
        rows[i] = stackplaces_at(places->stacks, i);
        rows[i].weight = (uint64_t)places->spots[i].ns;
    }
    stackplaces_sort(rows, places->count);
    return rows;
}

void blockedplaces_report(const struct blockedplaces *places,
                          struct report *report)
{
    struct stackplace *rows = rows_of(places);
    size_t count = places->count, end;

    report->blocked_sums = places->sums;
    report->blocked = xcalloc(count + 1, sizeof(*report->blocked));
    for (size_t at = 0; at < count; at = end) {
        end = at + 1;
        while (end < count && stackplaces_is_function(&rows[at], &rows[end])) {
            end++;
        }
        report->blocked[report->blocked_count++] =
            row_make(places, &rows[at], end - at);
    }
    free(rows);
    if (report->blocked_count > 1) {
        qsort(report->blocked, report->blocked_count, sizeof(*report->blocked),
              most_first);
    }
    if (report->blocked_count > BLOCKEDPLACES_LISTED_MAX) {
        report->blocked_count = BLOCKEDPLACES_LISTED_MAX;
    }
}
