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

/* Samples of a process with one stack. */
struct sampled {
    uint32_t process;
    uint32_t stack;
    ck_time_t first;
    int64_t ns;
    int64_t launches; /* that have it, about */
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

/* A stack leads through a function: by its innermost frame there. */
struct pass {
    uint32_t function; /* number */
    uint32_t sample;
    uint32_t at; /* frame */
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
    struct table *stacks; /* process, stack */
    struct sampled *samples;
    size_t samples_count, samples_room;
    struct table *functions; /* process, function: number of its passes */
    struct pass *passes;     /* by function, once all samples were taken */
    size_t passes_count, passes_room;
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
    stacks->stacks = table_create();
    stacks->functions = table_create();
    stacks->calls = table_create();
    stacks->pairs = table_create();
    return stacks;
}

void launchstacks_destroy(struct launchstacks *stacks)
{
    if (stacks != NULL) {
        launchcalls_destroy(stacks->launchers);
        table_destroy(stacks->keys);
        table_destroy(stacks->stacks);
        table_destroy(stacks->functions);
        table_destroy(stacks->calls);
        table_destroy(stacks->pairs);
        free(stacks->owns);
        free(stacks->joined);
        free(stacks->passes);
        free(stacks->items);
        free(stacks->samples);
        free(stacks->early);
        free(stacks);
    }
}

static struct sampled *sample_find(struct launchstacks *stacks,
                                   uint32_t process,
                                   uint32_t stack,
                                   ck_time_t time)
{
    int64_t number = table_number_of(stacks->stacks, process, stack, 0);

    if ((size_t)number == stacks->samples_count) {
        array_grow(&stacks->samples, &stacks->samples_room,
                   stacks->samples_count, sizeof(*stacks->samples));
        stacks->samples[stacks->samples_count++] =
            (struct sampled){.process = process, .stack = stack, .first = time};
    }
    return &stacks->samples[number];
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
    struct sampled *sample;

    if (record->e.kind == CK_KIND_LAUNCHED && record->stack != 0 &&
        record->bytes > 0 && record->bytes <= UINT16_MAX) {
        sample =
            sample_find(stacks, event->process, record->stack, event->start);
        sample->launches += (int64_t)record->bytes;
        sample->ns += (int64_t)record->bytes;
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

    if (process == DEFS_NONE || record->stack == 0 ||
        record->stack > UINT32_MAX || record->weight <= 0 ||
        (record->weight > UINT32_MAX && !is_wait)) {
        return;
    }
    /* A wait shows a way, not how often it was taken. */
    sample_find(stacks, process, (uint32_t)record->stack, event->start)->ns +=
        is_wait ? 1 : record->weight;
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

static bool is_same(const struct place *a, const struct place *b)
{
    /* Kept texts: equal ones are one pointer. */
    return a->function == b->function && a->file == b->file &&
           a->line == b->line;
}

/* The frame of the launching call in a stack: its return address, or its line
 * of Python, which has other numbers there. `depth` = there is none. */
static uint32_t site_find(const struct defs *defs,
                          const struct launched *item,
                          const struct defs_stack *stack)
{
    struct place place = defs_place(defs, item->process, item->site);
    uint32_t at = 0;

    if (item->site < CK_SITE_TOLD) {
        while (at < stack->depth && stack->frames[at] != item->site) {
            at++;
        }
        return at;
    }
    for (; at < stack->depth; at++) {
        struct place its;

        if (stack->frames[at] < CK_SITE_TOLD || place.file == NULL) {
            continue;
        }
        its = defs_place(defs, item->process, stack->frames[at]);
        if (is_same(&its, &place)) {
            break;
        }
    }
    return at;
}

/* ---- functions ----------------------------------------------------------- */

/* Their stack, NULL = it is not there. */
static const struct defs_stack *stack_of(const struct launchstacks *stacks,
                                         const struct sampled *sample)
{
    const struct defs_agent *agent =
        &stacks->defs->agents[stacks->defs->processes[sample->process].agent];

    return defs_stack_find(agent, sample->stack);
}

static void pass_add(struct launchstacks *stacks, uint32_t sample, uint32_t at)
{
    const struct sampled *of = &stacks->samples[sample];
    struct place place =
        defs_place(stacks->defs, of->process, stack_of(stacks, of)->frames[at]);
    uint32_t number;

    if (place.function == NULL || place.file == NULL) {
        return;
    }
    number = (uint32_t)table_number_of(stacks->functions, of->process,
                                       (uint64_t)(uintptr_t)place.function,
                                       (uint64_t)(uintptr_t)place.file);
    for (size_t i = stacks->passes_count;
         i-- > 0 && stacks->passes[i].sample == sample;) {
        if (stacks->passes[i].function == number) {
            return; /* it calls itself */
        }
    }
    array_grow(&stacks->passes, &stacks->passes_room, stacks->passes_count,
               sizeof(*stacks->passes));
    stacks->passes[stacks->passes_count++] = (struct pass){number, sample, at};
}

CK_ORDER(by_function, struct pass, CK_UP(function) ?: CK_UP(sample))

/* Which functions each stack leads through. */
static void passes_make(struct launchstacks *stacks)
{
    for (size_t i = 0; i < stacks->samples_count; i++) {
        const struct defs_stack *stack = stack_of(stacks, &stacks->samples[i]);

        for (uint32_t at = 0; stack != NULL && at < stack->depth; at++) {
            pass_add(stacks, (uint32_t)i, at);
        }
    }
    if (stacks->passes_count > 1) {
        qsort(stacks->passes, stacks->passes_count, sizeof(*stacks->passes),
              by_function);
    }
}

/* Where the passes of a function begin. */
static size_t passes_first(const struct launchstacks *stacks, uint32_t function)
{
    size_t low = 0, high = stacks->passes_count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (stacks->passes[middle].function < function) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

/* Where the samples of that process begin, in order of processes. */
static size_t samples_first(const struct launchstacks *stacks, uint32_t process)
{
    size_t low = 0, high = stacks->samples_count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (stacks->samples[middle].process < process) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

/* A stack by which the item was launched. Nothing where it is not in it. */
static void line_add(const struct launchstacks *stacks,
                     const struct launched *item,
                     const struct sampled *sample,
                     int64_t weight,
                     struct launchways *ways)
{
    struct launchway way = {.stack = stack_of(stacks, sample),
                            .weight = weight};

    if (way.stack != NULL) {
        way.at = site_find(stacks->defs, item, way.stack);
        if (way.at < way.stack->depth) {
            launchways_add(ways, &way, sample->first);
        }
    }
}

/* By stacks of launches there, or by all others. */
static void line_ways(const struct launchstacks *stacks,
                      const struct launched *item,
                      bool is_of_launches,
                      struct launchways *ways)
{
    for (size_t i = samples_first(stacks, item->process);
         item->site != 0 && i < stacks->samples_count &&
         stacks->samples[i].process == item->process;
         i++) {
        const struct sampled *sample = &stacks->samples[i];

        if (!is_of_launches || sample->launches > 0) {
            line_add(stacks, item, sample,
                     is_of_launches ? sample->launches : sample->ns, ways);
        }
    }
}

/* By the function that makes the call. */
static void function_ways(const struct launchstacks *stacks,
                          const struct launched *item,
                          struct launchways *ways)
{
    struct place place = defs_place(stacks->defs, item->process, item->site);
    struct table_key key = {item->process, (uint64_t)(uintptr_t)place.function,
                            (uint64_t)(uintptr_t)place.file};
    int64_t number;

    number = item->site == 0 || place.function == NULL || place.file == NULL
                 ? -1
                 : table_find(stacks->functions, key);
    for (size_t i = number < 0 ? stacks->passes_count
                               : passes_first(stacks, (uint32_t)number);
         i < stacks->passes_count && stacks->passes[i].function == number;
         i++) {
        const struct pass *pass = &stacks->passes[i];
        const struct sampled *sample = &stacks->samples[pass->sample];
        /* From its caller outwards: the line in it is another one. */
        const struct launchway way = {stack_of(stacks, sample), pass->at + 1,
                                      sample->ns};

        launchways_add(ways, &way, sample->first);
    }
}

/* Of a call, whatever it launched. */
static void call_ways(const struct launchstacks *stacks,
                      const struct launched *item,
                      struct launchways *ways)
{
    launchways_init(ways, LAUNCHWAYS_LINE);
    line_ways(stacks, item, true, ways);
    if (ways->count == 0) {
        line_ways(stacks, item, false, ways);
    }
    if (ways->count == 0) {
        ways->by = LAUNCHWAYS_FUNCTION;
        function_ways(stacks, item, ways);
    }
}

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

CK_ORDER(by_process, struct sampled, CK_UP(process) ?: CK_UP(stack))

CK_ORDER(by_row, struct joined, CK_UP(row) ?: CK_UP(stack))
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
        call_ways(making->stacks, item, &making->ways[making->ways_count++]);
    }
    return &making->ways[number];
}

/* By the stacks of the item's own launches. */
static void own_ways(const struct launchstacks *stacks,
                     const struct launched *item,
                     struct launchways *ways)
{
    uint32_t row = (uint32_t)(item - stacks->items);
    size_t low = 0, high = stacks->joined_count;

    launchways_init(ways, LAUNCHWAYS_WORK);
    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (stacks->joined[middle].row < row) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    for (; low < stacks->joined_count && stacks->joined[low].row == row;
         low++) {
        const struct joined *joined = &stacks->joined[low];
        const struct sampled sample = {.process = item->process,
                                       .stack = joined->stack,
                                       .first = joined->first};

        line_add(stacks, item, &sample, joined->launches, ways);
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

    if (stacks->samples_count > 1) {
        qsort(stacks->samples, stacks->samples_count, sizeof(*stacks->samples),
              by_process);
    }
    if (stacks->joined_count > 1) {
        qsort(stacks->joined, stacks->joined_count, sizeof(*stacks->joined),
              by_row);
    }
    passes_make(stacks);
    rows_report(stacks, firsts, to);
    deferred_count(stacks, firsts, to);
    free(firsts);
    if (to->count > 1) {
        qsort(to->rows, to->count, sizeof(*to->rows), by_ns);
    }
    to->listed = to->count < LAUNCHSTACKS_LISTED_MAX ? to->count
                                                     : LAUNCHSTACKS_LISTED_MAX;
}
