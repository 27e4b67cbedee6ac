/* textblocked.c - where threads waited without a CPU, of the text report
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "merge/output/text/page.h"

#include "merge/output/words.h"

#define TOP_PLACES 8
#define FUNCTION 36
#define LINE 24
/* Waits are worth a table from an n-th of the region on ... */
#define WORTH_REGION 50
/* ... and a row from an n-th of what is in the table. */
#define WORTH_ROW 50

/* Waits below functions of the program's own: threads of libraries wait for
 * work all the time. */
static ck_time_t users_all(const struct report *report)
{
    ck_time_t sum = 0;

    for (size_t i = 0; i < report->blocked_count; i++) {
        sum += report->blocked[i].is_users ? report->blocked[i].ns : 0;
    }
    return sum;
}

static void put_head(const struct page *page)
{
    fprintf(page->file, "\n%s %-*s %6s %7s %9s %7s %6s  %s%s\n",
            page_bold(page), FUNCTION, "WHERE BLOCKED (by stacks of waits)",
            "share", "stacks", "longest", "threads", "ranks", "line",
            page_normal(page));
}

static void put_row(const struct page *page,
                    const struct report_blocked *row,
                    ck_time_t all)
{
    const char *function = row->place.function;
    struct word ranks = word_rank(row->rank);

    fputc(' ', page->file);
    page_column(page, function != NULL ? function : "(not known)", FUNCTION);
    if (row->ranks > 1) {
        (void)snprintf(ranks.text, sizeof(ranks.text), "%u", row->ranks);
    }
    fprintf(page->file, " %4s %%", word_percent(row->ns, all).text);
    fprintf(page->file, " %7s", word_count(row->waits).text);
    fprintf(page->file, " %9s %7u %6s  ", word_time(row->longest).text,
            row->threads, page->report->has_ranks ? ranks.text : "-");
    page_line_end(page, &row->place, &row->callers.caller, LINE);
}

static void put_blocked(const struct page *page)
{
    const struct report *report = page->report;
    ck_time_t all = users_all(report);
    size_t shown = 0;

    if (all * WORTH_REGION < report->region.end - report->region.start) {
        return;
    }
    for (size_t i = 0; i < report->blocked_count && shown < TOP_PLACES; i++) {
        const struct report_blocked *row = &report->blocked[i];

        if (!row->is_users || row->ns * WORTH_ROW < all) {
            continue;
        }
        if (shown++ == 0) {
            put_head(page);
        }
        put_row(page, row, all);
    }
}

void page_blocked(const struct page *page)
{
    page_folded(page, put_blocked);
}

static void put_trust(const struct page *page)
{
    const struct report *report = page->report;
    const struct report_blocked_sums *sums = &report->blocked_sums;
    const struct report_stacks *stacks = &report->samples.stacks;

    if (stacks->waits == 0 || sums->blocked == 0) {
        return;
    }
    fprintf(page->file,
            "             stacks of waits without a CPU: %llu of %llu longer "
            "ones; %s %% of the time blocked in the region has one\n",
            (unsigned long long)stacks->wait_stacks,
            (unsigned long long)stacks->waits,
            word_percent(sums->ns, sums->blocked).text);
}

void page_blocked_trust(const struct page *page)
{
    page_folded(page, put_trust);
}
