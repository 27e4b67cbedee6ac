/* htmlparts.c - the parts of the page that need no scripts
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "merge/output/page/htmlparts.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "merge/model/cause.h"
#include "merge/model/memory.h"
#include "merge/output/page/htmltables.h"
#include "merge/output/page/htmltext.h"
#include "merge/output/text/page.h"
#include "merge/output/text/text.h"

/* What a line with an advice begins with. */
#define ADVICE "Try:"

/* A part of the text report in memory. */
struct words {
    char *text;
    size_t length;
    FILE *file;
};

static const struct text_style style = {.has_unicode = true};

static void words_open(struct words *words)
{
    words->file = xmemstream(&words->text, &words->length);
}

/* What was written is in the text. */
static void words_close(struct words *words)
{
    (void)fclose(words->file);
}

static void
words_of(struct words *words, const struct report *report, enum text_part part)
{
    words_open(words);
    output_text_part(report, &style, part, words->file);
    words_close(words);
}

/* Lines that belong together as one; advice, and what follows it at the usual
 * indent, are lines of their own. */
static void words_join(struct words *words)
{
    size_t to = 0;
    bool is_start = true, is_advice = false;

    for (size_t i = 0; i < words->length; i++) {
        size_t blanks = strspn(words->text + i, " \n");
        bool begins_advice =
            strncmp(words->text + i + blanks, ADVICE, strlen(ADVICE)) == 0;
        bool is_behind = is_advice && words->text[i] == '\n' && blanks == 5;

        if (blanks == 0) {
            words->text[to++] = words->text[i];
            is_start = false;
            continue;
        }
        i += blanks - 1;
        if (!is_start && words->text[i + 1] != '\0') {
            words->text[to++] = begins_advice || is_behind ? '\n' : ' ';
            is_advice = begins_advice || (is_advice && !is_behind);
        }
    }
    words->text[to] = '\0';
    words->length = to;
}

/* What joins a line of its own in the text to the one before, which ended with
 * `last`. */
static const char *between(const char *text, char last)
{
    size_t digits = strspn(text, "0123456789");

    if (last == ':') {
        return " ";
    }
    if (strncmp(text, "its last ", 9) == 0 ||
        strncmp(text, "it was thread ", 14) == 0 ||
        (digits > 0 && strncmp(text + digits, " of ", 4) == 0)) {
        return "; ";
    }
    return strncmp(text, "No sign of a hang", 17) == 0 ||
                   strncmp(text, "How long the job ", 17) == 0
               ? ". "
               : " ";
}

/* Each line that begins with one blank, with the deeper ones behind it, as an
 * item of a list. */
static void put_items(FILE *file, const struct words *words)
{
    const char *end = words->text + words->length;
    const char *line = words->text;

    for (const char *next; line < end; line = next) {
        const char *feed = memchr(line, '\n', (size_t)(end - line));
        size_t blanks = strspn(line, " ");

        next = feed == NULL ? end : feed + 1;
        feed = feed == NULL ? end : feed;
        if (line + blanks >= feed) {
            continue;
        }
        if (blanks > 1 && line > words->text + 1) {
            fputs(between(line + blanks, line[-2]), file);
        } else {
            fputs(line > words->text ? "</li>\n<li>" : "<li>", file);
        }
        html_text(file, line + blanks, (size_t)(feed - line) - blanks);
    }
    fputs("</li>\n", file);
}

/* What is wrong with the run, or how a running one goes on; nothing where there
 * is nothing of it. `box` begins its box. */
static void put_state(FILE *file,
                      const struct report *report,
                      enum text_part part,
                      const char *box)
{
    struct words words;

    words_of(&words, report, part);
    if (words.length > 0) {
        fprintf(file, "%s<ul>\n", box);
        put_items(file, &words);
        fputs("</ul></div>\n", file);
    }
    free(words.text);
}

/* How a part of the text report is shown. */
enum layout {
    LAYOUT_RUNNING, /* lines joined, also where the part is empty */
    LAYOUT_LINES,   /* as in the text; nothing where the part is empty */
};

/* A part between two tags. */
static void put_part(FILE *file,
                     const struct report *report,
                     enum text_part part,
                     enum layout layout,
                     const char *before,
                     const char *behind)
{
    struct words words;
    size_t first = 0;

    words_of(&words, report, part);
    if (layout == LAYOUT_RUNNING) {
        words_join(&words);
    } else {
        first = strspn(words.text, "\n");
    }
    if (layout == LAYOUT_RUNNING || words.length > 0) {
        fputs(before, file);
        html_text(file, words.text + first, words.length - first);
        fputs(behind, file);
    }
    free(words.text);
}

void html_head(FILE *file, const struct report *report)
{
    fputs("<header class=\"page\">\n", file);
    put_part(file, report, TEXT_HEAD, LAYOUT_RUNNING, "<h1>", "</h1>\n");
    put_state(file, report, TEXT_ALARMS,
              "<div class=\"alarm\" role=\"alert\">");
    put_state(file, report, TEXT_RUNNING,
              "<div class=\"running\" role=\"note\">");
    fputs("</header>\n"
          "<nav aria-label=\"contents\"><ul id=\"contents\"></ul>"
          "<ul id=\"chips\" aria-label=\"selected\" hidden></ul></nav>\n",
          file);
}

/* The share of the whole, which is `what`, as a bar. */
static void
put_meter(FILE *file, ck_time_t part, ck_time_t whole, const char *what)
{
    double share = whole > 0 ? 100.0 * (double)part / (double)whole : 0;

    fprintf(file,
            "<svg class=\"meter\" viewBox=\"0 0 100 1\" "
            "preserveAspectRatio=\"none\" aria-hidden=\"true\">"
            "<title>%.1f %% of %s, which is the whole bar</title>"
            "<rect width=\"100\" height=\"1\" fill=\"transparent\"/>"
            "<rect class=\"mark\" width=\"%.2f\" height=\"1\"/></svg>\n",
            share, what, share);
}

static void put_strong(FILE *file, const char *text, size_t length)
{
    fputs("<b>", file);
    html_text(file, text, length);
    fputs("</b>", file);
}

/* The first `bold` bytes in bold letters, and the word before each advice. */
static void put_bold(FILE *file, const char *text, size_t length, size_t bold)
{
    const char *behind = text + length;
    const char *advice;

    put_strong(file, text, bold);
    text += bold;
    while ((advice = memmem(text, (size_t)(behind - text), "\n" ADVICE,
                            strlen("\n" ADVICE))) != NULL) {
        advice += strlen("\n");
        html_text(file, text, (size_t)(advice - text));
        put_strong(file, advice, strlen(ADVICE));
        text = advice + strlen(ADVICE);
    }
    html_text(file, text, (size_t)(behind - text));
}

/* "1. 8.1 % of all device time (...": without the number, which the list has;
 * the share is bold. */
static void put_numbered(FILE *file, const struct words *words)
{
    const char *dot = strstr(words->text, ". ");
    const char *text = dot == NULL ? words->text : dot + 2;
    const char *whole = strstr(text, " (");

    put_bold(file, text, (size_t)(words->text + words->length - text),
             whole == NULL ? 0 : (size_t)(whole - text));
}

static void
put_finding(FILE *file, const struct page *page, size_t number, size_t index)
{
    const struct report_cause *cause = &page->report->causes[index];
    struct words words;
    struct page part = *page;

    words_open(&words);
    part.file = words.file;
    page_finding(&part, number, cause);
    words_close(&words);
    words_join(&words);
    fprintf(file,
            "<li data-finding=\"%zu\" data-cause=\"%zu\">"
            "<p class=\"words\">",
            number, index);
    put_numbered(file, &words);
    fputs("</p>\n<div class=\"row\">", file);
    put_meter(file, cause->ns, page->report->all.wall, "all device time");
    fputs("<div class=\"tools\"></div></div></li>\n", file);
    free(words.text);
}

static void put_no_finding(FILE *file, const struct page *page)
{
    struct words words;
    struct page part = *page;

    words_open(&words);
    part.file = words.file;
    page_no_finding(&part);
    words_close(&words);
    fputs("<p>", file);
    html_text(file, words.text, words.length);
    fputs("</p>\n", file);
    free(words.text);
}

static void put_findings(FILE *file, const struct report *report)
{
    struct page_given given = {.count = 0};
    struct page page = {report, &style, NULL, &given};
    size_t causes[PAGE_FINDINGS];
    size_t count = page_findings(report, causes);

    if (count == 0) {
        put_no_finding(file, &page);
        return;
    }
    fputs("<ol id=\"findings\">\n", file);
    for (size_t i = 0; i < count; i++) {
        put_finding(file, &page, i + 1, causes[i]);
    }
    fputs("</ol>\n", file);
}

static void put_section(FILE *file, const char *id, const char *title)
{
    fprintf(file,
            "<section id=\"view-%s\" aria-labelledby=\"title-%s\">"
            "<h2 id=\"title-%s\" tabindex=\"-1\">%s</h2>\n",
            id, id, id, title);
}

/* Bytes before the first comma or the end of the first sentence. */
static size_t first_part(const char *text)
{
    const char *comma = strstr(text, ", "), *dot = strstr(text, ". ");
    const char *end =
        comma != NULL && (dot == NULL || comma < dot) ? comma : dot;

    return end == NULL ? 0 : (size_t)(end - text);
}

/* A rank that others waited for, as an item of the findings. */
static void put_late_rank(FILE *file, const struct page *page, size_t index)
{
    const struct report_straggler *row = &page->report->stragglers[index];
    const struct report_efficiency *efficiency = &page->report->efficiency;
    struct words words;
    struct page part = *page;

    words_open(&words);
    part.file = words.file;
    page_late_rank(&part, index);
    words_close(&words);
    words_join(&words);
    fprintf(file,
            "<li data-finding=\"%zu\" data-late=\"%zu\">"
            "<p class=\"words\">",
            index + 1, index);
    put_bold(file, words.text, words.length, first_part(words.text));
    fputs("</p>\n<div class=\"row\">", file);
    put_meter(file, row->caused, efficiency->region * efficiency->ranks,
              "the time of all ranks");
    fputs("<div class=\"tools\"></div></div></li>\n", file);
    free(words.text);
}

/* Who made the ranks wait; all that is known of waits without scripts. */
static void put_late(FILE *file, const struct report *report)
{
    struct page_given given = {.count = 0};
    struct page page = {report, &style, NULL, &given};
    size_t count = page_late_ranks(report);

    if (count > 0) {
        fputs("<ol id=\"findings\">\n", file);
    }
    for (size_t i = 0; i < count; i++) {
        put_late_rank(file, &page, i);
    }
    if (count > 0) {
        fputs("</ol>\n", file);
    }
    put_part(file, report, TEXT_MPI, LAYOUT_LINES,
             "<pre class=\"without-script\">", "</pre>\n");
}

/* With devices why they were idle; without, what made ranks late. */
static void put_why(FILE *file, const struct report *report)
{
    bool has_devices = report->devices_count > 0;

    put_section(file, "why",
                has_devices ? "Why the devices were idle"
                            : "What the ranks did with their time");
    put_part(file, report, TEXT_ANSWER, LAYOUT_RUNNING, "<p class=\"answer\">",
             "</p>\n");
    if (has_devices) {
        put_findings(file, report);
    } else {
        put_late(file, report);
    }
    fputs("</section>\n", file);
    put_section(file, has_devices ? "ledger" : "rows",
                has_devices ? "Where the device time went" : "The ranks");
    put_part(file, report, TEXT_ROWS, LAYOUT_LINES,
             "<pre class=\"without-script\">", "</pre>\n");
    fputs("</section>\n", file);
}

/* Words that not all readers know. */
static void put_glossary(FILE *file)
{
    static const char *const words[][2] = {
        {"region", "the part of the run that all figures are of; the heading "
                   "names it"},
        {"device time", "the region's length times the number of devices; "
                        "busy and idle time add up to it, to the nanosecond"},
        {"busy, idle", "a device is busy while at least one kernel or copy "
                       "runs on it, counted once however many there are"},
        {"cause", "what a device was idle for; each instant has one"},
        {"waited, late", "a rank waits in MPI until another one has come; that "
                         "one is late by what it did for longer"},
        {"clock error", "times of different hosts are compared within the "
                        "bound that is stated; a wait shorter than that is "
                        "attributed to no rank"},
    };

    fputs("<dl>", file);
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        fprintf(file, "<dt>%s</dt><dd>%s</dd>\n", words[i][0], words[i][1]);
    }
    fputs("</dl>\n<h3>Causes of idle time</h3>\n<dl id=\"cause-words\">", file);
    for (unsigned i = 0; i < CAUSES; i++) {
        fprintf(file, "<dt>%s</dt><dd>%s</dd>\n", cause_name(i),
                cause_sentence(i));
    }
    fputs("</dl>\n", file);
}

void html_sections(FILE *file,
                   const struct report *report,
                   const char *text,
                   size_t length)
{
    put_why(file, report);
    put_section(file, "tables", "Tables");
    fputs("<div class=\"without-script\">\n", file);
    html_tables(file, report);
    fputs("</div></section>\n", file);
    put_section(file, "trust", "How far to trust it");
    put_part(file, report, TEXT_TRUST, LAYOUT_LINES, "<pre>",
             "</pre></section>\n");
    put_section(file, "more", "More");
    fputs("<details><summary>the whole report as text</summary><pre>", file);
    html_text(file, text, length);
    fputs("</pre></details>\n<details><summary>what the words mean</summary>",
          file);
    put_glossary(file);
    fputs("</details>\n<div id=\"absent\"></div></section>\n", file);
}
