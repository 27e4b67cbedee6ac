/* htmltables.c - the first rows of the tables, for a page without scripts
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * rows.js has the same tables whole, which can be sorted and filtered.
 */
#include "merge/output/page/htmltables.h"

#include <stdbool.h>
#include <string.h>

#include "merge/output/cxxname.h"
#include "merge/output/page/htmltext.h"
#include "merge/output/words.h"

/* Bytes of a name that are shown, half of them of its end. */
#define NAME_MOST ((size_t)200)

/* Back to where a character of UTF-8 begins. */
static size_t character_at(const char *text, size_t at)
{
    while (at > 0 && ((unsigned char)text[at] & 0xc0) == 0x80) {
        at--;
    }
    return at;
}

static void name_put(FILE *file, const char *text)
{
    size_t length = strlen(text);
    size_t first;

    if (length <= NAME_MOST) {
        html_text(file, text, length);
        return;
    }
    html_text(file, text, character_at(text, NAME_MOST / 2));
    fputs(" ... ", file);
    first = character_at(text, length - NAME_MOST / 2);
    html_text(file, text + first, length - first);
}

/* NULL = not known. */
static void put_text(FILE *file, const char *text)
{
    fputs("<td>", file);
    name_put(file, text == NULL ? "-" : text);
    fputs("</td>", file);
}

/* What the row is of. */
static void put_head(FILE *file, const char *text)
{
    fputs("<th scope=\"row\">", file);
    name_put(file, text == NULL ? "-" : text);
    fputs("</th>", file);
}

static void put_word(FILE *file, struct word word)
{
    fputs("<td class=\"number\">", file);
    html_text(file, word.text, strlen(word.text));
    fputs("</td>", file);
}

static void put_time(FILE *file, ck_time_t ns)
{
    put_word(file, word_time(ns));
}

static void put_count(FILE *file, uint64_t count)
{
    put_word(file, word_count(count));
}

static void put_percent(FILE *file, ck_time_t part, ck_time_t whole)
{
    struct word word = word_percent(part, whole);

    if (whole > 0) {
        strcat(word.text, " %");
    }
    put_word(file, word);
}

/* "train.c:212" in `room` bytes, or the function, or "-". */
static const char *
line_of(char *text, size_t room, const char *file, uint32_t line)
{
    const char *slash = file == NULL ? NULL : strrchr(file, '/');

    if (file == NULL) {
        return "-";
    }
    (void)snprintf(text, room, "%s:%u", slash == NULL ? file : slash + 1, line);
    return text;
}

static const char *function_of(char plain[CXXNAME_MAX], const char *function)
{
    return function != NULL && cxxname_plain(plain, CXXNAME_MAX, function)
               ? plain
               : function;
}

static void put_place(FILE *file, const struct place *place)
{
    char text[CXXNAME_MAX];

    put_text(file, place->file != NULL
                       ? line_of(text, sizeof(text), place->file, place->line)
                       : function_of(text, place->function));
}

static void kernel_row(FILE *file, const struct report *report, size_t i)
{
    const struct report_kernel *kernel = &report->kernels[i];
    ck_time_t busy = 0;

    for (size_t k = 0; k < report->kernels_count; k++) {
        busy += report->kernels[k].busy;
    }
    put_head(file, kernel->name);
    put_count(file, kernel->calls);
    put_time(file, kernel->busy);
    put_percent(file, kernel->busy, busy);
    put_time(file, kernel->median);
    put_time(file, kernel->max);
    put_text(file, kernel->rank_list[0] == '\0' ? NULL : kernel->rank_list);
}

static void copy_row(FILE *file, const struct report *report, size_t i)
{
    const struct report_copy_place *copy = &report->copy_places[i];

    put_head(file, copy->name);
    put_place(file, &copy->place);
    put_count(file, copy->calls);
    put_word(file, word_bytes(copy->bytes));
    put_time(file, copy->total);
}

static void line_row(FILE *file, const struct report *report, size_t i)
{
    const struct report_line *line = &report->lines[i];
    char text[CXXNAME_MAX];

    put_head(file, line_of(text, sizeof(text), line->file, line->line));
    put_text(file, line->kernel);
    put_count(file, line->calls);
    put_time(file, line->busy);
    put_time(file, line->host);
}

static void hot_row(FILE *file, const struct report *report, size_t i)
{
    const struct report_hot *hot = &report->hot[i];
    char plain[CXXNAME_MAX];

    put_head(file, function_of(plain, hot->place.function));
    put_text(file,
             line_of(plain, sizeof(plain), hot->place.file, hot->place.line));
    put_time(file, hot->ns);
    put_time(file, hot->line_ns);
    put_count(file, hot->ranks);
    put_word(file, word_rank(hot->rank));
}

static void call_row(FILE *file, const struct report *report, size_t i)
{
    const struct report_call *call = &report->calls[i];

    put_head(file, call->name);
    put_place(file, &call->place);
    put_count(file, call->calls);
    put_time(file, call->total);
    put_time(file, call->max);
    put_count(file, call->ranks);
}

static void range_row(FILE *file, const struct report *report, size_t i)
{
    const struct report_range *range = &report->ranges[i];

    put_head(file, range->name);
    put_count(file, range->calls);
    put_time(file, range->total);
    put_time(file, range->median);
    put_time(file, range->max);
    put_count(file, range->ranks);
}

static void libc_row(FILE *file, const struct report *report, size_t i)
{
    const struct report_libc *libc = &report->libc[i];

    put_head(file, libc->name);
    put_text(file, libc->group);
    put_count(file, libc->calls);
    put_time(file, libc->total);
    put_word(file, word_bytes(libc->bytes));
    put_count(file, libc->threads);
    put_count(file, libc->ranks);
}

static void counter_row(FILE *file, const struct report *report, size_t i)
{
    const struct report_counter *counter = &report->counters[i];

    put_head(file, counter->name);
    put_word(file, word_counter(counter->name, counter->value));
    put_percent(file, (ck_time_t)(counter->share * 1000), 1000);
    put_count(file, counter->ranks);
}

/* A table of the report; names of columns are separated by commas, and those
 * of numbers begin with '#'. */
struct listed {
    const char *title;
    const char *columns;
    size_t count;
    void (*row)(FILE *file, const struct report *report, size_t i);
};

static void put_columns(FILE *file, const char *columns)
{
    fputs("<thead><tr>", file);
    while (*columns != '\0') {
        size_t length = strcspn(columns, ",");
        bool is_number = *columns == '#';

        fprintf(file, "<th scope=\"col\"%s>%.*s</th>",
                is_number ? " class=\"number\"" : "", (int)length - is_number,
                columns + is_number);
        columns += length + (columns[length] == ',');
    }
    fputs("</tr></thead>\n<tbody>\n", file);
}

static void
put_table(FILE *file, const struct report *report, const struct listed *listed)
{
    size_t rows =
        listed->count < HTMLTABLES_ROWS ? listed->count : HTMLTABLES_ROWS;

    fprintf(file, "<h3>%s (%s)</h3>\n<div class=\"scroll\"><table>\n",
            listed->title, word_count(listed->count).text);
    put_columns(file, listed->columns);
    for (size_t i = 0; i < rows; i++) {
        fputs("<tr>", file);
        listed->row(file, report, i);
        fputs("</tr>\n", file);
    }
    fputs("</tbody></table></div>\n", file);
    if (rows < listed->count) {
        fprintf(file,
                "<p class=\"quiet\">%s more rows: with scripts on this page "
                "has them, and so has report.json.</p>\n",
                word_count(listed->count - rows).text);
    }
}

void html_tables(FILE *file, const struct report *report)
{
    const struct listed all[] = {
        {"Kernels", "kernel,#calls,#busy,#share,#median,#longest,ranks",
         report->kernels_count, kernel_row},
        {"Copies", "copy,launched by,#how many,#bytes,#time",
         report->copy_places_count, copy_row},
        {"Lines that launched device work",
         "line,kernel,#launches,#device busy,#in the launching calls",
         report->lines_count, line_row},
        {"Functions that computed",
         "function,hottest line,#CPU time,#in that line,#ranks,#most on",
         report->hot_count, hot_row},
        {"Calls by place", "call,called from,#calls,#time,#longest,#ranks",
         report->calls_count, call_row},
        {"Ranges of the program", "range,#times,#time,#median,#longest,#ranks",
         report->ranges_count, range_row},
        {"Files, locks, sleep",
         "function,for,#calls,#time,#bytes,#threads,#ranks", report->libc_count,
         libc_row},
        {"Counters", "counter,#value,#counted,#ranks", report->counters_count,
         counter_row},
    };

    bool has_rows = false;

    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
        if (all[i].count > 0) {
            put_table(file, report, &all[i]);
            has_rows = true;
        }
    }
    if (!has_rows) {
        fputs("<p>No kernel, copy, call, range or sample was recorded.</p>\n",
              file);
    }
}
