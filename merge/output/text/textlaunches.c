/* textlaunches.c - kernels whose work has no record, or no time, and device
 * work by launching stack, of the text report
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "merge/output/text/page.h"

#include "merge/output/words.h"

/* The answer names a share of so many per cent and more. */
#define WORTH_PERCENT 1
#define TOP_ROWS 6
/* Less than an n-th of all device time has no row. */
#define WORTH_ROW 50
/* Frames of a row, the innermost ones. */
#define FRAMES 6
#define NAME 28

static bool is_worth(uint64_t part, uint64_t whole)
{
    return part > 0 && part * 100 >= whole * WORTH_PERCENT;
}

/* Processes without any recorded work: CUPTI was not to be had. */
static void put_blind(const struct page *page,
                      const struct report_launches *launches)
{
    fprintf(page->file,
            " What devices did for %u process%s, and when, is unknown: no "
            "record of the work of\n %s kernel launches came. Device times "
            "are missing, not idle.\n",
            launches->blind, launches->blind == 1 ? "" : "es",
            word_count(launches->unseen).text);
}

void page_launches_answer(const struct page *page)
{
    const struct report_launches *launches = &page->report->launches;
    uint64_t behind = launches->unrecorded - launches->unseen;

    if (is_worth(launches->unseen, launches->calls)) {
        put_blind(page, launches);
    }
    if (is_worth(behind, launches->calls)) {
        fprintf(page->file,
                " Of %s %% of the kernel launches (%s of %s) no record of the "
                "work came: what the\n devices did then is unknown.\n",
                word_percent((int64_t)behind, (int64_t)launches->calls).text,
                word_count(behind).text, word_count(launches->calls).text);
    }
    if (is_worth(launches->untimed, launches->kernels)) {
        fprintf(
            page->file,
            " %s %% of the kernels (%s of %s) have no usable times.\n",
            word_percent((int64_t)launches->untimed, (int64_t)launches->kernels)
                .text,
            word_count(launches->untimed).text,
            word_count(launches->kernels).text);
    }
}

void page_launches(const struct page *page)
{
    const struct report *report = page->report;
    const struct report_launches *launches = &report->launches;

    if (launches->unrecorded > 0) {
        fprintf(page->file,
                "             %s of %s kernel launches without a record of "
                "their work%s, from\n               %s on\n",
                word_count(launches->unrecorded).text,
                word_count(launches->calls).text,
                launches->processes > 1 ? ", in several processes" : "",
                word_time(launches->first - report->whole.start).text);
    }
    if (launches->blind > 0) {
        fprintf(page->file,
                "             %u process%s without any record of a device's "
                "work (%s launches)\n",
                launches->blind, launches->blind == 1 ? "" : "es",
                word_count(launches->unseen).text);
    }
    if (launches->untimed > 0) {
        fprintf(page->file,
                "             %s of %s kernels without usable times\n",
                word_count(launches->untimed).text,
                word_count(launches->kernels).text);
    }
}

/* ---- by launching stack ------------------------------------------------- */

static ck_time_t all_of(const struct report_launch_stacks *stacks)
{
    return stacks->matched_ns + stacks->deferred_ns + stacks->by_function_ns +
           stacks->unmatched_ns + stacks->unknown_ns;
}

static void put_row(const struct page *page,
                    const struct report_launch_row *row,
                    ck_time_t all)
{
    size_t first = row->frames_count > FRAMES ? row->frames_count - FRAMES : 0;

    fprintf(page->file, " %5s %% %9s  ", word_percent(row->ns, all).text,
            word_time(row->ns).text);
    page_column(page, row->work == NULL ? "(no name)" : row->work, NAME);
    fprintf(page->file, " %7s\n         ", page_who(page, row->rank).text);
    if (first > 0) {
        fputs("... > ", page->file);
    }
    for (size_t i = first; i < row->frames_count; i++) {
        page_cell(page, row->frames[i].function, NAME);
        fputs(i + 1 < row->frames_count ? " > " : " ", page->file);
    }
    fputc('(', page->file);
    page_place(page, &row->place);
    fputc(')', page->file);
    if (row->share < 0.995) {
        fprintf(page->file, ", %.0f %% of the stacks %s", 100 * row->share,
                row->is_by_function ? "in that function" : "there");
    }
    fputc('\n', page->file);
}

static void put_stacks(const struct page *page)
{
    const struct report_launch_stacks *stacks = &page->report->launch_stacks;
    ck_time_t all = all_of(stacks);
    size_t shown = 0;

    for (size_t i = 0; i < stacks->count && shown < TOP_ROWS; i++) {
        const struct report_launch_row *row = &stacks->rows[i];

        if (row->ns * WORTH_ROW < all) {
            break;
        }
        if (row->frames_count == 0) {
            continue;
        }
        if (shown++ == 0) {
            fprintf(
                page->file,
                "\n%s LAUNCHED BY (stacks of launches; without them of samples "
                "in the call or its function)%s\n",
                page_bold(page), page_normal(page));
        }
        put_row(page, row, all);
    }
    if (shown > 0) {
        fprintf(page->file,
                " joined: %s launches by a stack before, %s by a later one; "
                "%s by its function, %s without a stack, %s without a "
                "call\n",
                word_count(stacks->matched).text,
                word_count(stacks->deferred).text,
                word_count(stacks->by_function).text,
                word_count(stacks->unmatched).text,
                word_count(stacks->unknown).text);
    }
}

/* Stacks of long names are longer than a line. */
void page_launch_stacks(const struct page *page)
{
    page_folded(page, put_stacks);
}
