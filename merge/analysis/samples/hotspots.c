/* hotspots.c - where the ranks' threads computed, by samples
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "merge/analysis/samples/hotspots.h"

#include <stdlib.h>
#include <string.h>

#include "merge/analysis/history/evidence.h"
#include "merge/analysis/samples/hotcallers.h"
#include "merge/analysis/samples/lastsamples.h"
#include "merge/model/array.h"
#include "merge/model/cause.h"
#include "merge/model/memory.h"
#include "merge/model/table.h"
#include "schema/order.h"

/* Samples of one line, of one range, behind one call, of a process. */
struct spot {
    struct place place;
    const char *range; /* innermost, NULL = none */
    const char *after; /* the call left last, NULL = none */
    struct place after_place;
    int32_t rank;
    bool is_own; /* ck's code */
    ck_time_t ns;
};

struct hotspots {
    const struct defs *defs;         /* borrowed */
    const struct lookback *lookback; /* borrowed */
    struct region region;
    struct table *befores; /* process, name, site */
    struct table *stacks;  /* process, stack | before, range */
    struct spot *spots;    /* by number of the key */
    size_t count, room;
    struct report_samples sums;
    struct lastsamples *last;
};

struct hotspots *hotspots_create(const struct defs *defs,
                                 const struct lookback *lookback,
                                 struct region region)
{
    struct hotspots *hotspots = xcalloc(1, sizeof(*hotspots));

    hotspots->defs = defs;
    hotspots->lookback = lookback;
    hotspots->region = region;
    hotspots->befores = table_create();
    hotspots->stacks = table_create();
    hotspots->last = lastsamples_create(defs);
    return hotspots;
}

void hotspots_destroy(struct hotspots *hotspots)
{
    if (hotspots == NULL) {
        return;
    }
    table_destroy(hotspots->befores);
    table_destroy(hotspots->stacks);
    lastsamples_destroy(hotspots->last);
    free(hotspots->spots);
    free(hotspots);
}

static void
state_take(void *state, struct region piece, const struct history_state *did)
{
    struct history_state *kept = state;

    (void)piece;
    *kept = *did;
}

/* In a call of MPI or of a device, if it was in one. */
static bool
is_call_time(struct hotspots *hotspots, unsigned kind, ck_time_t weight)
{
    switch (kind) {
    case CK_KIND_POSIX:
        return false;
    case CK_KIND_API_OPENCL:
    case CK_KIND_API_CUDA_RUNTIME:
    case CK_KIND_API_CUDA_DRIVER:
    case CK_KIND_API_NEURON:
    case CK_KIND_NCCL:
    case CK_KIND_NCCL_CALL:
    case CK_KIND_SYNC:
        hotspots->sums.device_api += weight;
        return true;
    default:
        hotspots->sums.mpi += weight;
        return true;
    }
}

/* A number of the call that the thread left last; 0 = none. */
static int64_t before_number(struct hotspots *hotspots,
                             const struct history_span *before)
{
    int64_t number;

    if (before == NULL) {
        return 0;
    }
    number = table_number(
        hotspots->befores,
        (struct table_key){before->process, before->name, before->site});
    return number + 1;
}

static struct spot spot_of(const struct hotspots *hotspots,
                           const struct evidence_item *item,
                           const char *range,
                           const struct history_span *before)
{
    const struct defs *defs = hotspots->defs;
    struct spot spot = {.place = evidence_place(defs, item),
                        .range = range,
                        .is_own = evidence_is_own(defs, item),
                        .rank = defs->processes[item->a].rank};

    if (before != NULL) {
        spot.after = defs_name(defs, before->process, before->name);
        spot.after_place = defs_place(defs, before->process, before->site);
    }
    return spot;
}

static void spot_add(struct hotspots *hotspots,
                     const struct evidence_item *item,
                     const struct history_state *did)
{
    int64_t before = before_number(hotspots, did->before);
    const char *range =
        did->range == NULL
            ? NULL
            : defs_name(hotspots->defs, did->range->process, did->range->name);
    int64_t number = table_number(
        hotspots->stacks,
        (struct table_key){item->a, (uint64_t)before << 32 | item->b,
                           (uint64_t)(uintptr_t)range});

    if ((size_t)number == hotspots->count) {
        array_grow(&hotspots->spots, &hotspots->room, hotspots->count,
                   sizeof(*hotspots->spots));
        hotspots->spots[hotspots->count++] =
            spot_of(hotspots, item, range, did->before);
    }
    hotspots->spots[number].ns += item->weight;
}

static void sample_take(struct hotspots *hotspots,
                        const struct timeline_event *event)
{
    const struct ck_sample *record = (const struct ck_sample *)event->record;
    const struct history *host = lookback_history(hotspots->lookback);
    struct region moment = {event->start, event->start + 1};
    struct history_state did = {.is_known = false};
    struct evidence_item item = {.kind = EVIDENCE_SAMPLE,
                                 .b = (uint32_t)record->stack,
                                 .weight = record->weight};
    uint32_t thread;

    item.a =
        history_process(host, hotspots->defs->processes[event->process].agent,
                        event->record->name);
    if (record->weight <= 0 || item.a == DEFS_NONE ||
        !defs_is_wanted(hotspots->defs,
                        hotspots->defs->processes[item.a].rank)) {
        return;
    }
    thread = history_thread(host, item.a, record->tid);
    if (thread != HISTORY_NONE) {
        history_walk(host, thread, moment, state_take, &did);
    }
    hotspots->sums.total += record->weight;
    hotspots->sums.count++;
    if (did.call != NULL &&
        is_call_time(hotspots, did.call->kind, record->weight)) {
        return;
    }
    if (thread == lookback_main(hotspots->lookback, item.a)) {
        lastsamples_take(hotspots->last, &did, &item);
    }
    spot_add(hotspots, &item, &did);
}

void hotspots_take(void *consumer, const struct timeline_event *event)
{
    struct hotspots *hotspots = consumer;

    if (event->record->kind == CK_KIND_SAMPLE &&
        event->start >= hotspots->region.start &&
        event->start < hotspots->region.end) {
        sample_take(hotspots, event);
    }
}

/* ---- what is reported --------------------------------------------------- */

static int compare_pointers(const char *a, const char *b)
{
    return (a > b) - (a < b);
}

/* Texts are kept once: equal ones have equal pointers. */
static int compare_functions(const struct spot *a, const struct spot *b)
{
    int order = compare_pointers(a->place.function, b->place.function);

    return order != 0 ? order : compare_pointers(a->place.file, b->place.file);
}

CK_ORDER(by_line, struct spot, compare_functions(a, b) ?: CK_UP(place.line))

CK_ORDER(by_rank, struct spot, CK_UP(rank))

CK_ORDER(by_range,
         struct spot,
         strcmp(a->range == NULL ? "" : a->range,
                b->range == NULL ? "" : b->range))

static int by_after(const void *left, const void *right)
{
    const struct spot *a = left;
    const struct spot *b = right;
    int order = strcmp(a->after == NULL ? "" : a->after,
                       b->after == NULL ? "" : b->after);

    if (order == 0) {
        order = compare_pointers(a->after_place.file, b->after_place.file);
    }
    return order != 0 ? order
                      : (a->after_place.line > b->after_place.line) -
                            (a->after_place.line < b->after_place.line);
}

/* The most that spots of one sort have; *groups is how many sorts there are.
 */
static const struct spot *heaviest(struct spot *spots,
                                   size_t count,
                                   int (*order)(const void *, const void *),
                                   uint32_t *groups,
                                   ck_time_t *most)
{
    const struct spot *best = NULL;
    ck_time_t sum = 0;

    qsort(spots, count, sizeof(*spots), order);
    *groups = 0;
    *most = 0;
    for (size_t i = 0; i < count; i++) {
        if (i == 0 || order(&spots[i - 1], &spots[i]) != 0) {
            sum = 0;
            (*groups)++;
        }
        sum += spots[i].ns;
        if (best == NULL || sum > *most) {
            *most = sum;
            best = &spots[i];
        }
    }
    return best;
}

/* The spots of one function. */
static void
function_report(struct spot *spots, size_t count, struct report_hot *hot)
{
    const struct spot *best;
    uint32_t groups;
    ck_time_t most;

    memset(hot, 0, sizeof(*hot));
    for (size_t i = 0; i < count; i++) {
        hot->ns += spots[i].ns;
    }
    best = heaviest(spots, count, by_line, &groups, &hot->line_ns);
    hot->place = best->place;
    best = heaviest(spots, count, by_range, &groups, &most);
    hot->range = best->range;
    best = heaviest(spots, count, by_after, &groups, &most);
    hot->after = best->after;
    hot->after_place = best->after_place;
    best = heaviest(spots, count, by_rank, &hot->ranks, &hot->rank_ns);
    hot->rank = best->rank;
    hot->ranks -= spots[0].rank == DEFS_RANK_UNKNOWN; /* the least */
}

static int by_time(const void *left, const void *right)
{
    const struct report_hot *a = left;
    const struct report_hot *b = right;
    const char *mine = a->place.function == NULL ? "" : a->place.function;
    const char *its = b->place.function == NULL ? "" : b->place.function;

    return a->ns != b->ns ? (a->ns < b->ns ? 1 : -1) : strcmp(mine, its);
}

/* What the program did, apart from ck's own work in it, which is added up.
 * Returns how many. */
static size_t
spots_take(const struct hotspots *hotspots, struct spot *spots, ck_time_t *own)
{
    size_t count = 0;

    for (size_t i = 0; i < hotspots->count; i++) {
        if (hotspots->spots[i].is_own) {
            *own += hotspots->spots[i].ns;
        } else {
            spots[count++] = hotspots->spots[i];
        }
    }
    return count;
}

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash == NULL ? path : slash + 1;
}

/* Is that the name of a program or library, in place of a function's? */
static bool is_file(const struct defs *defs, const char *name)
{
    for (size_t i = 0; i < defs->processes_count; i++) {
        const struct defs_process *process = &defs->processes[i];

        for (size_t k = 0; k < process->modules_count; k++) {
            if (strcmp(base_name(process->modules[k].path), name) == 0) {
                return true;
            }
        }
    }
    return false;
}

/* Rows with nothing known but the file. */
static void files_mark(const struct defs *defs, struct report *report)
{
    for (size_t i = 0; i < report->hot_count; i++) {
        struct report_hot *hot = &report->hot[i];

        hot->is_file = hot->place.file == NULL && hot->place.function != NULL &&
                       is_file(defs, hot->place.function);
    }
}

/* The same samples by who called. */
static void callers_report(const struct hotspots *hotspots,
                           struct report *report)
{
    struct hotcallers *callers = hotcallers_create(hotspots->defs);

    for (size_t i = 0; i < hotspots->count; i++) {
        struct table_key key = table_key(hotspots->stacks, i);

        if (!hotspots->spots[i].is_own) {
            hotcallers_add(callers, &(struct hotcallers_stack){
                                        .process = (uint32_t)key.a,
                                        .number = (uint32_t)key.b,
                                        .leaf = hotspots->spots[i].place,
                                        .ns = hotspots->spots[i].ns});
        }
    }
    hotcallers_report(callers, report);
    hotcallers_explain(callers, report);
    hotcallers_destroy(callers);
}

void hotspots_report(const struct hotspots *hotspots, struct report *report)
{
    size_t count = hotspots->count, end;
    struct spot *spots = xmalloc((count + 1) * sizeof(*spots));

    report->samples = hotspots->sums;
    report->hot = xcalloc(count + 1, sizeof(*report->hot));
    count = spots_take(hotspots, spots, &report->samples.own);
    if (count > 0) {
        qsort(spots, count, sizeof(*spots), by_line);
    }
    for (size_t at = 0; at < count; at = end) {
        end = at + 1;
        while (end < count && compare_functions(&spots[at], &spots[end]) == 0) {
            end++;
        }
        function_report(&spots[at], end - at,
                        &report->hot[report->hot_count++]);
    }
    free(spots);
    if (report->hot_count > 0) {
        qsort(report->hot, report->hot_count, sizeof(*report->hot), by_time);
    }
    if (report->hot_count > HOTSPOTS_LISTED_MAX) {
        report->hot_count = HOTSPOTS_LISTED_MAX;
    }
    files_mark(hotspots->defs, report);
    lastsamples_report(hotspots->last, report);
    callers_report(hotspots, report);
}
