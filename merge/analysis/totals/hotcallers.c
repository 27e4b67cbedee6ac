/* hotcallers.c - functions of the user's by the samples below them
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * A function counts once in a stack, however often it is there. The user's are
 * those in files that no package installs.
 */
#include "merge/analysis/totals/hotcallers.h"

#include <stdlib.h>
#include <string.h>

#include "merge/model/array.h"
#include "merge/model/table.h"

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
    struct hotcallers *hotcallers = calloc(1, sizeof(*hotcallers));

    if (hotcallers == NULL) {
        return NULL;
    }
    hotcallers->defs = defs;
    hotcallers->names = table_create();
    hotcallers->pairs = table_create();
    if (hotcallers->names == NULL || hotcallers->pairs == NULL) {
        hotcallers_destroy(hotcallers);
        return NULL;
    }
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

/* Is that the path of a file that the user has made? */
static bool is_users_path(const char *path)
{
    static const char *const others[] = {"/usr/", "/lib", "/bin/", "/sbin/",
                                         "/opt/", "[",    "<"};

    if (strncmp(path, "/usr/local/", 11) == 0) {
        return true;
    }
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
        if (strncmp(path, others[i], strlen(others[i])) == 0) {
            return false;
        }
    }
    return strstr(path, "/site-packages/") == NULL &&
           strstr(path, "/dist-packages/") == NULL &&
           strstr(path, "/lib/python3") == NULL;
}

/* The frame's function, if it is one of the user's; else without a name. */
static struct place
frame_place(const struct defs *defs, uint32_t process, uint64_t address)
{
    struct place place = defs_place(defs, process, address);
    const char *path = address >= CK_SITE_TOLD
                           ? place.file
                           : defs_file(defs, process, address);

    place.line = 0;
    if (path == NULL || !is_users_path(path) || place.function == NULL ||
        strcmp(place.function, "_start") == 0 ||
        defs_is_own(defs, process, address)) {
        place.function = NULL;
    }
    return place;
}

/* Number of the function, or -1 with ENOMEM. */
static int64_t caller_number(struct hotcallers *hotcallers, struct place place)
{
    int64_t number =
        table_number_of(hotcallers->names, (uint64_t)(uintptr_t)place.function,
                        (uint64_t)(uintptr_t)place.file, 0);

    if (number >= 0 && (size_t)number == hotcallers->count) {
        if (array_grow(&hotcallers->callers, &hotcallers->room,
                       hotcallers->count, sizeof(*hotcallers->callers)) != 0) {
            return -1;
        }
        hotcallers->callers[hotcallers->count++] =
            (struct caller){.place = place};
    }
    return number;
}

/* 0, or -1 with ENOMEM. */
static int below_add(struct hotcallers *hotcallers,
                     int64_t caller,
                     const struct hotcallers_stack *stack)
{
    int64_t number = table_number_of(hotcallers->pairs, (uint64_t)caller,
                                     (uint64_t)(uintptr_t)stack->leaf.function,
                                     stack->leaf.line);

    if (number < 0) {
        return -1;
    }
    if ((size_t)number == hotcallers->belows_count) {
        if (array_grow(&hotcallers->belows, &hotcallers->belows_room,
                       hotcallers->belows_count,
                       sizeof(*hotcallers->belows)) != 0) {
            return -1;
        }
        hotcallers->belows[hotcallers->belows_count++] =
            (struct below){.caller = (size_t)caller, .leaf = stack->leaf};
    }
    hotcallers->belows[number].ns += stack->ns;
    return 0;
}

static int frame_add(struct hotcallers *hotcallers,
                     const struct hotcallers_stack *stack,
                     struct place place)
{
    int64_t number = caller_number(hotcallers, place);
    struct caller *caller;

    if (number < 0) {
        return -1;
    }
    caller = &hotcallers->callers[number];
    if (caller->seen == hotcallers->stacks) {
        return 0;
    }
    caller->seen = hotcallers->stacks;
    caller->total += stack->ns;
    if (place.function == stack->leaf.function) {
        caller->self += stack->ns;
        return 0;
    }
    return below_add(hotcallers, number, stack);
}

int hotcallers_add(struct hotcallers *hotcallers,
                   const struct hotcallers_stack *stack)
{
    const struct defs *defs = hotcallers->defs;
    const struct defs_agent *agent =
        &defs->agents[defs->processes[stack->process].agent];
    const struct defs_stack *frames;

    if (stack->number == 0 || stack->number > agent->stacks_count) {
        return 0;
    }
    hotcallers->stacks++;
    frames = &agent->stacks[stack->number - 1];
    for (size_t i = 0; i < frames->depth; i++) {
        struct place place =
            frame_place(defs, stack->process, frames->frames[i]);

        if (place.function != NULL &&
            frame_add(hotcallers, stack, place) != 0) {
            return -1;
        }
    }
    return 0;
}

static int by_total(const void *left, const void *right)
{
    const struct report_caller *a = left;
    const struct report_caller *b = right;

    if (a->total != b->total) {
        return a->total < b->total ? 1 : -1;
    }
    return strcmp(a->place.function, b->place.function);
}

int hotcallers_report(const struct hotcallers *hotcallers,
                      struct report *report)
{
    size_t count = hotcallers->count;

    report->callers = calloc(count + 1, sizeof(*report->callers));
    if (report->callers == NULL) {
        return -1;
    }
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
    return 0;
}
