/* hotcallers.c - functions of the user's by the samples below them
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * A function counts once in a stack, however often it is there. The user's are
 * those in files that no package installs.
 */
#include "merge/analysis/samples/hotcallers.h"

#include <stdlib.h>
#include <string.h>

#include "merge/model/array.h"
#include "merge/model/memory.h"
#include "merge/model/table.h"
#include "merge/model/userfile.h"
#include "schema/order.h"

/* A function. */
struct caller {
    struct place place; /* without a line */
    ck_time_t total;
    ck_time_t self;
    uint64_t seen; /* number of the last stack that it was found in */
};

/* What was sampled below a function. */
struct below {
    size_t caller;
    struct place leaf;
    ck_time_t ns;
};

struct hotcallers {
    const struct defs *defs; /* borrowed */
    struct table *names;     /* function, file: number of the caller */
    struct table *pairs;     /* caller, function and line of the leaf */
    struct caller *callers;
    size_t count, room;
    struct below *belows;
    size_t belows_count, belows_room;
    uint64_t stacks;
};

struct hotcallers *hotcallers_create(const struct defs *defs)
{
    struct hotcallers *hotcallers = xcalloc(1, sizeof(*hotcallers));

    hotcallers->defs = defs;
    hotcallers->names = table_create();
    hotcallers->pairs = table_create();
    return hotcallers;
}

void hotcallers_destroy(struct hotcallers *hotcallers)
{
    if (hotcallers != NULL) {
        table_destroy(hotcallers->names);
        table_destroy(hotcallers->pairs);
        free(hotcallers->callers);
        free(hotcallers->belows);
        free(hotcallers);
    }
}

/* The frame's function, if it is one of the user's; else without a name. */
static struct place
frame_place(const struct defs *defs, uint32_t process, uint64_t address)
{
    struct place place = defs_place(defs, process, address);

    place.line = 0;
    if (!userfile_is(defs, process, address) || place.function == NULL ||
        strcmp(place.function, "_start") == 0) {
        place.function = NULL;
    }
    return place;
}

/* Number of the function. */
static int64_t caller_number(struct hotcallers *hotcallers, struct place place)
{
    int64_t number =
        table_number_of(hotcallers->names, (uint64_t)(uintptr_t)place.function,
                        (uint64_t)(uintptr_t)place.file, 0);

    if (number >= 0 && (size_t)number == hotcallers->count) {
        array_grow(&hotcallers->callers, &hotcallers->room, hotcallers->count,
                   sizeof(*hotcallers->callers));
        hotcallers->callers[hotcallers->count++] =
            (struct caller){.place = place};
    }
    return number;
}

static void below_add(struct hotcallers *hotcallers,
                      int64_t caller,
                      const struct hotcallers_stack *stack)
{
    int64_t number = table_number_of(hotcallers->pairs, (uint64_t)caller,
                                     (uint64_t)(uintptr_t)stack->leaf.function,
                                     stack->leaf.line);

    if ((size_t)number == hotcallers->belows_count) {
        array_grow(&hotcallers->belows, &hotcallers->belows_room,
                   hotcallers->belows_count, sizeof(*hotcallers->belows));
        hotcallers->belows[hotcallers->belows_count++] =
            (struct below){.caller = (size_t)caller, .leaf = stack->leaf};
    }
    hotcallers->belows[number].ns += stack->ns;
}

static void frame_add(struct hotcallers *hotcallers,
                      const struct hotcallers_stack *stack,
                      struct place place)
{
    int64_t number = caller_number(hotcallers, place);
    struct caller *caller;

    caller = &hotcallers->callers[number];
    if (caller->seen == hotcallers->stacks) {
        return;
    }
    caller->seen = hotcallers->stacks;
    caller->total += stack->ns;
    if (place.function == stack->leaf.function) {
        caller->self += stack->ns;
        return;
    }
    below_add(hotcallers, number, stack);
}

void hotcallers_add(struct hotcallers *hotcallers,
                    const struct hotcallers_stack *stack)
{
    const struct defs *defs = hotcallers->defs;
    const struct defs_agent *agent =
        &defs->agents[defs->processes[stack->process].agent];
    const struct defs_stack *frames = defs_stack_find(agent, stack->number);

    if (frames == NULL) {
        return;
    }
    hotcallers->stacks++;
    for (size_t i = 0; i < frames->depth; i++) {
        struct place place =
            frame_place(defs, stack->process, frames->frames[i]);

        if (place.function != NULL) {
            frame_add(hotcallers, stack, place);
        }
    }
}

/* Of a hot function's samples, below one that explains it, at least, and of all
 * that were below that. In percent. */
#define EXPLAINED 90
#define EXPLAINS 80

/* Samples of the function below each caller, added to `sums`. */
static void sums_make(const struct hotcallers *hotcallers,
                      const char *function,
                      ck_time_t *sums)
{
    memset(sums, 0, hotcallers->count * sizeof(*sums));
    for (size_t i = 0; i < hotcallers->belows_count; i++) {
        const struct below *below = &hotcallers->belows[i];

        if (below->leaf.function == function) {
            sums[below->caller] += below->ns;
        }
    }
}

/* What is called first has the most below it. */
static struct place explain(const struct hotcallers *hotcallers,
                            const struct report_hot *hot,
                            const ck_time_t *sums)
{
    const struct caller *best = NULL;

    for (size_t i = 0; i < hotcallers->count; i++) {
        const struct caller *caller = &hotcallers->callers[i];

        if (sums[i] / EXPLAINED >= hot->ns / 100 &&
            sums[i] / EXPLAINS >= caller->total / 100 &&
            (best == NULL || caller->total > best->total)) {
            best = caller;
        }
    }
    return best == NULL ? (struct place){NULL, NULL, 0} : best->place;
}

void hotcallers_explain(const struct hotcallers *hotcallers,
                        struct report *report)
{
    ck_time_t *sums = xcalloc(hotcallers->count + 1, sizeof(*sums));

    for (size_t i = 0; i < report->hot_count; i++) {
        struct report_hot *hot = &report->hot[i];

        if (hot->place.function != NULL && !hot->is_file) {
            sums_make(hotcallers, hot->place.function, sums);
            hot->caller = explain(hotcallers, hot, sums);
        }
    }
    free(sums);
}

CK_ORDER(by_total,
         struct report_caller,
         CK_DOWN(total) ?: strcmp(a->place.function, b->place.function))

void hotcallers_report(const struct hotcallers *hotcallers,
                       struct report *report)
{
    size_t count = hotcallers->count;

    report->callers = xcalloc(count + 1, sizeof(*report->callers));
    for (size_t i = 0; i < count; i++) {
        report->callers[i] =
            (struct report_caller){.place = hotcallers->callers[i].place,
                                   .total = hotcallers->callers[i].total,
                                   .self = hotcallers->callers[i].self};
    }
    for (size_t i = 0; i < hotcallers->belows_count; i++) {
        const struct below *below = &hotcallers->belows[i];
        struct report_caller *caller = &report->callers[below->caller];

        if (below->ns > caller->leaf_ns) {
            caller->leaf = below->leaf;
            caller->leaf_ns = below->ns;
        }
    }
    qsort(report->callers, count, sizeof(*report->callers), by_total);
    report->callers_count =
        count < HOTCALLERS_LISTED_MAX ? count : HOTCALLERS_LISTED_MAX;
}
