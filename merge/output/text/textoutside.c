/* textoutside.c - how the ranks spent the time outside MPI, of the text report
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "merge/output/text/page.h"

#include "merge/output/words.h"

/* Less than an n-th of the whole is left out of the line, and out of the
 * table where it is so in every rank. */
#define WORTH_LINE 500
#define WORTH_COLUMN 100
#define TEXT_BYTES 512

static const struct {
    const char *words;
    const char *column;
} names[] = {
    [REPORT_OUTSIDE_CPU] = {"on a CPU", "ON CPU"},
    [REPORT_OUTSIDE_READY] = {"ready without one", "READY"},
    [REPORT_OUTSIDE_DEVICE] = {"in a device's API", "DEVICE"},
    [REPORT_OUTSIDE_IO] = {"in I/O", "I/O"},
    [REPORT_OUTSIDE_LOCK] = {"waiting for locks or threads", "LOCK ETC"},
    [REPORT_OUTSIDE_SLEEP] = {"asleep", "ASLEEP"},
    [REPORT_OUTSIDE_BLOCKED] = {"otherwise blocked", "BLOCKED"},
    [REPORT_OUTSIDE_UNKNOWN] = {"not known", "UNKNOWN"},
};

static ck_time_t outside_sum(const struct report_outside *outside)
{
    ck_time_t sum = 0;

    for (int i = 0; i < REPORT_OUTSIDE_STATES; i++) {
        sum += outside->ns[i];
    }
    return sum;
}

void page_outside(const struct page *page, int column, int indent)
{
    const struct report_outside *outside = &page->report->efficiency.outside;
    ck_time_t worth = outside_sum(outside) / WORTH_LINE;
    char text[TEXT_BYTES];
    size_t used = (size_t)snprintf(text, sizeof(text), "Outside MPI:");
    const char *comma = "";

    for (int i = 0; i < REPORT_OUTSIDE_STATES && used < sizeof(text); i++) {
        if (outside->ns[i] > worth) {
            used += (size_t)snprintf(
                text + used, sizeof(text) - used, "%s %s %s", comma,
                word_time(outside->ns[i]).text, names[i].words);
            comma = ",";
        }
    }
    if (comma[0] != '\0') {
        page_wrap(page, text, column, indent);
        fputs(".\n", page->file);
    }
}

static ck_time_t rank_share(const struct report *report)
{
    return region_length(report->region) / WORTH_COLUMN;
}

/* Has any rank so much of it that it has a column? */
static bool is_worth(const struct report *report, int state)
{
    for (size_t i = 0; i < report->ranks_count; i++) {
        if (report->ranks[i].outside.ns[state] > rank_share(report)) {
            return true;
        }
    }
    return false;
}

static void
put_rank(const struct page *page, const struct report_rank *rank, bool *worth)
{
    ck_time_t region = region_length(page->report->region);

    fprintf(page->file, "%5d ", rank->number);
    for (int i = 0; i < REPORT_OUTSIDE_STATES; i++) {
        if (worth[i]) {
            fprintf(page->file, " %8s",
                    word_percent(rank->outside.ns[i], region).text);
        }
    }
    fputc('\n', page->file);
}

void page_outside_ranks(const struct page *page)
{
    const struct report *report = page->report;
    bool worth[REPORT_OUTSIDE_STATES];
    bool is_any = false;
    size_t shown = 0;

    for (int i = 0; i < REPORT_OUTSIDE_STATES; i++) {
        worth[i] = is_worth(report, i);
        is_any = is_any || (worth[i] && i != REPORT_OUTSIDE_CPU &&
                            i != REPORT_OUTSIDE_UNKNOWN);
    }
    if (!is_any) {
        return;
    }
    fprintf(page->file, "\n%s RANK ", page_bold(page));
    for (int i = 0; i < REPORT_OUTSIDE_STATES; i++) {
        if (worth[i]) {
            fprintf(page->file, " %8s", names[i].column);
        }
    }
    fprintf(page->file, "  (outside MPI, %% of the region)%s\n",
            page_normal(page));
    for (size_t i = 0; i < report->ranks_count; i++) {
        if (report->ranks[i].end != REPORT_END_MISSING &&
            (shown++ < PAGE_ROWS || page->style->is_all_ranks)) {
            put_rank(page, &report->ranks[i], worth);
        }
    }
}
