/* delaysource.c - what delays come from: a thread and what it did more
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "merge/analysis/delays/delaysource.h"

#include <stdlib.h>

#include "merge/model/array.h"
#include "merge/model/memory.h"
#include "merge/model/table.h"
#include "schema/order.h"

/* What threads of a team computed explains its waiting where it is at least an
 * n-th of that. */
#define TEAM_SHARE 10

/* What other threads computed explains that a thread was blocked where it is at
 * least an n-th of that: they may have had no CPU for the rest. */
#define OTHERS_SHARE 10

/* What the late thread had of a part beyond those who waited, in ns. */
struct excess {
    uint32_t part;
    uint32_t did; /* of the late thread; DELAY_NONE */
    bool is_line;
    double ns;
};

struct source {
    uint32_t did;
    struct excess *excess;
    size_t count, room;
    bool is_full; /* more places were seen than are kept */
};

struct delaysources {
    struct lookback *lookback;    /* borrowed */
    const struct delaykeys *keys; /* borrowed */
    struct table *numbers;        /* thread, key */
    struct source *items;
    size_t count, room;
    uint64_t full; /* sources that became so */
};

uint64_t delaysources_full(const struct delaysources *sources)
{
    return sources->full;
}

struct delaysources *delaysources_create(struct lookback *lookback,
                                         const struct delaykeys *keys)
{
    struct delaysources *sources = xcalloc(1, sizeof(*sources));

    sources->lookback = lookback;
    sources->keys = keys;
    sources->numbers = table_create();
    return sources;
}

void delaysources_destroy(struct delaysources *sources)
{
    if (sources == NULL) {
        return;
    }
    for (size_t i = 0; i < sources->count; i++) {
        free(sources->items[i].excess);
    }
    table_destroy(sources->numbers);
    free(sources->items);
    free(sources);
}

int64_t delaysources_find(struct delaysources *sources,
                          const struct delay_source *source,
                          uint32_t did)
{
    int64_t number =
        table_number_of(sources->numbers, source->thread, source->key, 0);

    if ((size_t)number < sources->count) {
        return number;
    }
    array_grow(&sources->items, &sources->room, sources->count,
               sizeof(*sources->items));
    sources->items[sources->count++] = (struct source){.did = did};
    return number;
}

uint32_t delaysources_known(const struct delaysources *sources,
                            const struct delay_source *source)
{
    struct table_key key = {source->thread, source->key, 0};
    int64_t number = table_find(sources->numbers, key);

    return number < 0 ? DELAY_NONE : (uint32_t)number;
}

struct delay_source delaysources_get(const struct delaysources *sources,
                                     uint32_t number)
{
    struct table_key key = table_key(sources->numbers, number);

    return (struct delay_source){(uint32_t)key.a, (uint32_t)key.b};
}

void delaysources_weigh(struct delaysources *sources,
                        uint32_t number,
                        const struct delay_part *part,
                        double weight)
{
    struct source *source = &sources->items[number];
    struct excess *excess;
    size_t i = 0;

    while (i < source->count && (source->excess[i].part != part->part ||
                                 source->excess[i].is_line != part->is_line)) {
        i++;
    }
    if (i == source->count) {
        if (i >= DELAY_EXCESS_MAX) {
            sources->full += !source->is_full;
            source->is_full = true;
            return;
        }
        array_grow(&source->excess, &source->room, i, sizeof(*source->excess));
        source->excess[source->count++] =
            (struct excess){part->part, DELAY_NONE, part->is_line, 0};
    }
    excess = &source->excess[i];
    excess->ns += weight;
    if (weight > 0) {
        excess->did = part->did;
    }
}

uint32_t delaysources_did(const struct delaysources *sources, uint32_t number)
{
    const struct source *source = &sources->items[number];
    uint32_t did = source->did;
    double most = 0;

    for (size_t i = 0; i < source->count; i++) {
        const struct excess *excess = &source->excess[i];

        if (!excess->is_line && excess->did != DELAY_NONE &&
            excess->ns > most) {
            most = excess->ns;
            did = excess->did;
        }
    }
    return did;
}

enum cause delaysources_kind(const struct delaysources *sources,
                             uint32_t number)
{
    uint32_t did = sources->items[number].did;

    return lookback_activity_cause(
        sources->lookback, lookback_activity_call(sources->lookback, did));
}

enum history_off delaysources_off(const struct delaysources *sources,
                                  uint32_t number)
{
    return delaykeys_off(sources->keys, delaysources_get(sources, number).key);
}

bool delaysources_is_between(const struct delaysources *sources,
                             uint32_t number)
{
    return delaykeys_is_between(sources->keys,
                                delaysources_get(sources, number).key);
}

uint32_t delaysources_base(const struct delaysources *sources, uint32_t number)
{
    return delaykeys_base(sources->keys, delaysources_get(sources, number).key);
}

/* Samples of one function beyond those of who waited. */
struct function {
    struct place line; /* with the most of them */
    double line_ns;
    double ns;
};

/* Adds a line to its function; how many functions there are then. */
static size_t function_add(struct function *functions,
                           size_t count,
                           struct place line,
                           double ns)
{
    size_t i = 0;

    while (i < count && (functions[i].line.function != line.function ||
                         functions[i].line.file != line.file)) {
        i++;
    }
    if (i == count) {
        functions[count++] = (struct function){line, ns, 0};
    }
    functions[i].ns += ns;
    if (ns > functions[i].line_ns) {
        functions[i].line = line;
        functions[i].line_ns = ns;
    }
    return count;
}

CK_ORDER(by_weight, struct function, CK_DOWN(ns))

/* Is what was sampled in OpenMP runtimes but waiting for what other threads
 * computed? Not where these have less than an n-th of it. */
static bool is_team_waiting(const struct delaysources *sources,
                            const struct source *source)
{
    double team = 0, others = 0;

    for (size_t i = 0; i < source->count; i++) {
        const struct excess *excess = &source->excess[i];

        if (!excess->is_line || excess->ns <= 0) {
            continue;
        }
        if (delaykeys_is_team(sources->keys, excess->part)) {
            team += excess->ns;
        } else {
            others += excess->ns;
        }
    }
    return others * TEAM_SHARE > team;
}

/* Functions with what was sampled in them; how many. */
static size_t functions_find(const struct delaysources *sources,
                             const struct source *source,
                             struct function *functions)
{
    bool is_team_left_out = is_team_waiting(sources, source);
    size_t count = 0;

    for (size_t i = 0; i < source->count; i++) {
        const struct excess *excess = &source->excess[i];

        if (excess->is_line &&
            !(is_team_left_out &&
              delaykeys_is_team(sources->keys, excess->part))) {
            count = function_add(functions, count,
                                 delaykeys_place(sources->keys, excess->part),
                                 excess->ns);
        }
    }
    return count;
}

/* How long it did all that; of calls that is not kept. */
static double time_of(const struct source *source)
{
    double sum = 0;

    for (size_t i = 0; i < source->count; i++) {
        if (!source->excess[i].is_line && source->excess[i].ns > 0) {
            sum += source->excess[i].ns;
        }
    }
    return sum;
}

size_t delaysources_functions(const struct delaysources *sources,
                              uint32_t number,
                              struct report_sampled *functions,
                              size_t room)
{
    /* A thread that is in a call, or blocked, is not sampled itself. */
    bool is_others = !delaysources_is_between(sources, number) ||
                     delaysources_off(sources, number) == HISTORY_BLOCKED;
    struct function found[DELAY_EXCESS_MAX];
    size_t used = 0;
    size_t count = functions_find(sources, &sources->items[number], found);
    double total = 0;

    qsort(found, count, sizeof(found[0]), by_weight);
    for (size_t i = 0; i < count && found[i].ns > 0; i++) {
        total += found[i].ns;
    }
    if (is_others && total * OTHERS_SHARE < time_of(&sources->items[number])) {
        return 0;
    }
    for (; used < count && used < room && found[used].ns > 0; used++) {
        functions[used] =
            (struct report_sampled){.total = (ck_time_t)total,
                                    .ns = (ck_time_t)found[used].ns,
                                    .place = found[used].line,
                                    .is_others = is_others};
    }
    return used;
}

struct report_activity delaysources_report(const struct delaysources *sources,
                                           uint32_t number)
{
    struct report_activity report = lookback_activity_report(
        sources->lookback, delaysources_did(sources, number));

    report.running = (struct report_running){0};
    report.sampled = (struct report_sampled){0};
    (void)delaysources_functions(sources, number, &report.sampled, 1);
    return report;
}
