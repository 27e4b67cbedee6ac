/* textlaunches.c - kernels of whose work no record, or no time, is there
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

void page_launches_answer(const struct page *page)
{
    const struct report_launches *launches = &page->report->launches;

    if (is_worth(launches->unrecorded, launches->calls)) {
        fprintf(page->file,
                " Of %s %% of the kernel launches (%s of %s) no record of the "
                "work came: what the\n devices did then is unknown.\n",
                word_percent((int64_t)launches->unrecorded,
                             (int64_t)launches->calls)
                    .text,
                word_count(launches->unrecorded).text,
                word_count(launches->calls).text);
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
    if (launches->untimed > 0) {
        fprintf(page->file,
                "             %s of %s kernels without usable times\n",
                word_count(launches->untimed).text,
                word_count(launches->kernels).text);
    }
}
