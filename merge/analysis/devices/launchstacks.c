/* launchstacks.c - device work by the stack that launched it
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Work is added up by process, launching call and name. Which launches
 * were before the first stack of their call is known at the end. Where the
 * library that recorded them took stacks of launches, each is joined with what
 * that launch ran, by thread and start of the call, and the work of that name
 * there is divided among its stacks. Else a call that several functions make
 * has the stack that most launches there have, or most of its samples where no
 * launch has one, with their share. A call that no sample met, as most short
 * ones, has the stack of samples in the function that makes it, wherever in it
 * they were.
 */
#include "merge/analysis/devices/launchstacks.h"

#include <stdlib.h>
#include <string.h>

#include "merge/analysis/devices/launchcalls.h"
#include "merge/analysis/devices/launchsamples.h"
#include "merge/analysis/devices/launchways.h"
#include "merge/model/array.h"
#include "merge/model/memory.h"
#include "merge/model/table.h"
#include "schema/order.h"

/* What one call launched. */
struct launched {
    uint32_t process;
    uint64_t site; /* 0 = not known */
    const char *work;
    ck_time_t ns;
    uint64_t launches;
};

/* The stack that a launch has itself. */
struct own {
    uint32_t stack;
    uint32_t launches; /* that it represents */
};

/* Launches of an item with one stack. */
struct joined {
    uint32_t row;
    uint32_t stack;
    ck_time_t first;
    int64_t launches;
};

/* When a call launched, for the counts. */
struct launch {
    uint32_t row;
    ck_time_t time;
    ck_time_t ns;
};

struct launchstacks {
    const struct defs *defs;         /* borrowed */
    const struct lookback *lookback; /* borrowed */
    struct region region;
    struct launchcalls *launchers; /* whose work may come */
    struct table *keys;            /* process, site, name */
    struct launched *items;
    size_t count, room;
    struct launchsamples *samples;
    struct table *calls; /* thread, start: number of its own stack */
    struct own *owns;
    size_t owns_count, owns_room;
    struct table *pairs; /* row, stack */
    struct joined *joined;
    size_t joined_count, joined_room;
    struct launch *early; /* before their call was sampled, as far as known */
    size_t early_count, early_room;
};

/* Launches whose time is kept; of others it is not asked whether they were
 * before the first sample. */
#define EARLY_MAX ((size_t)1 << 17)
/* Launches whose own stacks are kept; work of others has those of its line. */
#define OWNS_MAX ((size_t)1 << 18)

struct launchstacks *launchstacks_create(const struct defs *defs,
                                         const struct lookback *lookback,
                                         struct region region)
{
    struct launchstacks *stacks = xcalloc(1, sizeof(*stacks));

    stacks->defs = defs;
    stacks->lookback = lookback;
    stacks->region = region;
    stacks->launchers = launchcalls_create();
    stacks->keys = table_create();
    stacks->samples = launchsamples_create(defs);
    stacks->calls = table_create();
    stacks->pairs = table_create();
    return stacks;
}

void launchstacks_destroy(struct launchstacks *stacks)
{
    if (stacks != NULL) {
        launchcalls_destroy(stacks->launchers);
        table_destroy(stacks->keys);
        launchsamples_destroy(stacks->samples);
        table_destroy(stacks->calls);
        table_destroy(stacks->pairs);
        free(stacks->owns);
        free(stacks->joined);
        free(stacks->items);
        free(stacks->early);
        free(stacks);
    }
}

/* Until the record of what it launched. */
static void own_keep(struct launchstacks *stacks,
                     const struct timeline_event *event)
{
    const struct ck_stacked *record = (const struct ck_stacked *)event->record;
    size_t number;

    if (stacks->owns_count == OWNS_MAX) {
        return;
    }
    number = (size_t)table_number_of(stacks->calls, event->thread,
                                     (uint64_t)event->start, 0);
    if (number == stacks->owns_count) {
        array_grow(&stacks->owns, &stacks->owns_room, number,
                   sizeof(*stacks->owns));
        stacks->owns_count++;
    }
    stacks->owns[number] = (struct own){record->stack, (uint32_t)record->bytes};
}

/* The stack of a launch itself. */
static void launched_take(struct launchstacks *stacks,
                          const struct timeline_event *event)
{
    const struct ck_stacked *record = (const struct ck_stacked *)event->record;
    struct launchsample sample = {.process = event->process,
                                  .stack = record->stack,
                                  .first = event->start,
                                  .ns = (int64_t)record->bytes,
                                  .launches = (int64_t)record->bytes};

    if (record->e.kind == CK_KIND_LAUNCHED && record->stack != 0 &&
        record->bytes > 0 && record->bytes <= UINT16_MAX) {
        launchsamples_add(stacks->samples, &sample);
        own_keep(stacks, event);
    }
}

static void sample_take(struct launchstacks *stacks,
                        const struct timeline_event *event)
{
    const struct ck_sample *record = (const struct ck_sample *)event->record;
    uint32_t process = history_process(
        lookback_history(stacks->lookback),
        stacks->defs->processes[event->process].agent, event->record->name);
    bool is_wait = record->e.kind == CK_KIND_OFF_CPU;
    /* A wait shows a way, not how often it was taken. */
    struct launchsample sample = {.process = process,
                                  .stack = (uint32_t)record->stack,
                                  .first = event->start,
                                  .ns = is_wait ? 1 : record->weight};

    if (process == DEFS_NONE || record->stack == 0 ||
        record->stack > UINT32_MAX || record->weight <= 0 ||
        (record->weight > UINT32_MAX && !is_wait)) {
        return;
    }
    launchsamples_add(stacks->samples, &sample);
}

/* Who launched a kernel or a copy. */
struct launcher {
    uint32_t tid;
    uint32_t call;
    const char *work;
};

static struct launcher launcher_of(const struct launchstacks *stacks,
                                   const struct timeline_event *event)
{
    const struct ck_kernel *kernel = (const struct ck_kernel *)event->record;
    const struct ck_copy *copy = (const struct ck_copy *)event->record;

    if (ck_kind_class(event->record->kind) == CK_CLASS_COPY) {
        return (struct launcher){copy->tid, copy->call,
                                 ck_kind_name(event->record->kind)};
    }
    return (struct launcher){
        kernel->tid, kernel->call,
        defs_name(stacks->defs, event->process, event->record->name)};
}

/* What was launched, with the stack of that very launch. */
static void own_join(struct launchstacks *stacks,
                     uint32_t row,
                     uint32_t thread,
                     ck_time_t start)
{
    const struct table_key key = {thread, (uint64_t)start, 0};
    int64_t call = table_find(stacks->calls, key);
    size_t number;

    if (call < 0) {
        return;
    }
    number = (size_t)table_number_of(stacks->pairs, row,
                                     stacks->owns[call].stack, 0);
    if (number == stacks->joined_count) {
        array_grow(&stacks->joined, &stacks->joined_room, number,
                   sizeof(*stacks->joined));
        stacks->joined[stacks->joined_count++] =
            (struct joined){row, stacks->owns[call].stack, start, 0};
    }
    stacks->joined[number].launches += stacks->owns[call].launches;
}

static void work_take(struct launchstacks *stacks,
                      const struct timeline_event *event)
{
    struct launcher launcher = launcher_of(stacks, event);
    const struct launchcall *call = launchcalls_find(
        stacks->launchers, event->process, launcher.tid, launcher.call);
    uint64_t site = call == NULL ? 0 : call->site;
    int64_t number = table_number_of(stacks->keys, event->process, site,
                                     (uint64_t)(uintptr_t)launcher.work);

    if ((size_t)number == stacks->count) {
        array_grow(&stacks->items, &stacks->room, stacks->count,
                   sizeof(*stacks->items));
        stacks->items[stacks->count++] = (struct launched){
            .process = event->process, .site = site, .work = launcher.work};
    }
    stacks->items[number].ns += event->end - event->start;
    stacks->items[number].launches++;
    if (call != NULL) {
        own_join(stacks, (uint32_t)number, call->thread, call->start);
    }
    if (call != NULL && stacks->early_count < EARLY_MAX) {
        array_grow(&stacks->early, &stacks->early_room, stacks->early_count,
                   sizeof(*stacks->early));
        stacks->early[stacks->early_count++] =
            (struct launch){.row = (uint32_t)number,
                            .time = call->start,
                            .ns = event->end - event->start};
    }
}

void launchstacks_take(struct launchstacks *stacks,
                       const struct timeline_event *event)
{
    if (ck_kind_class(event->record->kind) == CK_CLASS_CALL) {
        if (event->thread < stacks->defs->threads_count) {
            launchcalls_take(stacks->launchers, event,
                             stacks->defs->threads[event->thread].tid);
        }
        return;
    }
    if (event->start < stacks->region.start ||
        event->start >= stacks->region.end) {
        return;
    }
    if (ck_kind_class(event->record->kind) == CK_CLASS_STACKED) {
        launched_take(stacks, event);
    } else if (event->record->kind == CK_KIND_SAMPLE ||
               event->record->kind == CK_KIND_OFF_CPU) {
        sample_take(stacks, event);
    } else if ((event->record->flags & CK_FLAG_BAD_TIME) == 0 &&
               defs_is_wanted(stacks->defs, event->rank)) {
        work_take(stacks, event);
    }
}

/* ---- rows ---------------------------------------------------------------- */

/* A way, outermost first; frames without a function are left out. */
static void frames_fill(const struct defs *defs,
                        const struct launched *item,
                        const struct launchway *best,
                        struct report_launch_row *row)
{
    struct place found[REPORT_LAUNCH_FRAMES];
    size_t count = 0;

    if (row->is_by_function) {
        found[count++] = row->place;
    }
    for (uint32_t at = best->at;
         at < best->stack->depth && count < REPORT_LAUNCH_FRAMES; at++) {
        struct place place =
            defs_place(defs, item->process, best->stack->frames[at]);

        if (place.function != NULL && strcmp(place.function, "_start") != 0) {
            found[count++] = place;
        }
    }
    row->frames_count = count;
    for (size_t i = 0; i < count; i++) {
        row->frames[i] = found[count - 1 - i];
    }
}

static int by_ns(const void *left, const void *right)
{
    const struct report_launch_row *a = left;
    const struct report_launch_row *b = right;

    return (a->ns < b->ns) - (a->ns > b->ns);
}

/* Launches of a call that was sampled are joined with that stack. */
static void counts_add(struct report_launch_stacks *report,
                       const struct launched *item,
                       const struct launchways *ways)
{
    if (item->site == 0) {
        report->unknown += item->launches;
        report->unknown_ns += item->ns;
    } else if (ways->count == 0) {
        report->unmatched += item->launches;
        report->unmatched_ns += item->ns;
    } else if (ways->by == LAUNCHWAYS_FUNCTION) {
        report->by_function += item->launches;
        report->by_function_ns += item->ns;
    } else {
        report->matched += item->launches;
        report->matched_ns += item->ns;
    }
}

/* Of those joined, the ones before the first sample of their call. */
static void deferred_count(const struct launchstacks *stacks,
                           const ck_time_t *firsts,
                           struct report_launch_stacks *report)
{
    for (size_t i = 0; i < stacks->early_count; i++) {
        const struct launch *launch = &stacks->early[i];

        if (firsts[launch->row] != INT64_MAX &&
            launch->time < firsts[launch->row]) {
            report->matched--;
            report->matched_ns -= launch->ns;
            report->deferred++;
            report->deferred_ns += launch->ns;
        }
    }
}

CK_ORDER(by_row, struct joined, CK_UP(row) ?: CK_UP(stack))
CK_BEFORE(joined_before, struct joined, uint32_t, a->row < key)
CK_ORDER_POINTERS(longest_first, struct launched, CK_DOWN(ns) ?: CK_LESS(a, b))

/* The rows as they are made. */
struct making {
    const struct launchstacks *stacks;
    struct report_launch_stacks *to;
    size_t room;
    struct table *calls; /* process, site */
    struct launchways *ways;
    size_t ways_count, ways_room;
};

static void row_add(struct making *making, const struct report_launch_row *row)
{
    struct report_launch_stacks *to = making->to;

    if (to->count == LAUNCHSTACKS_ROWS_MAX) {
        to->left_out += row->launches;
        to->left_out_ns += row->ns;
        return;
    }
    array_grow(&to->rows, &making->room, to->count, sizeof(*to->rows));
    to->rows[to->count++] = *row;
}

/* Of the item's call, made once. */
static const struct launchways *ways_of(struct making *making,
                                        const struct launched *item)
{
    size_t number =
        (size_t)table_number_of(making->calls, item->process, item->site, 0);

    if (number == making->ways_count) {
        array_grow(&making->ways, &making->ways_room, number,
                   sizeof(*making->ways));
        launchsamples_ways(making->stacks->samples, item->process, item->site,
                           &making->ways[making->ways_count++]);
    }
    return &making->ways[number];
}

/* By the stacks of the item's own launches. */
static void own_ways(const struct launchstacks *stacks,
                     const struct launched *item,
                     struct launchways *ways)
{
    uint32_t row = (uint32_t)(item - stacks->items);
    size_t low = joined_before(stacks->joined, stacks->joined_count, row);

    launchways_init(ways, LAUNCHWAYS_WORK);
    for (; low < stacks->joined_count && stacks->joined[low].row == row;
         low++) {
        const struct joined *joined = &stacks->joined[low];
        const struct launchsample sample = {.process = item->process,
                                            .stack = joined->stack,
                                            .first = joined->first,
                                            .launches = joined->launches};

        launchsamples_line(stacks->samples, item->site, &sample, ways);
    }
}

/* A row for each way, with its part of the item. */
static void item_divide(struct making *making,
                        const struct launched *item,
                        const struct launchways *ways,
                        const struct report_launch_row *whole)
{
    struct report_launch_row row = *whole;
    double all = (double)ways->weight, sum = 0;
    ck_time_t ns = 0; /* in rows */
    uint64_t launches = 0;

    row.share = 1;
    for (size_t i = 0; i < ways->count; i++) {
        bool is_last = i + 1 == ways->count;

        sum += (double)ways->items[i].weight;
        row.ns = is_last ? item->ns : (ck_time_t)((double)item->ns * sum / all);
        row.launches = is_last ? item->launches
                               : (uint64_t)((double)item->launches * sum / all);
        row.ns -= ns;
        row.launches -= launches;
        ns += row.ns;
        launches += row.launches;
        frames_fill(making->stacks->defs, item, &ways->items[i], &row);
        row_add(making, &row);
    }
}

/* What a call launched: a row, or one for each stack of launches. */
static void item_report(struct making *making,
                        const struct launched *item,
                        const struct launchways *ways)
{
    const struct defs *defs = making->stacks->defs;
    struct report_launch_row row = {
        .rank = defs->processes[item->process].rank,
        .work = item->work,
        .place = defs_place(defs, item->process, item->site),
        .is_by_function = ways->count > 0 && ways->by == LAUNCHWAYS_FUNCTION,
        .ns = item->ns,
        .launches = item->launches};

    if (ways->by == LAUNCHWAYS_WORK) {
        item_divide(making, item, ways, &row);
        return;
    }
    if (ways->count > 0) {
        const struct launchway *way = launchways_heaviest(ways);

        row.share = (double)way->weight / (double)ways->weight;
        frames_fill(defs, item, way, &row);
    }
    row_add(making, &row);
}

/* The rows, longest work first; firsts[i] becomes when the first stack of an
 * item was. */
static void items_report(struct making *making, ck_time_t *firsts)
{
    const struct launchstacks *stacks = making->stacks;
    const struct launched **order = xcalloc(stacks->count + 1, sizeof(*order));

    for (size_t i = 0; i < stacks->count; i++) {
        order[i] = &stacks->items[i];
    }
    if (stacks->count > 1) {
        qsort(order, stacks->count, sizeof(*order), longest_first);
    }
    for (size_t i = 0; i < stacks->count; i++) {
        const struct launched *item = order[i];
        struct launchways own;
        const struct launchways *ways = &own;

        own_ways(stacks, item, &own);
        if (own.count == 0) {
            ways = ways_of(making, item);
        }
        item_report(making, item, ways);
        counts_add(making->to, item, ways);
        firsts[item - stacks->items] =
            ways->by == LAUNCHWAYS_FUNCTION ? INT64_MAX : ways->first;
        launchways_fini(&own);
    }
    free(order);
}

static void rows_report(const struct launchstacks *stacks,
                        ck_time_t *firsts,
                        struct report_launch_stacks *to)
{
    struct making making = {
        .stacks = stacks, .to = to, .calls = table_create()};

    items_report(&making, firsts);
    for (size_t i = 0; i < making.ways_count; i++) {
        launchways_fini(&making.ways[i]);
    }
    free(making.ways);
    table_destroy(making.calls);
}

void launchstacks_report(struct launchstacks *stacks, struct report *report)
{
    struct report_launch_stacks *to = &report->launch_stacks;
    ck_time_t *firsts = xcalloc(stacks->count + 1, sizeof(*firsts));

    launchsamples_close(stacks->samples);
    if (stacks->joined_count > 1) {
        qsort(stacks->joined, stacks->joined_count, sizeof(*stacks->joined),
              by_row);
    }
    rows_report(stacks, firsts, to);
    deferred_count(stacks, firsts, to);
    free(firsts);
    if (to->count > 1) {
        qsort(to->rows, to->count, sizeof(*to->rows), by_ns);
    }
    to->listed = to->count < LAUNCHSTACKS_LISTED_MAX ? to->count
                                                     : LAUNCHSTACKS_LISTED_MAX;
}
