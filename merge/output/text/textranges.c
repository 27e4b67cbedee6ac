/* textranges.c - the program's ranges, of the text report
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "merge/output/text/page.h"

#include "merge/output/words.h"

#define TOP_RANGES 8
#define NAME 20

/* The cause of most idle time in a range; CAUSES = none. */
static enum cause range_cause(const struct report_range *range)
{
    enum cause best = CAUSES;

    for (enum cause c = 0; c < CAUSES; c++) {
        if (range->causes[c] > 0 &&
            (best == CAUSES || range->causes[c] > range->causes[best])) {
            best = c;
        }
    }
    return best;
}

static void put_range(const struct page *page, const struct report_range *range)
{
    enum cause cause = range_cause(range);

    fputc(' ', page->file);
    page_column(page, range->name[0] != '\0' ? range->name : "(no name)", NAME);
    fprintf(page->file, " %8s %8s %8s %8s %5u", word_count(range->calls).text,
            word_seconds(range->total).text, word_time(range->median).text,
            word_time(range->max).text, range->ranks);
    if (page->report->devices_count > 0) {
        fprintf(page->file, " %7s",
                range->is_device_known
                    ? word_percent(range->device_busy, range->device_wall).text
                    : "-");
        fprintf(page->file, " %9s  %s",
                range->idle > 0 ? word_time(range->idle).text : "-",
                cause == CAUSES ? "-" : cause_name(cause));
    }
    fputc('\n', page->file);
}

void page_ranges(const struct page *page)
{
    const struct report *report = page->report;

    if (report->ranges_count == 0) {
        return;
    }
    fprintf(page->file, "\n%s %-*s %8s %8s %8s %8s %5s%s%s\n", page_bold(page),
            NAME, "RANGES", "calls", "total s", "median", "longest", "ranks",
            report->devices_count > 0 ? "  busy %   devices idle, mostly in"
                                      : "",
            page_normal(page));
    for (size_t i = 0; i < report->ranges_count && i < TOP_RANGES; i++) {
        put_range(page, &report->ranges[i]);
    }
    if (report->ranges_count > TOP_RANGES) {
        fprintf(page->file, " and %zu more (report.json)\n",
                report->ranges_count - TOP_RANGES);
    }
}
