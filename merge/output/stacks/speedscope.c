/* speedscope.c - stacks as a file for speedscope
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Profiles of the kind "sampled": each row of the table is one sample with the
 * CPU time of all that met that stack, so the axis is CPU time and no order.
 */
#include "merge/output/stacks/speedscope.h"

#include <stdio.h>

#include "merge/output/sink.h"

/* Rows of one profile. */
struct rows {
    const struct stacktable_row *items;
    size_t count;
};

static void frames_put(struct sink *sink, const struct stacktable *table)
{
    char name[STACKTABLE_NAME];
    size_t count;
    const struct place *places = stacktable_places(table, &count);

    sink_text(sink, "\"shared\":{\"frames\":[");
    for (size_t i = 0; i < count; i++) {
        sink_text(sink, i == 0 ? "\n{\"name\":" : ",\n{\"name\":");
        stacktable_name(&places[i], name);
        sink_string(sink, name);
        if (places[i].file != NULL) {
            sink_text(sink, ",\"file\":");
            sink_string(sink, places[i].file);
        }
        if (places[i].line > 0) {
            sink_text(sink, ",\"line\":");
            sink_int(sink, places[i].line);
        }
        sink_text(sink, "}");
    }
    sink_text(sink, "]},\n");
}

static void samples_put(struct sink *sink, const struct rows *rows)
{
    for (size_t i = 0; i < rows->count; i++) {
        sink_text(sink, i == 0 ? "[" : ",\n[");
        for (size_t j = 0; j < rows->items[i].count; j++) {
            sink_text(sink, j == 0 ? "" : ",");
            sink_int(sink, rows->items[i].frames[j]);
        }
        sink_text(sink, "]");
    }
}

static void
profile_put(struct sink *sink, const char *name, const struct rows *rows)
{
    ck_time_t whole = 0;

    for (size_t i = 0; i < rows->count; i++) {
        whole += rows->items[i].ns;
    }
    sink_text(sink, "{\"type\":\"sampled\",\"name\":");
    sink_string(sink, name);
    sink_text(sink, ",\"unit\":\"nanoseconds\",\"startValue\":0,\"endValue\":");
    sink_int(sink, whole);
    sink_text(sink, ",\"samples\":[\n");
    samples_put(sink, rows);
    sink_text(sink, "],\"weights\":[");
    for (size_t i = 0; i < rows->count; i++) {
        sink_text(sink, i == 0 ? "" : ",");
        sink_int(sink, rows->items[i].ns);
    }
    sink_text(sink, "]}");
}

/* The rows from there on that are of the same thread as the first. */
static size_t same_thread(const struct stacktable_row *rows, size_t count)
{
    size_t same = 1;

    while (same < count && rows[same].process == rows[0].process &&
           rows[same].thread == rows[0].thread) {
        same++;
    }
    return same;
}

static void profiles_put(struct sink *sink, const struct stacktable *table)
{
    char thread[STACKTABLE_NAME], name[STACKTABLE_NAME + 32];
    struct rows all, some;

    all.items = stacktable_rows(table, &all.count);
    sink_text(sink, "\"profiles\":[\n");
    profile_put(sink, "all ranks", &all);
    for (size_t i = 0; i < all.count; i += some.count) {
        some.items = all.items + i;
        some.count = same_thread(some.items, all.count - i);
        stacktable_thread(table, some.items, thread);
        (void)snprintf(name, sizeof(name), "rank %d %s", (int)some.items->rank,
                       thread);
        sink_text(sink, ",\n");
        profile_put(sink, name, &some);
    }
    sink_text(sink, "]");
}

int speedscope_write(const struct stacktable *table,
                     const struct speedscope *about,
                     const char *path,
                     struct ck_err *err)
{
    struct sink *sink = sink_create(path, err);
    char exporter[64];
    int rc;

    if (sink == NULL) {
        return -1;
    }
    (void)snprintf(exporter, sizeof(exporter), "ck %.50s", about->version);
    sink_text(sink, "{\"$schema\":\"https://www.speedscope.app/"
                    "file-format-schema.json\",\n\"name\":");
    sink_string(sink, about->name);
    sink_text(sink, ",\"exporter\":");
    sink_string(sink, exporter);
    sink_text(sink, ",\"activeProfileIndex\":0,\n");
    frames_put(sink, table);
    profiles_put(sink, table);
    sink_text(sink, "}\n");
    rc = sink_finish(sink, err);
    sink_destroy(sink);
    return rc;
}
