/* libc.c - the table of calls that wait: files, sockets, locks, sleeps
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "merge/output/page.h"

#include "merge/output/words.h"

#define TOP_LIBC 10
/* Columns of the first and of the last column. */
#define NAME 22
#define FROM 28

void page_libc(const struct page *page)
{
    const struct report *report = page->report;

    if (report->libc_count == 0) {
        return;
    }
    fprintf(page->file, "\n%s %-*s %10s %9s %9s %7s %6s  %s%s\n",
            page_bold(page), NAME, "I/O, LOCKS (whole run)", "calls", "total s",
            "bytes", "threads", "ranks", "longest from", page_normal(page));
    for (size_t i = 0; i < report->libc_count && i < TOP_LIBC; i++) {
        const struct report_libc *libc = &report->libc[i];

        fputc(' ', page->file);
        page_column(page, libc->name, NAME);
        fprintf(page->file, " %10s %9s %9s %7u %6u  ",
                word_count(libc->calls).text, word_seconds(libc->total).text,
                libc->bytes > 0 ? word_bytes(libc->bytes).text : "-",
                libc->threads, libc->ranks);
        if (libc->call != NULL) {
            page_place_in(page, &libc->call->place, FROM);
        } else {
            fputc('-', page->file);
        }
        fputc('\n', page->file);
    }
    if (report->libc_count > TOP_LIBC) {
        fprintf(page->file, " and %zu more function%s (report.json)\n",
                report->libc_count - TOP_LIBC,
                word_s(report->libc_count - TOP_LIBC));
    }
}
