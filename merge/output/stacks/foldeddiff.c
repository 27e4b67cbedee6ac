/* foldeddiff.c - the stacks of two runs, each with both counts
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * flamegraph.pl takes two counts behind a stack for a difference: frames are as
 * wide as the second, red where it is more and blue where it is less.
 */
#include "merge/output/stacks/foldeddiff.h"

#include <stdlib.h>
#include <string.h>

#include "merge/model/array.h"
#include "merge/model/memory.h"
#include "merge/output/sink.h"
#include "merge/output/stacks/folded.h"
#include "schema/order.h"

struct lines {
    struct folded_line *items;
    size_t count, room;
};

CK_ORDER(by_text, struct folded_line, strcmp(a->text, b->text))

/* The count at the end of a line of that length; false = it has none. */
static bool
count_read(const char *line, size_t length, size_t *text, uint64_t *n)
{
    size_t at = length;

    while (at > 0 && line[at - 1] >= '0' && line[at - 1] <= '9') {
        at--;
    }
    if (at == length || length - at > 18 || at < 2 || line[at - 1] != ' ') {
        return false;
    }
    *text = at - 1;
    *n = strtoull(line + at, NULL, 10);
    return true;
}

/* 0, or -1 with err. */
static int lines_read(struct lines *lines,
                      const struct foldeddiff_before *before,
                      struct ck_err *err)
{
    size_t number = 1, length;

    for (size_t at = 0; at < before->length; at += length + 1, number++) {
        const char *line = before->text + at;
        const char *end = memchr(line, '\n', before->length - at);
        size_t text;
        uint64_t amount;

        length = end == NULL ? before->length - at : (size_t)(end - line);
        if (end == NULL || memchr(line, '\0', length) != NULL ||
            !count_read(line, length, &text, &amount)) {
            return ck_err_set(err, "%s: line %zu is no stack with its count",
                              before->path, number);
        }
        array_grow(&lines->items, &lines->room, lines->count,
                   sizeof(*lines->items));
        lines->items[lines->count++] =
            (struct folded_line){xstrndup(line, text), amount};
    }
    if (lines->count > 1) {
        qsort(lines->items, lines->count, sizeof(*lines->items), by_text);
    }
    return 0;
}

/* Both are in order, each text once; one that is twice in a file counts twice.
 * Texts move to the rows. */
static void
rows_join(struct foldeddiff *diff, struct lines *old, struct lines *new)
{
    size_t i = 0, j = 0;

    diff->rows = xcalloc(old->count + new->count + 1, sizeof(*diff->rows));
    while (i < old->count || j < new->count) {
        struct folded_line *left = i < old->count ? &old->items[i] : NULL;
        struct folded_line *right = j < new->count ? &new->items[j] : NULL;
        struct folded_line *from;
        int order = right == NULL ? -1 : 1;

        if (left != NULL && right != NULL) {
            order = strcmp(left->text, right->text);
        }
        from = order <= 0 ? left : right;
        diff->rows[diff->count++] =
            (struct foldeddiff_row){from->text, order <= 0 ? left->amount : 0,
                                    order >= 0 ? right->amount : 0};
        from->text = NULL;
        i += order <= 0;
        j += order >= 0;
    }
}

static uint64_t change_of(const struct foldeddiff_row *row)
{
    return row->now > row->before ? row->now - row->before
                                  : row->before - row->now;
}

CK_ORDER(by_change,
         struct foldeddiff_row,
         CK_LESS(change_of(b), change_of(a)) ?: strcmp(a->text, b->text))

int foldeddiff_make(struct foldeddiff *diff,
                    const struct stacktable *table,
                    const struct foldeddiff_before *before,
                    struct ck_err *err)
{
    struct lines old = {.items = NULL}, new = {.items = NULL};
    struct foldeddiff made = {.rows = NULL};
    int rc = lines_read(&old, before, err);

    if (rc == 0) {
        new.items = folded_lines(table, FOLDED_SAMPLES, &new.count);
        rows_join(&made, &old, &new);
        if (made.count > 1) {
            qsort(made.rows, made.count, sizeof(*made.rows), by_change);
        }
        *diff = made;
    }
    folded_free(old.items, old.count);
    folded_free(new.items, new.count);
    return rc;
}

void foldeddiff_fini(struct foldeddiff *diff)
{
    for (size_t i = 0; i < diff->count; i++) {
        free(diff->rows[i].text);
    }
    free(diff->rows);
    *diff = (struct foldeddiff){.rows = NULL};
}

int foldeddiff_write(const struct foldeddiff *diff,
                     const char *path,
                     struct ck_err *err)
{
    struct sink *sink = sink_create(path, err);
    int rc;

    if (sink == NULL) {
        return -1;
    }
    for (size_t i = 0; i < diff->count; i++) {
        sink_text(sink, diff->rows[i].text);
        folded_count(sink, diff->rows[i].before);
        folded_count(sink, diff->rows[i].now);
        sink_text(sink, "\n");
    }
    rc = sink_finish(sink, err);
    sink_destroy(sink);
    return rc;
}
