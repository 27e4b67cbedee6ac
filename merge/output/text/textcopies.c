/* textcopies.c - what was copied, from which lines
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "merge/output/text/page.h"

#define TOP_COPIES 8
/* Copies of less than an n-th of the busy time are not worth a sentence. */
#define WORTH_COPIES 5
/* Columns of the place that a copy was launched from. */
#define FROM 30

/* Where devices were busy with copies for a good part of their busy time. */
void page_copies_answer(const struct page *page)
{
    const struct report_device *all = &page->report->all;
    bool is_most = all->copy > all->compute;

    if (all->copy == 0 || all->copy <= all->busy / WORTH_COPIES) {
        return;
    }
    fprintf(page->file, " Of all device time they spent %s%s %% copying%s",
            is_most ? page_bold(page) : "",
            word_percent(all->copy, all->wall).text,
            is_most ? page_normal(page) : "");
    if (all->comm > 0) {
        fprintf(page->file, ", %s %% communicating",
                word_percent(all->comm, all->wall).text);
    }
    fprintf(page->file, " with no kernel beside it, and %s %% computing.\n",
            word_percent(all->compute, all->wall).text);
}

static const char *direction(const char *name)
{
    static const char *const names[][2] = {
        {"h2d", "host to device"},
        {"d2h", "device to host"},
        {"d2d", "device to device"},
        {"h2h", "host to host"},
        {"fill", "fill"},
        {"map", "map or unmap"},
    };

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (names[i][0][0] == name[0] && names[i][0][1] == name[1] &&
            names[i][0][2] == name[2]) {
            return names[i][1];
        }
    }
    return name;
}

/* Bytes a nanosecond are GB a second. */
static void put_row(const struct page *page,
                    const struct report_copy_place *copy)
{
    fprintf(page->file, " %-18s %10s %10s %9s ", direction(copy->name),
            word_count(copy->calls).text, word_bytes(copy->bytes).text,
            word_seconds(copy->total).text);
    if (copy->total > 0 && copy->bytes > 0) {
        fprintf(page->file, "%8.3g", (double)copy->bytes / (double)copy->total);
    } else {
        fprintf(page->file, "%8s", "-");
    }
    fputs("  ", page->file);
    page_place_in(page, &copy->place, FROM);
    fputc('\n', page->file);
}

void page_copies(const struct page *page)
{
    const struct report *report = page->report;

    if (report->copy_places_count == 0) {
        return;
    }
    fprintf(page->file, "\n%s %-18s %10s %10s %9s %8s  %s%s\n", page_bold(page),
            "COPIES", "count", "bytes", "total s", "GB/s", "launched by",
            page_normal(page));
    for (size_t i = 0; i < report->copy_places_count && i < TOP_COPIES; i++) {
        put_row(page, &report->copy_places[i]);
    }
    if (report->copy_places_count > TOP_COPIES) {
        fprintf(page->file, " and %zu more (report.json)\n",
                report->copy_places_count - TOP_COPIES);
    }
}
