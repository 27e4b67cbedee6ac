/* flamescope.c - samples one by one, as `perf script` prints them
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 *   rank3 4711/4712 [000] 1774592172.000123:          1 cpu-clock:
 *           0 leaf (file.c)
 *           0 main (file.c)
 *
 * FlameScope counts samples, whatever their weight, and takes the part of a
 * second from the time, which therefore is a date. A blank line ends a sample.
 */
#include "merge/output/stacks/flamescope.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "merge/output/sink.h"

/* As perf names where code of other kinds is; else the source file. */
static const struct {
    const char *mark, *file;
} kinds[] = {{STACKTABLE_KERNEL, "[kernel.kallsyms]"},
             {STACKTABLE_JIT, "/tmp/perf-0.map"},
             {STACKTABLE_INLINED, "inlined"}};

/* Readers cut a line at its parentheses. */
static void put_word(struct sink *sink, const char *word)
{
    for (; *word != '\0'; word++) {
        bool is_control = (unsigned char)*word < ' ' || *word == '\x7f';

        sink_bytes(sink, is_control ? " " : word, 1);
    }
}

static const char *base_name(const char *path)
{
    const char *slash = path == NULL ? NULL : strrchr(path, '/');

    if (path == NULL) {
        return "unknown";
    }
    return slash == NULL ? path : slash + 1;
}

static void put_frame(struct sink *sink, const struct place *place)
{
    char name[STACKTABLE_NAME];
    const char *file = base_name(place->file);
    size_t length;

    stacktable_name(place, name);
    length = strlen(name);
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        size_t mark = strlen(kinds[i].mark);

        if (length > mark && strcmp(name + length - mark, kinds[i].mark) == 0) {
            name[length - mark] = '\0';
            file = kinds[i].file;
        }
    }
    sink_text(sink, "\t               0 ");
    put_word(sink, name);
    sink_text(sink, " (");
    put_word(sink, file);
    sink_text(sink, ")\n");
}

static void put_head(struct sink *sink,
                     const struct stacktable *table,
                     const struct stacktable_moment *moment,
                     int64_t realtime)
{
    const struct stacktable_row *row = stacktable_row(table, moment->row);
    int64_t at = realtime + moment->at;
    char head[160];

    at = at < 0 ? 0 : at;
    (void)snprintf(head, sizeof(head),
                   "%s%d %" PRIu32 "/%" PRIu32 " [%03" PRIu32 "] %" PRId64
                   ".%06" PRId64 ":          1 cpu-clock:\n",
                   row->rank < 0 ? "norank" : "rank",
                   row->rank < 0 ? 0 : (int)row->rank,
                   stacktable_pid(table, row), row->tid, moment->cpu,
                   at / 1000000000, at / 1000 % 1000000);
    sink_text(sink, head);
}

int flamescope_write(const struct stacktable *table,
                     int64_t realtime,
                     const char *path,
                     struct ck_err *err)
{
    size_t count, places_count;
    const struct stacktable_moment *moments = stacktable_moments(table, &count);
    const struct place *places = stacktable_places(table, &places_count);
    struct sink *sink = sink_create(path, err);
    int rc;

    if (sink == NULL) {
        return -1;
    }
    for (size_t i = 0; i < count && sink_error(sink) == 0; i++) {
        const struct stacktable_row *row =
            stacktable_row(table, moments[i].row);

        put_head(sink, table, &moments[i], realtime);
        for (size_t j = row->count; j-- > 0;) {
            put_frame(sink, &places[row->frames[j]]);
        }
        sink_text(sink, "\n");
    }
    rc = sink_finish(sink, err);
    sink_destroy(sink);
    return rc;
}
