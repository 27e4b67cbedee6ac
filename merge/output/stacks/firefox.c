/* firefox.c - samples as a profile for the Firefox Profiler
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Its processed format, version 54, which the site brings up to date. Tables
 * are columns: a sample has the number of a stack, a stack those of the one
 * below it and of a frame, a frame that of a function, and a function that of
 * its name. Each thread has tables of its own.
 */
#include "merge/output/stacks/firefox.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "merge/model/array.h"
#include "merge/model/memory.h"
#include "merge/model/table.h"
#include "merge/output/sink.h"

/* Numbers in `categories` of the profile. */
enum category { CATEGORY_USER, CATEGORY_KERNEL, CATEGORY_JIT, CATEGORY_OTHER };

static const char categories[] =
    "[{\"name\":\"Native\",\"color\":\"yellow\",\"subcategories\":[\"Other\"]},"
    "{\"name\":\"Kernel\",\"color\":\"orange\",\"subcategories\":[\"Other\"]},"
    "{\"name\":\"Compiled at run time\",\"color\":\"green\",\"subcategories\":"
    "[\"Other\"]},"
    "{\"name\":\"Other\",\"color\":\"grey\",\"subcategories\":[\"Other\"]}]";

/* A thread of the profile. */
struct thread {
    const struct stacktable *stacks; /* borrowed */
    const struct place *places;      /* borrowed */
    const struct stacktable_row *rows;
    size_t rows_count;
    size_t *samples; /* moments of it, in order of time; borrowed */
    size_t samples_count;
    struct table *frames; /* place: number of frame and function */
    struct table *nodes;  /* number of the one below + 1, frame: of a stack */
    int64_t *leaves;      /* by row: its stack; -1 = it has none */
};

/* ---- columns ------------------------------------------------------------ */

static void put_separator(struct sink *sink, size_t i)
{
    sink_text(sink, i == 0 ? "" : ",");
}

/* "name":[value,value...], where all are equal. */
static void
put_equal(struct sink *sink, const char *name, const char *value, size_t count)
{
    sink_text(sink, "\"");
    sink_text(sink, name);
    sink_text(sink, "\":[");
    for (size_t i = 0; i < count; i++) {
        put_separator(sink, i);
        sink_text(sink, value);
    }
    sink_text(sink, "],");
}

/* A column of `count` numbers: 0, step, 2 step ... */
static void
put_steps(struct sink *sink, const char *name, int64_t step, size_t count)
{
    sink_string(sink, name);
    sink_text(sink, ":[");
    for (size_t i = 0; i < count; i++) {
        put_separator(sink, i);
        sink_int(sink, step * (int64_t)i);
    }
    sink_text(sink, "],");
}

static void put_known(struct sink *sink, bool is_known, int64_t value)
{
    if (is_known) {
        sink_int(sink, value);
    } else {
        sink_text(sink, "null");
    }
}

/* Nanoseconds as milliseconds. */
static void put_ms(struct sink *sink, int64_t ns)
{
    char text[48];

    (void)snprintf(text, sizeof(text), "%s%" PRId64 ".%06" PRId64,
                   ns < 0 ? "-" : "", (ns < 0 ? -ns : ns) / 1000000,
                   (ns < 0 ? -ns : ns) % 1000000);
    sink_text(sink, text);
}

/* ---- the tables of a thread --------------------------------------------- */

static void thread_fill(struct thread *thread)
{
    thread->frames = table_create();
    thread->nodes = table_create();
    thread->leaves = xcalloc(thread->rows_count, sizeof(*thread->leaves));
    for (size_t i = 0; i < thread->rows_count; i++) {
        const struct stacktable_row *row = &thread->rows[i];
        int64_t at = -1;

        for (size_t j = 0; j < row->count; j++) {
            int64_t frame =
                table_number_of(thread->frames, row->frames[j], 0, 0);

            at = table_number_of(thread->nodes, (uint64_t)(at + 1),
                                 (uint64_t)frame, 0);
        }
        thread->leaves[i] = at;
    }
}

static void thread_fini(struct thread *thread)
{
    table_destroy(thread->frames);
    table_destroy(thread->nodes);
    free(thread->leaves);
}

static const struct place *frame_place(const struct thread *thread, size_t i)
{
    return &thread->places[table_key(thread->frames, i).a];
}

static bool ends_with(const char *name, const char *end)
{
    size_t length = strlen(name), tail = strlen(end);

    return length >= tail && strcmp(name + length - tail, end) == 0;
}

static enum category category_of(const struct place *place)
{
    if (place->function == NULL || place->function[0] == '[') {
        return CATEGORY_OTHER;
    }
    if (ends_with(place->function, STACKTABLE_KERNEL)) {
        return CATEGORY_KERNEL;
    }
    return ends_with(place->function, STACKTABLE_JIT) ? CATEGORY_JIT
                                                      : CATEGORY_USER;
}

/* Names of functions, then of their files: of frame i those at 2 i and 2 i + 1.
 */
static void put_strings(struct sink *sink, const struct thread *thread)
{
    char name[STACKTABLE_NAME];

    sink_text(sink, "\"stringArray\":[");
    for (size_t i = 0; i < table_count(thread->frames); i++) {
        const struct place *place = frame_place(thread, i);

        put_separator(sink, i);
        stacktable_name(place, name);
        sink_string(sink, name);
        sink_text(sink, ",");
        sink_string(sink, place->file == NULL ? "" : place->file);
    }
    sink_text(sink, "],");
}

static void put_frames(struct sink *sink, const struct thread *thread)
{
    size_t count = table_count(thread->frames);

    sink_text(sink, "\"frameTable\":{");
    put_equal(sink, "address", "-1", count);
    put_equal(sink, "inlineDepth", "0", count);
    put_equal(sink, "subcategory", "0", count);
    put_equal(sink, "nativeSymbol", "null", count);
    put_equal(sink, "innerWindowID", "null", count);
    put_equal(sink, "column", "null", count);
    sink_text(sink, "\"category\":[");
    for (size_t i = 0; i < count; i++) {
        put_separator(sink, i);
        sink_int(sink, category_of(frame_place(thread, i)));
    }
    sink_text(sink, "],");
    put_steps(sink, "func", 1, count);
    sink_text(sink, "\"line\":[");
    for (size_t i = 0; i < count; i++) {
        uint32_t line = frame_place(thread, i)->line;

        put_separator(sink, i);
        put_known(sink, line > 0, line);
    }
    sink_text(sink, "],\"length\":");
    sink_int(sink, (int64_t)count);
    sink_text(sink, "},\n");
}

static void put_functions(struct sink *sink, const struct thread *thread)
{
    size_t count = table_count(thread->frames);

    sink_text(sink, "\"funcTable\":{");
    put_equal(sink, "isJS", "false", count);
    put_equal(sink, "relevantForJS", "false", count);
    put_equal(sink, "resource", "-1", count);
    put_equal(sink, "lineNumber", "null", count);
    put_equal(sink, "columnNumber", "null", count);
    put_steps(sink, "name", 2, count);
    sink_text(sink, "\"fileName\":[");
    for (size_t i = 0; i < count; i++) {
        put_separator(sink, i);
        put_known(sink, frame_place(thread, i)->file != NULL,
                  (int64_t)(2 * i + 1));
    }
    sink_text(sink, "],\"length\":");
    sink_int(sink, (int64_t)count);
    sink_text(sink, "},\n");
}

static void put_stacks(struct sink *sink, const struct thread *thread)
{
    size_t count = table_count(thread->nodes);

    sink_text(sink, "\"stackTable\":{\"prefix\":[");
    for (size_t i = 0; i < count; i++) {
        int64_t below = (int64_t)table_key(thread->nodes, i).a - 1;

        put_separator(sink, i);
        put_known(sink, below >= 0, below);
    }
    sink_text(sink, "],\"frame\":[");
    for (size_t i = 0; i < count; i++) {
        put_separator(sink, i);
        sink_int(sink, (int64_t)table_key(thread->nodes, i).b);
    }
    sink_text(sink, "],\"length\":");
    sink_int(sink, (int64_t)count);
    sink_text(sink, "},\n");
}

static void put_samples(struct sink *sink, const struct thread *thread)
{
    size_t count;
    const struct stacktable_moment *moments =
        stacktable_moments(thread->stacks, &count);

    sink_text(sink, "\"samples\":{\"weightType\":\"samples\",\"weight\":null,"
                    "\"stack\":[");
    for (size_t i = 0; i < thread->samples_count; i++) {
        const struct stacktable_row *row =
            stacktable_row(thread->stacks, moments[thread->samples[i]].row);

        put_separator(sink, i);
        sink_int(sink, thread->leaves[row - thread->rows]);
    }
    sink_text(sink, "],\"time\":[");
    for (size_t i = 0; i < thread->samples_count; i++) {
        put_separator(sink, i);
        put_ms(sink, moments[thread->samples[i]].at);
    }
    sink_text(sink, "],\"length\":");
    sink_int(sink, (int64_t)thread->samples_count);
    sink_text(sink, "},\n");
}

/* ---- the file ----------------------------------------------------------- */

static void put_thread_head(struct sink *sink, const struct thread *thread)
{
    const struct stacktable_row *row = thread->rows;
    char name[STACKTABLE_NAME], text[96];
    bool is_main;

    stacktable_thread(thread->stacks, row, name);
    is_main = row->tid == stacktable_pid(thread->stacks, row);
    sink_text(sink, "{\"processType\":\"default\",\"processStartupTime\":0,"
                    "\"processShutdownTime\":null,\"registerTime\":0,"
                    "\"unregisterTime\":null,\"pausedRanges\":[],\"name\":");
    sink_string(sink, name);
    sink_text(sink,
              is_main ? ",\"isMainThread\":true" : ",\"isMainThread\":false");
    sink_text(sink, ",\"processName\":\"");
    if (row->rank < 0) {
        sink_text(sink, "no rank");
    } else {
        sink_text(sink, "rank ");
        sink_int(sink, row->rank);
    }
    (void)snprintf(text, sizeof(text),
                   "\",\"pid\":\"%" PRIu32 "\",\"tid\":%" PRIu32 ",\n",
                   stacktable_pid(thread->stacks, row), row->tid);
    sink_text(sink, text);
}

static void put_thread(struct sink *sink, struct thread *thread)
{
    thread_fill(thread);
    put_thread_head(sink, thread);
    put_strings(sink, thread);
    put_frames(sink, thread);
    put_functions(sink, thread);
    put_stacks(sink, thread);
    put_samples(sink, thread);
    sink_text(sink,
              "\"resourceTable\":{\"lib\":[],\"name\":[],\"host\":[],\"type\":"
              "[],\"length\":0},\"nativeSymbols\":{\"libIndex\":[],\"address\":"
              "[],\"name\":[],\"functionSize\":[],\"length\":0},\"markers\":{"
              "\"data\":[],\"name\":[],\"startTime\":[],\"endTime\":[],"
              "\"phase\":[],\"category\":[],\"length\":0}}");
    thread_fini(thread);
}

static void put_head(struct sink *sink, const struct firefox *about)
{
    sink_text(sink, "{\"meta\":{\"categories\":");
    sink_text(sink, categories);
    sink_text(
        sink,
        ",\"debug\":false,\"extensions\":{\"length\":0,\"baseURL\":[],"
        "\"id\":[],\"name\":[]},\"interval\":10,"
        "\"preprocessedProfileVersion\":54,\"processType\":0,"
        "\"sampleUnits\":{\"time\":\"ms\",\"eventDelay\":\"ms\","
        "\"threadCPUDelta\":\"\\u00b5s\"},\"symbolicated\":true,"
        "\"pausedRanges\":[],\"version\":24,\"usesOnlyOneStackType\":true,"
        "\"sourceCodeIsNotOnSearchfox\":true,\"markerSchema\":[],"
        "\"product\":");
    sink_string(sink, about->name);
    sink_text(sink, ",\"importedFrom\":\"ck ");
    sink_text(sink, about->version);
    sink_text(sink, "\",\"startTime\":");
    put_ms(sink, about->realtime);
    sink_text(sink, "},\"libs\":[],\"pages\":[],\"profilerOverhead\":[],"
                    "\"counters\":[],\"threads\":[\n");
}

/* Moments sorted by the thread of their row, in order of time: where those of
 * each row's thread begin is at the thread's first row. */
static size_t *moments_sort(const struct stacktable *table, size_t *starts)
{
    size_t count, rows_count, at = 0;
    const struct stacktable_moment *moments = stacktable_moments(table, &count);
    const struct stacktable_row *rows = stacktable_rows(table, &rows_count);
    size_t *sorted = xcalloc(count + 1, sizeof(*sorted));
    size_t *first = xcalloc(rows_count + 1, sizeof(*first));

    for (size_t i = 0; i < rows_count; i++) {
        bool is_same = i > 0 && rows[i].process == rows[i - 1].process &&
                       rows[i].tid == rows[i - 1].tid;

        first[i] = is_same ? first[i - 1] : i;
    }
    for (size_t i = 0; i < count; i++) {
        starts[first[stacktable_row(table, moments[i].row) - rows] + 1]++;
    }
    for (size_t i = 0; i < rows_count; i++) {
        at += starts[i + 1];
        starts[i + 1] = at;
    }
    for (size_t i = 0; i < count; i++) {
        size_t row = first[stacktable_row(table, moments[i].row) - rows];

        sorted[starts[row]++] = i;
    }
    free(first);
    return sorted;
}

static void put_threads(struct sink *sink, const struct stacktable *table)
{
    size_t count, places_count, from = 0;
    const struct stacktable_row *rows = stacktable_rows(table, &count);
    size_t *ends = xcalloc(count + 2, sizeof(*ends));
    size_t *sorted = moments_sort(table, ends); /* `ends` of threads now */

    for (size_t i = 0; i < count;) {
        struct thread thread = {.stacks = table,
                                .places =
                                    stacktable_places(table, &places_count),
                                .rows = rows + i,
                                .samples = sorted + from,
                                .samples_count = ends[i] - from};

        from = ends[i];
        do {
            i++;
            thread.rows_count++;
        } while (i < count && rows[i].process == thread.rows->process &&
                 rows[i].tid == thread.rows->tid);
        sink_text(sink, thread.rows == rows ? "" : ",\n");
        put_thread(sink, &thread);
    }
    free(sorted);
    free(ends);
}

int firefox_write(const struct stacktable *table,
                  const struct firefox *about,
                  const char *path,
                  struct ck_err *err)
{
    struct sink *sink = sink_create(path, err);
    int rc;

    if (sink == NULL) {
        return -1;
    }
    put_head(sink, about);
    put_threads(sink, table);
    sink_text(sink, "]}\n");
    rc = sink_finish(sink, err);
    sink_destroy(sink);
    return rc;
}
