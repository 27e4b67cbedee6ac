/* textlibc.c - the table of calls that wait: files, sockets, locks, sleeps
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "merge/output/text/page.h"

#include <string.h>

#include "merge/output/words.h"

#define TOP_LIBC 10
#define TOP_OWN 4
/* Columns of the first and of the last column. */
#define NAME 22
#define TITLE "I/O, LOCKS (whole run)"
#define FROM 28

/* Calls that the program made. */
static bool has_program(const struct report_libc *libc)
{
    return libc->calls > libc->own_calls;
}

/* Of calls that a process did not report before it was killed, only records
 * are there. */
static struct word count_or_dash(uint32_t count)
{
    return count > 0 ? word_count(count) : (struct word){"-"};
}

static void put_libc(const struct page *page, const struct report_libc *libc)
{
    uint64_t bytes = libc->bytes - libc->own_bytes;

    fputc(' ', page->file);
    page_column(page, libc->name, NAME);
    fprintf(page->file, " %10s %9s %9s %7s %6s  ",
            word_count(libc->calls - libc->own_calls).text,
            word_seconds(libc->total - libc->own_total).text,
            bytes > 0 ? word_bytes(bytes).text : "-",
            count_or_dash(libc->threads - libc->own_threads).text,
            count_or_dash(libc->program_ranks).text);
    if (libc->call != NULL) {
        page_place_in(page, &libc->call->place, FROM);
    } else {
        fputc('-', page->file);
    }
    fputc('\n', page->file);
}

/* The function that the MPI library's own threads were in longest, but those
 * that were named; NULL = there is none. */
static const struct report_libc *own_next(const struct report *report,
                                          const struct report_libc *before)
{
    const struct report_libc *next = NULL;

    for (size_t i = 0; i < report->libc_count; i++) {
        const struct report_libc *libc = &report->libc[i];
        bool is_behind =
            before == NULL || libc->own_total < before->own_total ||
            (libc->own_total == before->own_total && libc > before);

        if (libc->own_calls > 0 && is_behind &&
            (next == NULL || libc->own_total > next->own_total)) {
            next = libc;
        }
    }
    return next;
}

/* In one sentence: no user can change what these do. */
static void put_own(const struct page *page)
{
    const struct report_libc *libc = own_next(page->report, NULL);
    char line[256] = "Apart, in the MPI library's own threads: ";
    size_t used = strlen(line);

    if (libc == NULL) {
        return;
    }
    for (int i = 0; libc != NULL && i < TOP_OWN; i++) {
        used += (size_t)snprintf(line + used, sizeof(line) - used, "%s%.30s %s",
                                 i == 0 ? "" : ", ", libc->name,
                                 word_time(libc->own_total).text);
        libc = own_next(page->report, libc);
    }
    (void)snprintf(line + used, sizeof(line) - used, "%s.",
                   libc != NULL ? " and others (report.json)" : "");
    fputc(' ', page->file);
    page_wrap(page, line, 1, 3);
    fputc('\n', page->file);
}

/* Which rows are too low, by name where it is one: a thread that was still in
 * its call when the program ended, or was killed, did not count its last. */
static void put_least(const struct page *page)
{
    const struct report *report = page->report;
    const char *name = NULL;
    size_t count = 0;

    for (size_t i = 0; i < report->libc_count; i++) {
        if (report->libc[i].is_least) {
            name = report->libc[i].name;
            count++;
        }
    }
    if (count > 0) {
        fprintf(page->file,
                " At least so many%s%s: some threads ended before they "
                "reported their last calls.\n",
                count == 1 ? " of " : "", count == 1 ? name : "");
    }
}

/* Rows of the program's calls that are shown; how many there are in `of`. */
static size_t put_rows(const struct page *page, size_t *of)
{
    const struct report *report = page->report;
    size_t shown = 0;

    *of = 0;
    for (size_t i = 0; i < report->libc_count; i++) {
        if (!has_program(&report->libc[i]) || (*of)++ >= TOP_LIBC) {
            continue;
        }
        if (shown++ == 0) {
            fprintf(page->file, "\n%s %-*s %10s %9s %9s %7s %6s  %s%s\n",
                    page_bold(page), NAME, TITLE, "calls", "total s", "bytes",
                    "threads", "ranks", "longest from", page_normal(page));
        }
        put_libc(page, &report->libc[i]);
    }
    return shown;
}

void page_libc(const struct page *page)
{
    size_t shown, of;

    if (page->report->libc_count == 0) {
        return;
    }
    shown = put_rows(page, &of);
    if (shown == 0) {
        fprintf(page->file, "\n%s %s%s none by the program's own threads\n",
                page_bold(page), TITLE, page_normal(page));
    }
    put_least(page);
    if (of > shown) {
        fprintf(page->file, " and %zu more function%s (report.json)\n",
                of - shown, word_s(of - shown));
    }
    put_own(page);
}
