/* evidence.c - what is known of an activity beyond calls and ranges
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * The place of a sample is the innermost frame with a known file and line:
 * a sample in a library without debugging information counts for the
 * line that called it, if the stack reaches so far. Of a stack with frames of
 * Python it is the innermost of these that is neither the interpreter's library
 * nor an installed package's, whatever native code it called.
 */
#include "merge/analysis/history/evidence.h"

#include <stdlib.h>
#include <string.h>

#include "merge/model/array.h"
#include "merge/model/memory.h"
#include "merge/model/table.h"

/* A key of the table; items of one activity are a list. */
struct item {
    int64_t weight;
    uint32_t next; /* DEFS_NONE = the last */
};

/* What is known of one activity. */
struct known {
    int64_t offs[EVIDENCE_OFFS]; /* ns; of all, so not among the items */
    uint32_t first;              /* item; DEFS_NONE */
};

struct evidence {
    const struct defs *defs; /* borrowed */
    struct callpaths *paths;
    struct table *keys; /* activity | kind, a, b */
    struct item *items;
    size_t count, room;
    struct known *known; /* by activity */
    size_t known_count, known_room;
};

struct evidence *evidence_create(const struct defs *defs)
{
    struct evidence *evidence = xcalloc(1, sizeof(*evidence));

    evidence->defs = defs;
    evidence->paths = callpaths_create(defs);
    evidence->keys = table_create();
    return evidence;
}

void evidence_destroy(struct evidence *evidence)
{
    if (evidence == NULL) {
        return;
    }
    table_destroy(evidence->keys);
    callpaths_destroy(evidence->paths);
    free(evidence->items);
    free(evidence->known);
    free(evidence);
}

struct callpaths *evidence_paths(const struct evidence *evidence)
{
    return evidence->paths;
}

static struct known *known_of(struct evidence *evidence, uint32_t activity)
{
    while (evidence->known_count <= activity) {
        array_grow(&evidence->known, &evidence->known_room,
                   evidence->known_count, sizeof(*evidence->known));
        evidence->known[evidence->known_count++] =
            (struct known){.first = DEFS_NONE};
    }
    return &evidence->known[activity];
}

static void item_append(struct evidence *evidence, struct known *known)
{
    array_grow(&evidence->items, &evidence->room, evidence->count,
               sizeof(*evidence->items));
    evidence->items[evidence->count] = (struct item){0, known->first};
    known->first = (uint32_t)evidence->count++;
}

void evidence_add(struct evidence *evidence, const struct evidence_item *item)
{
    struct known *known = known_of(evidence, item->activity);
    int64_t number;

    if (item->kind == EVIDENCE_OFF) {
        known->offs[item->a] += item->weight;
        return;
    }
    number = table_number_of(
        evidence->keys, (uint64_t)item->activity << 8 | (uint64_t)item->kind,
        item->a, item->b);
    if ((size_t)number == evidence->count) {
        item_append(evidence, known);
    }
    evidence->items[number].weight += item->weight;
}

/* The activity's next item behind *at (at first 0), which becomes its number
 * + 1. False when there is none. */
static bool item_next(const struct evidence *evidence,
                      uint32_t activity,
                      enum evidence_kind kind,
                      size_t *at,
                      struct evidence_item *item)
{
    uint32_t index = DEFS_NONE;

    if (*at > 0) {
        index = evidence->items[*at - 1].next;
    } else if (activity < evidence->known_count) {
        index = evidence->known[activity].first;
    }
    for (; index != DEFS_NONE; index = evidence->items[index].next) {
        struct table_key key = table_key(evidence->keys, index);

        if ((key.a & 0xff) == (uint64_t)kind) {
            *at = (size_t)index + 1;
            *item = (struct evidence_item){
                .activity = activity,
                .kind = kind,
                .a = (uint32_t)key.b,
                .b = (uint32_t)key.c,
                .weight = evidence->items[index].weight,
            };
            return true;
        }
    }
    return false;
}

bool evidence_top(const struct evidence *evidence,
                  uint32_t activity,
                  enum evidence_kind kind,
                  struct evidence_item *top)
{
    struct evidence_item item;
    bool is_found = false;
    size_t at = 0;

    while (item_next(evidence, activity, kind, &at, &item)) {
        if (!is_found || item.weight > top->weight) {
            *top = item;
            is_found = true;
        }
    }
    return is_found;
}

struct report_running evidence_running(const struct evidence *evidence,
                                       uint32_t activity)
{
    const int64_t *offs;

    if (activity >= evidence->known_count) {
        return (struct report_running){0};
    }
    offs = evidence->known[activity].offs;
    return (struct report_running){
        .total = offs[EVIDENCE_ON] + offs[EVIDENCE_PREEMPTED] +
                 offs[EVIDENCE_BLOCKED],
        .preempted = offs[EVIDENCE_PREEMPTED],
        .blocked = offs[EVIDENCE_BLOCKED],
    };
}

/* Addresses of a library without symbols ("libz.so.1+0xab3b") are one place. */
static struct place library_place(const struct defs *defs, struct place place)
{
    const char *plus =
        place.function == NULL ? NULL : strstr(place.function, "+0x");

    if (plus != NULL) {
        place.function = texts_keep(defs->texts, place.function,
                                    (size_t)(plus - place.function));
    }
    return place;
}

/* The sample's stack, NULL = not kept. */
static const struct defs_stack *stack_of(const struct defs *defs,
                                         const struct evidence_item *item)
{
    const struct defs_agent *agent =
        &defs->agents[defs->processes[item->a].agent];

    return defs_stack_find(agent, item->b);
}

/* A Python program's own, not the interpreter's nor an installed package's. */
static bool is_users_file(const char *file)
{
    return file[0] != '<' && strstr(file, "/site-packages/") == NULL &&
           strstr(file, "/dist-packages/") == NULL &&
           strstr(file, "/lib/python3") == NULL;
}

/* The Python place of a stack, without a file where it has none. It may be
 * behind more frames than findings ask for: those of an extension, or of a
 * package. */
static struct place python_place(const struct defs *defs,
                                 const struct evidence_item *item,
                                 const struct defs_stack *stack)
{
    struct place innermost = {NULL, NULL, 0};

    for (size_t i = 0; stack != NULL && i < stack->depth; i++) {
        struct place place = {NULL, NULL, 0};

        if (stack->frames[i] >= CK_SITE_TOLD) {
            place = defs_place(defs, item->a, stack->frames[i]);
        }
        if (place.file != NULL && is_users_file(place.file)) {
            return place;
        }
        if (innermost.file == NULL) {
            innermost = place;
        }
    }
    return innermost;
}

struct place evidence_place(const struct defs *defs,
                            const struct evidence_item *item)
{
    const struct defs_stack *stack = stack_of(defs, item);
    struct place leaf = python_place(defs, item, stack);

    if (leaf.file != NULL) {
        return leaf;
    }
    for (size_t i = 0; stack != NULL && i < stack->count; i++) {
        struct place place = defs_place(defs, item->a, stack->frames[i]);

        if ((i > 0 && place.file == NULL) ||
            defs_is_own(defs, item->a, stack->frames[i])) {
            continue;
        }
        if (place.file != NULL) {
            return place;
        }
        leaf = place;
    }
    return library_place(defs, leaf);
}

const char *evidence_called(const struct defs *defs,
                            const struct evidence_item *item)
{
    const struct defs_stack *stack = stack_of(defs, item);
    const char *innermost = NULL;

    if (python_place(defs, item, stack).file != NULL) {
        return NULL;
    }
    for (size_t i = 0; stack != NULL && i < stack->count; i++) {
        struct place place = defs_place(defs, item->a, stack->frames[i]);

        if (place.file != NULL) {
            return innermost;
        }
        if (innermost == NULL &&
            !defs_is_own(defs, item->a, stack->frames[i])) {
            innermost = library_place(defs, place).function;
        }
    }
    return NULL;
}

bool evidence_is_own(const struct defs *defs, const struct evidence_item *item)
{
    const struct defs_stack *stack = stack_of(defs, item);

    return stack != NULL && stack->count > 0 &&
           defs_is_own(defs, item->a, stack->frames[0]);
}

bool evidence_is_team(const struct defs *defs, const struct evidence_item *item)
{
    const struct defs_stack *stack = stack_of(defs, item);

    return stack != NULL && stack->count > 0 &&
           defs_is_team(defs, item->a, stack->frames[0]);
}

bool evidence_is_work(const struct defs *defs, const struct evidence_item *item)
{
    const struct defs_stack *stack = stack_of(defs, item);

    for (uint32_t i = 0; stack != NULL && i < stack->count; i++) {
        const char *file = defs_file(defs, item->a, stack->frames[i]);

        if (file != NULL && strstr(file, "/libc.so") == NULL) {
            return !defs_is_team(defs, item->a, stack->frames[i]) &&
                   !defs_is_own(defs, item->a, stack->frames[i]);
        }
    }
    return false;
}

/* Samples of one place. */
struct spot {
    struct place place;
    int64_t weight;
};

static bool is_same_function(const struct spot *a, const struct spot *b)
{
    /* Texts are kept once: equal ones have equal pointers. */
    return a->place.function == b->place.function &&
           a->place.file == b->place.file;
}

/* Every place that was sampled in the activity, the caller's to free. */
static struct spot *
spots_collect(const struct evidence *evidence, uint32_t activity, size_t *count)
{
    struct evidence_item item;
    struct spot *spots = NULL;
    size_t room = 0;
    size_t next = 0;

    *count = 0;
    while (item_next(evidence, activity, EVIDENCE_SAMPLE, &next, &item)) {
        struct spot spot = {evidence_place(evidence->defs, &item), item.weight};
        size_t at = 0;

        while (at < *count && (!is_same_function(&spots[at], &spot) ||
                               spots[at].place.line != spot.place.line)) {
            at++;
        }
        if (at == *count) {
            array_grow(&spots, &room, *count, sizeof(*spots));
            spots[(*count)++] = (struct spot){spot.place, 0};
        }
        spots[at].weight += spot.weight;
    }
    return spots;
}

static bool is_in(const struct place *a, const struct place *b)
{
    return a->function == b->function && a->file == b->file;
}

/* Of the samples in a function, those that handled page faults. */
static ck_time_t faulting_of(const struct evidence *evidence,
                             uint32_t activity,
                             const struct place *function)
{
    struct evidence_item item;
    ck_time_t sum = 0;
    size_t next = 0;

    while (item_next(evidence, activity, EVIDENCE_FAULTING, &next, &item)) {
        struct place place = evidence_place(evidence->defs, &item);

        sum += is_in(&place, function) ? item.weight : 0;
    }
    return sum;
}

/* By which of its callers the function that was found is explained. */
static void callers_find(const struct evidence *evidence,
                         uint32_t activity,
                         struct report_sampled *sampled)
{
    struct callpaths_part *parts = NULL;
    struct evidence_item item;
    size_t count = 0, room = 0, next = 0;

    while (item_next(evidence, activity, EVIDENCE_SAMPLE, &next, &item)) {
        struct place place = evidence_place(evidence->defs, &item);

        array_grow(&parts, &room, count, sizeof(*parts));
        parts[count++] = (struct callpaths_part){
            .path = callpaths_number(evidence->paths, item.a, item.b),
            .is_meant = is_in(&place, &sampled->place),
            .ns = (double)item.weight};
    }
    sampled->callers =
        callpaths_explain(evidence->paths, sampled->place, parts, count);
    free(parts);
}

struct report_sampled evidence_sampled(const struct evidence *evidence,
                                       uint32_t activity)
{
    struct report_sampled sampled = {0};
    int64_t line = 0;
    size_t count;
    struct spot *spots = spots_collect(evidence, activity, &count);

    for (size_t i = 0; i < count; i++) {
        int64_t sum = 0;

        sampled.total += spots[i].weight;
        if (spots[i].place.function == NULL) {
            continue;
        }
        for (size_t j = 0; j < count; j++) {
            sum += is_same_function(&spots[i], &spots[j]) ? spots[j].weight : 0;
        }
        if (sum > sampled.ns || (sum == sampled.ns && spots[i].weight > line)) {
            sampled.ns = sum;
            sampled.place = spots[i].place;
            line = spots[i].weight;
        }
    }
    free(spots);
    if (sampled.ns > 0) {
        callers_find(evidence, activity, &sampled);
        sampled.faulting = faulting_of(evidence, activity, &sampled.place);
    }
    return sampled;
}
