/* when.c - in which steps, or when, it was, in the text report
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "merge/output/page.h"

#include "merge/output/words.h"

/* Numbers as the program gave them: without separators, as they are marked. */
static void put_steps(const struct page *page,
                      const struct report_window *window)
{
    fprintf(page->file, "in steps %lld to %lld (of %s), ",
            (long long)window->first_step, (long long)window->last_step,
            word_count(window->of_steps).text);
}

void page_windows(const struct page *page, const struct report_windows *windows)
{
    ck_time_t zero = page->report->whole.start;

    for (size_t i = 0; i < windows->count; i++) {
        const struct report_window *window = &windows->items[i];
        ck_time_t share = (ck_time_t)(window->share * 1000 + 0.5);

        fprintf(page->file, "    %s %% of it ", word_percent(share, 1000).text);
        if (window->has_steps) {
            put_steps(page, window);
        }
        fprintf(page->file, "from %s ", word_time(window->start - zero).text);
        fprintf(page->file, "to %s of the run.\n",
                word_time(window->end - zero).text);
    }
}
