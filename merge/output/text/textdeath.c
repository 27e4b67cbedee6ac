/* textdeath.c - where the threads of a rank were when a signal ended it
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 *   in f (x.c:12), called from g (x.c:30), main (x.c:41); it accessed address 0
 *   thread 2 of 4; the others: 1 in pthread_join, called from main (x.c:40) ...
 */
#include "merge/output/text/page.h"

#include <inttypes.h>
#include <stdlib.h>

#include "merge/model/memory.h"
#include "merge/output/words.h"

/* Callers that are named. */
#define CALLERS_MAX 3
/* Other threads that are described. */
#define OTHERS_MAX 8

/* Number of the frame in the row; the first of the row's where it has none. */
static size_t frame_number(const struct report_standing *row,
                           const struct place *place)
{
    return place == NULL ? 0 : (size_t)(place - row->frames);
}

/* "abort, called from f (x.c:12)", or "f (x.c:12), called from g (x.c:30)". */
static void
put_chain(const struct page *page, const struct report_standing *row, int most)
{
    size_t users = frame_number(row, page_users_place(row));
    bool is_called = users > 0 && users < row->frames_count &&
                     row->is_users[users]; /* by the user: the function */
    size_t first = is_called ? users - 1 : users;
    int count = 0;

    if (row->frames_count == 0) {
        fputs("a function that is not known", page->file);
        return;
    }
    page_frame(page, &row->frames[first]);
    for (size_t i = first + 1; i < row->frames_count && count < most; i++) {
        if (row->is_users[i] && row->frames[i].function != NULL) {
            fputs(count == 0 ? ", called from " : ", ", page->file);
            page_frame(page, &row->frames[i]);
            count++;
        }
    }
}

static bool is_of(const struct report_rank *rank,
                  const struct report_standing *row)
{
    return row->rank == rank->number;
}

/* The thread that took the signal that ended the rank, not one of a process
 * that the rank had started; NULL = not known. */
static const struct report_standing *cause_find(const struct report *report,
                                                const struct report_rank *rank)
{
    for (size_t i = 0; i < report->deaths_count; i++) {
        const struct report_standing *row = &report->deaths[i];

        if (is_of(rank, row) && row->is_program && row->is_cause &&
            row->signal == rank->code) {
            return row;
        }
    }
    return NULL;
}

static void put_cause(const struct page *page,
                      const struct report_standing *cause)
{
    fputs("in ", page->file);
    put_chain(page, cause, CALLERS_MAX);
    if (cause->has_address) {
        fprintf(page->file, "; it accessed address 0x%" PRIx64, cause->address);
    }
}

/* Threads of the process that are known, and the number of that one. */
static size_t threads_count(const struct report *report,
                            const struct report_standing *cause,
                            size_t *number)
{
    size_t count = 0;

    for (size_t i = 0; i < report->deaths_count; i++) {
        count += report->deaths[i].process == cause->process;
        if (&report->deaths[i] == cause) {
            *number = count;
        }
    }
    return count;
}

static void put_others(const struct page *page,
                       const struct report_standing *cause)
{
    const struct report *report = page->report;
    size_t number = 0, left = 0, at = 0;
    size_t count = threads_count(report, cause, &number);

    fprintf(page->file, "it was thread %zu of the %zu whose stacks are known",
            number, count);
    for (size_t i = 0; i < report->deaths_count; i++) {
        const struct report_standing *row = &report->deaths[i];

        at += row->process == cause->process;
        if (row->process != cause->process || row == cause) {
            continue;
        }
        if (left++ < OTHERS_MAX) {
            fprintf(page->file, "; thread %zu was in ", at);
            put_chain(page, row, 1);
        }
    }
    if (left > OTHERS_MAX) {
        fprintf(page->file, "; and %zu more (report.json)", left - OTHERS_MAX);
    }
}

/* A sentence in lines of its own. */
static void put_lines(const struct page *page,
                      const struct report_standing *cause,
                      void (*put)(const struct page *,
                                  const struct report_standing *))
{
    struct page inner = *page;
    char *text = NULL;
    size_t length;

    inner.file = xmemstream(&text, &length);
    put(&inner, cause);
    (void)fclose(inner.file);
    fprintf(page->file, "%s\n   %s", page_normal(page), page_red(page));
    page_wrap(page, text, 3, 3);
    free(text);
}

void page_death(const struct page *page, const struct report_rank *rank)
{
    const struct report_standing *cause = cause_find(page->report, rank);
    size_t number;

    if (cause == NULL) {
        return;
    }
    put_lines(page, cause, put_cause);
    if (threads_count(page->report, cause, &number) > 1) {
        put_lines(page, cause, put_others);
    }
}
