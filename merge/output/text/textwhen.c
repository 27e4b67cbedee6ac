/* textwhen.c - in which steps, or when, it was, in the text report
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "merge/output/text/page.h"

#include "merge/output/words.h"

/* Less than that part of the time in no step is not worth a line. */
#define WORTH_OUTSIDE 0.05

/* Numbers as the program gave them: without separators, as they are marked. */
static void put_steps(const struct page *page,
                      const struct report_window *window)
{
    if (window->first_step == window->last_step) {
        fprintf(page->file, "in step %lld (of %s), ",
                (long long)window->first_step,
                word_count(window->of_steps).text);
    } else {
        fprintf(page->file, "in steps %lld to %lld (of %s), ",
                (long long)window->first_step, (long long)window->last_step,
                word_count(window->of_steps).text);
    }
}

static void put_share(const struct page *page, double share)
{
    fprintf(page->file, "    %s %% of it ",
            word_percent((ck_time_t)(share * 1000 + 0.5), 1000).text);
}

static void put_window(const struct page *page,
                       const struct report_window *window)
{
    ck_time_t zero = page->report->whole.start;

    if (window->has_steps) {
        put_steps(page, window);
    }
    fprintf(page->file, "from %s ", word_time(window->start - zero).text);
    fprintf(page->file, "to %s of the run.\n",
            word_time(window->end - zero).text);
}

void page_windows(const struct page *page, const struct report_windows *windows)
{
    for (size_t i = 0; i < windows->count; i++) {
        put_share(page, windows->items[i].share);
        put_window(page, &windows->items[i]);
    }
    if (windows->has_event) {
        put_share(page, windows->event.share);
        fputs("at once, ", page->file);
        put_window(page, &windows->event);
    }
    if (windows->outside >= WORTH_OUTSIDE) {
        put_share(page, windows->outside);
        fputs("in no step (before the first one, between steps, after the "
              "last one, or in one that was not finished).\n",
              page->file);
    }
}
