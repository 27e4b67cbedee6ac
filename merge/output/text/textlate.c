/* textlate.c - the ranks that others waited for, of the text report
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "merge/output/text/page.h"

#include <string.h>

#include "merge/output/text/advice.h"
#include "merge/output/words.h"

#define TOP_STRAGGLERS 4
/* Waits of less than an n-th of the ranks' time are not worth a line. */
#define WORTH_SHARE 200
/* What a late rank did longer explains nothing below an n-th of the wait. */
#define WORTH_DELAY 20
/* And of less than that not worth advice, nor a sentence of the answer. */
#define WORTH_ADVICE 20

/* Of the ranks that called MPI, or of all where none did. */
ck_time_t page_ranks_time(const struct report *report)
{
    const struct report_efficiency *e = &report->efficiency;

    return e->ranks > 0 ? e->region * (ck_time_t)e->ranks
                        : region_length(report->region) *
                              (ck_time_t)report_ranks(report);
}

/* Of the table, or of those that it has no room for as well. */
uint64_t page_steps_all(const struct report *report)
{
    return report->table.count < report->steps ? report->steps
                                               : report->table.count;
}

/* The longest wait for a rank with a known activity of that rank then. */
static const struct report_cause *seen_find(const struct report *report,
                                            int32_t rank)
{
    for (size_t i = 0; i < report->waits_count; i++) {
        const struct report_cause *wait = &report->waits[i];

        if (wait->blamed == rank && wait->seen_ns > 0) {
            return wait;
        }
    }
    return NULL;
}

/* NULL = it is not worth one, or there is none. */
static const char *straggler_advice(const struct report *report,
                                    const struct report_straggler *row)
{
    struct advice_case of = {.kind = row->delays.kind,
                             .is_late = true,
                             .did = &row->delays.did,
                             .ns = row->delays.ns,
                             .load = report->load.verdict,
                             .usual_ready = page_usual_ready(report)};

    /* Where devices work, their causes have it. */
    return report->devices_count == 0 && row->ended * 2 < row->caused &&
                   row->delays.ns > row->caused / 4 &&
                   row->caused * WORTH_ADVICE > page_ranks_time(report)
               ? advice_find(&of)
               : NULL;
}

static void put_straggler(const struct page *page,
                          const struct report_straggler *row)
{
    FILE *file = page->file;
    const struct report_cause *wait = seen_find(page->report, row->rank);

    fprintf(file, " %s waited %s%s",
            page->report->is_filtered ? "Selected ranks" : "Others",
            page_hides_waits(page->report) ? "at least " : "",
            word_time(row->caused).text);
    page_error(page, row->error);
    fputs(" for rank ", file);
    page_rank(page, row->rank);
    /* Where it was in a part of the steps only, that is more precise. */
    if (row->slow.steps > 0 && row->windows.count == 0 &&
        !row->windows.has_event) {
        fprintf(
            file, ", %s %% of it in %s of %s steps (median %s)",
            word_percent((ck_time_t)(row->slow.share * 1000 + 0.5), 1000).text,
            word_count(row->slow.steps).text,
            word_count(page_steps_all(page->report)).text,
            word_time(row->slow.median).text);
    }
    fputs(".\n", file);
    page_windows(page, &row->windows);
    if (row->ended * WORTH_DELAY < row->caused &&
        row->delays.ns * WORTH_DELAY < row->caused && wait != NULL) {
        /* It never came, or came late for a reason that was not recorded. */
        fprintf(file, "    During %s %% of the wait it was seen\n    ",
                word_percent(wait->seen_ns, wait->ns).text);
        page_did(page, &wait->seen);
    } else {
        page_delays(page, &(struct page_late){
                              .rank = row->rank,
                              .ns = row->caused,
                              .ended = row->ended,
                              .delays = &row->delays,
                              .advice = straggler_advice(page->report, row)});
    }
}

/* Which of two caused more is not known. */
static bool is_tie(const struct report_straggler *more,
                   const struct report_straggler *less)
{
    ck_time_t error = more->error + less->error;

    return error > 0 && more->caused - less->caused < error;
}

size_t page_late_ranks(const struct report *report)
{
    ck_time_t worth = page_ranks_time(report) / WORTH_SHARE;
    size_t count = 0;

    while (count < report->stragglers_count && count < TOP_STRAGGLERS &&
           report->stragglers[count].caused > worth) {
        count++;
    }
    return count;
}

void page_late_rank(const struct page *page, size_t index)
{
    const struct report_straggler *row = &page->report->stragglers[index];

    put_straggler(page, row);
    if (index > 0 && is_tie(row - 1, row)) {
        fprintf(page->file, "    with rank %d: tie (below clock error).\n",
                row[-1].rank);
    }
}

static void put_most(const struct page *page)
{
    const struct report_straggler *row = &page->report->stragglers[0];

    fprintf(page->file, " Rank %d was waited for most (%s", row->rank,
            word_time(row->caused).text);
    page_error(page, row->error);
    fputc(')', page->file);
    if (row->ended * 2 > row->caused) {
        fputs(": it had ended.\n", page->file);
        return;
    }
    page_because(page, &(struct page_late){.rank = row->rank,
                                           .ns = row->caused,
                                           .ended = row->ended,
                                           .delays = &row->delays});
    fputs(".\n", page->file);
}

void page_late_answer(const struct page *page)
{
    const struct report *report = page->report;
    const struct report_straggler *rows = report->stragglers;

    if (report->stragglers_count == 0 || page_hides_waits(report) ||
        rows[0].caused * WORTH_ADVICE <= page_ranks_time(report) ||
        (report->stragglers_count > 1 && is_tie(&rows[0], &rows[1]))) {
        return;
    }
    page_folded(page, put_most);
}
