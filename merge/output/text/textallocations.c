/* textallocations.c - where memory came from, of the program and of devices
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "merge/output/text/page.h"

#include "merge/model/defs.h"
#include "merge/output/words.h"

#define TOP_PLACES 8
#define TOP_RANKS 4
#define FUNCTION 28
#define LINE 19
/* A row has at least an n-th of what was live at the peaks or of all bytes. */
#define WORTH_ROW 50

struct sums {
    uint64_t bytes;
    uint64_t peak;
};

static struct sums sums_of(const struct report_allocations *of)
{
    struct sums sums = {0, 0};

    for (size_t i = 0; i < of->ranks_count; i++) {
        sums.bytes = defs_sum(sums.bytes, of->ranks[i].held.bytes);
        sums.peak = defs_sum(sums.peak, of->ranks[i].held.peak);
    }
    return sums;
}

static void put_head(const struct page *page, const char *title)
{
    fprintf(page->file, "\n%s %-*s %8s %8s %8s %8s %7s %5s  %s%s\n",
            page_bold(page), FUNCTION, title, "at peak", "+-", "at end",
            "in all", "blocks", "ranks", "line", page_normal(page));
}

static void put_row(const struct page *page,
                    const struct report_allocation *row)
{
    const struct report_held *held = &row->held;
    const char *function = row->place.function;
    struct word ranks = word_rank(row->rank);

    fputc(' ', page->file);
    page_column(page, function != NULL ? function : "(not known)", FUNCTION);
    if (row->ranks > 1) {
        (void)snprintf(ranks.text, sizeof(ranks.text), "%u", row->ranks);
    }
    fprintf(page->file, " %8s", word_bytes(held->peak).text);
    fprintf(page->file, " %8s", word_bytes(held->peak_error).text);
    fprintf(page->file, " %8s", word_bytes(held->last).text);
    fprintf(page->file, " %8s", word_bytes(held->bytes).text);
    fprintf(page->file, " %7s %5s  ", word_count(held->blocks).text,
            page->report->has_ranks ? ranks.text : "-");
    page_line_end(page, &row->place, &row->callers.caller, LINE);
}

/* "rank 3 had 1.20 GB +- 2 MB of this memory at its peak (3.40 s), ..."; the
 * peaks of several processes are not at one time. */
static void put_rank(const struct page *page,
                     const struct report_allocation_rank *row)
{
    const char *peak = " at its peak (";

    fputc(' ', page->file);
    if (row->processes > 1) {
        fprintf(page->file, "%u processes of ", row->processes);
        peak = ", their own peaks added up (the largest at ";
    }
    fprintf(page->file, "%s had %s", page_who(page, row->rank).text,
            word_bytes(row->held.peak).text);
    if (row->held.peak_error > 0) {
        fprintf(page->file, " +- %s", word_bytes(row->held.peak_error).text);
    }
    fputs(" of this memory", page->file);
    if (row->device_name != NULL) {
        fputs(" on ", page->file);
        page_cell(page, row->device_name, FUNCTION);
    }
    fprintf(page->file, "%s%s),", peak,
            word_time(row->peak_at - page->report->whole.start).text);
    fprintf(page->file, " %s at the end.\n", word_bytes(row->held.last).text);
}

static void put_memory(const struct page *page,
                       const struct report_allocations *of,
                       const char *title)
{
    struct sums all = sums_of(of);
    size_t shown = 0;

    if (of->mean == 0) {
        return;
    }
    put_head(page, title);
    for (size_t i = 0; i < of->places_count && shown < TOP_PLACES; i++) {
        const struct report_held *held = &of->places[i].held;

        if (held->peak >= all.peak / WORTH_ROW ||
            held->bytes >= all.bytes / WORTH_ROW) {
            shown++;
            put_row(page, &of->places[i]);
        }
    }
    for (size_t i = 0; i < of->ranks_count && i < TOP_RANKS; i++) {
        put_rank(page, &of->ranks[i]);
    }
    if (of->ranks_count > TOP_RANKS) {
        fprintf(page->file, " and %zu more (report.json)\n",
                of->ranks_count - TOP_RANKS);
    }
}

static void put_allocations(const struct page *page)
{
    put_memory(page, &page->report->allocations, "WHERE MEMORY CAME FROM");
    put_memory(page, &page->report->device_memory, "DEVICE MEMORY");
}

void page_allocations(const struct page *page)
{
    page_folded(page, put_allocations);
}

static void put_trust(const struct page *page)
{
    const struct report_allocations *of = &page->report->allocations;
    uint64_t samples = 0;

    for (size_t i = 0; i < of->ranks_count; i++) {
        samples += of->ranks[i].held.samples;
    }
    if (of->mean != 0) {
        fprintf(page->file,
                "             memory: %s blocks sampled, one in %s on average; "
                "their sums are estimates, +- is one standard deviation\n",
                word_count(samples).text, word_bytes(of->mean).text);
    }
}

void page_allocations_trust(const struct page *page)
{
    page_folded(page, put_trust);
}
