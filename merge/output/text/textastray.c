/* textastray.c - devices whose stamps cannot be true
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "merge/output/text/page.h"

#include "merge/model/interval.h"

/* Of the region; less changes no figure that is read. */
#define ASTRAY_SHARE 100

/* Nearly all that it has contradicts it, by a length of time that matters, and
 * nothing shows where its clock is. */
static bool is_astray(const struct report *report,
                      const struct report_device_clock *clock)
{
    uint64_t refuted = clock->launches_refuted + clock->syncs_refuted;

    return !clock->is_placed && refuted > 0 &&
           refuted * 2 >= clock->launches + clock->syncs &&
           clock->worst > region_length(report->region) / ASTRAY_SHARE;
}

void page_clocks_answer(const struct page *page)
{
    const struct report *report = page->report;
    const struct report_device_clock *worst = NULL;
    size_t count = 0;

    for (size_t i = 0; i < report->device_clocks_count; i++) {
        const struct report_device_clock *clock = &report->device_clocks[i];

        if (is_astray(report, clock)) {
            worst =
                worst == NULL || clock->worst > worst->worst ? clock : worst;
            count++;
        }
    }
    if (worst == NULL) {
        return;
    }
    fprintf(page->file, " The stamps of the device of %s",
            page_who(page, worst->rank).text);
    if (count > 1) {
        fprintf(page->file, " and of %s more",
                word_count((uint64_t)count - 1).text);
    }
    fprintf(page->file,
            " contradict the launches of its work by up to %s:\n when it "
            "worked, and why it was idle, may be wrong by that (TRUST).\n",
            word_time(worst->worst).text);
}
