/* delaysource.c - what delays come from: a thread and what it did more
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "merge/analysis/delays/delaysource.h"

#include <stdlib.h>

#include "merge/analysis/history/callpaths.h"
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

/* Where it left the CPU explains that where the waits with a stack are at least
 * an n-th of it. */
#define WAITS_SHARE 2

/* What the late thread had of a part beyond those who waited, in ns. */
struct excess {
    uint32_t part;
    uint32_t did; /* of the late thread; DELAY_NONE */
    bool is_line;
    double ns;
    double late; /* the late thread's alone */
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
        source->excess[source->count++] = (struct excess){
            .part = part->part, .did = DELAY_NONE, .is_line = part->is_line};
    }
    excess = &source->excess[i];
    excess->ns += weight;
    if (weight > 0) {
        excess->late += weight;
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
    double faulting;    /* of it */
    const char *called; /* by the line, where it waited */
};

/* Samples of one line, or waits. */
struct seen {
    struct place place;
    double ns;
    double faulting;
    const char *called;
};

static int by_text(const char *a, const char *b)
{
    return (a > b) - (a < b); /* kept texts: equal ones are one pointer */
}

static int by_function(const void *left, const void *right)
{
    const struct place *a = &((const struct seen *)left)->place;
    const struct place *b = &((const struct seen *)right)->place;
    int order = by_text(a->function, b->function);

    return order != 0 ? order : by_text(a->file, b->file);
}

static int by_line(const void *left, const void *right)
{
    uint32_t a = ((const struct seen *)left)->place.line;
    uint32_t b = ((const struct seen *)right)->place.line;
    int order = by_function(left, right);

    return order != 0 ? order : (a > b) - (a < b);
}

/* Adds up what was seen of one function: `count` of them in order of lines. */
static struct function function_sum(const struct seen *seen, size_t count)
{
    struct function function = {
        .line = seen[0].place, .line_ns = seen[0].ns, .called = seen[0].called};
    double line_ns = 0;

    for (size_t i = 0; i < count; i++) {
        if (i > 0 && seen[i].place.line != seen[i - 1].place.line) {
            line_ns = 0;
        }
        line_ns += seen[i].ns;
        if (line_ns > function.line_ns) {
            function.line = seen[i].place;
            function.line_ns = line_ns;
            function.called = seen[i].called;
        }
        function.ns += seen[i].ns;
        function.faulting += seen[i].faulting;
    }
    return function;
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

/* All lines that were sampled, or where it waited, in order of functions and
 * lines; how many. */
static size_t lines_find(const struct delaysources *sources,
                         const struct source *source,
                         bool is_waits,
                         struct seen *seen)
{
    bool is_team_left_out = is_team_waiting(sources, source);
    size_t count = 0;

    for (size_t i = 0; i < source->count; i++) {
        const struct excess *excess = &source->excess[i];
        bool is_faulting = excess->is_line &&
                           delaykeys_is_faulting(sources->keys, excess->part);

        if (excess->is_line &&
            delaykeys_is_wait(sources->keys, excess->part) == is_waits &&
            !(is_team_left_out &&
              delaykeys_is_team(sources->keys, excess->part))) {
            seen[count++] = (struct seen){
                .place = delaykeys_place(sources->keys, excess->part),
                .ns = excess->ns,
                .faulting = is_faulting ? excess->ns : 0,
                .called = delaykeys_called(sources->keys, excess->part)};
        }
    }
    if (count > 1) {
        qsort(seen, count, sizeof(*seen), by_line);
    }
    return count;
}

/* Functions with what was sampled in them; how many. */
static size_t functions_find(const struct delaysources *sources,
                             const struct source *source,
                             bool is_waits,
                             struct function *functions)
{
    struct seen seen[DELAY_EXCESS_MAX];
    size_t lines = lines_find(sources, source, is_waits, seen);
    size_t count = 0, end;

    for (size_t at = 0; at < lines; at = end) {
        end = at + 1;
        while (end < lines && by_function(&seen[at], &seen[end]) == 0) {
            end++;
        }
        functions[count++] = function_sum(&seen[at], end - at);
    }
    return count;
}

/* By which of its callers a function is explained. */
static struct report_callers callers_find(const struct delaysources *sources,
                                          const struct source *source,
                                          bool is_waits,
                                          const struct place *function)
{
    struct callpaths_part parts[DELAY_EXCESS_MAX];
    size_t count = 0;

    for (size_t i = 0; i < source->count; i++) {
        const struct excess *excess = &source->excess[i];
        struct place place;

        if (!excess->is_line ||
            delaykeys_is_wait(sources->keys, excess->part) != is_waits) {
            continue;
        }
        place = delaykeys_place(sources->keys, excess->part);
        parts[count++] = (struct callpaths_part){
            .path = delaykeys_path(sources->keys, excess->part),
            .is_meant = place.function == function->function &&
                        place.file == function->file,
            .ns = excess->late,
            .others = excess->late - excess->ns};
    }
    return callpaths_explain(delaykeys_paths(sources->keys), *function, parts,
                             count);
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

/* What of a function's excess handled page faults: the thread may have had less
 * of a part than those who waited, of faults or of the rest. */
static double faulting_of(const struct function *function)
{
    double most =
        function->faulting < function->ns ? function->faulting : function->ns;

    return most > 0 ? most : 0;
}

/* The functions of what was found, the largest first: how many there was room
 * for. `how` has what is equal in all. */
static size_t functions_report(const struct delaysources *sources,
                               const struct source *source,
                               const struct report_sampled *how,
                               struct report_sampled *functions,
                               size_t room)
{
    struct function found[DELAY_EXCESS_MAX];
    size_t count = functions_find(sources, source, how->is_waits, found);
    double total = 0;
    size_t used = 0;

    qsort(found, count, sizeof(found[0]), by_weight);
    for (size_t i = 0; i < count && found[i].ns > 0; i++) {
        total += found[i].ns;
    }
    if (how->is_others && total * OTHERS_SHARE < time_of(source)) {
        return 0;
    }
    if (how->is_waits && total * WAITS_SHARE < time_of(source)) {
        return 0;
    }
    for (; used < count && used < room && found[used].ns > 0; used++) {
        functions[used] = *how;
        functions[used].total = (ck_time_t)total;
        functions[used].ns = (ck_time_t)found[used].ns;
        functions[used].place = found[used].line;
        functions[used].called = found[used].called;
        functions[used].callers =
            callers_find(sources, source, how->is_waits, &found[used].line);
        functions[used].faulting = (ck_time_t)faulting_of(&found[used]);
    }
    return used;
}

/* Has the rank of the thread other processes? */
static bool has_processes(const struct delaysources *sources, uint32_t number)
{
    uint32_t thread = delaysources_get(sources, number).thread;
    uint32_t process =
        lookback_defs(sources->lookback)->threads[thread].process;

    return lookback_sibling(sources->lookback, process) != process;
}

size_t delaysources_functions(const struct delaysources *sources,
                              uint32_t number,
                              struct report_sampled *functions,
                              size_t room)
{
    const struct source *source = &sources->items[number];
    enum history_off off = delaysources_off(sources, number);
    /* A thread that is in a call, or without a CPU, is not sampled itself. */
    struct report_sampled how = {
        .is_others =
            !delaysources_is_between(sources, number) || off != HISTORY_ON};
    size_t count;

    how.has_processes = how.is_others && has_processes(sources, number);
    count = functions_report(sources, source, &how, functions, room);
    if (count == 0 && off == HISTORY_BLOCKED) {
        how = (struct report_sampled){.is_waits = true};
        count = functions_report(sources, source, &how, functions, room);
    }
    return count;
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
