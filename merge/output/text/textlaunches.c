/* textlaunches.c - kernels whose work has no record, or no time
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "merge/output/text/page.h"

/* The answer names a share of so many per cent and more. */
#define WORTH_PERCENT 1

static bool is_worth(uint64_t part, uint64_t whole)
{
    return part > 0 && part * 100 >= whole * WORTH_PERCENT;
}

/* Processes without any recorded work: CUPTI was not to be had. */
static void put_blind(const struct page *page,
                      const struct report_launches *launches)
{
    fprintf(page->file,
            " What devices did for %u process%s, and when, is unknown: no "
            "record of the work of\n %s kernel launches came. Device times "
            "are missing, not idle.\n",
            launches->blind, launches->blind == 1 ? "" : "es",
            word_count(launches->unseen).text);
}

void page_launches_answer(const struct page *page)
{
    const struct report_launches *launches = &page->report->launches;
    uint64_t behind = launches->unrecorded - launches->unseen;

    if (is_worth(launches->unseen, launches->calls)) {
        put_blind(page, launches);
    }
    if (is_worth(behind, launches->calls)) {
        fprintf(page->file,
                " Of %s %% of the kernel launches (%s of %s) no record of the "
                "work came: what the\n devices did then is unknown.\n",
                word_percent((int64_t)behind, (int64_t)launches->calls).text,
                word_count(behind).text, word_count(launches->calls).text);
    }
    if (is_worth(launches->untimed, launches->kernels)) {
        fprintf(
            page->file,
            " %s %% of the kernels (%s of %s) have no usable times.\n",
            word_percent((int64_t)launches->untimed, (int64_t)launches->kernels)
                .text,
            word_count(launches->untimed).text,
            word_count(launches->kernels).text);
    }
}

void page_launches(const struct page *page)
{
    const struct report *report = page->report;
    const struct report_launches *launches = &report->launches;

    if (launches->unrecorded > 0) {
        fprintf(page->file,
                "             %s of %s kernel launches without a record of "
                "their work%s, from\n               %s on\n",
                word_count(launches->unrecorded).text,
                word_count(launches->calls).text,
                launches->processes > 1 ? ", in several processes" : "",
                word_time(launches->first - report->whole.start).text);
    }
    if (launches->blind > 0) {
        fprintf(page->file,
                "             %u process%s without any record of a device's "
                "work (%s launches)\n",
                launches->blind, launches->blind == 1 ? "" : "es",
                word_count(launches->unseen).text);
    }
    if (launches->untimed > 0) {
        fprintf(page->file,
                "             %s of %s kernels without usable times\n",
                word_count(launches->untimed).text,
                word_count(launches->kernels).text);
    }
}
