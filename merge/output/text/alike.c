/* alike.c - one cause of idle time on several ranks
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "merge/output/text/alike.h"

#include <stdlib.h>
#include <string.h>

#include "merge/model/memory.h"
#include "merge/output/words.h"

/* The least of one that is the same as another, as a part of that. */
#define ALIKE_PART 2

static bool are_texts(const char *a, const char *b)
{
    return strcmp(a == NULL ? "" : a, b == NULL ? "" : b) == 0;
}

static bool are_places(const struct place *a, const struct place *b)
{
    return are_texts(a->function, b->function) && are_texts(a->file, b->file) &&
           a->line == b->line;
}

/* Did two threads the same, as a sentence names it? */
static bool are_activities(const struct report_activity *a,
                           const struct report_activity *b)
{
    return are_texts(a->call, b->call) && are_places(&a->place, &b->place) &&
           are_texts(a->range, b->range) && are_texts(a->before, b->before) &&
           are_places(&a->before_place, &b->before_place) &&
           are_texts(a->after, b->after) &&
           are_places(&a->after_place, &b->after_place) &&
           are_places(&a->sampled.place, &b->sampled.place) &&
           are_texts(a->kernel, b->kernel);
}

/* Is the cause of a device alone, and not of one that waits for another? */
static bool is_own(const struct report_cause *cause)
{
    return cause->cause != CAUSE_MPI_WAIT && cause->cause != CAUSE_DEP_REMOTE &&
           cause->cause != CAUSE_DEP_EVENT;
}

/* Causes are listed by length: `a` is before `b`. */
static bool are_alike(const struct report_cause *a,
                      const struct report_cause *b)
{
    return is_own(a) && a->cause == b->cause && a->is_start == b->is_start &&
           a->rank >= 0 && b->rank >= 0 && a->rank != b->rank &&
           b->ns <= a->ns && b->ns >= a->ns / ALIKE_PART &&
           are_activities(&a->did, &b->did);
}

bool alike_is_shown(const struct report *report, size_t cause)
{
    for (size_t i = 0; i < cause; i++) {
        if (are_alike(&report->causes[i], &report->causes[cause]) &&
            !alike_is_shown(report, i)) {
            return true;
        }
    }
    return false;
}

static int by_number(const void *left, const void *right)
{
    int32_t a = *(const int32_t *)left, b = *(const int32_t *)right;

    return (a > b) - (a < b);
}

void alike_put(const struct page *page, const struct report_cause *cause)
{
    const struct report *report = page->report;
    size_t count = 0;
    int32_t *ranks = xcalloc(report->causes_count + 1, sizeof(*ranks));
    ck_time_t ns = 0;

    for (size_t i = 0; i < report->causes_count; i++) {
        if (are_alike(cause, &report->causes[i])) {
            ranks[count++] = report->causes[i].rank;
            ns += report->causes[i].ns;
        }
    }
    qsort(ranks, count, sizeof(*ranks), by_number);
    if (count > 0) {
        fputs("    The same on ", page->file);
        page_ranks(page->file, ranks, count);
        fprintf(page->file, ": %s %% more (%s).\n",
                word_percent(ns, report->all.wall).text, word_time(ns).text);
    }
    free(ranks);
}
