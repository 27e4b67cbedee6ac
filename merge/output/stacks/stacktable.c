/* stacktable.c - the stacks that CPU samples met, added up by thread
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * A sample is one look-up in a table: collectors number stacks, so a row is a
 * process, a thread id and a number. Frames are looked at once, at the end.
 */
#include "merge/output/stacks/stacktable.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "merge/model/array.h"
#include "merge/model/memory.h"
#include "merge/model/table.h"
#include "merge/output/cxxname.h"

struct stacktable {
    const struct defs *defs; /* borrowed */
    struct region part;
    struct table *images;  /* agent, incarnation: number of the process */
    struct table *threads; /* process, tid: number of the thread */
    struct table *keys;    /* process, tid, stack: number of the sum */
    struct table *seen;    /* function, file, line: number of the place */
    struct stacktable_row *rows;
    size_t count, room;
    struct place *places;
    size_t places_count, places_room;
    unsigned kind;    /* of the records that are taken */
    bool has_moments; /* they are kept */
    struct stacktable_moment *moments;
    size_t moments_count, moments_room;
    uint64_t moments_left;
    uint32_t *order; /* by number of a row: where it is now */
};

/* The numbers that the definitions have. */
static void numbers_note(struct stacktable *table)
{
    const struct defs *defs = table->defs;

    for (size_t i = 0; i < defs->processes_count; i++) {
        table_number_of(table->images, defs->processes[i].agent,
                        defs->processes[i].incarnation, 0);
    }
    for (size_t i = 0; i < defs->threads_count; i++) {
        table_number_of(table->threads, defs->threads[i].process,
                        defs->threads[i].tid, 0);
    }
}

struct stacktable *stacktable_create(const struct defs *defs,
                                     struct region part)
{
    struct stacktable *table = xcalloc(1, sizeof(*table));

    table->defs = defs;
    table->part = part;
    table->kind = CK_KIND_SAMPLE;
    table->images = table_create();
    table->threads = table_create();
    table->keys = table_create();
    table->seen = table_create();
    numbers_note(table);
    return table;
}

void stacktable_destroy(struct stacktable *table)
{
    if (table == NULL) {
        return;
    }
    for (size_t i = 0; i < table->count; i++) {
        free(table->rows[i].frames);
    }
    free(table->rows);
    free(table->places);
    free(table->moments);
    free(table->order);
    table_destroy(table->images);
    table_destroy(table->threads);
    table_destroy(table->keys);
    table_destroy(table->seen);
    free(table);
}

/* Damaged records must not make it negative. */
static ck_time_t sum_of(ck_time_t ns, ck_time_t more)
{
    ck_time_t sum;

    return __builtin_add_overflow(ns, more, &sum) ? INT64_MAX : sum;
}

/* The number of its row. */
static int64_t sample_add(struct stacktable *table,
                          uint32_t process,
                          const struct ck_sample *record,
                          ck_time_t ns)
{
    int64_t number =
        table_number_of(table->keys, process, record->tid, record->stack);

    if ((size_t)number == table->count) {
        struct table_key key = {process, record->tid, 0};
        int64_t thread = table_find(table->threads, key);

        array_grow(&table->rows, &table->room, table->count,
                   sizeof(*table->rows));
        table->rows[table->count++] = (struct stacktable_row){
            .thread = thread < 0 ? DEFS_NONE : (uint32_t)thread,
            .process = process,
            .tid = record->tid,
            .number = (uint32_t)number,
            .rank = table->defs->processes[process].rank};
    }
    table->rows[number].samples++;
    table->rows[number].ns = sum_of(table->rows[number].ns, ns);
    return number;
}

/* The process of an image that one of its agent's names; -1 = none that is
 * wanted. */
static int64_t process_number(const struct stacktable *table,
                              uint32_t recorder,
                              uint32_t incarnation)
{
    const struct defs *defs = table->defs;
    int64_t process = table_find(
        table->images,
        (struct table_key){defs->processes[recorder].agent, incarnation, 0});

    return process >= 0 && defs_is_wanted(defs, defs->processes[process].rank)
               ? process
               : -1;
}

int64_t stacktable_thread_number(const struct stacktable *table,
                                 uint32_t recorder,
                                 uint32_t incarnation,
                                 uint32_t tid)
{
    int64_t process = process_number(table, recorder, incarnation);

    return process < 0
               ? -1
               : table_find(table->threads,
                            (struct table_key){(uint64_t)process, tid, 0});
}

void stacktable_keep(struct stacktable *table)
{
    table->has_moments = true;
}

static void moment_add(struct stacktable *table,
                       const struct timeline_event *event,
                       int64_t row)
{
    if (table->moments_count == STACKTABLE_MOMENTS) {
        table->moments_left++;
        return;
    }
    array_grow(&table->moments, &table->moments_room, table->moments_count,
               sizeof(*table->moments));
    table->moments[table->moments_count++] = (struct stacktable_moment){
        event->start, (uint32_t)row,
        ((const struct ck_sample *)event->record)->cpu};
}

void stacktable_of_waits(struct stacktable *table)
{
    table->kind = CK_KIND_OFF_CPU;
}

/* What of the record's time counts; 0 = nothing. */
static ck_time_t ns_in(const struct stacktable *table,
                       const struct timeline_event *event)
{
    ck_time_t weight = ((const struct ck_sample *)event->record)->weight;
    struct region part = region_from(event->start, weight);

    if (weight <= 0 || table->kind == CK_KIND_SAMPLE) {
        return event->start >= table->part.start &&
                       event->start < table->part.end && weight > 0
                   ? weight
                   : 0;
    }
    part.start =
        part.start > table->part.start ? part.start : table->part.start;
    part.end = part.end < table->part.end ? part.end : table->part.end;
    return part.end > part.start ? part.end - part.start : 0;
}

int64_t stacktable_sample(struct stacktable *table,
                          const struct timeline_event *event)
{
    const struct ck_sample *record = (const struct ck_sample *)event->record;
    int64_t process, row;
    ck_time_t ns;

    if (event->record->kind != table->kind) {
        return STACKTABLE_NONE;
    }
    ns = ns_in(table, event);
    process = process_number(table, event->process, event->record->name);
    if (process < 0 || ns == 0) {
        return STACKTABLE_NONE;
    }
    row = sample_add(table, (uint32_t)process, record, ns);
    if (table->has_moments) {
        moment_add(table, event, row);
    }
    return row;
}

int stacktable_take(void *consumer, const struct timeline_event *event)
{
    (void)stacktable_sample(consumer, event);
    return 0;
}

int stacktable_take_memory(void *consumer, const struct timeline_event *event)
{
    struct stacktable *table = consumer;
    const struct ck_stacked *record = (const struct ck_stacked *)event->record;
    const struct defs *defs = table->defs;
    const struct ck_sample key = {.tid = event->thread < defs->threads_count
                                             ? defs->threads[event->thread].tid
                                             : 0,
                                  .stack = record->stack};
    double bytes = (double)record->bytes;

    if (record->e.kind == CK_KIND_ALLOCATED &&
        (record->e.flags & CK_FLAG_PART) == 0 && record->mean > 0 &&
        bytes > 0 && record->bytes <= CK_BLOCK_BYTES_MAX &&
        event->start >= table->part.start && event->start < table->part.end &&
        defs_is_wanted(defs, defs->processes[event->process].rank)) {
        bytes /= -expm1(-bytes / record->mean);
        (void)sample_add(table, event->process, &key, (ck_time_t)(bytes + 0.5));
    }
    return 0;
}

/* ---- frames ------------------------------------------------------------- */

/* The place with the mark behind its name. */
static struct place place_marked(const struct stacktable *table,
                                 struct place place,
                                 const char *mark)
{
    char name[STACKTABLE_NAME + 8];

    if (mark != NULL) {
        stacktable_name(&place, name);
        (void)strcat(name, mark);
        place.function = texts_keep(table->defs->texts, name, strlen(name));
    }
    return place;
}

/* Number of the place. */
static int64_t place_number(struct stacktable *table, struct place place)
{
    int64_t number =
        table_number_of(table->seen, (uint64_t)(uintptr_t)place.function,
                        (uint64_t)(uintptr_t)place.file, place.line);

    if (number >= 0 && (size_t)number == table->places_count) {
        array_grow(&table->places, &table->places_room, table->places_count,
                   sizeof(*table->places));
        table->places[table->places_count++] = place;
    }
    return number;
}

static struct place
place_of(const struct defs *defs, uint32_t process, uint64_t address)
{
    struct place place = defs_place(defs, process, address);

    if (place.function == NULL && place.file == NULL) {
        place.file = address >= CK_SITE_KERNEL
                         ? "[kernel]"
                         : defs_file(defs, process, address);
    }
    return place;
}

static void row_append(struct stacktable *table,
                       struct stacktable_row *row,
                       struct place place,
                       const char *mark)
{
    array_grow(&row->frames, &row->room, row->count, sizeof(*row->frames));
    row->frames[row->count++] =
        (uint32_t)place_number(table, place_marked(table, place, mark));
}

/* The frames of one address: a function, and what was inlined into it. */
static void address_append(struct stacktable *table,
                           struct stacktable_row *row,
                           uint64_t address)
{
    const struct defs *defs = table->defs;
    size_t count;
    const struct place *inlined =
        names_get_inlined(defs->processes[row->process].names, address, &count);
    const char *mark = address >= CK_SITE_JIT ? STACKTABLE_JIT : NULL;

    if (address >= CK_SITE_KERNEL) {
        mark = STACKTABLE_KERNEL;
    }
    if (count == 0) {
        row_append(table, row, place_of(defs, row->process, address), mark);
    }
    for (size_t i = count; i-- > 0;) {
        row_append(table, row, inlined[i],
                   i + 1 < count ? STACKTABLE_INLINED : NULL);
    }
}

static void row_resolve(struct stacktable *table,
                        struct stacktable_row *row,
                        const struct defs_stack *stack)
{
    static const struct place none = {"[no stack]", NULL, 0};
    static const struct place deeper = {"[deeper]", NULL, 0};
    size_t depth = stack == NULL ? 0 : stack->depth;
    size_t kernel = stack == NULL ? 0 : stack->kernel;
    bool is_nameless = false;

    if (depth + kernel >= DEFS_STACK_DEPTH) {
        row_append(table, row, deeper, NULL);
    } else if (depth + kernel == 0) {
        row_append(table, row, none, NULL);
    }
    for (size_t i = depth; i-- > 0;) {
        address_append(table, row, stack->frames[i]);
    }
    for (size_t i = depth + kernel; i-- > depth;) {
        bool was_nameless = is_nameless;

        is_nameless =
            defs_place(table->defs, row->process, stack->frames[i]).function ==
            NULL;
        if (!is_nameless || !was_nameless) {
            address_append(table, row, stack->frames[i]);
        }
    }
}

static int by_number(uint64_t a, uint64_t b)
{
    return (a > b) - (a < b);
}

static int by_frames(const void *left, const void *right)
{
    const struct stacktable_row *a = left;
    const struct stacktable_row *b = right;
    int order = (a->rank > b->rank) - (a->rank < b->rank);

    if (order == 0) {
        order = by_number(a->process, b->process);
    }
    if (order == 0) {
        order = by_number(a->thread, b->thread);
    }
    if (order == 0) {
        order = by_number(a->tid, b->tid);
    }
    for (size_t i = 0; order == 0 && i < a->count && i < b->count; i++) {
        order = by_number(a->frames[i], b->frames[i]);
    }
    return order != 0 ? order : by_number(a->count, b->count);
}

void stacktable_resolve(struct stacktable *table)
{
    for (size_t i = 0; i < table->count; i++) {
        struct table_key key = table_key(table->keys, i);
        const struct defs_agent *agent =
            &table->defs->agents[table->defs->processes[key.a].agent];

        row_resolve(table, &table->rows[i],
                    defs_stack_find(agent, (uint32_t)key.c));
    }
    if (table->count > 0) {
        qsort(table->rows, table->count, sizeof(*table->rows), by_frames);
    }
    table->order = xcalloc(table->count + 1, sizeof(*table->order));
    for (size_t i = 0; i < table->count; i++) {
        table->order[table->rows[i].number] = (uint32_t)i;
    }
}

/* ---- what is asked ------------------------------------------------------ */

const struct stacktable_row *stacktable_rows(const struct stacktable *table,
                                             size_t *count)
{
    *count = table->count;
    return table->rows;
}

const struct stacktable_row *stacktable_row(const struct stacktable *table,
                                            uint32_t number)
{
    return &table->rows[table->order[number]];
}

const struct stacktable_moment *
stacktable_moments(const struct stacktable *table, size_t *count)
{
    *count = table->moments_count;
    return table->moments;
}

uint64_t stacktable_moments_left(const struct stacktable *table)
{
    return table->moments_left;
}

uint32_t stacktable_pid(const struct stacktable *table,
                        const struct stacktable_row *row)
{
    return table->defs->processes[row->process].pid;
}

const struct place *stacktable_places(const struct stacktable *table,
                                      size_t *count)
{
    *count = table->places_count;
    return table->places;
}

void stacktable_name(const struct place *place, char name[STACKTABLE_NAME])
{
    const char *file = place->file == NULL ? "unknown" : place->file;
    const char *slash = strrchr(file, '/');

    if (place->function == NULL && file[0] == '[') {
        (void)snprintf(name, STACKTABLE_NAME, "%s", file); /* "[kernel]" */
    } else if (place->function == NULL) {
        (void)snprintf(name, STACKTABLE_NAME, "[%s]",
                       slash == NULL ? file : slash + 1);
    } else if (!cxxname_plain(name, STACKTABLE_NAME, place->function)) {
        (void)snprintf(name, STACKTABLE_NAME, "%s", place->function);
    }
}

void stacktable_thread(const struct stacktable *table,
                       const struct stacktable_row *row,
                       char name[STACKTABLE_NAME])
{
    const struct defs *defs = table->defs;
    const struct defs_thread *thread =
        row->thread == DEFS_NONE ? NULL : &defs->threads[row->thread];

    if (thread == NULL) {
        (void)snprintf(name, STACKTABLE_NAME, "other threads");
    } else if (thread->tid == defs->processes[row->process].pid) {
        (void)snprintf(name, STACKTABLE_NAME, "main");
    } else if (thread->name != NULL) {
        (void)snprintf(name, STACKTABLE_NAME, "%s", thread->name);
    } else {
        (void)snprintf(name, STACKTABLE_NAME, "tid %u", thread->tid);
    }
}
