/* textinputs.c - profiles in which no device works, or one works longer
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * What a reader does not know as device work is no idle device: other tracers
 * name it otherwise, or the profiler did not record it.
 */
#include <stdlib.h>

#include "merge/model/memory.h"

#include "merge/output/text/page.h"
#include "schema/order.h"

/* Read by one of ck's readers, and no run of ck. */
static bool is_profile(const struct report_input *input)
{
    return input->rank >= 0;
}

/* Profiles, and those of them with device work. */
static size_t inputs_count(const struct report *report, size_t *working)
{
    size_t count = 0;

    *working = 0;
    for (size_t i = 0; i < report->inputs_count; i++) {
        const struct report_input *input = &report->inputs[i];

        count += is_profile(input);
        *working += is_profile(input) && input->operations > 0;
    }
    return count;
}

bool page_inputs_blind(const struct page *page)
{
    size_t working, count = inputs_count(page->report, &working);

    if (count == 0 || working > 0) {
        return false;
    }
    fprintf(page->file,
            " The profile%s no device work that ck knows (events of the "
            "category kernel, gpu_memcpy\n or gpu_memset; executions of "
            "nkipy): what devices did is unknown.\n",
            count == 1 ? " has" : "s have");
    return true;
}

CK_ORDER(rank_order, int32_t, CK_LESS(*a, *b))

void page_inputs_answer(const struct page *page)
{
    const struct report *report = page->report;
    size_t working, count = inputs_count(report, &working), blind = 0;
    int32_t *ranks = xcalloc(report->inputs_count + 1, sizeof(*ranks));

    for (size_t i = 0; i < report->inputs_count; i++) {
        const struct report_input *input = &report->inputs[i];

        if (is_profile(input) && input->operations == 0) {
            ranks[blind++] = input->rank;
        }
    }
    if (working > 0 && working < count && blind > 0 && !report->is_filtered) {
        qsort(ranks, blind, sizeof(*ranks), rank_order);
        fprintf(page->file, " The profile%s of ", blind == 1 ? "" : "s");
        page_ranks(page->file, ranks, blind);
        fprintf(page->file,
                " %s no device work that ck knows: what %s did is unknown, not "
                "idle.\n",
                blind == 1 ? "has" : "have",
                blind == 1 ? "its device" : "their devices");
    }
    free(ranks);
}

/* Columns of its name. */
#define KERNEL_NAME 40

static void put_uneven(const struct page *page,
                       const struct report_uneven_kernel *row)
{
    FILE *file = page->file;

    page_cell(page, row->name, KERNEL_NAME);
    fprintf(file, " took %s longest: %s a call, ",
            page_who(page, row->rank).text, word_time(row->mean).text);
    fprintf(file, "%s on the other ", word_time(row->others_mean).text);
    if (row->ranks == 2) {
        fputs("rank", file);
    } else {
        fprintf(file, "%u ranks (median)", row->ranks - 1);
    }
    fprintf(file, ". That cost %s of its %s in kernels.",
            word_time(row->excess).text, word_time(row->rank_total).text);
}

void page_uneven_answer(const struct page *page)
{
    const struct report_uneven_kernel *row = &page->report->uneven_kernel;
    struct page inner = *page;
    char *text = NULL;
    size_t length;

    if (page->report->inputs_count == 0 || row->name == NULL) {
        return;
    }
    inner.file = xmemstream(&text, &length);
    put_uneven(&inner, row);
    (void)fclose(inner.file);
    fputc(' ', page->file);
    page_wrap(page, text, 1, 3);
    fputc('\n', page->file);
    free(text);
}
