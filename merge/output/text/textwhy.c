/* textwhy.c - why the devices were idle, in sentences
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "merge/output/text/page.h"

#include <stdlib.h>
#include <string.h>

#include "merge/model/memory.h"
#include "merge/output/text/advice.h"
#include "merge/output/words.h"
#include "schema/order.h"

#define TOP_CAUSES 5
/* And of those at the start. */
#define TOP_ONCES 3
/* Kinds that are named where all causes are small. */
#define TOP_KINDS 3
/* Causes of less than an n-th of all device time are not worth a sentence. */
#define WORTH_SHARE 100
/* Nor is less than an n-th worth advice; what comes once never is. */
#define WORTH_ADVICE 20
/* Nor is less than an n-th of a computation without a CPU. */
#define WORTH_OFF 10
/* Nor is it that a cause is made of several when all but an n-th is one. */
#define WORTH_SPLIT 20
/* Nor is less than an n-th of page faults. */
#define WORTH_FAULTS 10
/* Fewer page faults that read are no reason to be blocked. */
#define WORTH_MAJORS 50
/* Nor is less than an n-th of a startup. */
#define WORTH_PART 20
/* Columns of a device where it is named. */
#define DEVICE 13

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

/* " below remesh called from step" */
static void put_callers(const struct page *page,
                        const struct report_callers *callers)
{
    if (callers->caller.function != NULL) {
        fputs(" below ", page->file);
        page_cell(page, callers->caller.function, 40);
    }
    if (callers->called_from.function != NULL) {
        fputs(" called from ", page->file);
        page_cell(page, callers->called_from.function, 40);
    }
}

/* Was it without a CPU for most of the time? Then that comes first. */
static bool is_preempted(const struct page *page,
                         const struct report_running *running)
{
    return page_is_without_cpu(running, page_usual_ready(page->report));
}

/* ",\n    81 % of it handling page faults (1.2 M minor in all)": of the whole
 * region. Samples show that the kernel ran there by no system call: for the
 * faults that are known of that function, or for an interrupt. Of a thread that
 * had no CPU the last one is that which took it. */
static void put_faults(const struct page *page,
                       const struct report_activity *did)
{
    const struct report_sampled *sampled = &did->sampled;
    bool is_known = sampled->minor > 0 || sampled->major > 0;

    if (sampled->faulting * WORTH_FAULTS < sampled->ns ||
        (!is_known && is_preempted(page, &did->running))) {
        return;
    }
    fprintf(page->file, ",\n    %s %% of it handling page faults",
            page_sampled(page, sampled->faulting, sampled->ns).text);
    if (!is_known) {
        fputs(" or interrupts", page->file);
        return;
    }
    fputs(" (", page->file);
    if (sampled->minor > 0) {
        fprintf(page->file, "%s minor%s", word_count(sampled->minor).text,
                sampled->major > 0 ? ", " : "");
    }
    if (sampled->major > 0) {
        fprintf(page->file, "%s major", word_count(sampled->major).text);
    }
    fputs(" in all)", page->file);
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

static void put_ready(const struct page *page,
                      const struct report_running *running)
{
    if (is_preempted(page, running)) {
        fprintf(page->file, "ready to run without a CPU (%s %% of it)\n    ",
                word_percent(running->preempted, running->total).text);
    }
}

static void put_preempted(const struct page *page,
                          const struct report_running *running)
{
    if (!is_preempted(page, running) &&
        running->preempted * WORTH_OFF > running->total) {
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

/* What other threads of the process did while this one waited. */
static void put_others(const struct page *page,
                       const struct report_sampled *sampled)
{
    fprintf(page->file, "while its other threads%s computed in ",
            sampled->has_processes ? " or processes" : "");
    put_call(page, sampled->place.function, &sampled->place);
    put_callers(page, &sampled->callers);
    fprintf(page->file, " (%s %% of their samples)",
            page_sampled(page, sampled->ns, sampled->total).text);
}

static void put_in_call(const struct page *page,
                        const struct report_activity *did)
{
    if (did->kernel != NULL) {
        put_kernel(page, did);
    }
    put_ready(page, &did->running);
    fputs("in ", page->file);
    put_call(page, did->call, &did->place);
    put_range(page, did);
    if (did->path != NULL) {
        fputs(" on ", page->file);
        page_cell(page, did->path, 50);
    }
    put_preempted(page, &did->running);
    if (did->sampled.is_others) {
        fputs(",\n    ", page->file);
        put_others(page, &did->sampled);
    }
    if (did->holder.tid != 0) {
        put_holder(page, &did->holder);
    }
}

/* A thread that was blocked, or did nothing but yield, while others of its
 * process computed. */
static void put_blocked(const struct page *page,
                        const struct report_activity *did)
{
    if (did->running.blocked * 2 > did->running.total) {
        fprintf(page->file, "blocked in the kernel (%s %% of it)",
                word_percent(did->running.blocked, did->running.total).text);
        put_range(page, did);
        fputs("\n    ", page->file);
    }
    put_others(page, &did->sampled);
    put_preempted(page, &did->running);
}

/* Functions of libc in which a thread waits for another process. */
static bool is_child_wait(const char *called)
{
    static const char *const names[] = {"wait", "wait3", "wait4", "waitpid",
                                        "waitid"};

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (strcmp(called, names[i]) == 0) {
            return true;
        }
    }
    return false;
}

/* "; it had 20,468 page faults that had to read in all,
 *     97 % of them in scan (faults.c:99) below step_read" */
static void put_majors(const struct page *page,
                       const struct report_running *running)
{
    if (running->majors < WORTH_MAJORS) {
        return;
    }
    fprintf(page->file,
            "; it had %s page faults that had to read in all,\n"
            "    %s %% of them in ",
            word_count(running->majors).text,
            word_percent((ck_time_t)running->majors_there,
                         (ck_time_t)running->majors)
                .text);
    put_call(page, running->majors_place.function, &running->majors_place);
    put_callers(page, &running->majors_callers);
}

/* A thread that was blocked: where it left the CPU. */
static void put_waiting(const struct page *page,
                        const struct report_activity *did)
{
    const struct report_sampled *sampled = &did->sampled;

    fprintf(page->file, "blocked in the kernel (%s %% of it)",
            word_percent(did->running.blocked, did->running.total).text);
    put_range(page, did);
    fputs("\n    in ", page->file);
    if (sampled->called != NULL) {
        page_cell(page, sampled->called, 40);
        fputs(is_child_wait(sampled->called)
                  ? " for a child process, called by "
                  : ", called by ",
              page->file);
    }
    put_call(page, sampled->place.function, &sampled->place);
    put_callers(page, &sampled->callers);
    fprintf(page->file, " (%s %% of waits with a stack)",
            word_percent(sampled->ns, sampled->total).text);
    put_preempted(page, &did->running);
    put_majors(page, &did->running);
}

/* What is known of a thread that was in no call: where samples met it, and
 * how long it had no CPU. */
static void put_between(const struct page *page,
                        const struct report_activity *did)
{
    const struct report_sampled *sampled = &did->sampled;
    const struct report_running *running = &did->running;
    struct word lost = page_samples_lost(page);

    put_ready(page, running);
    if (sampled->is_others) {
        put_blocked(page, did);
        return;
    }
    if (sampled->is_waits) {
        put_waiting(page, did);
        return;
    }
    if (sampled->ns > 0) {
        fputs(is_preempted(page, running) ? "in " : "computing in ",
              page->file);
        put_call(page, sampled->place.function, &sampled->place);
        put_callers(page, &sampled->callers);
        put_range(page, did);
        fprintf(page->file, " (%s %% of samples%s%s%s)",
                page_sampled(page, sampled->ns, sampled->total).text,
                lost.text[0] != '\0' ? "; " : "", lost.text,
                lost.text[0] != '\0' ? " % of all samples were lost" : "");
        put_faults(page, did);
    } else {
        fputs(did->before != NULL && did->after != NULL ? "between two calls"
                                                        : "in no recorded call",
              page->file);
        put_range(page, did);
    }
    put_preempted(page, running);
    if (running->blocked * WORTH_OFF > running->total) {
        fprintf(page->file, ",\n    %s %% of it blocked in the kernel",
                word_percent(running->blocked, running->total).text);
        put_majors(page, running);
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

/* Is the part so much less than the whole that it must be mentioned? */
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

/* Advice on what took as much as that; NULL = none, or it is not worth one. */
static const char *advice_worth(const struct page *page,
                                const struct advice_case *of)
{
    return of->ns * WORTH_ADVICE >= page->report->all.wall ? advice_find(of)
                                                           : NULL;
}

static const char *cause_advice(const struct page *page,
                                const struct report_cause *cause)
{
    bool is_wait = cause->cause == CAUSE_MPI_WAIT;
    bool is_others =
        is_wait || (cause->cause == CAUSE_DEP_EVENT && cause->delays.ns > 0);
    struct advice_case of = {
        .kind = is_others ? cause->delays.kind : cause->cause,
        .is_late = is_wait,
        .did = is_others ? &cause->delays.did : &cause->did,
        .count = cause->count,
        .ns = cause->ns,
        .load = page->report->load.verdict,
        .usual_ready = page_usual_ready(page->report),
    };

    return report_is_once(cause) || cause->ended * 2 > cause->ns
               ? NULL
               : advice_worth(page, &of);
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
    page_delays(page, &(struct page_late){.rank = cause->blamed,
                                          .ns = cause->ns,
                                          .ended = cause->ended,
                                          .waiting = cause->ranks,
                                          .delays = &cause->delays,
                                          .advice = cause_advice(page, cause),
                                          .seen = &cause->seen,
                                          .seen_ns = cause->seen_ns});
}

/* Does the device wait as the program asked for? */
static bool is_dependent(const struct report_cause *cause)
{
    return cause->cause == CAUSE_DEP_REMOTE || cause->cause == CAUSE_DEP_EVENT;
}

/* A wait for a rank has its advice beside the reason. */
static void put_try(const struct page *page, const struct report_cause *cause)
{
    const char *text =
        cause->cause == CAUSE_MPI_WAIT ? NULL : cause_advice(page, cause);

    if (text != NULL) {
        page_advice(page, text);
    }
    for (size_t i = 0; i < cause->parts_count; i++) {
        struct advice_case of = {.kind = cause->cause,
                                 .did = &cause->parts[i].did,
                                 .count = cause->count,
                                 .ns = cause->parts[i].ns,
                                 .load = page->report->load.verdict};

        text = advice_worth(page, &of);
        if (text != NULL) {
            page_advice(page, text);
        }
    }
}

static const struct report_device *device_find(const struct page *page,
                                               uint32_t physical)
{
    const struct report *report = page->report;

    for (size_t i = 0; i < report->devices_count; i++) {
        if (report->devices[i].physical == physical) {
            return &report->devices[i];
        }
    }
    return NULL;
}

/* Has the rank several devices? Then a cause is of all of them. */
static bool has_devices(const struct report *report, int32_t rank)
{
    size_t count = 0;

    for (size_t i = 0; i < report->devices_count; i++) {
        const struct report_device *device = &report->devices[i];

        for (size_t k = 0; k < device->ranks_count; k++) {
            count += device->ranks[k] == rank;
        }
    }
    return count > 1;
}

/* "device of rank 3", "devices of rank 3", "device cpu #1 of the program" */
static void put_whose(const struct page *page, const struct report_cause *cause)
{
    const struct report_device *device = NULL;
    bool is_of_one = is_dependent(cause);
    bool has_more = has_devices(page->report, cause->rank);

    if (is_of_one) {
        device = device_find(page, cause->device);
    }
    fputs(is_of_one || !has_more ? "device " : "devices ", page->file);
    if (device != NULL && (device->number >= 0 || has_more)) {
        (void)page_device(page, device->name, device->number, DEVICE);
        fputc(' ', page->file);
    }
    fprintf(page->file, "of %s,", page_who(page, cause->rank).text);
}

/* "for kernel spin (launched by a.c:12) on device cpu #0" */
static void put_awaited(const struct page *page,
                        const struct report_cause *cause)
{
    const struct report_device *device = device_find(page, cause->awaited);

    put_part(page, cause->did_ns, cause->ns);
    fputs("for ", page->file);
    page_cell(page, cause->did.kernel == NULL ? "(no name)" : cause->did.kernel,
              40);
    if (page_has_place(&cause->did.kernel_place)) {
        fputs(" (launched by ", page->file);
        page_place(page, &cause->did.kernel_place);
        fputc(')', page->file);
    }
    if (cause->did.is_kernel_queued) {
        fputs(", which had not begun,", page->file);
    }
    if (device != NULL) {
        fputs("\n    on device ", page->file);
        (void)page_device(page, device->name, device->number, DEVICE);
    }
}

/* "set by clSetUserEventStatus (a.c:1).
 *     Until then the thread that set it was, 99 % of that time,
 *     in nanosleep (a.c:2)" */
static void put_setter(const struct page *page,
                       const struct report_cause *cause)
{
    put_part(page, cause->did_ns, cause->ns);
    if (cause->did.call == NULL) {
        fputs("set by a call that is not recorded", page->file);
    } else {
        fputs("set by ", page->file);
        put_call(page, cause->did.call, &cause->did.place);
    }
    if (cause->seen_ns == 0) {
        return;
    }
    fputs(".\n    Until then ", page->file);
    if (cause->blamed == cause->rank) {
        fputs("the thread that set it", page->file);
    } else {
        fprintf(page->file, "%s, which that thread waited for,",
                page_who(page, cause->blamed).text);
    }
    fprintf(page->file, " was, %s %% of that time,\n    ",
            word_percent(cause->seen_ns, cause->ns).text);
    page_activity(page, &cause->seen);
}

/* A part of a startup in one line. */
static void put_share(const struct page *page,
                      const struct report_cause *cause,
                      const struct report_part *part)
{
    const struct report_activity *did = &part->did;

    fprintf(page->file, "\n    %s %% of it ",
            word_percent(part->ns, cause->ns).text);
    if (did->call != NULL) {
        fputs("in ", page->file);
        put_call(page, did->call, &did->place);
        put_range(page, did);
        return;
    }
    if (did->sampled.ns > 0) {
        fputs("computing in ", page->file);
        put_call(page, did->sampled.place.function, &did->sampled.place);
    } else {
        fputs("between calls", page->file);
    }
    put_range(page, did);
    if (did->after != NULL) {
        fputs(" before ", page->file);
        put_call(page, did->after, &did->after_place);
    } else if (did->before != NULL) {
        fputs(" after ", page->file);
        put_call(page, did->before, &did->before_place);
    }
}

/* What a startup was made of, where that is worth a line. */
static void put_parts(const struct page *page, const struct report_cause *cause)
{
    for (size_t i = 0; i < cause->parts_count; i++) {
        if (cause->parts[i].ns * WORTH_PART > cause->ns) {
            fputc(i > 0 ? ',' : ':', page->file);
            put_share(page, cause, &cause->parts[i]);
        }
    }
}

/* What the cause was in detail. */
static void put_detail(const struct page *page,
                       const struct report_cause *cause)
{
    switch (cause->cause) {
    case CAUSE_DEP_REMOTE:
        put_awaited(page, cause);
        break;
    case CAUSE_DEP_EVENT:
        put_setter(page, cause);
        break;
    case CAUSE_KERNEL_GAP:
    case CAUSE_UNFINISHED:
        put_part(page, cause->did_ns, cause->ns);
        fputs(cause->cause == CAUSE_KERNEL_GAP ? "before " : "", page->file);
        page_cell(page, cause->did.kernel, 50);
        break;
    default:
        put_part(page, cause->did_ns, cause->ns);
        page_activity(page, &cause->did);
        break;
    }
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
    put_whose(page, cause);
    fprintf(page->file, "%s %s", page_normal(page), cause_name(cause->cause));
    if (cause->cause == CAUSE_STARTUP) {
        fprintf(page->file, "\n    (%s)", cause_sentence(cause->cause));
        put_parts(page, cause);
        fputs(".\n", page->file);
        return;
    }
    fprintf(page->file, "\n    (%s; %s piece%s%s", cause_sentence(cause->cause),
            word_count(cause->count).text, word_s(cause->count),
            has_activity ? "),\n    " : ")");
    if (has_activity) {
        put_detail(page, cause);
    }
    fputs(".\n", page->file);
}

/* ---- one cause on several ranks ------------------------------------------ */

/* The least of one that is the same as another, as a part of that. */
#define ALIKE_PART 2

/* Did two threads the same, as a sentence names it? Kept texts: equal ones are
 * one pointer. */
static bool are_activities_alike(const struct report_activity *a,
                                 const struct report_activity *b)
{
    return a->call == b->call && page_is_same_place(&a->place, &b->place) &&
           a->range == b->range && a->before == b->before &&
           page_is_same_place(&a->before_place, &b->before_place) &&
           a->after == b->after &&
           page_is_same_place(&a->after_place, &b->after_place) &&
           page_is_same_place(&a->sampled.place, &b->sampled.place) &&
           a->kernel == b->kernel;
}

/* Where ranks do the same, their devices are idle for the same cause, each of
 * its own: it is listed once, with the ranks that have it too. What one rank
 * has more than twice as much of as another is two causes. They are listed by
 * length: `a` is before `b`. */
static bool are_alike(const struct report_cause *a,
                      const struct report_cause *b)
{
    return a->cause != CAUSE_MPI_WAIT && !is_dependent(a) &&
           a->cause == b->cause && a->is_start == b->is_start && a->rank >= 0 &&
           b->rank >= 0 && a->rank != b->rank && b->ns <= a->ns &&
           b->ns >= a->ns / ALIKE_PART &&
           are_activities_alike(&a->did, &b->did);
}

/* Is the cause shown with another one that is listed before it? */
static bool is_shown(const struct report *report, size_t cause)
{
    for (size_t i = 0; i < cause; i++) {
        if (are_alike(&report->causes[i], &report->causes[cause]) &&
            !is_shown(report, i)) {
            return true;
        }
    }
    return false;
}

CK_ORDER(by_number, int32_t, CK_LESS(*a, *b))

/* "    The same on ranks 1-3: 14.1 % more (47.3 s)." where there are such. */
static void put_alike(const struct page *page, const struct report_cause *cause)
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

size_t page_findings(const struct report *report, size_t *causes)
{
    ck_time_t worth = report->all.wall / WORTH_SHARE;
    size_t count = 0, onces = 0;

    for (size_t i = 0; i < report->causes_count; i++) {
        const struct report_cause *cause = &report->causes[i];

        if (cause->ns > worth && !is_shown(report, i) &&
            (report_is_once(cause) ? onces < TOP_ONCES
                                   : count < TOP_CAUSES + onces)) {
            onces += report_is_once(cause);
            causes[count++] = i;
        }
    }
    return count;
}

void page_finding(const struct page *page,
                  size_t number,
                  const struct report_cause *cause)
{
    put_cause(page, number, cause);
    page_windows(page, &cause->windows);
    put_alike(page, cause);
    put_try(page, cause);
}

/* The kind with the most idle time behind `before` (CAUSES = of all), as they
 * come by size; CAUSES = none that is worth a word. */
static int kind_next(const struct report_device *all, int before)
{
    int next = CAUSES;

    for (int i = 0; i < CAUSES; i++) {
        bool is_behind = before == CAUSES ||
                         all->causes[i] < all->causes[before] ||
                         (all->causes[i] == all->causes[before] && i > before);

        if (is_behind && all->causes[i] > all->wall / WORTH_SHARE &&
            (next == CAUSES || all->causes[i] > all->causes[next])) {
            next = i;
        }
    }
    return next;
}

void page_no_finding(const struct page *page)
{
    const struct report_device *all = &page->report->all;
    int kind = kind_next(all, CAUSES);

    fputs(" No cause above 1 % of device time.", page->file);
    for (int i = 0; i < TOP_KINDS && kind != CAUSES; i++) {
        fprintf(page->file, "%s%s %s %%",
                i == 0 ? "\n By kind, on all devices: " : ", ",
                cause_name((enum cause)kind),
                word_percent(all->causes[kind], all->wall).text);
        kind = kind_next(all, kind);
        if (i == TOP_KINDS - 1 || kind == CAUSES) {
            fputc('.', page->file);
        }
    }
    fputc('\n', page->file);
}

void page_why(const struct page *page)
{
    const struct report *report = page->report;
    size_t causes[PAGE_FINDINGS];
    size_t count = page_findings(report, causes);
    bool is_once = false;

    if (report->devices_count == 0) {
        return;
    }
    fprintf(page->file, "\n%s WHY THE DEVICES WERE IDLE%s\n", page_bold(page),
            page_normal(page));
    for (size_t i = 0; i < count; i++) {
        const struct report_cause *cause = &report->causes[causes[i]];

        if (report_is_once(cause) && !is_once) {
            fputs(" Once, at the start or the end:\n", page->file);
            is_once = true;
        }
        page_finding(page, i + 1, cause);
    }
    if (count == 0) {
        page_no_finding(page);
    }
}
