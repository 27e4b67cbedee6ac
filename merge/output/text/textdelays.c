/* textdelays.c - why a rank came late, in sentences
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "merge/output/text/page.h"

#include <string.h>

#include "merge/output/text/advice.h"
#include "merge/output/words.h"

/* One thing that explains so many percent of a delay is named alone. */
#define ENOUGH_PERCENT 80
/* What is less than an n-th of a delay needs no sentence. */
#define WORTH_PART 10
/* Nor does it need one that a kind is made of several when all but an n-th is
 * one. */
#define WORTH_SPLIT 20
/* In one sentence on all less than an n-th is no reason. */
#define WORTH_REASON 4
/* Nor does what is behind a rank's end, or before it. */
#define WORTH_ENDED 20

bool page_is_same_place(const struct place *a, const struct place *b)
{
    /* Kept texts: equal ones are one pointer. */
    return a->function == b->function && a->file == b->file &&
           a->line == b->line;
}

static bool is_blocked(const struct report_activity *did)
{
    return did->running.blocked * 2 > did->running.total;
}

/* Would two activities read the same? */
static bool is_same(const struct report_activity *a,
                    const struct report_activity *b)
{
    if (a->call != NULL || b->call != NULL) {
        return a->call == b->call && page_is_same_place(&a->place, &b->place) &&
               a->kernel == b->kernel;
    }
    return a->range == b->range &&
           (a->sampled.place.function == b->sampled.place.function ||
            (is_blocked(a) && is_blocked(b)));
}

/* "in nanosleep (a.c:8)", "computing in work (a.c:9)", "computing", "blocked in
 * the kernel". */
static void put_short(const struct page *page,
                      const struct report_activity *did)
{
    const struct place *place =
        did->call != NULL ? &did->place : &did->sampled.place;
    const char *name =
        did->call != NULL ? did->call : did->sampled.place.function;

    if (did->call == NULL && is_blocked(did)) {
        fputs("blocked in the kernel", page->file);
        return;
    }
    fputs(did->call != NULL ? "in " : "computing", page->file);
    if (name == NULL) {
        return;
    }
    fputs(did->call != NULL ? "" : " in ", page->file);
    page_cell(page, name, 40);
    if (place->file != NULL) {
        fputs(" (", page->file);
        page_place(page, place);
        fputc(')', page->file);
    }
}

/* Is the kind worth a line beside the largest thing of it? Whether there was a
 * CPU is printed for each activity, and for each function of computations. */
static bool has_kind(const struct report_delays *delays)
{
    return delays->ns < delays->kind_ns - delays->kind_ns / WORTH_SPLIT &&
           delays->kind != CAUSE_OFFCPU_RUNNABLE &&
           delays->kind != CAUSE_OFFCPU_BLOCKED &&
           delays->kind != CAUSE_HOST_COMPUTE;
}

static const char *kind_text(enum cause kind)
{
    if (kind == CAUSE_KERNEL) {
        return "kernels of its device";
    }
    return kind == CAUSE_IO ? "I/O" : cause_name(kind);
}

static void put_kind(const struct page *page,
                     const struct report_delays *delays)
{
    if (has_kind(delays)) {
        fprintf(page->file, "in %s,\n    %s (%s %%) ", kind_text(delays->kind),
                delays->ns > delays->kind_ns / 2 ? "most of it"
                                                 : "the largest part of it",
                word_percent(delays->ns, delays->kind_ns).text);
    }
}

static bool is_at(const char *call,
                  const struct place *place,
                  const struct report_activity *did)
{
    return call == did->call && page_is_same_place(place, &did->place);
}

/* Most of the time in that call of MPI is of calls that may or may not have
 * waited. */
static bool is_unknown_wait(const struct report *report,
                            const struct report_activity *did)
{
    ck_time_t unknown = 0, total = 0;

    for (size_t i = 0; i < report->unknown_waits_count; i++) {
        const struct report_unknown_wait *row = &report->unknown_waits[i];

        unknown += is_at(row->call, &row->place, did) ? row->ns : 0;
    }
    for (size_t i = 0; unknown > 0 && i < report->calls_count; i++) {
        const struct report_call *row = &report->calls[i];

        total += is_at(row->name, &row->place, did) ? row->total : 0;
    }
    return unknown > total / 2;
}

/* Of a file without symbols a call's place is the file alone, whichever it is.
 */
static bool is_alike(const struct report_activity *a,
                     const struct report_activity *b)
{
    const char *left = a->place.function, *right = b->place.function;
    const char *offset = left == NULL ? NULL : strstr(left, "+0x");

    return offset != NULL && right != NULL && a->call != NULL &&
           a->call == b->call && a->place.file == NULL &&
           b->place.file == NULL && left != right &&
           strncmp(left, right, (size_t)(offset - left) + strlen("+0x")) == 0;
}

/* Where ranks poll, a sleep may be one between two polls. */
static bool is_poll(const struct report *report,
                    const struct report_activity *did)
{
    return did->call != NULL && advice_kind(did) == CAUSE_SLEEP &&
           page_hides_waits(report);
}

static void put_end(const struct page *page, const struct report_activity *did)
{
    fputs(is_unknown_wait(page->report, did) || is_poll(page->report, did)
              ? ".\n    Whether it waited for others there is not known.\n"
              : ".\n",
          page->file);
}

void page_did(const struct page *page, const struct report_activity *did)
{
    page_activity(page, did);
    put_end(page, did);
}

/* Behind `first`, which was printed before. */
static void put_next(const struct page *page,
                     const struct report_activity *did,
                     const struct report_activity *first)
{
    page_activity(page, did);
    if (is_alike(did, first)) {
        fputs(", called from another place there", page->file);
    }
    put_end(page, did);
}

/* What explains most beside the first; NULL = nothing that needs a sentence. */
static const struct report_delay *
second_find(const struct report_delays *delays, ck_time_t whole)
{
    if (delays->ns * 100 >= whole * ENOUGH_PERCENT) {
        return NULL;
    }
    for (size_t i = 0; i < delays->count; i++) {
        const struct report_delay *item = &delays->items[i];

        if (item->ns * WORTH_PART < whole) {
            break;
        }
        if (item->rank != delays->rank || !is_same(&item->did, &delays->did)) {
            return item;
        }
    }
    return NULL;
}

static void put_second(const struct page *page,
                       const struct report_delays *delays,
                       ck_time_t whole)
{
    const struct report_delay *item = second_find(delays, whole);

    if (item == NULL) {
        return;
    }
    fprintf(page->file, "    And %s %%: ", word_percent(item->ns, whole).text);
    if (item->rank != delays->rank) {
        fputs("rank ", page->file);
        page_rank(page, item->rank);
        fputs(", ", page->file);
    }
    put_next(page, &item->did, &delays->did);
}

/* The share that is named first. */
static ck_time_t named_ns(const struct report_delays *delays)
{
    return has_kind(delays) ? delays->kind_ns : delays->ns;
}

/* Has another rank one larger thing? This one has several that are more
 * together: it is all of these. */
static bool is_of_several(const struct report_delays *delays, ck_time_t whole)
{
    const struct report_delay *second = second_find(delays, whole);

    return second != NULL && second->rank != delays->rank &&
           second->ns > named_ns(delays);
}

/* Of all kinds together the largest thing is named, which may be of another
 * kind than most of it is; the advice is on that one. */
static void largest_name(struct page_late *late, struct report_delays *delays)
{
    const struct report_delay *largest = &delays->largest;

    if (largest->ns > delays->ns && is_of_several(delays, late->ns)) {
        delays->kind = largest->kind;
        delays->kind_ns = delays->ns = largest->ns;
        delays->did = largest->did;
        late->advice = NULL;
    }
}

/* The share of what is named first, and how it is a part of that. */
static void put_share(const struct page *page,
                      const struct report_delays *delays,
                      ck_time_t whole)
{
    if (is_of_several(delays, whole)) {
        fprintf(page->file,
                " (%s %% of that time, by several things),\n"
                "    the largest part of it (%s %%) ",
                word_percent(delays->rank_ns, whole).text,
                word_percent(delays->ns, delays->rank_ns).text);
        return;
    }
    fprintf(page->file, " (%s %% of that time)\n    ",
            word_percent(named_ns(delays), whole).text);
    put_kind(page, delays);
}

/* The part of it behind the rank's end; true if nothing else is worth a
 * sentence. */
static bool put_ended(const struct page *page, const struct page_late *late)
{
    if (late->ended * WORTH_ENDED > late->ns) {
        fprintf(page->file, "    For %s %% of it rank %d had ended.\n",
                word_percent(late->ended, late->ns).text, late->rank);
    }
    return (late->ns - late->ended) * WORTH_ENDED <= late->ns;
}

void page_delays(const struct page *page, const struct page_late *whole)
{
    struct report_delays named = *whole->delays, *delays = &named;
    struct page_late before = *whole, *late = &before;
    ck_time_t unexplained = delays->unexplained - whole->ended;
    FILE *file = page->file;

    if (put_ended(page, whole)) {
        return;
    }
    late->ns -= late->ended;
    largest_name(late, delays);
    fprintf(file, "    Rank %d came late%s", late->rank,
            late->ended * WORTH_ENDED > whole->ns ? " before" : "");
    if (delays->ns == 0) {
        fputs("; why is not known.\n", file);
    } else {
        fputs(" because ", file);
        if (delays->rank == late->rank) {
            fputs("it", file);
        } else {
            fputs("it had waited for rank ", file);
            page_rank(page, delays->rank);
            fputs(",\n    which", file);
        }
        fprintf(file, " spent longer than the waiting rank%s",
                word_s(late->waiting));
        put_share(page, delays, late->ns);
        page_did(page, &delays->did);
        if (late->advice != NULL &&
            !is_unknown_wait(page->report, &delays->did)) {
            page_advice(page, late->advice);
        }
        put_second(page, delays, late->ns);
    }
    if (delays->ns > 0 && unexplained * WORTH_PART > late->ns) {
        fprintf(file, "    %s %% of the delay is not explained.\n",
                word_percent(unexplained, late->ns).text);
    }
    if (late->seen != NULL && late->seen_ns > late->ns / 2 &&
        !is_same(late->seen, &delays->did)) {
        fprintf(file, "    During the wait it was seen, %s %%, ",
                word_percent(late->seen_ns, late->ns).text);
        put_short(page, late->seen);
        fputs(".\n", file);
    }
}

/* ", in work (a.c:9)", where it is known */
static void put_where(const struct page *page,
                      const struct report_activity *did)
{
    const struct report_sampled *sampled = &did->sampled;

    if (did->call != NULL) {
        fputs(", in ", page->file);
        page_call_of(page, did->call, &did->place);
    } else if (sampled->ns > 0 && !sampled->is_others) {
        fputs(", in ", page->file);
        page_call_of(page, sampled->place.function, &sampled->place);
    }
}

/* " in wait4, called by filter (a.c:9)" */
static void put_left(const struct page *page,
                     const struct report_sampled *sampled)
{
    fputs(" in ", page->file);
    if (sampled->called != NULL) {
        page_cell(page, sampled->called, 40);
        fputs(", called by ", page->file);
    }
    page_call_of(page, sampled->place.function, &sampled->place);
}

/* "in pthread_cond_wait (a.c:8), while its other threads computed in work
 * (a.c:9)" */
static void put_reason(const struct page *page,
                       const struct report_activity *did)
{
    if (!page_is_without_cpu(&did->running, page_usual_ready(page->report))) {
        put_short(page, did);
    } else {
        fputs("ready to run without a CPU", page->file);
        put_where(page, did);
    }
    if (did->call == NULL && did->sampled.is_waits && did->sampled.ns > 0 &&
        is_blocked(did)) {
        put_left(page, &did->sampled);
    }
    if (did->sampled.is_others && did->sampled.ns > 0) {
        fprintf(page->file, " while its other threads%s computed in ",
                did->sampled.has_processes ? " or processes" : "");
        page_call_of(page, did->sampled.place.function, &did->sampled.place);
    }
}

/* How what is named first is a part of all that the rank did longer. */
static void put_named(const struct page *page,
                      const struct report_delays *delays,
                      bool is_several)
{
    if (is_several) {
        fprintf(page->file, "by several things, the largest part (%s %%) ",
                word_percent(delays->ns, delays->rank_ns).text);
    } else if (has_kind(delays)) {
        fprintf(page->file, "in %s, %s (%s %%) ", kind_text(delays->kind),
                delays->ns > delays->kind_ns / 2 ? "most of it"
                                                 : "the largest part of it",
                word_percent(delays->ns, delays->kind_ns).text);
    }
}

void page_because(const struct page *page, const struct page_late *whole)
{
    struct report_delays delays = *whole->delays;
    struct page_late late = *whole;
    bool is_several;
    ck_time_t ns;

    late.ns -= late.ended;
    largest_name(&late, &delays);
    is_several = is_of_several(&delays, late.ns);
    ns = is_several ? delays.rank_ns : named_ns(&delays);
    if (delays.ns == 0 || ns * WORTH_REASON < late.ns) {
        return;
    }
    fprintf(
        page->file, ", %s %% of %s because it ", word_percent(ns, late.ns).text,
        late.ended * WORTH_ENDED > whole->ns ? "that before its end" : "it");
    if (delays.rank != late.rank) {
        fputs("had waited for rank ", page->file);
        page_rank(page, delays.rank);
        fputs(", which ", page->file);
    }
    fputs("spent longer ", page->file);
    put_named(page, &delays, is_several);
    put_reason(page, &delays.did);
}

/* Waits with costs that were left out, where these change a figure of the
 * report: a share is printed with three digits. */
static uint64_t costs_cut(const struct report_delay_limits *limits)
{
    return limits->costs_ns > limits->waited_ns / 1000 ? limits->costs : 0;
}

void page_delay_limits(const struct page *page)
{
    const struct report_delay_limits *limits = &page->report->limits;
    const struct {
        uint64_t count;
        const char *bound, *what;
    } rows[] = {{limits->history, "history", "wait"},
                {limits->syncs, "common instants", "wait"},
                {costs_cut(limits), "causes", "wait"},
                {limits->holders, "lock holders", "lock"},
                {limits->parts, "activities", "interval"},
                {limits->pairs, "causes by wait", "cost"},
                {limits->places, "code places", "cause"}};
    char line[384] = "";
    size_t used = 0;

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        if (rows[i].count > 0) {
            used += (size_t)snprintf(
                line + used, sizeof(line) - used, "%s%s (%s %s%s)",
                used == 0 ? "delays are less exact; limits reached: " : ", ",
                rows[i].bound, word_count(rows[i].count).text, rows[i].what,
                word_s(rows[i].count));
        }
    }
    if (used > 0) {
        fputs("             ", page->file);
        page_wrap(page, line, 13, 15);
        fputc('\n', page->file);
    }
}
