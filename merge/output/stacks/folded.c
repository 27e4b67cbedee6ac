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

struct line {
    char *text;
    uint64_t amount;
};

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

CK_ORDER(by_text, struct line, strcmp(a->text, b->text))

static void lines_put(struct sink *sink, const struct line *lines, size_t count)
{
    uint64_t amount = 0;

    for (size_t i = 0; i < count; i++) {
        amount = defs_sum(amount, lines[i].amount);
        if (i + 1 < count && strcmp(lines[i].text, lines[i + 1].text) == 0) {
            continue;
        }
        sink_text(sink, lines[i].text);
        sink_text(sink, " ");
        sink_int(sink, amount > INT64_MAX ? INT64_MAX : (int64_t)amount);
        sink_text(sink, "\n");
        amount = 0;
    }
}

static int lines_write(const struct line *lines,
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

/* Sort, write and free them. */
static int lines_finish(struct line *lines,
                        size_t count,
                        const char *path,
                        struct ck_err *err)
{
    int rc;

    if (count > 1) {
        qsort(lines, count, sizeof(*lines), by_text);
    }
    rc = lines_write(lines, count, path, err);
    for (size_t i = 0; i < count; i++) {
        free(lines[i].text);
    }
    free(lines);
    return rc;
}

int folded_write(const struct stacktable *table,
                 enum folded_unit unit,
                 const char *path,
                 struct ck_err *err)
{
    size_t count;
    const struct stacktable_row *rows = stacktable_rows(table, &count);
    struct line *lines = xcalloc(count + 1, sizeof(*lines));

    for (size_t i = 0; i < count; i++) {
        lines[i].amount = amount_of(&rows[i], unit);
        lines[i].text = line_text(table, &rows[i]);
    }
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
    struct line *lines = xcalloc(stacks->count + 1, sizeof(*lines));

    for (size_t i = 0; i < stacks->count; i++) {
        lines[i].amount = (uint64_t)stacks->rows[i].ns / (CK_TIME_S / 1000000);
        lines[i].text = launch_text(&stacks->rows[i]);
    }
    return lines_finish(lines, stacks->count, path, err);
}
