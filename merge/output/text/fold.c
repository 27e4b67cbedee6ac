/* fold.c - the text report on a terminal that is narrower than its page
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Lines up to an empty one are a block. A line of it belongs to a table if it
 * has at least two places with several blanks, or begins far to the right. A
 * column of the screen at which all those lines have the second or a later one
 * of several blanks may go: the table stays one.
 */
#include "merge/output/text/fold.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "merge/model/array.h"
#include "merge/model/memory.h"
#include "merge/output/words.h"

#define FAR 16
#define TITLE 16  /* columns before a sentence */
#define FURTHER 4 /* blanks more before what goes on */

/* One column of a line: a character with the colours before it. */
struct cell {
    const char *text;
    size_t bytes;
    bool is_blank;
};

struct line {
    size_t first; /* of its cells */
    size_t count;
    bool is_table;
};

struct fold {
    struct cell *cells;
    size_t cells_count, cells_room;
    struct line *lines;
    size_t count, room;
    bool *gone; /* columns that a table loses */
    size_t columns;
    FILE *file;
};

/* Bytes of colours at `text`: ESC [ ... m. */
static size_t colour_bytes(const char *text)
{
    size_t bytes = 0;

    while (text[bytes] == '\033' && text[bytes + 1] == '[') {
        bytes += strcspn(text + bytes, "m\n");
        bytes += text[bytes] == 'm';
    }
    return bytes;
}

/* Bytes of the sign at `text`: 0 at the end of a line. */
static size_t sign_bytes(const char *text)
{
    size_t bytes = word_utf8(text);

    if (*text == '\0' || *text == '\n') {
        return 0;
    }
    if (bytes == 0) {
        return 1;
    }
    return bytes;
}

static void
cell_add(struct fold *fold, const char *text, size_t bytes, bool is_blank)
{
    array_grow(&fold->cells, &fold->cells_room, fold->cells_count,
               sizeof(*fold->cells));
    fold->cells[fold->cells_count++] = (struct cell){text, bytes, is_blank};
}

static bool is_table(const struct cell *cells, size_t count)
{
    size_t at = 0, places = 0;

    while (at < count && cells[at].is_blank) {
        at++;
    }
    if (at >= FAR) {
        return true;
    }
    for (; at + 1 < count; at++) {
        places += cells[at].is_blank && cells[at + 1].is_blank &&
                  !cells[at - 1].is_blank;
    }
    return places >= 2;
}

/* Take the line at *text, which moves behind it. */
static void line_add(struct fold *fold, const char **text)
{
    const char *at = *text;
    struct line line = {.first = fold->cells_count};

    while (*at != '\0' && *at != '\n') {
        size_t colours = colour_bytes(at);
        const char *sign = at + colours;
        size_t bytes = sign_bytes(sign);

        if (bytes == 0 && fold->cells_count > line.first) {
            struct cell *last = &fold->cells[fold->cells_count - 1];

            last->bytes += colours;
            last->is_blank = false;
            at = sign;
            break;
        }
        cell_add(fold, at, colours + bytes, *sign == ' ');
        at = sign + bytes;
    }
    *text = *at == '\n' ? at + 1 : at;
    line.count = fold->cells_count - line.first;
    line.is_table =
        line.count > 0 && is_table(fold->cells + line.first, line.count);
    array_grow(&fold->lines, &fold->room, fold->count, sizeof(*fold->lines));
    fold->lines[fold->count++] = line;
}

/* NULL of an empty text. */
static const struct cell *cells_of(const struct fold *fold,
                                   const struct line *line)
{
    return fold->cells == NULL ? NULL : fold->cells + line->first;
}

/* May the column go, so far as this line is concerned? */
static bool
is_spare(const struct fold *fold, const struct line *line, size_t column)
{
    const struct cell *cells = cells_of(fold, line);

    return column >= line->count ||
           (cells[column].is_blank && cells[column - 1].is_blank);
}

/* Mark columns of the block's tables, the rightmost first, until they fit. */
static void table_squeeze(struct fold *fold)
{
    size_t width = 0, excess;

    for (size_t i = 0; i < fold->count; i++) {
        if (fold->lines[i].is_table && fold->lines[i].count > width) {
            width = fold->lines[i].count;
        }
    }
    free(fold->gone);
    fold->gone = xcalloc(width + 1, sizeof(*fold->gone));
    excess = width > fold->columns ? width - fold->columns : 0;
    for (size_t column = width; excess > 0 && column-- > 1;) {
        bool is_gone = true;

        for (size_t i = 0; is_gone && i < fold->count; i++) {
            is_gone = !fold->lines[i].is_table ||
                      is_spare(fold, &fold->lines[i], column);
        }
        fold->gone[column] = is_gone;
        excess -= is_gone;
    }
}

/* Columns of the word that begins at the cell, up to a blank. */
static size_t
word_columns(const struct fold *fold, const struct line *line, size_t at)
{
    size_t begin = at;

    while (at < line->count && !fold->cells[line->first + at].is_blank) {
        at++;
    }
    return at - begin;
}

/* Columns before what goes on: " TRUST       0 of" begins at 13. */
static size_t indent_of(const struct fold *fold, const struct line *line)
{
    const struct cell *cells = cells_of(fold, line);
    size_t indent = 0;

    while (indent < line->count && cells[indent].is_blank) {
        indent++;
    }
    for (size_t i = indent + 1; i < TITLE && i < line->count; i++) {
        if (!cells[i].is_blank && cells[i - 1].is_blank &&
            cells[i - 2].is_blank) {
            return i;
        }
    }
    return indent < fold->columns / 2 ? indent + FURTHER : FURTHER;
}

/* Write a line, which goes on in further ones where it is too long. Blanks are
 * written before the next word, if that is in the same line. */
static void line_put(struct fold *fold, const struct line *line)
{
    const struct cell *cells = cells_of(fold, line);
    size_t column = 0, blanks = 0, indent = indent_of(fold, line);

    for (size_t i = 0; i < line->count; i++) {
        if (line->is_table && fold->gone[i]) {
            continue;
        }
        if (cells[i].is_blank) {
            fwrite(cells[i].text, 1, cells[i].bytes - 1, fold->file);
            blanks++;
            continue;
        }
        if (blanks > 0 && column > indent &&
            column + blanks + word_columns(fold, line, i) > fold->columns) {
            fputc('\n', fold->file);
            blanks = column = indent;
        } else {
            column += blanks;
        }
        fprintf(fold->file, "%*s", (int)blanks, "");
        fwrite(cells[i].text, 1, cells[i].bytes, fold->file);
        blanks = 0;
        column++;
    }
    fputc('\n', fold->file);
}

/* The block at *text, with the empty line behind it. */
static void block_fold(struct fold *fold, const char **text)
{
    fold->cells_count = fold->count = 0;
    do {
        line_add(fold, text);
    } while (**text != '\0' && fold->lines[fold->count - 1].count > 0);
    table_squeeze(fold);
    for (size_t i = 0; i < fold->count; i++) {
        line_put(fold, &fold->lines[i]);
    }
}

char *fold_text(const char *text, size_t columns, size_t *length)
{
    char *folded;
    struct fold fold = {.columns = columns < FOLD_COLUMNS_MIN ? FOLD_COLUMNS_MIN
                                                              : columns,
                        .file = xmemstream(&folded, length)};

    while (*text != '\0') {
        block_fold(&fold, &text);
    }
    (void)fclose(fold.file);
    free(fold.cells);
    free(fold.lines);
    free(fold.gone);
    return folded;
}
