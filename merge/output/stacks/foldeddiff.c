/* foldeddiff.c - the stacks of two runs as lines "main;solve 12 17"
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

/* Both in order, each text once; one that is twice in a file counts twice. */
static void
both_put(struct sink *sink, const struct lines *old, const struct lines *new)
{
    size_t i = 0, j = 0;

    while (i < old->count || j < new->count) {
        const struct folded_line *left = i < old->count ? &old->items[i] : NULL;
        const struct folded_line *right =
            j < new->count ? &new->items[j] : NULL;
        int order = right == NULL ? -1 : 1;

        if (left != NULL && right != NULL) {
            order = strcmp(left->text, right->text);
        }
        sink_text(sink, order <= 0 ? left->text : right->text);
        folded_count(sink, order <= 0 ? left->amount : 0);
        folded_count(sink, order >= 0 ? right->amount : 0);
        sink_text(sink, "\n");
        i += order <= 0;
        j += order >= 0;
    }
}

int foldeddiff_write(const struct stacktable *table,
                     const struct foldeddiff_before *before,
                     const char *path,
                     struct ck_err *err)
{
    struct lines old = {.items = NULL}, new = {.items = NULL};
    struct sink *sink = NULL;
    int rc = lines_read(&old, before, err);

    if (rc == 0) {
        sink = sink_create(path, err);
        rc = sink == NULL ? -1 : 0;
    }
    if (rc == 0) {
        new.items = folded_lines(table, FOLDED_SAMPLES, &new.count);
        both_put(sink, &old, &new);
        rc = sink_finish(sink, err);
    }
    sink_destroy(sink);
    folded_free(old.items, old.count);
    folded_free(new.items, new.count);
    return rc;
}
