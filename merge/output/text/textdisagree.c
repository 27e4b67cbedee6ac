/* textdisagree.c - collectives of NCCL that ranks called differently
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "merge/output/text/page.h"

#include <stdlib.h>

#include "merge/model/memory.h"
#include "merge/output/words.h"

/* Communicators before the rest is only counted. */
#define ROWS_SHOWN 3
/* Columns of a function's name. */
#define NAME 48

/* "ranks 0, 2 and 3 called ncclAllReduce Float32 of 4.10 kB" */
static void put_part(const struct page *page,
                     const struct report_disagreement_part *part)
{
    FILE *file = page->file;

    page_ranks(file, part->ranks, part->ranks_count);
    if (part->call == NULL) {
        fputs(" did not call it", file);
        return;
    }
    fputs(" called ", file);
    page_cell(page, part->call, NAME);
    fprintf(file, " of %s", word_bytes(part->bytes).text);
    if (part->root >= 0) {
        fprintf(file, " with root %lld", (long long)part->root);
    }
}

static void put_sentence(const struct page *page,
                         const struct report_disagreement *found)
{
    FILE *file = page->file;

    fprintf(file, "ranks disagree at collective %llu of NCCL's communicator %s",
            (unsigned long long)found->number, found->comm);
    for (size_t i = 0; i < found->parts_count; i++) {
        fputs(i == 0 ? ": " : ", ", file);
        put_part(page, &found->parts[i]);
    }
    if (found->silent >= CK_TIME_S) {
        fprintf(file,
                "; no collective was called on it in the last %s of the run",
                word_time(found->silent).text);
    }
    fputc('.', file);
}

static void put_row(const struct page *page,
                    const struct report_disagreement *found)
{
    struct page inner = *page;
    char *text = NULL;
    size_t length;

    inner.file = xmemstream(&text, &length);
    put_sentence(&inner, found);
    (void)fclose(inner.file);
    fprintf(page->file, " %s", page_red(page));
    page_wrap(page, text, 1, 3);
    fprintf(page->file, "%s\n", page_normal(page));
    free(text);
}

void page_disagree(const struct page *page)
{
    const struct report *report = page->report;
    size_t rest = report->disagreements_count;

    for (size_t i = 0; i < report->disagreements_count && i < ROWS_SHOWN; i++) {
        put_row(page, &report->disagreements[i]);
        rest--;
    }
    if (rest > 0) {
        fprintf(page->file, " ranks disagree on %zu more communicator%s\n",
                rest, word_s(rest));
    }
}
