/* why.c - why the devices were idle, in sentences
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "merge/output/page.h"

#include "merge/output/advice.h"
#include "merge/output/words.h"

#define TOP_CAUSES 5
/* And of those at the start. */
#define TOP_ONCES 2
/* Causes of less than an n-th of all device time are not worth a sentence. */
#define WORTH_SHARE 100
/* Nor is less than an n-th worth advice; what comes once never is. */
#define WORTH_ADVICE 20
/* Nor is less than an n-th of a computation without a CPU. */
#define WORTH_OFF 10
/* Nor is it that a cause is made of several when all but an n-th is one. */
#define WORTH_SPLIT 20

static void
put_call(const struct page *page, const char *call, const struct place *place)
{
    page_cell(page, call, 40);
    /* A place without a file is but the function again. */
    if (page_has_place(place) &&
        (place->file != NULL || place->function != call)) {
        fputs(" (", page->file);
        page_place(page, place);
        fputc(')', page->file);
    }
}

static void put_range(const struct page *page,
                      const struct report_activity *did)
{
    if (did->range != NULL) {
        fputs(" of range ", page->file);
        page_cell(page, did->range, 30);
    }
}

/* Who held the lock, and what that thread did meanwhile. */
static void put_holder(const struct page *page,
                       const struct report_holder *holder)
{
    fprintf(page->file, ",\n    held by thread %u", holder->tid);
    if (holder->name != NULL && holder->name[0] != '\0') {
        fputs(" (", page->file);
        page_cell(page, holder->name, 16);
        fputc(')', page->file);
    }
    if (holder->call != NULL) {
        fputs(", which was in ", page->file);
        put_call(page, holder->call, &holder->place);
    } else if (page_has_place(&holder->place)) {
        fputs(", which computed in ", page->file);
        put_call(page, holder->place.function, &holder->place);
    }
}

static void put_preempted(const struct page *page,
                          const struct report_running *running)
{
    if (running->preempted * WORTH_OFF > running->total) {
        fprintf(page->file, ",\n    %s %% of it ready to run, without a CPU",
                word_percent(running->preempted, running->total).text);
    }
}

/* "in kernel forward
 *     (launched by a.c:12), for which it waited
 *     in ", or "behind kernel forward, queued and not begun" */
static void put_kernel(const struct page *page,
                       const struct report_activity *did)
{
    fputs(did->is_kernel_queued ? "behind kernel " : "in kernel ", page->file);
    page_cell(page, did->kernel, 40);
    fputs(did->is_kernel_queued ? ", queued and not begun" : "", page->file);
    if (page_has_place(&did->kernel_place)) {
        fputs("\n    (launched by ", page->file);
        page_place(page, &did->kernel_place);
        fputc(')', page->file);
    }
    fputs(", for which it waited\n    ", page->file);
}

static void put_in_call(const struct page *page,
                        const struct report_activity *did)
{
    if (did->kernel != NULL) {
        put_kernel(page, did);
    }
    fputs("in ", page->file);
    put_call(page, did->call, &did->place);
    put_range(page, did);
    if (did->path != NULL) {
        fputs(" on ", page->file);
        page_cell(page, did->path, 50);
    }
    put_preempted(page, &did->running);
    if (did->holder.tid != 0) {
        put_holder(page, &did->holder);
    }
}

/* What is known of a thread that was in no call: where samples met it, and
 * how long it had no CPU. */
static void put_between(const struct page *page,
                        const struct report_activity *did)
{
    const struct report_sampled *sampled = &did->sampled;
    const struct report_running *running = &did->running;
    struct word lost = page_samples_lost(page);

    if (sampled->ns > 0) {
        fputs("computing in ", page->file);
        put_call(page, sampled->place.function, &sampled->place);
        put_range(page, did);
        fprintf(page->file, " (%s %% of samples%s%s%s)",
                page_sampled(page, sampled->ns, sampled->total).text,
                lost.text[0] != '\0' ? ", of which " : "", lost.text,
                lost.text[0] != '\0' ? " % are lost" : "");
    } else {
        fputs("between two calls", page->file);
        put_range(page, did);
    }
    put_preempted(page, running);
    if (running->blocked * WORTH_OFF > running->total) {
        fprintf(page->file, ",\n    %s %% of it blocked in the kernel",
                word_percent(running->blocked, running->total).text);
    }
}

/* "computing in decode (images.c:88) of range load (97 % of samples),
 *     after clFinish (a.c:1) and before MPI_Allreduce (b.c:2)" */
void page_activity(const struct page *page, const struct report_activity *did)
{
    if (did->call != NULL) {
        put_in_call(page, did);
        return;
    }
    put_between(page, did);
    if (did->before != NULL) {
        fputs(",\n    after ", page->file);
        put_call(page, did->before, &did->before_place);
    }
    if (did->after != NULL && did->before != NULL) {
        fputs(" and before ", page->file);
    } else if (did->after != NULL) {
        fputs(",\n    before ", page->file);
    }
    if (did->after != NULL) {
        put_call(page, did->after, &did->after_place);
    }
}

/* Is the part so much less than the whole that it must be said? */
static bool is_split(ck_time_t part, ck_time_t whole)
{
    return part < whole - whole / WORTH_SPLIT;
}

/* "most of it (58 %) ", where a part is less than the whole. */
static void put_part(const struct page *page, ck_time_t part, ck_time_t whole)
{
    if (is_split(part, whole)) {
        fprintf(page->file, "%s (%s %%) ",
                part > whole / 2 ? "most of it" : "the largest part of it",
                word_percent(part, whole).text);
    }
}

static void put_wait(const struct page *page, const struct report_cause *cause)
{
    FILE *file = page->file;

    fputs("waiting for rank ", file);
    page_rank(page, cause->blamed);
    page_error(page, cause->error);
    fprintf(file, ".%s\n", page_normal(page));
    if (cause->ranks == 1) {
        fprintf(file, "    Rank %d was blocked in ", cause->rank);
    } else {
        fputs("    ", file);
        page_count(page, cause->ranks);
        fputs(" were blocked in ", file);
    }
    put_call(page, cause->did.call, &cause->did.place);
    if (cause->last != cause->blamed) {
        fputs(" for rank ", file);
        page_rank(page, cause->last);
        fputs(", which waited itself", file);
    }
    fputs(".\n", file);
    page_delays(page, &(struct page_late){cause->blamed, cause->ns,
                                          cause->ranks, &cause->delays,
                                          &cause->seen, cause->seen_ns});
}

static void put_try(const struct page *page, const struct report_cause *cause)
{
    bool is_wait = cause->cause == CAUSE_MPI_WAIT;
    struct advice_case of = {
        .kind = is_wait ? cause->delays.kind : cause->cause,
        .is_late = is_wait,
        .did = is_wait ? &cause->delays.did : &cause->did,
        .count = cause->count,
        .ns = cause->ns,
        .load = page->report->load.verdict,
    };
    const char *text = advice_find(&of);

    if (text == NULL || report_is_once(cause) ||
        cause->ns * WORTH_ADVICE < page->report->all.wall) {
        return;
    }
    page_advice(page, text);
}

static void put_cause(const struct page *page,
                      size_t number,
                      const struct report_cause *cause)
{
    ck_time_t wall = page->report->all.wall;
    bool has_activity = cause->did.call != NULL || cause->did.range != NULL ||
                        cause->did.before != NULL || cause->did.after != NULL ||
                        cause->did.kernel != NULL;

    fprintf(page->file, " %zu. %s%s %% of all device time (%s of %s): ", number,
            page_bold(page), word_percent(cause->ns, wall).text,
            word_time(cause->ns).text, word_time(wall).text);
    if (cause->cause == CAUSE_MPI_WAIT) {
        put_wait(page, cause);
        return;
    }
    fprintf(page->file, "device of %s,%s %s", word_rank(cause->rank).text,
            page_normal(page), cause_name(cause->cause));
    fprintf(page->file, "\n    (%s; %s piece%s%s", cause_sentence(cause->cause),
            word_count(cause->count).text, word_s(cause->count),
            has_activity ? "),\n    " : ")");
    if (has_activity) {
        put_part(page, cause->did_ns, cause->ns);
        if (cause->cause == CAUSE_KERNEL_GAP) {
            fputs("before ", page->file);
            page_cell(page, cause->did.kernel, 50);
        } else {
            page_activity(page, &cause->did);
        }
    }
    fputs(".\n", page->file);
}

void page_why(const struct page *page)
{
    const struct report *report = page->report;
    ck_time_t worth = report->all.wall / WORTH_SHARE;
    size_t shown = 0, onces = 0;

    if (report->devices_count == 0) {
        return;
    }
    fprintf(page->file, "\n%s WHY THE DEVICES WERE IDLE%s\n", page_bold(page),
            page_normal(page));
    for (size_t i = 0; i < report->causes_count; i++) {
        const struct report_cause *cause = &report->causes[i];

        if (cause->ns > worth &&
            (report_is_once(cause) ? onces < TOP_ONCES : shown < TOP_CAUSES)) {
            if (report_is_once(cause) && onces++ == 0) {
                fputs(" Once, at the start or the end:\n", page->file);
            }
            put_cause(page, ++shown, cause);
            put_try(page, cause);
        }
    }
    if (shown == 0) {
        fputs(" No cause above 1 % of device time.\n", page->file);
    }
}
