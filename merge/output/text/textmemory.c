/* textmemory.c - memory and page faults, of the text report
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "merge/output/text/page.h"

#include <stdlib.h>

#include "merge/model/memory.h"
#include "merge/output/words.h"

#define TOP_RANKS 8
#define TOP_PLACES 8
#define TOP_GROWING 3
#define FUNCTION 36
#define LINE 24
/* Page faults are worth a table where a rank spent an n-th of its CPU time on
 * them, or had so many from a disk. */
#define WORTH_SHARE 20
#define WORTH_MAJOR 100
/* A row has at least an n-th of them. */
#define WORTH_ROW 100
/* Ranks need no row each where the peaks of all are this near: one n-th. */
#define WORTH_APART 10

static bool is_fault_worth(const struct report_memory *row)
{
    return row->faulting * WORTH_SHARE > row->sampled ||
           row->major_sampled >= WORTH_MAJOR || row->major >= WORTH_MAJOR;
}

static bool are_faults_worth(const struct report *report)
{
    for (size_t i = 0; i < report->memory_count; i++) {
        if (is_fault_worth(&report->memory[i])) {
            return true;
        }
    }
    return false;
}

static bool is_growing(const struct report *report)
{
    for (size_t i = 0; i < report->memory_count; i++) {
        if (report->memory[i].growth.is_steady) {
            return true;
        }
    }
    return false;
}

/* Do ranks differ? */
static bool are_apart(const struct report *report)
{
    int64_t low = INT64_MAX, high = 0;

    for (size_t i = 0; i < report->memory_count; i++) {
        int64_t peak = report->memory[i].peak.bytes;

        low = peak > 0 && peak < low ? peak : low;
        high = peak > high ? peak : high;
    }
    return high > 0 && high - low > high / WORTH_APART;
}

static int by_peak(const void *left, const void *right)
{
    const struct report_memory *a = *(const struct report_memory *const *)left;
    const struct report_memory *b = *(const struct report_memory *const *)right;

    if (a->peak.bytes != b->peak.bytes) {
        return a->peak.bytes < b->peak.bytes ? 1 : -1;
    }
    return (a->rank > b->rank) - (a->rank < b->rank);
}

static void put_count(const struct page *page, int64_t count)
{
    fprintf(page->file, " %11s",
            count < 0 ? "-" : word_count((uint64_t)count).text);
}

static void put_huge(const struct page *page, const struct report_memory *row)
{
    if (row->huge > 0) {
        fprintf(page->file, ", %s in huge pages",
                word_bytes((uint64_t)row->huge).text);
    }
    if (row->swapped > 0) {
        fprintf(page->file, ", %s on disk",
                word_bytes((uint64_t)row->swapped).text);
    }
}

/* "at step 12 (3.40 s)" */
static void put_peak_at(const struct page *page,
                        const struct report_memory *row)
{
    struct word time = word_time(row->peak.time - page->report->whole.start);

    if (row->has_peak_step) {
        fprintf(page->file, "step %lld (%s)", (long long)row->peak_step,
                time.text);
    } else {
        fputs(time.text, page->file);
    }
}

/* Whether that is a leak cannot be seen from outside. */
static void put_growth(const struct page *page)
{
    const struct report *report = page->report;
    size_t shown = 0;

    for (size_t i = 0; i < report->memory_count && shown < TOP_GROWING; i++) {
        const struct report_memory *row = &report->memory[i];

        if (!row->growth.is_steady) {
            continue;
        }
        fputs(report->has_ranks ? " Rank " : " The program", page->file);
        if (report->has_ranks) {
            page_rank(page, row->rank);
        }
        fprintf(page->file, " grew steadily, by %s",
                word_bytes((uint64_t)row->growth.bytes).text);
        if (row->growth.per_step >= 1) {
            fprintf(page->file, " (%s a step)",
                    word_bytes((uint64_t)row->growth.per_step).text);
        }
        fputs(shown++ == 0 ? ": a leak, a cache, or data that it collects.\n"
                           : ".\n",
              page->file);
    }
}

static void put_row(const struct page *page, const struct report_memory *row)
{
    fputc(' ', page->file);
    fprintf(page->file, "%-7s",
            page->report->has_ranks ? word_rank(row->rank).text : "program");
    if (row->points_count > 0) {
        fprintf(page->file, " %9s",
                word_bytes((uint64_t)row->first.bytes).text);
        fprintf(page->file, " %9s", word_bytes((uint64_t)row->peak.bytes).text);
        fprintf(page->file, " %9s", word_bytes((uint64_t)row->last.bytes).text);
    } else {
        fprintf(page->file, " %9s %9s %9s", "-", "-", "-");
    }
    put_count(page, row->minor);
    put_count(page, row->major);
    fprintf(page->file, " %6s  ",
            row->sampled > 0
                ? page_sampled(page, row->faulting, row->sampled).text
                : "-");
    if (row->points_count > 0) {
        put_peak_at(page, row);
        put_huge(page, row);
    }
    fputc('\n', page->file);
}

static void put_rows(const struct page *page)
{
    const struct report *report = page->report;
    const struct report_memory **all =
        xcalloc(report->memory_count + 1, sizeof(*all));
    size_t shown = report->memory_count;

    for (size_t i = 0; i < report->memory_count; i++) {
        all[i] = &report->memory[i];
    }
    if (shown > TOP_RANKS) {
        qsort(all, shown, sizeof(*all), by_peak);
        shown = TOP_RANKS;
    }
    for (size_t i = 0; i < shown; i++) {
        put_row(page, all[i]);
    }
    free(all);
    if (report->memory_count > shown) {
        fprintf(page->file, " and %zu more ranks (report.json)\n",
                report->memory_count - shown);
    }
}

static uint64_t faults_all(const struct report *report)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < report->fault_places_count; i++) {
        sum += report->fault_places[i].minor + report->fault_places[i].major;
    }
    return sum;
}

static void put_place(const struct page *page,
                      const struct report_fault_place *row)
{
    const char *function = row->place.function;
    struct word ranks = word_rank(row->rank);

    fputc(' ', page->file);
    page_column(page, function != NULL ? function : "(not known)", FUNCTION);
    if (row->ranks > 1) {
        (void)snprintf(ranks.text, sizeof(ranks.text), "%u", row->ranks);
    }
    fprintf(page->file, " %11s", word_count(row->minor).text);
    fprintf(page->file, " %9s %9s %6s  ", word_count(row->major).text,
            word_time(row->faulting).text,
            page->report->has_ranks ? ranks.text : "-");
    page_line_end(page, &row->place, &row->callers.caller, LINE);
}

static void put_places(const struct page *page)
{
    const struct report *report = page->report;
    uint64_t all = faults_all(report);
    size_t shown = 0;

    for (size_t i = 0; i < report->fault_places_count && shown < TOP_PLACES;
         i++) {
        const struct report_fault_place *row = &report->fault_places[i];
        uint64_t faults = row->minor + row->major;

        /* Of samples alone it may have been interrupts. */
        if (faults == 0 || faults * WORTH_ROW < all) {
            break;
        }
        if (shown++ == 0) {
            fprintf(page->file, "%s %-*s %11s %9s %9s %6s  %s%s\n",
                    page_bold(page), FUNCTION, "PAGE FAULTS (sampled) in",
                    "minor", "major", "CPU time", "ranks", "line",
                    page_normal(page));
        }
        put_place(page, row);
    }
}

static void put_memory(const struct page *page)
{
    const struct report *report = page->report;

    if (report->memory_count == 0 ||
        !(are_faults_worth(report) || is_growing(report) ||
          are_apart(report))) {
        return;
    }
    fprintf(page->file, "\n%s MEMORY  %9s %9s %9s %11s %11s %6s  %s%s\n",
            page_bold(page), "resident:", "", "", "page faults", "", "% of", "",
            page_normal(page));
    fprintf(page->file, "%s RANK    %9s %9s %9s %11s %11s %6s  %s%s\n",
            page_bold(page), "first", "peak", "last", "minor", "major", "CPU",
            "peak reached at", page_normal(page));
    put_rows(page);
    put_growth(page);
    if (are_faults_worth(report)) {
        put_places(page);
    }
}

void page_memory(const struct page *page)
{
    page_folded(page, put_memory);
}
