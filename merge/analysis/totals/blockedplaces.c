/* blockedplaces.c - where in the program threads waited without a CPU
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "merge/analysis/totals/blockedplaces.h"

#include <stdlib.h>
#include <string.h>

#include "merge/analysis/history/callpaths.h"
#include "merge/analysis/history/evidence.h"
#include "merge/model/array.h"
#include "merge/model/memory.h"
#include "merge/model/table.h"
#include "schema/order.h"

/* Waits of a thread with one stack. */
struct spot {
    uint32_t process;
    uint32_t tid;
    uint32_t stack;
    uint64_t waits;
    ck_time_t ns;
    ck_time_t longest;
};

struct blockedplaces {
    const struct defs *defs;         /* borrowed */
    const struct lookback *lookback; /* borrowed */
    struct region region;
    struct table *keys; /* process, tid, stack */
    struct spot *spots;
    size_t count, room;
    struct report_blocked_sums sums;
};

struct blockedplaces *blockedplaces_create(const struct defs *defs,
                                           const struct lookback *lookback,
                                           struct region region)
{
    struct blockedplaces *places = xcalloc(1, sizeof(*places));

    places->defs = defs;
    places->lookback = lookback;
    places->region = region;
    places->keys = table_create();
    return places;
}

void blockedplaces_destroy(struct blockedplaces *places)
{
    if (places != NULL) {
        table_destroy(places->keys);
        free(places->spots);
        free(places);
    }
}

static void spot_add(struct blockedplaces *places,
                     uint32_t process,
                     const struct ck_sample *record,
                     ck_time_t ns)
{
    int64_t number =
        table_number_of(places->keys, process, record->tid, record->stack);
    struct spot *spot;

    if ((size_t)number == places->count) {
        array_grow(&places->spots, &places->room, places->count,
                   sizeof(*places->spots));
        places->spots[places->count++] = (struct spot){
            .process = process,
            .tid = record->tid,
            .stack = (uint32_t)record->stack,
        };
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
    const struct defs *defs = places->defs;
    struct region part;
    uint32_t process;

    if (record->kind != CK_KIND_BLOCKED && record->kind != CK_KIND_OFF_CPU) {
        return;
    }
    part = part_in(places, event);
    process =
        history_process(lookback_history(places->lookback),
                        defs->processes[event->process].agent, record->name);
    if (part.end <= part.start || process == DEFS_NONE ||
        !defs_is_wanted(defs, defs->processes[process].rank)) {
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

/* A spot with its place. */
struct placed {
    const struct spot *spot;
    int32_t rank;
    struct place place;
    uint32_t path;
};

/* Kept texts: equal ones are one pointer. */
CK_ORDER(by_row,
         struct placed,
         CK_UP(place.function) ?: CK_UP(place.file) ?: CK_UP(rank)
             ?: CK_UP(spot->process) ?: CK_UP(spot->tid) ?: CK_UP(place.line))

static bool is_same_row(const struct placed *a, const struct placed *b)
{
    return a->place.function == b->place.function &&
           a->place.file == b->place.file;
}

/* The line with the most of all: its place. */
static struct place line_find(const struct placed *placed, size_t count)
{
    struct table *lines = table_create();
    ck_time_t *sums = xcalloc(count, sizeof(*sums));
    struct place best = placed[0].place;
    ck_time_t most = 0;

    for (size_t i = 0; i < count; i++) {
        sums[table_number_of(lines, placed[i].place.line, 0, 0)] +=
            placed[i].spot->ns;
    }
    for (size_t i = 0; i < count; i++) {
        ck_time_t sum =
            sums[table_number_of(lines, placed[i].place.line, 0, 0)];

        if (sum > most) {
            most = sum;
            best = placed[i].place;
        }
    }
    free(sums);
    table_destroy(lines);
    return best;
}

/* By which of its callers a row's function is explained. */
static struct report_callers callers_find(const struct blockedplaces *places,
                                          const struct placed *row,
                                          size_t count)
{
    struct callpaths_part *parts = xcalloc(count, sizeof(*parts));
    struct report_callers callers;

    for (size_t i = 0; i < count; i++) {
        parts[i] = (struct callpaths_part){.path = row[i].path,
                                           .is_meant = true,
                                           .ns = (double)row[i].spot->ns};
    }
    callers = callpaths_explain(lookback_paths(places->lookback), row[0].place,
                                parts, count);
    free(parts);
    return callers;
}

static struct report_blocked row_make(const struct blockedplaces *places,
                                      const struct placed *placed,
                                      size_t count)
{
    struct report_blocked row = {.place = line_find(placed, count),
                                 .callers =
                                     callers_find(places, placed, count)};
    ck_time_t rank = 0;

    for (size_t i = 0; i < count; i++) {
        const struct spot *spot = placed[i].spot;
        const struct placed *last = i == 0 ? NULL : &placed[i - 1];
        bool is_new = last == NULL || last->rank != placed[i].rank;

        rank = (is_new ? 0 : rank) + spot->ns;
        row.ranks += is_new;
        row.threads += is_new || last->spot->process != spot->process ||
                       last->spot->tid != spot->tid;
        row.waits += spot->waits;
        row.ns += spot->ns;
        row.longest = spot->longest > row.longest ? spot->longest : row.longest;
        row.is_users |= placed[i].path != CALLPATHS_NONE;
        if (rank > row.rank_ns) {
            row.rank_ns = rank;
            row.rank = placed[i].rank;
        }
    }
    return row;
}

CK_ORDER(most_first, struct report_blocked, CK_DOWN(ns) ?: CK_DOWN(waits))

/* The spots with their places, in order of rows; ck's own code left out. */
static size_t spots_place(const struct blockedplaces *places,
                          struct placed *placed)
{
    const struct defs *defs = places->defs;
    size_t count = 0;

    for (size_t i = 0; i < places->count; i++) {
        const struct spot *spot = &places->spots[i];
        struct evidence_item item = {
            .kind = EVIDENCE_SAMPLE, .a = spot->process, .b = spot->stack};

        placed[count++] = (struct placed){
            .spot = spot,
            .rank = defs->processes[spot->process].rank,
            .place = evidence_place(defs, &item),
            .path = callpaths_number(lookback_paths(places->lookback),
                                     spot->process, spot->stack)};
    }
    if (count > 1) {
        qsort(placed, count, sizeof(*placed), by_row);
    }
    return count;
}

void blockedplaces_report(const struct blockedplaces *places,
                          struct report *report)
{
    struct placed *placed = xcalloc(places->count + 1, sizeof(*placed));
    size_t count = spots_place(places, placed), end;

    report->blocked_sums = places->sums;
    report->blocked = xcalloc(count + 1, sizeof(*report->blocked));
    for (size_t at = 0; at < count; at = end) {
        end = at + 1;
        while (end < count && is_same_row(&placed[at], &placed[end])) {
            end++;
        }
        report->blocked[report->blocked_count++] =
            row_make(places, &placed[at], end - at);
    }
    free(placed);
    if (report->blocked_count > 1) {
        qsort(report->blocked, report->blocked_count, sizeof(*report->blocked),
              most_first);
    }
    if (report->blocked_count > BLOCKEDPLACES_LISTED_MAX) {
        report->blocked_count = BLOCKEDPLACES_LISTED_MAX;
    }
}
