/* launchstacks.c - device work by the stack that launched it
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Work is added up by process, launching call and name. Which launches
 * were before the first stack of their call is known at the end. Where the
 * library that recorded them took stacks of launches, these count alone, and
 * what a call launched is divided among them. Else a call that several
 * functions make has the stack that most of its samples have, with their share.
 * A call that no sample met, as most short ones, has the stack of samples in
 * the function that makes it, wherever in it they were.
 */
#include "merge/analysis/devices/launchstacks.h"

#include <stdlib.h>
#include <string.h>

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
    struct table *keys; /* process, site, name */
    struct launched *items;
    size_t count, room;
    struct table *stacks; /* process, stack */
    struct sampled *samples;
    size_t samples_count, samples_room;
    struct table *functions; /* process, function: number of its passes */
    struct pass *passes;     /* by function, once all samples were taken */
    size_t passes_count, passes_room;
    struct launch *early; /* before their call was sampled, as far as known */
    size_t early_count, early_room;
};

/* Launches whose time is kept; of others it is not asked whether they were
 * before the first sample. */
#define EARLY_MAX ((size_t)1 << 17)

struct launchstacks *launchstacks_create(const struct defs *defs,
                                         const struct lookback *lookback,
                                         struct region region)
{
    struct launchstacks *stacks = xcalloc(1, sizeof(*stacks));

    stacks->defs = defs;
    stacks->lookback = lookback;
    stacks->region = region;
    stacks->keys = table_create();
    stacks->stacks = table_create();
    stacks->functions = table_create();
    return stacks;
}

void launchstacks_destroy(struct launchstacks *stacks)
{
    if (stacks != NULL) {
        table_destroy(stacks->keys);
        table_destroy(stacks->stacks);
        table_destroy(stacks->functions);
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

static void work_take(struct launchstacks *stacks,
                      const struct timeline_event *event)
{
    const struct history *host = lookback_history(stacks->lookback);
    struct launcher launcher = launcher_of(stacks, event);
    uint32_t thread = history_thread(host, event->process, launcher.tid);
    const struct history_span *call =
        thread == HISTORY_NONE || launcher.call == 0
            ? NULL
            : history_call_span(host, thread, launcher.call);
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

    return sample->stack > agent->stacks_count
               ? NULL
               : &agent->stacks[sample->stack - 1];
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

/* One way to a call. */
struct way {
    uint64_t hash; /* of the frames from the call outwards */
    const struct defs_stack *stack;
    uint32_t at;
    int64_t ns;
};

static uint64_t way_hash(const struct defs_stack *stack, uint32_t at)
{
    uint64_t hash = 0x9e3779b97f4a7c15u;

    for (; at < stack->depth; at++) {
        hash = (hash ^ stack->frames[at]) * 0xff51afd7ed558ccdu;
        hash ^= hash >> 32;
    }
    return hash;
}

/* The ways of one call. */
struct ways {
    struct way *items;
    size_t count, room;
    int64_t ns; /* of all */
    ck_time_t first;
    bool is_of_launches;
};

static void ways_add(struct ways *ways,
                     const struct sampled *sample,
                     const struct defs_stack *stack,
                     uint32_t at)
{
    struct way way = {way_hash(stack, at), stack, at, 0};
    int64_t weight;
    size_t i = 0;

    while (i < ways->count && ways->items[i].hash != way.hash) {
        i++;
    }
    if (i == ways->count) {
        array_grow(&ways->items, &ways->room, i, sizeof(*ways->items));
        ways->items[ways->count++] = way;
    }
    weight = ways->is_of_launches ? sample->launches : sample->ns;
    ways->items[i].ns += weight;
    ways->ns += weight;
    ways->first = sample->first < ways->first ? sample->first : ways->first;
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

/* By stacks of launches, or by all others. */
static struct ways ways_of(const struct launchstacks *stacks,
                           const struct launched *item,
                           bool is_of_launches)
{
    const struct defs_agent *agent =
        &stacks->defs->agents[stacks->defs->processes[item->process].agent];
    struct ways ways = {.first = INT64_MAX, .is_of_launches = is_of_launches};

    for (size_t i = samples_first(stacks, item->process);
         item->site != 0 && i < stacks->samples_count &&
         stacks->samples[i].process == item->process;
         i++) {
        const struct sampled *sample = &stacks->samples[i];
        const struct defs_stack *stack;
        uint32_t at;

        if (sample->stack > agent->stacks_count ||
            (is_of_launches && sample->launches == 0)) {
            continue;
        }
        stack = &agent->stacks[sample->stack - 1];
        at = site_find(stacks->defs, item, stack);
        if (at < stack->depth) {
            ways_add(&ways, sample, stack, at);
        }
    }
    return ways;
}

static struct ways ways_find(const struct launchstacks *stacks,
                             const struct launched *item)
{
    struct ways ways = ways_of(stacks, item, true);

    return ways.count > 0 ? ways : ways_of(stacks, item, false);
}

/* The same by the function that makes the call. */
static struct ways function_ways(const struct launchstacks *stacks,
                                 const struct launched *item)
{
    struct place place = defs_place(stacks->defs, item->process, item->site);
    struct table_key key = {item->process, (uint64_t)(uintptr_t)place.function,
                            (uint64_t)(uintptr_t)place.file};
    struct ways ways = {.first = INT64_MAX};
    int64_t number;

    number = place.function == NULL || place.file == NULL
                 ? -1
                 : table_find(stacks->functions, key);
    for (size_t i = number < 0 ? stacks->passes_count
                               : passes_first(stacks, (uint32_t)number);
         i < stacks->passes_count && stacks->passes[i].function == number;
         i++) {
        const struct pass *pass = &stacks->passes[i];
        const struct sampled *sample = &stacks->samples[pass->sample];

        /* From its caller outwards: the line in it is another one. */
        ways_add(&ways, sample, stack_of(stacks, sample), pass->at + 1);
    }
    return ways;
}

static const struct way *heaviest(const struct ways *ways)
{
    const struct way *best = &ways->items[0];

    for (size_t i = 1; i < ways->count; i++) {
        best = ways->items[i].ns > best->ns ? &ways->items[i] : best;
    }
    return best;
}

/* A way, outermost first; frames without a function are left out. */
static void frames_fill(const struct defs *defs,
                        const struct launched *item,
                        const struct way *best,
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
                       const struct ways *ways,
                       bool is_by_function)
{
    if (item->site == 0) {
        report->unknown += item->launches;
        report->unknown_ns += item->ns;
    } else if (is_by_function) {
        report->by_function += item->launches;
        report->by_function_ns += item->ns;
    } else if (ways->count == 0) {
        report->unmatched += item->launches;
        report->unmatched_ns += item->ns;
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

static void row_add(struct report_launch_stacks *to,
                    size_t *room,
                    const struct report_launch_row *row)
{
    array_grow(&to->rows, room, to->count, sizeof(*to->rows));
    to->rows[to->count++] = *row;
}

/* What a call launched: a row, or one for each stack of launches. */
static void item_report(const struct launchstacks *stacks,
                        const struct launched *item,
                        const struct ways *ways,
                        const struct report_launch_row *whole,
                        size_t *room,
                        struct report_launch_stacks *to)
{
    struct report_launch_row row = *whole;
    ck_time_t ns = item->ns;
    uint64_t launches = item->launches;

    for (size_t i = 1; ways->is_of_launches && i < ways->count; i++) {
        double part = (double)ways->items[i].ns / (double)ways->ns;

        row.share = 1;
        row.ns = (ck_time_t)((double)item->ns * part);
        row.launches = (uint64_t)((double)item->launches * part);
        frames_fill(stacks->defs, item, &ways->items[i], &row);
        ns -= row.ns;
        launches -= row.launches;
        row_add(to, room, &row);
    }
    row = *whole;
    row.ns = ns;
    row.launches = launches;
    if (ways->count > 0) {
        const struct way *way =
            ways->is_of_launches ? &ways->items[0] : heaviest(ways);

        row.share =
            ways->is_of_launches ? 1 : (double)way->ns / (double)ways->ns;
        frames_fill(stacks->defs, item, way, &row);
    }
    row_add(to, room, &row);
}

/* The rows; firsts[i] becomes when the first stack of an item was. */
static void items_report(const struct launchstacks *stacks,
                         ck_time_t *firsts,
                         struct report_launch_stacks *to)
{
    size_t room = 0;

    for (size_t i = 0; i < stacks->count; i++) {
        const struct launched *item = &stacks->items[i];
        struct ways ways = ways_find(stacks, item);
        struct report_launch_row row = {
            .rank = stacks->defs->processes[item->process].rank,
            .work = item->work,
            .place = defs_place(stacks->defs, item->process, item->site)};

        if (ways.count == 0 && item->site != 0) {
            ways = function_ways(stacks, item);
            row.is_by_function = ways.count > 0;
        }
        item_report(stacks, item, &ways, &row, &room, to);
        counts_add(to, item, &ways, row.is_by_function);
        firsts[i] = row.is_by_function ? INT64_MAX : ways.first;
        free(ways.items);
    }
}

void launchstacks_report(struct launchstacks *stacks, struct report *report)
{
    struct report_launch_stacks *to = &report->launch_stacks;
    ck_time_t *firsts = xcalloc(stacks->count + 1, sizeof(*firsts));

    if (stacks->samples_count > 1) {
        qsort(stacks->samples, stacks->samples_count, sizeof(*stacks->samples),
              by_process);
    }
    passes_make(stacks);
    items_report(stacks, firsts, to);
    deferred_count(stacks, firsts, to);
    free(firsts);
    if (to->count > 1) {
        qsort(to->rows, to->count, sizeof(*to->rows), by_ns);
    }
    to->listed = to->count < LAUNCHSTACKS_LISTED_MAX ? to->count
                                                     : LAUNCHSTACKS_LISTED_MAX;
}
