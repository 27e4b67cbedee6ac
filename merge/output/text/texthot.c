/* texthot.c - where the ranks computed, of the text report
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "merge/output/text/page.h"

#include <string.h>

#include "merge/output/words.h"

#define TOP_HOT 10
#define FUNCTION 36
#define LINE 24
#define RANGE 18
/* Less than an n-th of the samples is no hot spot. */
#define WORTH_SHARE 100
/* Less in a file without symbols is not worth a word about them. */
#define WORTH_FILE 5
/* Samples of less CPU time are too few for a share. */
#define WORTH_TIME 200000000

/* The program's CPU time outside of MPI and of devices' APIs. */
static ck_time_t computed(const struct report *report)
{
    const struct report_samples *samples = &report->samples;

    return samples->total - samples->mpi - samples->device_api - samples->own;
}

/* A digit behind the point takes so many samples ... */
#define COUNT_DIGIT 1000
/* ... unless more than an n-th of them were lost; less is not mentioned.
 */
#define LOST_DIGIT 100
#define LOST_WORTH 1000

static uint64_t records_all(const struct report_samples *samples)
{
    return samples->records + samples->records_lost;
}

double page_samples_in(const struct page *page, ck_time_t time)
{
    const struct report_samples *samples = &page->report->samples;

    return samples->total == 0
               ? 0
               : (double)samples->count * (double)time / (double)samples->total;
}

struct word
page_sampled(const struct page *page, ck_time_t part, ck_time_t whole)
{
    const struct report_samples *samples = &page->report->samples;
    bool is_lossy = samples->records_lost > records_all(samples) / LOST_DIGIT;
    struct word word = word_percent(part, whole);
    double count = COUNT_DIGIT; /* of the whole's samples */

    if (samples->total > 0) {
        count = page_samples_in(page, whole);
    }
    if (whole > 0 && (count < COUNT_DIGIT || is_lossy)) {
        (void)snprintf(word.text, sizeof(word.text), "%.0f",
                       100.0 * (double)part / (double)whole);
    }
    return word;
}

struct word page_samples_lost(const struct page *page)
{
    const struct report_samples *samples = &page->report->samples;
    uint64_t all = records_all(samples);
    struct word word = {""};

    if (samples->records_lost > all / LOST_WORTH) {
        word = word_percent((ck_time_t)samples->records_lost, (ck_time_t)all);
    }
    return word;
}

static const char *function_of(const struct report_hot *hot)
{
    return hot->place.function != NULL ? hot->place.function : "(not known)";
}

/* The first of the rows of files without symbols that are worth one; NULL. */
static const struct report_hot *file_find(const struct report *report)
{
    for (size_t i = 0; i < report->hot_count && i < TOP_HOT; i++) {
        if (report->hot[i].is_file &&
            report->hot[i].ns > computed(report) / WORTH_FILE) {
            return &report->hot[i];
        }
    }
    return NULL;
}

/* How to get the symbols of that file. */
static void
cure_put(const struct report_unnamed *unnamed, char *text, size_t room)
{
    const char *package = unnamed->package;

    if (strcmp(package, "libc6") == 0) {
        (void)snprintf(text, room, "install libc6-dbg");
    } else if (package[0] != '\0') {
        (void)snprintf(text, room,
                       "install %s-dbgsym (of Debian's or Ubuntu's archive of "
                       "debug symbols), or the -dbg package of the same "
                       "source,",
                       package);
    } else if (unnamed->has_rpm && strlen(unnamed->build_id) > 2) {
        (void)snprintf(text, room,
                       "install its debuginfo (dnf install "
                       "/usr/lib/debug/.build-id/%.2s/%s.debug)",
                       unnamed->build_id, unnamed->build_id + 2);
    } else if (unnamed->build_id != NULL && strlen(unnamed->build_id) > 2) {
        (void)snprintf(text, room,
                       "put its debug symbols at /usr/lib/debug/.build-id/"
                       "%.2s/%s.debug (debuginfod-find debuginfo %s fetches "
                       "them, if DEBUGINFOD_URLS names a server that has them)",
                       unnamed->build_id, unnamed->build_id + 2,
                       unnamed->build_id);
    } else {
        (void)snprintf(text, room,
                       "install its debug symbols (its package's -dbgsym)");
    }
}

/* What would name the functions there; once in a report. */
static void put_file(const struct page *page, const struct report_hot *hot)
{
    static const struct report_unnamed none = {.package = ""};
    const struct report_unnamed *unnamed = &page->report->unnamed;
    char line[1024], cure[512];

    if (unnamed->file == NULL ||
        strcmp(unnamed->file, hot->place.function) != 0) {
        unnamed = &none;
    }
    cure_put(unnamed, cure, sizeof(cure));
    (void)snprintf(
        line, sizeof(line),
        "No symbols in %.200s: %s or compile it with -g, then record "
        "again.",
        hot->place.function, cure);
    fputc(' ', page->file);
    page_wrap(page, line, 1, 3);
    fputc('\n', page->file);
}

void page_hot_answer(const struct page *page)
{
    const struct report *report = page->report;
    const struct report_hot *hot = report->hot;
    FILE *file = page->file;

    if (report->hot_count == 0 || computed(report) < WORTH_TIME) {
        return;
    }
    fprintf(file, " Of the CPU time outside MPI, %s %% went into ",
            page_sampled(page, hot->ns, computed(report)).text);
    page_cell(page, function_of(hot), 40);
    if (hot->place.file != NULL) {
        fputs(" (", file);
        page_place(page, &hot->place);
        fputc(')', file);
    }
    if (hot->caller.function != NULL) {
        fputs(", called below ", file);
        page_cell(page, hot->caller.function, 40);
    }
    fputs(".\n", file);
    if (file_find(report) != NULL) {
        put_file(page, file_find(report));
    }
}

static void put_hot(const struct page *page, const struct report_hot *hot)
{
    ck_time_t all = computed(page->report);
    struct word ranks = word_rank(hot->rank);

    fputc(' ', page->file);
    page_column(page, function_of(hot), FUNCTION);
    if (hot->ranks > 1 || (hot->ranks == 1 && hot->rank < 0)) {
        (void)snprintf(ranks.text, sizeof(ranks.text), "%u", hot->ranks);
    }
    if (!page->report->has_ranks) {
        (void)snprintf(ranks.text, sizeof(ranks.text), "-");
    }
    fprintf(page->file, " %5s %% %9s %8s  ",
            page_sampled(page, hot->ns, all).text, word_time(hot->ns).text,
            ranks.text);
    if (hot->place.file != NULL) {
        page_place_in(page, &hot->place, LINE);
    } else if (hot->after != NULL && page_has_place(&hot->after_place)) {
        fputs("after ", page->file);
        page_place_in(page, &hot->after_place, LINE);
    } else {
        fputc('-', page->file);
    }
    page_below(page, &hot->caller, LINE);
    if (hot->range != NULL) {
        fputs(", range ", page->file);
        page_cell(page, hot->range, RANGE);
    }
    fputc('\n', page->file);
}

#define TOP_CALLERS 8
/* A row for callers takes an n-th of the samples, and an n-th of them below. */
#define CALLER_SHARE 20
#define CALLER_BELOW 10

/* Worth a row: neither all of the program nor only its own lines. */
static bool is_caller(const struct report_caller *caller, ck_time_t all)
{
    return caller->total > all / CALLER_SHARE &&
           caller->total < all - all / CALLER_SHARE &&
           caller->leaf_ns > caller->total / CALLER_BELOW;
}

static void put_caller(const struct page *page,
                       const struct report_caller *caller)
{
    ck_time_t all = computed(page->report);

    fputc(' ', page->file);
    page_column(page, caller->place.function, FUNCTION);
    fprintf(page->file, " %5s %% %9s  ",
            page_sampled(page, caller->total, all).text,
            word_time(caller->total).text);
    fprintf(page->file, "%s %% in ",
            page_sampled(page, caller->leaf_ns, caller->total).text);
    page_cell(page,
              caller->leaf.function != NULL ? caller->leaf.function
                                            : "(not known)",
              LINE);
    if (caller->leaf.file != NULL) {
        fputs(" (", page->file);
        page_place_in(page, &caller->leaf, LINE);
        fputc(')', page->file);
    }
    fputc('\n', page->file);
}

/* The same samples by the program's functions that called. */
static void put_callers(const struct page *page)
{
    const struct report *report = page->report;
    ck_time_t all = computed(report);
    size_t shown = 0;

    for (size_t i = 0; i < report->callers_count && shown < TOP_CALLERS; i++) {
        if (!is_caller(&report->callers[i], all)) {
            continue;
        }
        if (shown++ == 0) {
            fprintf(page->file, "%s %-*s %7s %9s  %s%s\n", page_bold(page),
                    FUNCTION, "HOT CALLERS (with what they call)", "share",
                    "CPU time", "most below it", page_normal(page));
        }
        put_caller(page, &report->callers[i]);
    }
}

/* Where devices work, the causes show where their hosts computed. */
void page_hot(const struct page *page)
{
    const struct report *report = page->report;
    ck_time_t all = computed(report);
    struct word lost = page_samples_lost(page);
    size_t shown = 0;

    if (report->devices_count > 0 || all < WORTH_TIME) {
        return;
    }
    fprintf(page->file, "\n%s %-*s %7s %9s %8s  %s%s\n", page_bold(page),
            FUNCTION, "HOT SPOTS (sampled outside MPI)", "share", "CPU time",
            "ranks", "hottest line", page_normal(page));
    if (lost.text[0] != '\0') {
        fprintf(page->file,
                " %s %% of the sample records were lost: shares are less "
                "exact\n",
                lost.text);
    }
    for (size_t i = 0; i < report->hot_count && shown < TOP_HOT &&
                       report->hot[i].ns > all / WORTH_SHARE;
         i++, shown++) {
        put_hot(page, &report->hot[i]);
    }
    if (report->hot_count > shown) {
        fprintf(page->file, " and %zu more functions (report.json)\n",
                report->hot_count - shown);
    }
    put_callers(page);
}
