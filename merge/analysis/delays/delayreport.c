/* delayreport.c - what made ranks late, for the report
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * What a thread did with a CPU and without one is compared apart, but reported
 * as one thing. A computation in several functions is several things.
 */
#include "merge/analysis/delays/delayreport.h"

#include <stdlib.h>

#include "merge/analysis/delays/dominant.h"
#include "merge/model/array.h"
#include "merge/model/memory.h"
#include "merge/model/table.h"
#include "schema/order.h"

/* Functions of a computation that are things of their own: each has at least
 * an n-th of it, and all others together no more than that. */
#define FUNCTIONS_MAX 4
#define FUNCTION_SHARE 5
/* By fewer samples it is not known how much each one has. */
#define SPLIT_SAMPLES 30
/* Where a thread had no CPU for all but an n-th of it, as few samples as that
 * do not show where. */
#define SEEN_SHARE 20
#define SEEN_SAMPLES 5

/* One thing that a thread did more. */
struct thing {
    uint32_t source;  /* where it had a CPU, if there is such a one */
    uint32_t blocked; /* where it was blocked, if it was */
    uint32_t ready;   /* where it was ready without a CPU, if it was */
    int32_t rank;
    ck_time_t ns;
    struct report_running running;
    bool is_part;                  /* of a computation in several functions. */
    struct report_sampled sampled; /* this one; total 0 = all others */
};

/* What was gathered. */
struct gathered {
    struct lookback *lookback;
    const struct delaysources *sources;
    struct thing *things; /* the largest first */
    size_t count, room;
    ck_time_t unexplained;
};

static int32_t rank_of(const struct gathered *gathered, uint32_t source)
{
    const struct defs *defs = lookback_defs(gathered->lookback);
    uint32_t thread = delaysources_get(gathered->sources, source).thread;

    return defs->processes[defs->threads[thread].process].rank;
}

CK_ORDER(by_ns,
         struct thing,
         CK_DOWN(ns) ?: CK_DOWN(sampled.total) ?: CK_UP(source))

static void thing_add(struct gathered *gathered,
                      struct thing *thing,
                      const struct delaysums_cost *cost)
{
    enum history_off off = delaysources_off(gathered->sources, cost->source);

    if (thing->ns == 0 || off == HISTORY_ON) {
        thing->source = cost->source;
    }
    thing->rank = rank_of(gathered, cost->source);
    thing->ns += cost->ns;
    thing->running.total += cost->ns;
    if (off == HISTORY_PREEMPTED) {
        thing->running.preempted += cost->ns;
        thing->ready = cost->source;
    }
    if (off == HISTORY_BLOCKED) {
        thing->running.blocked += cost->ns;
        thing->blocked = cost->source;
    }
}

/* Did it nothing itself but yield, while other threads of its process computed?
 */
static bool is_yielding(const struct gathered *gathered,
                        const struct thing *thing)
{
    const struct report_running *running = &thing->running;
    struct report_sampled own, others;

    if (running->preempted * 2 <= running->total ||
        (running->total - running->preempted - running->blocked) * SEEN_SHARE >=
            running->total ||
        !delaysources_is_between(gathered->sources, thing->ready) ||
        delaysources_functions(gathered->sources, thing->ready, &others, 1) ==
            0) {
        return false;
    }
    return delaysources_functions(gathered->sources, thing->source, &own, 1) ==
               0 ||
           own.total < SEEN_SAMPLES * lookback_period(gathered->lookback);
}

/* What was blocked for most of it is where it was blocked, not where the rest
 * computed. */
static void thing_settle(const struct gathered *gathered, struct thing *thing)
{
    if (thing->running.blocked * 2 > thing->running.total) {
        thing->source = thing->blocked;
    } else if (is_yielding(gathered, thing)) {
        thing->source = thing->ready;
    }
}

/* Another thing for a part of what one was. */
static void part_add(struct gathered *gathered, size_t whole, struct thing part)
{
    array_grow(&gathered->things, &gathered->room, gathered->count,
               sizeof(*gathered->things));
    gathered->things[gathered->count++] = part;
    gathered->things[whole].ns -= part.ns;
}

/* How many of the functions, the largest first, are things of their own: none
 * where what is left of the computation would be more than each of them may be,
 * for that rest could not be explained. */
static size_t parts_count(const struct report_sampled *functions,
                          size_t count,
                          ck_time_t least)
{
    ck_time_t rest = count > 0 ? functions[0].total : 0;
    size_t parts = 0;

    if (rest < least) {
        return 0;
    }
    while (parts < count &&
           functions[parts].ns * FUNCTION_SHARE >= functions[parts].total) {
        rest -= functions[parts++].ns;
    }
    return parts < 2 || rest * FUNCTION_SHARE > functions[0].total ? 0 : parts;
}

/* A thing for each function that has enough of a computation, where there are
 * several; what is left has no function. */
static void thing_split(struct gathered *gathered, size_t index)
{
    struct report_sampled functions[FUNCTIONS_MAX];
    struct thing part = gathered->things[index];
    ck_time_t whole = part.ns;
    size_t count = delaysources_functions(gathered->sources, part.source,
                                          functions, FUNCTIONS_MAX);

    count = parts_count(functions, count,
                        SPLIT_SAMPLES * lookback_period(gathered->lookback));
    if (count == 0 ||
        !delaysources_is_between(gathered->sources, part.source)) {
        return;
    }
    gathered->things[index].is_part = part.is_part = true;
    for (size_t i = 0; i < count; i++) {
        part.ns = (ck_time_t)((double)whole * (double)functions[i].ns /
                              (double)functions[i].total);
        part.sampled = functions[i];
        part_add(gathered, index, part);
    }
}

/* The thing of a key, made when there is none. */
static struct thing *
thing_find(struct gathered *gathered, struct table *keys, uint32_t source)
{
    int64_t number = table_number_of(
        keys, delaysources_get(gathered->sources, source).thread,
        delaysources_base(gathered->sources, source), 0);

    if ((size_t)number == gathered->count) {
        array_grow(&gathered->things, &gathered->room, gathered->count,
                   sizeof(*gathered->things));
        gathered->things[gathered->count++] = (struct thing){.source = source};
    }
    return &gathered->things[number];
}

static void costs_take(struct gathered *gathered,
                       struct table *keys,
                       const struct delaysums_cost *costs,
                       size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct thing *thing;

        if (costs[i].source == DELAY_NONE) {
            gathered->unexplained += costs[i].ns;
            continue;
        }
        thing = thing_find(gathered, keys, costs[i].source);
        thing_add(gathered, thing, &costs[i]);
    }
}

static void things_gather(struct gathered *gathered, struct delaysums *sums)
{
    size_t count;
    const struct delaysums_cost *costs = delaysums_costs(sums, &count);
    struct table *keys = table_create();

    costs_take(gathered, keys, costs, count);
    table_destroy(keys);
    count = gathered->count;
    for (size_t i = 0; i < count; i++) {
        thing_settle(gathered, &gathered->things[i]);
        thing_split(gathered, i);
    }
    if (gathered->count > 1) {
        qsort(gathered->things, gathered->count, sizeof(*gathered->things),
              by_ns);
    }
}

/* The rank that most is because of, with that; DEFS_RANK_UNKNOWN = none. */
static void rank_find(const struct gathered *gathered,
                      struct report_delays *report)
{
    const struct defs *defs = lookback_defs(gathered->lookback);
    ck_time_t *sums = xcalloc(defs->ranks_count + 1, sizeof(*sums));

    for (size_t i = 0; i < gathered->count; i++) {
        const struct thing *thing = &gathered->things[i];
        uint32_t index = defs_rank_index(defs, thing->rank);

        index = index == DEFS_NONE ? (uint32_t)defs->ranks_count : index;
        sums[index] += thing->ns;
        if (sums[index] > report->rank_ns) {
            report->rank_ns = sums[index];
            report->rank = thing->rank;
        }
    }
    free(sums);
}

bool delayreport_is_seen(const struct report_running *running,
                         ck_time_t sampled,
                         ck_time_t period)
{
    ck_time_t had = running->total - running->preempted - running->blocked;

    return had * SEEN_SHARE >= running->total ||
           sampled >= SEEN_SAMPLES * period;
}

static struct report_activity thing_report(const struct gathered *gathered,
                                           const struct thing *thing)
{
    struct report_activity report =
        delaysources_report(gathered->sources, thing->source);

    report.running = thing->running;
    if (thing->is_part) {
        report.sampled = thing->sampled;
    }
    if (report.call == NULL && !report.sampled.is_others &&
        !report.sampled.is_waits &&
        !delayreport_is_seen(&thing->running, report.sampled.total,
                             lookback_period(gathered->lookback))) {
        report.sampled = (struct report_sampled){.total = 0};
    }
    return report;
}

/* What it counts as: without a CPU for most of it, it is that. */
static enum cause thing_kind(const struct gathered *gathered,
                             const struct thing *thing)
{
    if (thing->running.preempted * 2 > thing->running.total) {
        return CAUSE_OFFCPU_RUNNABLE;
    }
    if (thing->running.blocked * 2 > thing->running.total) {
        return CAUSE_OFFCPU_BLOCKED;
    }
    return delaysources_kind(gathered->sources, thing->source);
}

/* The thing that is an activity, which it was for the most part; NULL. */
static const struct thing *thing_of(const struct gathered *gathered,
                                    int32_t rank,
                                    const struct dominant *most)
{
    for (size_t i = 0; i < gathered->count; i++) {
        const struct thing *thing = &gathered->things[i];

        if (thing->rank == rank &&
            delaysources_did(gathered->sources, thing->source) == most->did &&
            thing_kind(gathered, thing) == most->part_kind) {
            return thing;
        }
    }
    return NULL;
}

/* Of what the rank did the largest thing of all; NULL. They are in order. */
static const struct thing *largest_of(const struct gathered *gathered,
                                      int32_t rank)
{
    for (size_t i = 0; i < gathered->count; i++) {
        if (gathered->things[i].rank == rank) {
            return &gathered->things[i];
        }
    }
    return NULL;
}

static ck_time_t
kind_sum(const struct gathered *gathered, int32_t rank, enum cause kind)
{
    ck_time_t sum = 0;

    for (size_t i = 0; i < gathered->count; i++) {
        const struct thing *thing = &gathered->things[i];

        sum += thing->rank == rank && thing_kind(gathered, thing) == kind
                   ? thing->ns
                   : 0;
    }
    return sum;
}

static struct report_delay thing_item(const struct gathered *gathered,
                                      const struct thing *thing)
{
    return (struct report_delay){thing->rank, thing_kind(gathered, thing),
                                 thing->ns, thing_report(gathered, thing)};
}

/* It is no less than what was found of the kind that cost most, which may be
 * several things: one call of several threads. */
static void largest_fill(const struct gathered *gathered,
                         struct report_delays *report)
{
    const struct thing *thing = largest_of(gathered, report->rank);

    report->largest = thing != NULL && thing->ns > report->ns
                          ? thing_item(gathered, thing)
                          : (struct report_delay){report->rank, report->kind,
                                                  report->ns, report->did};
}

/* Kinds for which there is no word: the first sentence has the share of the one
 * thing that it names. */
static bool is_named_alone(enum cause kind)
{
    return kind == CAUSE_HOST_COMPUTE || kind == CAUSE_OFFCPU_RUNNABLE ||
           kind == CAUSE_OFFCPU_BLOCKED;
}

/* Of such a kind that cost most each thing may be less than one of another
 * kind: that comes first. */
static void larger_fill(const struct gathered *gathered,
                        struct report_delays *report)
{
    const struct report_delay *largest = &report->largest;

    if (is_named_alone(report->kind) && largest->ns > report->ns) {
        report->kind = largest->kind;
        report->kind_ns = kind_sum(gathered, report->rank, report->kind);
        report->did = largest->did;
        report->ns = largest->ns;
    }
}

/* Of what the rank did, the kind that cost most, and of that the largest. */
static void most_find(const struct gathered *gathered,
                      struct report_delays *report)
{
    struct dominant_part *parts =
        xmalloc((gathered->count + 1) * sizeof(*parts));
    const struct thing *thing;
    struct dominant most;
    size_t used = 0;

    for (size_t i = 0; i < gathered->count; i++) {
        const struct thing *its = &gathered->things[i];

        if (its->rank == report->rank) {
            parts[used] = dominant_part(
                gathered->lookback,
                delaysources_did(gathered->sources, its->source), its->ns);
            parts[used++].kind = thing_kind(gathered, its);
        }
    }
    most = dominant_find(gathered->lookback, parts, used);
    free(parts);
    report->kind = most.kind;
    report->kind_ns = most.kind_ns;
    report->ns = most.ns;
    if (most.did == DEFS_NONE) {
        return;
    }
    thing = thing_of(gathered, report->rank, &most);
    if (thing == NULL) {
        report->did = lookback_activity_report(gathered->lookback, most.did);
        return;
    }
    report->did = thing_report(gathered, thing);
    report->ns = thing->is_part ? thing->ns : most.ns;
    largest_fill(gathered, report);
    larger_fill(gathered, report);
}

/* The largest of all, of whatever rank. */
static void items_fill(const struct gathered *gathered,
                       struct report_delays *report)
{
    report->items = xcalloc(REPORT_DELAYS_MAX, sizeof(*report->items));
    report->unexplained = gathered->unexplained;
    for (size_t i = 0; i < gathered->count; i++) {
        const struct thing *thing = &gathered->things[i];

        if (report->count == REPORT_DELAYS_MAX) {
            report->others += thing->ns;
            continue;
        }
        report->items[report->count++] = thing_item(gathered, thing);
    }
}

void delayreport_fill(struct lookback *lookback,
                      const struct delay *delay,
                      struct delaysums *sums,
                      struct report_delays *report)
{
    struct gathered gathered = {.lookback = lookback,
                                .sources = delay_sources(delay)};

    *report = (struct report_delays){.rank = DEFS_RANK_UNKNOWN, .kind = CAUSES};
    things_gather(&gathered, sums);
    rank_find(&gathered, report);
    most_find(&gathered, report);
    items_fill(&gathered, report);
    free(gathered.things);
}
