/* callpaths.c - the user's functions that a sampled thread was in
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Paths are a tree: a path is a function called at the end of another path.
 */
#include "merge/analysis/history/callpaths.h"

#include <stdlib.h>
#include <string.h>

#include "merge/model/array.h"
#include "merge/model/memory.h"
#include "merge/model/table.h"
#include "merge/model/userfile.h"

/* Of the meant samples, below a function that explains them, at least; and of
 * what that function had at all, meant or not of others. In percent. */
#define EXPLAINED 90
#define EXPLAINS 80
/* Of the meant ones, below a function that others hardly were in: samples of
 * what both did differ by chance. */
#define EXPLAINED_OWN 75
/* Functions that may explain. */
#define CANDIDATES_MAX 64

struct node {
    uint32_t before; /* the path that it lengthens */
    uint32_t depth;
    struct place function; /* without a line */
};

struct callpaths {
    const struct defs *defs; /* borrowed */
    struct table *stacks;    /* process, stack */
    uint32_t *ends;          /* by number of that: the path */
    size_t ends_count, ends_room;
    struct table *keys; /* path, function, file: number of the node - 1 */
    struct node *nodes;
    size_t count, room;
};

struct callpaths *callpaths_create(const struct defs *defs)
{
    struct callpaths *paths = xcalloc(1, sizeof(*paths));

    paths->defs = defs;
    paths->stacks = table_create();
    paths->keys = table_create();
    return paths;
}

void callpaths_destroy(struct callpaths *paths)
{
    if (paths != NULL) {
        table_destroy(paths->stacks);
        table_destroy(paths->keys);
        free(paths->ends);
        free(paths->nodes);
        free(paths);
    }
}

/* All of a program is below these. */
static bool is_main(const char *function)
{
    static const char *const names[] = {"_start", "main",     "main.0",
                                        "MAIN__", "<module>", "__libc_main"};

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (strcmp(function, names[i]) == 0) {
            return true;
        }
    }
    return false;
}

static uint32_t node_number(struct callpaths *paths,
                            uint32_t before,
                            const struct place *function)
{
    int64_t number =
        table_number_of(paths->keys, before, (uintptr_t)function->function,
                        (uintptr_t)function->file);

    if ((size_t)number == paths->count) {
        array_grow(&paths->nodes, &paths->room, paths->count,
                   sizeof(*paths->nodes));
        paths->nodes[paths->count++] =
            (struct node){.before = before,
                          .depth = before == CALLPATHS_NONE
                                       ? 1
                                       : paths->nodes[before - 1].depth + 1,
                          .function = {function->function, function->file, 0}};
    }
    return (uint32_t)number + 1;
}

static bool is_same(const struct place *a, const struct place *b)
{
    /* Kept texts: equal ones are one pointer. */
    return a->function == b->function && a->file == b->file;
}

/* The user's functions of a stack, innermost first, each where it was entered
 * first. */
static size_t functions_find(const struct callpaths *paths,
                             uint32_t process,
                             const struct defs_stack *stack,
                             struct place found[CALLPATHS_DEPTH])
{
    size_t count = 0;

    for (size_t i = 0; i < stack->depth; i++) {
        struct place place = defs_place(paths->defs, process, stack->frames[i]);
        size_t at = 0;

        if (place.function == NULL ||
            !userfile_is(paths->defs, process, stack->frames[i]) ||
            strcmp(place.function, "_start") == 0) {
            continue;
        }
        while (at < count && !is_same(&found[at], &place)) {
            at++;
        }
        if (at < count) {
            memmove(&found[at], &found[at + 1],
                    (--count - at) * sizeof(found[0]));
        }
        if (count == CALLPATHS_DEPTH) {
            break;
        }
        found[count++] = place;
    }
    return count;
}

static uint32_t path_make(struct callpaths *paths,
                          uint32_t process,
                          const struct defs_stack *stack)
{
    struct place found[CALLPATHS_DEPTH];
    size_t count = functions_find(paths, process, stack, found);
    uint32_t path = CALLPATHS_NONE;

    while (count > 0) {
        path = node_number(paths, path, &found[--count]);
    }
    return path;
}

uint32_t
callpaths_number(struct callpaths *paths, uint32_t process, uint32_t stack)
{
    const struct defs_agent *agent =
        &paths->defs->agents[paths->defs->processes[process].agent];
    const struct defs_stack *frames = defs_stack_find(agent, stack);
    int64_t number;

    if (frames == NULL) {
        return CALLPATHS_NONE;
    }
    number = table_number_of(paths->stacks, process, stack, 0);
    if ((size_t)number == paths->ends_count) {
        array_grow(&paths->ends, &paths->ends_room, paths->ends_count,
                   sizeof(*paths->ends));
        paths->ends[paths->ends_count++] = path_make(paths, process, frames);
    }
    return paths->ends[number];
}

/* ---- explaining ---------------------------------------------------------- */

/* A function that may explain what is meant. */
struct candidate {
    struct place function;
    uint32_t path; /* of the heaviest part: up to it */
    double path_ns;
    double meant;    /* the thread's beyond the others' */
    double meant_ns; /* the thread's alone */
    double ns;       /* all that the thread had below it */
    double others;
};

/* Its number; `count` = it is none. */
static size_t candidate_find(const struct candidate *candidates,
                             size_t count,
                             const struct place *function)
{
    size_t at = 0;

    while (at < count && !is_same(&candidates[at].function, function)) {
        at++;
    }
    return at;
}

/* The functions of a meant part's path. */
static size_t candidates_add(const struct callpaths *paths,
                             const struct callpaths_part *part,
                             struct candidate *candidates,
                             size_t count)
{
    for (uint32_t path = part->path; path != CALLPATHS_NONE;
         path = paths->nodes[path - 1].before) {
        const struct node *node = &paths->nodes[path - 1];
        size_t at = candidate_find(candidates, count, &node->function);

        if (at == count && count < CANDIDATES_MAX &&
            !is_main(node->function.function)) {
            candidates[count++] =
                (struct candidate){.function = node->function};
        }
    }
    return count;
}

static void part_add(const struct callpaths *paths,
                     const struct callpaths_part *part,
                     struct candidate *candidates,
                     size_t count)
{
    for (uint32_t path = part->path; path != CALLPATHS_NONE;
         path = paths->nodes[path - 1].before) {
        size_t at =
            candidate_find(candidates, count, &paths->nodes[path - 1].function);

        if (at == count) {
            continue;
        }
        candidates[at].ns += part->ns;
        candidates[at].others += part->others;
        if (part->is_meant) {
            candidates[at].meant += part->ns - part->others;
            candidates[at].meant_ns += part->ns;
        }
        if (part->is_meant && part->ns > candidates[at].path_ns) {
            candidates[at].path = path;
            candidates[at].path_ns = part->ns;
        }
    }
}

/* Others were compared, and hardly were in it. */
static bool is_own(const struct candidate *candidate, bool has_others)
{
    return has_others &&
           candidate->others * 100 <= candidate->ns * (100 - EXPLAINED);
}

/* It has nearly all that is meant, and is its own or does hardly anything else.
 */
static bool
does_explain(const struct candidate *candidate, double meant, bool has_others)
{
    if (is_own(candidate, has_others)) {
        return candidate->meant * 100 >= meant * EXPLAINED_OWN;
    }
    return candidate->meant * 100 >= meant * EXPLAINED &&
           candidate->meant_ns * 100 >= candidate->ns * EXPLAINS;
}

/* Of two that explain: one that others were hardly in before one that does
 * nothing else; then the outer one. */
static bool is_better(const struct callpaths *paths,
                      const struct candidate *a,
                      const struct candidate *b,
                      bool has_others)
{
    bool first = is_own(a, has_others), second = is_own(b, has_others);

    return first != second ? first
                           : paths->nodes[a->path - 1].depth <
                                 paths->nodes[b->path - 1].depth;
}

uint32_t callpaths_cut(const struct callpaths *paths,
                       uint32_t path,
                       const struct place *function)
{
    while (path != CALLPATHS_NONE &&
           !is_same(&paths->nodes[path - 1].function, function)) {
        path = paths->nodes[path - 1].before;
    }
    return path;
}

/* The path up to who called the function in that path; CALLPATHS_NONE. */
static uint32_t path_before(const struct callpaths *paths,
                            uint32_t path,
                            const struct place *function)
{
    path = callpaths_cut(paths, path, function);
    return path == CALLPATHS_NONE ? CALLPATHS_NONE
                                  : paths->nodes[path - 1].before;
}

/* Who called the function for nearly all that is meant: not where that is the
 * program's main function, or several. */
static struct place caller_of(const struct callpaths *paths,
                              const struct candidate *best,
                              const struct callpaths_part *parts,
                              size_t count)
{
    uint32_t before = paths->nodes[best->path - 1].before;
    const struct place *caller;
    double sum = 0;

    if (before == CALLPATHS_NONE ||
        is_main(paths->nodes[before - 1].function.function)) {
        return (struct place){NULL, NULL, 0};
    }
    caller = &paths->nodes[before - 1].function;
    for (size_t i = 0; i < count; i++) {
        uint32_t its = path_before(paths, parts[i].path, &best->function);

        sum += parts[i].is_meant && its != CALLPATHS_NONE &&
                       is_same(&paths->nodes[its - 1].function, caller)
                   ? parts[i].ns - parts[i].others
                   : 0;
    }
    return sum * 100 >= best->meant * EXPLAINED ? *caller
                                                : (struct place){NULL, NULL, 0};
}

struct report_callers callpaths_explain(const struct callpaths *paths,
                                        struct place leaf,
                                        const struct callpaths_part *parts,
                                        size_t count)
{
    struct candidate candidates[CANDIDATES_MAX];
    const struct candidate *best = NULL;
    struct report_callers callers = {.caller = {NULL, NULL, 0}};
    bool has_others = false;
    size_t used = 0;
    double meant = 0;

    for (size_t i = 0; i < count; i++) {
        has_others = has_others || parts[i].others > 0;
        if (parts[i].is_meant) {
            meant += parts[i].ns - parts[i].others;
            used = candidates_add(paths, &parts[i], candidates, used);
        }
    }
    for (size_t i = 0; i < count; i++) {
        part_add(paths, &parts[i], candidates, used);
    }
    for (size_t i = 0; i < used; i++) {
        if (candidates[i].path != CALLPATHS_NONE &&
            does_explain(&candidates[i], meant, has_others) &&
            (best == NULL ||
             is_better(paths, &candidates[i], best, has_others))) {
            best = &candidates[i];
        }
    }
    if (best == NULL) {
        return callers;
    }
    callers.called_from = caller_of(paths, best, parts, count);
    if (!is_same(&best->function, &leaf)) {
        callers.caller = best->function;
    }
    return callers;
}
