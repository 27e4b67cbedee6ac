/* folded.c - stacks as lines "rank 3;thread main;main;solve 17"
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Readers cut a line at ";" and its end at the last blank, and take a number
 * before the count as a second count: no name may look like that.
 */
#include "merge/output/stacks/folded.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "merge/model/memory.h"
#include "merge/output/sink.h"
#include "schema/order.h"

static bool is_digits(const char *text)
{
    return text[0] != '\0' && text[strspn(text, "0123456789.")] == '\0';
}

static void name_clean(char *name)
{
    char *blank;

    for (char *c = name; *c != '\0'; c++) {
        if (*c == ';') {
            *c = ':';
        } else if ((unsigned char)*c < ' ' || *c == '\x7f') {
            *c = ' ';
        }
    }
    blank = strrchr(name, ' ');
    while (blank != NULL && (blank[1] == '\0' || is_digits(blank + 1))) {
        *blank = '_';
        blank = strrchr(name, ' ');
    }
}

static uint64_t amount_of(const struct stacktable_row *row,
                          enum folded_unit unit)
{
    switch (unit) {
    case FOLDED_MICROSECONDS:
        return (uint64_t)row->ns / (CK_TIME_S / 1000000);
    case FOLDED_WEIGHTS:
        return (uint64_t)row->ns;
    default:
        return row->samples;
    }
}

/* The line without its count. */
static char *line_text(const struct stacktable *table,
                       const struct stacktable_row *row)
{
    char name[STACKTABLE_NAME];
    char *text;
    size_t length, count;
    const struct place *places = stacktable_places(table, &count);
    FILE *stream = xmemstream(&text, &length);

    stacktable_thread(table, row, name);
    name_clean(name);
    if (row->rank == DEFS_RANK_UNKNOWN) {
        fprintf(stream, "no rank;thread %s", name);
    } else {
        fprintf(stream, "rank %d;thread %s", (int)row->rank, name);
    }
    for (size_t i = 0; i < row->count; i++) {
        stacktable_name(&places[row->frames[i]], name);
        name_clean(name);
        fprintf(stream, ";%s", name);
    }
    (void)fclose(stream);
    return text;
}

CK_ORDER(by_text, struct folded_line, strcmp(a->text, b->text))

/* Sort them; equal ones become one. Their count. */
static size_t lines_join(struct folded_line *lines, size_t count)
{
    size_t kept = 0;

    if (count > 1) {
        qsort(lines, count, sizeof(*lines), by_text);
    }
    for (size_t i = 0; i < count; i++) {
        if (kept > 0 && strcmp(lines[kept - 1].text, lines[i].text) == 0) {
            lines[kept - 1].amount =
                defs_sum(lines[kept - 1].amount, lines[i].amount);
            free(lines[i].text);
        } else {
            lines[kept++] = lines[i];
        }
    }
    return kept;
}

void folded_count(struct sink *sink, uint64_t amount)
{
    sink_text(sink, " ");
    sink_int(sink, amount > INT64_MAX ? INT64_MAX : (int64_t)amount);
}

static void
lines_put(struct sink *sink, const struct folded_line *lines, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        sink_text(sink, lines[i].text);
        folded_count(sink, lines[i].amount);
        sink_text(sink, "\n");
    }
}

static int lines_write(const struct folded_line *lines,
                       size_t count,
                       const char *path,
                       struct ck_err *err)
{
    struct sink *sink = sink_create(path, err);
    int rc;

    if (sink == NULL) {
        return -1;
    }
    lines_put(sink, lines, count);
    rc = sink_finish(sink, err);
    sink_destroy(sink);
    return rc;
}

void folded_free(struct folded_line *lines, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        free(lines[i].text);
    }
    free(lines);
}

/* Sort, write and free them. */
static int lines_finish(struct folded_line *lines,
                        size_t count,
                        const char *path,
                        struct ck_err *err)
{
    int rc;

    count = lines_join(lines, count);
    rc = lines_write(lines, count, path, err);
    folded_free(lines, count);
    return rc;
}

static struct folded_line *
rows_lines(const struct stacktable *table, enum folded_unit unit, size_t *count)
{
    const struct stacktable_row *rows = stacktable_rows(table, count);
    struct folded_line *lines = xcalloc(*count + 1, sizeof(*lines));

    for (size_t i = 0; i < *count; i++) {
        lines[i].amount = amount_of(&rows[i], unit);
        lines[i].text = line_text(table, &rows[i]);
    }
    return lines;
}

struct folded_line *folded_lines(const struct stacktable *table,
                                 enum folded_unit unit,
                                 size_t *count)
{
    struct folded_line *lines = rows_lines(table, unit, count);

    *count = lines_join(lines, *count);
    return lines;
}

int folded_write(const struct stacktable *table,
                 enum folded_unit unit,
                 const char *path,
                 struct ck_err *err)
{
    size_t count;
    struct folded_line *lines = rows_lines(table, unit, &count);

    return lines_finish(lines, count, path, err);
}

/* ---- device work --------------------------------------------------------- */

/* Where no stack is known, the place of the call is the only frame. */
static char *launch_text(const struct report_launch_row *row)
{
    char name[STACKTABLE_NAME];
    char *text;
    size_t length;
    FILE *stream = xmemstream(&text, &length);

    if (row->rank == DEFS_RANK_UNKNOWN) {
        fputs("no rank", stream);
    } else {
        fprintf(stream, "rank %d", (int)row->rank);
    }
    for (size_t i = 0; i < row->frames_count; i++) {
        stacktable_name(&row->frames[i], name);
        name_clean(name);
        fprintf(stream, ";%s", name);
    }
    if (row->frames_count == 0) {
        stacktable_name(&row->place, name);
        name_clean(name);
        fprintf(stream, ";[no stack];%s", name);
    }
    (void)snprintf(name, sizeof(name), "%s",
                   row->work == NULL ? "[no name]" : row->work);
    name_clean(name);
    fprintf(stream, ";%s" FOLDED_DEVICE, name);
    (void)fclose(stream);
    return text;
}

int folded_launches(const struct report_launch_stacks *stacks,
                    const char *path,
                    struct ck_err *err)
{
    struct folded_line *lines = xcalloc(stacks->count + 1, sizeof(*lines));

    for (size_t i = 0; i < stacks->count; i++) {
        lines[i].amount = (uint64_t)stacks->rows[i].ns / (CK_TIME_S / 1000000);
        lines[i].text = launch_text(&stacks->rows[i]);
    }
    return lines_finish(lines, stacks->count, path, err);
}
