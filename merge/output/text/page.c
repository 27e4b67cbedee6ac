/* page.c - what the parts of the text report share
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "merge/output/text/page.h"

#include <stdlib.h>
#include <string.h>

#include "merge/model/executed.h"
#include "merge/model/memory.h"
#include "merge/output/cxxname.h"
#include "merge/output/text/fold.h"
#include "merge/output/words.h"

/* Columns of a place where a sentence has it. */
#define PLACE 34

int page_columns(const struct page *page)
{
    int columns = page->style->columns;

    return columns > 0 && columns < PAGE_COLUMNS ? columns : PAGE_COLUMNS;
}

const char *page_dot(const struct page *page)
{
    return page->style->has_unicode ? "\302\267" : "|";
}

const char *page_bold(const struct page *page)
{
    return page->style->has_colour ? "\033[1m" : "";
}

const char *page_red(const struct page *page)
{
    return page->style->has_colour ? "\033[31m" : "";
}

const char *page_normal(const struct page *page)
{
    return page->style->has_colour ? "\033[0m" : "";
}

/* What is left of a name when outer scopes give way for its end; columns 0: all
 * of it. */
static const char *scopes_drop(const char *name, size_t columns)
{
    while (columns > 0 && strlen(name) > columns &&
           strstr(name, "::") != NULL) {
        name = strstr(name, "::") + 2;
    }
    return name;
}

static size_t
cell_put(const struct page *page, const char *text, size_t columns)
{
    char cell[512], plain[256];
    size_t shown;

    if (text != NULL && cxxname_plain(plain, sizeof(plain), text)) {
        text = scopes_drop(plain, columns);
    }
    shown = word_escape(cell, sizeof(cell), text == NULL ? "" : text, columns,
                        !page->style->has_unicode);

    fputs(cell, page->file);
    return shown;
}

void page_count(const struct page *page, uint32_t ranks)
{
    if (page->report->is_filtered) {
        uint32_t all = report_ranks(page->report);

        fprintf(page->file, "%u", ranks);
        if (ranks < all) {
            fprintf(page->file, " of %u", all);
        }
        fprintf(page->file, " selected rank%s", word_s(all));
    } else if (page->report->size == 1) {
        fprintf(page->file, "%u rank", ranks);
    } else {
        fprintf(page->file, "%u of %d ranks", ranks, page->report->size);
    }
}

void page_rank(const struct page *page, int32_t rank)
{
    fprintf(page->file, "%d%s", rank,
            report_is_chosen(page->report, rank) ? "" : " (not among --ranks)");
}

void page_cell(const struct page *page, const char *text, size_t columns)
{
    (void)cell_put(page, text, columns);
}

void page_program(const struct page *page, const char *command, size_t columns)
{
    char name[64];

    (void)executed_name(command, name, sizeof(name));
    page_cell(page, name, columns);
}

struct word page_who(const struct page *page, int32_t rank)
{
    struct word word = {"the program"};

    return page->report->has_ranks || rank < 0 ? word_rank(rank) : word;
}

int page_device(const struct page *page,
                const char *name,
                int32_t number,
                size_t columns)
{
    char suffix[16] = "";
    size_t length = 0;

    if (number >= 0) {
        length = (size_t)snprintf(suffix, sizeof(suffix), " #%d", number);
    }
    if (columns > 0) {
        columns = columns > length ? columns - length : 1;
    }
    if (name == NULL || name[0] == '\0') {
        name = "(device)";
    }
    length += cell_put(page, name, columns);
    fputs(suffix, page->file);
    return (int)length;
}

void page_wrap(const struct page *page,
               const char *text,
               int column,
               int indent)
{
    const char *at = text;

    while (at != NULL && *at != '\0') {
        char word[256];
        int length = (int)strcspn(at, " ");

        length = length < (int)sizeof(word) ? length : (int)sizeof(word) - 1;
        memcpy(word, at, (size_t)length);
        word[length] = '\0';
        if (at != text && column + 1 + length > page_columns(page)) {
            fprintf(page->file, "\n%*s", indent, "");
            column = indent;
        } else if (at != text) {
            fputc(' ', page->file);
            column++;
        }
        column += (int)cell_put(page, word, 0);
        at += length;
        at += strspn(at, " ");
    }
}

void page_folded(const struct page *page, void (*put)(const struct page *page))
{
    char *text, *folded;
    size_t length;
    struct page inner = *page;

    inner.file = xmemstream(&text, &length);
    put(&inner);
    (void)fclose(inner.file);
    folded = fold_text(text, (size_t)page_columns(page), &length);
    fputs(folded, page->file);
    free(folded);
    free(text);
}

void page_column(const struct page *page, const char *text, size_t columns)
{
    for (size_t shown = cell_put(page, text, columns); shown < columns;
         shown++) {
        fputc(' ', page->file);
    }
}

static const char *base_name(const char *path)
{
    const char *slash = path == NULL ? NULL : strrchr(path, '/');

    return slash == NULL ? path : slash + 1;
}

/* A function. A library's or program's name is shown for one that has
 * none: "libz.so" of "libz.so.1.2.13+0x132b9". */
static void
function_put(const struct page *page, const char *function, size_t columns)
{
    const char *end = strstr(function, ".so");
    char name[128];

    if (end != NULL && (end[3] == '.' || end[3] == '+')) {
        end += 3;
    } else {
        end = strstr(function, "+0x");
    }
    if (end != NULL && end - function < (ptrdiff_t)sizeof(name)) {
        memcpy(name, function, (size_t)(end - function));
        name[end - function] = '\0';
        function = name;
    }
    page_cell(page, function, columns);
}

void page_place_in(const struct page *page,
                   const struct place *place,
                   size_t columns)
{
    char line[16] = "";

    if (place->file != NULL && place->file[0] != '\0') {
        if (place->line != 0) {
            (void)snprintf(line, sizeof(line), ":%u", place->line);
        }
        page_cell(page, base_name(place->file), columns - strlen(line));
        fputs(line, page->file);
    } else if (place->function != NULL && place->function[0] != '\0') {
        function_put(page, place->function, columns);
    } else {
        fputc('-', page->file);
    }
}

void page_place(const struct page *page, const struct place *place)
{
    page_place_in(page, place, PLACE);
}

bool page_has_place(const struct place *place)
{
    return (place->file != NULL && place->file[0] != '\0') ||
           place->function != NULL;
}

void page_below(const struct page *page,
                const struct place *caller,
                size_t columns)
{
    if (caller->function != NULL) {
        fputs(", below ", page->file);
        page_cell(page, caller->function, columns);
    }
}

void page_line_end(const struct page *page,
                   const struct place *place,
                   const struct place *caller,
                   size_t columns)
{
    if (place->file != NULL) {
        page_place_in(page, place, columns);
    } else {
        fputc('-', page->file);
    }
    page_below(page, caller, columns);
    fputc('\n', page->file);
}

void page_error(const struct page *page, ck_time_t error)
{
    if (error > 0) {
        fprintf(page->file, " +- %s", word_time(error).text);
    }
}

bool page_is_calibrated(const struct report *report)
{
    for (size_t i = 0; i < report->domains_count; i++) {
        if (!report->domains[i].is_calibrated) {
            return false;
        }
    }
    return true;
}
