/* why.c - why the devices were idle, in sentences
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "merge/output/page.h"

#include "merge/output/words.h"

#define TOP_CAUSES 5
/* Causes of less than an n-th of all device time are not worth a sentence. */
#define WORTH_SHARE 100

static void
put_call(const struct page *page, const char *call, const struct place *place)
{
    page_cell(page, call, 40);
    if (page_has_place(place)) {
        fputs(" (", page->file);
        page_place(page, place);
        fputc(')', page->file);
    }
}

/* "in load, between clFinish (a.c:1) and MPI_Allreduce (b.c:2)" */
static void put_activity(const struct page *page,
                         const struct report_activity *did)
{
    if (did->call != NULL) {
        fputs("in ", page->file);
        put_call(page, did->call, &did->place);
        if (did->range != NULL) {
            fputs(" of range ", page->file);
            page_cell(page, did->range, 30);
        }
        return;
    }
    fputs("between two calls", page->file);
    if (did->range != NULL) {
        fputs(" of range ", page->file);
        page_cell(page, did->range, 30);
    }
    if (did->before != NULL) {
        fputs(",\n    after ", page->file);
        put_call(page, did->before, &did->before_place);
    }
    if (did->after != NULL) {
        fputs(did->before != NULL ? " and before " : ",\n    before ",
              page->file);
        put_call(page, did->after, &did->after_place);
    }
}

static void put_wait(const struct page *page, const struct report_cause *cause)
{
    FILE *file = page->file;

    fprintf(file, "waiting for rank %d.%s\n", cause->blamed, page_normal(page));
    if (cause->ranks == 1) {
        fprintf(file, "    Rank %d stood in ", cause->rank);
    } else {
        fprintf(file, "    %u ranks stood in ", cause->ranks);
    }
    put_call(page, cause->did.call, &cause->did.place);
    if (cause->blamed_ns == 0) {
        fprintf(file, "; what rank %d did is not known.\n", cause->blamed);
        return;
    }
    fprintf(file, ".\n    Rank %d was, %s %% of that time, ", cause->blamed,
            word_percent(cause->blamed_ns, cause->ns).text);
    put_activity(page, &cause->blamed_did);
    fputs(".\n", file);
}

static void put_cause(const struct page *page,
                      size_t number,
                      const struct report_cause *cause)
{
    ck_time_t wall = page->report->all.wall;
    bool has_activity = cause->did.call != NULL || cause->did.range != NULL ||
                        cause->did.before != NULL || cause->did.after != NULL;

    fprintf(page->file, " %zu. %s%s %% of all device time (%s of %s): ", number,
            page_bold(page), word_percent(cause->ns, wall).text,
            word_time(cause->ns).text, word_time(wall).text);
    if (cause->cause == CAUSE_MPI_WAIT) {
        put_wait(page, cause);
        return;
    }
    fprintf(page->file, "device of rank %d,%s %s", cause->rank,
            page_normal(page), cause_name(cause->cause));
    fprintf(page->file, "\n    (%s; %s pieces%s", cause_sentence(cause->cause),
            word_count(cause->count).text, has_activity ? "),\n    " : ")");
    if (has_activity) {
        put_activity(page, &cause->did);
    }
    fputs(".\n", page->file);
}

void page_why(const struct page *page)
{
    const struct report *report = page->report;
    ck_time_t worth = report->all.wall / WORTH_SHARE;

    if (report->devices_count == 0) {
        return;
    }
    fprintf(page->file, "\n%s WHY THE DEVICES WERE IDLE%s\n", page_bold(page),
            page_normal(page));
    for (size_t i = 0; i < report->causes_count && i < TOP_CAUSES; i++) {
        if (report->causes[i].ns <= worth) {
            if (i == 0) {
                fputs(" No cause above 1 % of device time.\n", page->file);
            }
            return;
        }
        put_cause(page, i + 1, &report->causes[i]);
    }
}
