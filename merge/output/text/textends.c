/* textends.c - ranks that did not end well, and who waited for them
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "merge/output/text/page.h"

#include <stdlib.h>
#include <string.h>

#include "merge/model/memory.h"
#include "merge/output/words.h"
#include "schema/order.h"

/* Below a launcher it is not known how the rank ended, but where it was when
 * a launcher that failed did. */
static bool is_shared_well(const struct report_rank *rank)
{
    return !rank->is_unfinalized &&
           (report_launched_well(rank->launcher) || !rank->is_open_api);
}

static bool is_well(const struct report_rank *rank)
{
    if (rank->end == REPORT_END_SHARED) {
        return is_shared_well(rank);
    }
    return rank->end == REPORT_END_PROFILE ||
           (rank->end == REPORT_END_EXITED && rank->code == 0 &&
            !rank->is_unfinalized && !rank->is_orphan);
}

/* What became of a rank; `first`: who died before the others, NULL. */
static void put_how(const struct page *page,
                    const struct report_rank *rank,
                    const struct report_rank *first)
{
    FILE *file = page->file;
    const char *dumped = rank->is_dumped ? ", core dumped" : "";

    if (rank->is_orphan) {
        fputs("lost its ckagent, which was killed, and ", file);
    }
    if (rank->is_orphan && rank->end == REPORT_END_UNKNOWN) {
        fputs("ended with unknown status", file);
    } else if (report_lost_launcher(rank)) {
        fprintf(file, "lost its mpirun and was ended by Open MPI (status %d)",
                rank->code);
    } else if (report_was_asked(rank) && rank->end == REPORT_END_EXITED) {
        fprintf(file,
                "was interrupted by signal %d (%s), ended with status "
                "%d%s",
                rank->asked, strsignal(rank->asked), rank->code,
                rank->is_unfinalized ? " without MPI_Finalize" : "");
    } else if (report_was_asked(rank)) {
        fprintf(file, "was interrupted by signal %d (%s%s)", rank->code,
                strsignal(rank->code), dumped);
    } else if (rank->end == REPORT_END_SIGNAL) {
        fprintf(file, "died of signal %d (%s%s)", rank->code,
                strsignal(rank->code), dumped);
    } else if (rank->end == REPORT_END_KILLED && rank->code != 0) {
        fprintf(file, "was interrupted by signal %d (%s), then killed",
                rank->code, strsignal(rank->code));
    } else if (rank->end == REPORT_END_KILLED) {
        fputs("was killed together with its ckagent", file);
    } else if (rank->end == REPORT_END_UNKNOWN && first != NULL) {
        fprintf(file,
                "ended with unknown status, probably killed after rank %d "
                "failed",
                first->number);
    } else if (rank->end == REPORT_END_UNKNOWN) {
        fputs(page->report->is_running ? "was still running"
                                       : "has no recorded end",
              file);
    } else if (rank->end == REPORT_END_SHARED) {
        fputs(rank->is_unfinalized ? "ended without MPI_Finalize"
                                   : "ended with unknown status",
              file);
    } else {
        fprintf(file, "ended with status %d%s", rank->code,
                rank->is_unfinalized ? " without MPI_Finalize" : "");
    }
}

/* What is not known of it. */
static void put_dark(const struct page *page, const struct report_rank *rank)
{
    static const struct {
        const char *before, *after; /* the time */
    } whys[] = {
        [REPORT_DARK_END] = {"what it did after its last record, at", ","},
        [REPORT_DARK_CUT] = {"its last records are missing: what it did from",
                             " on"},
        [REPORT_DARK_LIMIT] = {"it reached --limit: what it did from", " on"},
        [REPORT_DARK_OPEN] = {"its trace has no closing ], which is allowed, "
                              "but its last records may\n   be missing: what "
                              "it did after",
                              ""},
    };

    if (rank->dark_since == INT64_MIN) {
        fputs("nothing of what it did was recorded", page->file);
        return;
    }
    fprintf(page->file, "%s %s%s is not known", whys[rank->dark].before,
            word_time(rank->dark_since - page->report->whole.start).text,
            whys[rank->dark].after);
}

/* When the rank left its last call. */
static void put_last_time(const struct page *page,
                          const struct report_rank *rank)
{
    if (rank->end_time != 0) {
        fprintf(page->file, ", %s before",
                word_time(rank->end_time - rank->last_end).text);
    } else {
        fprintf(page->file, ", left at %s",
                word_time(rank->last_end - page->report->whole.start).text);
    }
}

/* "rank 2 died of signal 9 (Killed) at 7.31 s inside MPI_Allreduce
 * (train.c:212)" */
static void put_fate(const struct page *page,
                     const struct report_rank *rank,
                     const struct report_rank *first)
{
    fprintf(page->file, "%s ", page_who(page, rank->number).text);
    put_how(page, rank, first);
    if (rank->end_time != 0) {
        fprintf(page->file, " at %s",
                word_time(rank->end_time - page->report->whole.start).text);
    }
    if (rank->open != NULL) {
        fputs(" inside ", page->file);
        page_call_of(page, rank->open, &rank->open_place);
        if (rank->is_open_api) {
            fprintf(page->file, ", in it for %s",
                    word_time(rank->open_ns).text);
        }
    }
}

/* A rank that computes still has samples for a part of the time, and by fewer
 * than so many it is not known: one that sleeps gets one now and then. */
#define COMPUTES_PART 20
#define COMPUTES_SAMPLES 5

/* ", then it computed in f (a.c:3), 100 % of samples" */
static void put_after(const struct page *page, const struct report_rank *rank)
{
    const struct report_sampled *did = &rank->after;
    ck_time_t length = rank->end_time - rank->last_end;

    if (did->total == 0 || did->ns * 2 < did->total ||
        did->place.function == NULL || rank->end_time == 0 ||
        did->total * COMPUTES_PART < length ||
        page_samples_in(page, did->total) < COMPUTES_SAMPLES - 0.5) {
        return;
    }
    fputs(", then it computed in ", page->file);
    page_call_of(page, did->place.function, &did->place);
    fprintf(page->file, ", %s %% of samples",
            page_sampled(page, did->ns, did->total).text);
}

/* Its last call, as a sentence below the other one. */
static void put_last(const struct page *page, const struct report_rank *rank)
{
    struct page inner = *page;
    char *text = NULL;
    size_t length;

    inner.file = xmemstream(&text, &length);
    fputs("its last call was ", inner.file);
    page_call_of(&inner, rank->last, &rank->last_place);
    put_last_time(&inner, rank);
    put_after(&inner, rank);
    (void)fclose(inner.file);
    fprintf(page->file, "%s\n   %s", page_normal(page), page_red(page));
    page_wrap(page, text, 3, 5);
    free(text);
}

/* The sentence, broken at the last column, and the last call below it. */
static void put_end(const struct page *page,
                    const struct report_rank *rank,
                    const struct report_rank *first)
{
    struct page inner = *page;
    char *text = NULL;
    size_t length;

    inner.file = xmemstream(&text, &length);
    put_fate(&inner, rank, first);
    (void)fclose(inner.file);
    fprintf(page->file, " %s", page_red(page));
    page_wrap(page, text, 1, 3);
    free(text);
    if (rank->end == REPORT_END_SIGNAL) {
        page_death(page, rank);
    }
    if (rank->last != NULL && !rank->is_open_api) {
        put_last(page, rank);
    }
    if (rank->dark != REPORT_DARK_NOT &&
        !(page->report->is_running && rank->dark == REPORT_DARK_END)) {
        fprintf(page->file, "%s\n   %s", page_normal(page), page_red(page));
        put_dark(page, rank);
    }
    fprintf(page->file, "%s\n", page_normal(page));
}

/* Ranks that ended well, but with something unknown. */
static void put_darks(const struct page *page)
{
    const struct report *report = page->report;
    size_t limit = page->style->is_all_ranks ? SIZE_MAX : PAGE_ROWS;
    size_t count = 0;

    for (size_t i = 0; i < report->ranks_count; i++) {
        const struct report_rank *rank = &report->ranks[i];

        if (rank->dark == REPORT_DARK_NOT || !is_well(rank) ||
            count++ >= limit) {
            continue;
        }
        fprintf(page->file, " %s%s: ", page_red(page),
                page_who(page, rank->number).text);
        put_dark(page, rank);
        fprintf(page->file, "%s\n", page_normal(page));
    }
    if (count > limit) {
        fprintf(page->file, " and %zu more ranks (--all-ranks)\n",
                count - limit);
    }
}

/* "the launcher of ranks 0 and 1 ended with status 139 at 2.20 s; how each of
 * them ended is not known" */
static void put_launcher(const struct page *page,
                         const struct report_launcher *launcher)
{
    const struct report_rank as_rank = {.end = launcher->end,
                                        .code = launcher->code,
                                        .is_orphan = launcher->is_orphan};
    struct page inner = *page;
    char *text = NULL;
    size_t length;

    inner.file = xmemstream(&text, &length);
    fputs("the launcher of ", inner.file);
    page_ranks(inner.file, launcher->ranks, launcher->ranks_count);
    fputc(' ', inner.file);
    put_how(&inner, &as_rank, NULL);
    if (launcher->end_time != 0) {
        fprintf(inner.file, " at %s",
                word_time(launcher->end_time - page->report->whole.start).text);
    }
    fputs("; how each of them ended is not known", inner.file);
    (void)fclose(inner.file);
    fprintf(page->file, " %s", page_red(page));
    page_wrap(page, text, 1, 3);
    fprintf(page->file, "%s\n", page_normal(page));
    free(text);
}

/* Those that did not end well; the ranks of one without a recorded end show it.
 */
static void put_launchers(const struct page *page)
{
    const struct report *report = page->report;
    size_t limit = page->style->is_all_ranks ? SIZE_MAX : PAGE_ROWS;
    size_t count = 0;

    for (size_t i = 0; i < report->launchers_count; i++) {
        const struct report_launcher *launcher = &report->launchers[i];

        if (report_launched_well(launcher) ||
            (launcher->end == REPORT_END_UNKNOWN && !launcher->is_orphan) ||
            count++ >= limit) {
            continue;
        }
        put_launcher(page, launcher);
    }
    if (count > limit) {
        fprintf(page->file, " and %zu more launchers (--all-ranks)\n",
                count - limit);
    }
}

/* Who ended first, first: the others mostly ended because of it. Ends without
 * a time come last. */
CK_ORDER_POINTERS(by_end,
                  struct report_rank,
                  CK_LESS(a->end_time == 0, b->end_time == 0)
                      ?: CK_UP(end_time) ?: CK_UP(number))

/* It has not ended, as the job has not. */
static bool is_running(const struct report *report,
                       const struct report_rank *rank)
{
    return report->is_running && rank->end == REPORT_END_UNKNOWN &&
           !rank->is_orphan;
}

/* Rows without colour: nothing is wrong. */
void page_running(const struct page *page)
{
    const struct report *report = page->report;
    struct text_style style = *page->style;
    struct page plain = *page;
    size_t limit = style.is_all_ranks ? SIZE_MAX : PAGE_ROWS;
    size_t count = 0;

    style.has_colour = false;
    plain.style = &style;
    if (!page_is_going_on(page)) {
        return;
    }
    page_stuck(&plain);
    for (size_t i = 0; i < report->ranks_count; i++) {
        if (is_running(report, &report->ranks[i]) && count++ < limit) {
            put_end(&plain, &report->ranks[i], NULL);
        }
    }
    if (count > limit) {
        fprintf(page->file, " and %zu more rank%s (--all-ranks)\n",
                count - limit, word_s(count - limit));
    }
}

static void
put_rows(const struct page *page, const struct report_rank **ends, size_t count)
{
    const struct report_rank *first =
        count > 0 && report_died(ends[0]) ? ends[0] : NULL;
    size_t limit =
        page->style->is_all_ranks || count < PAGE_ROWS ? count : PAGE_ROWS;

    if (first != NULL) {
        put_end(page, first, NULL);
    }
    if (!page_is_going_on(page)) {
        page_stuck(page);
    }
    for (size_t i = first != NULL; i < limit; i++) {
        put_end(page, ends[i], first);
    }
    if (count > limit) {
        fprintf(page->file, " and %zu more rank%s (--all-ranks)\n",
                count - limit, word_s(count - limit));
    }
}

/* "ranks 2-5, 9 and 12-127 are not in the run" */
static void put_missing(const struct page *page)
{
    const struct report *report = page->report;
    int32_t *ranks = xmalloc((report->ranks_count + 1) * sizeof(*ranks));
    size_t count = 0;

    for (size_t i = 0; i < report->ranks_count; i++) {
        if (report->ranks[i].end == REPORT_END_MISSING) {
            ranks[count++] = report->ranks[i].number;
        }
    }
    if (count > 0) {
        fprintf(page->file, " %s", page_red(page));
        page_ranks(page->file, ranks, count);
        fprintf(page->file, " %s not in the run%s\n", count == 1 ? "is" : "are",
                page_normal(page));
    }
    free(ranks);
}

/* The ranks of one restart, whose processes began and ended one by one. */
struct restart {
    int32_t number;
    int32_t *ranks;
    size_t count;
    const struct report_incarnation *first; /* that started; NULL = none */
    const struct report_incarnation *ended; /* before, the first that ended */
    bool has_all_ends;
};

static void restart_add(struct restart *restart, const struct report_rank *rank)
{
    for (size_t i = 0; i < rank->incarnations_count; i++) {
        const struct report_incarnation *now = &rank->incarnations[i];
        const struct report_incarnation *before = i > 0 ? now - 1 : NULL;

        if (now->number != restart->number) {
            continue;
        }
        restart->ranks[restart->count++] = rank->number;
        if (restart->first == NULL || now->start < restart->first->start) {
            restart->first = now;
        }
        if (before == NULL || before->end == 0) {
            restart->has_all_ends = false;
        } else if (restart->ended == NULL ||
                   before->end < restart->ended->end) {
            restart->ended = before;
        }
        return;
    }
}

/* ", 0.8 s +- 2 us after the first of them ended". Where the two clocks may
 * have it the other way round, there is none. */
static void put_pause(FILE *file, const struct restart *restart)
{
    const struct report_incarnation *first = restart->first;
    const struct report_incarnation *ended = restart->ended;
    bool is_one_clock = ended != NULL && ended->domain == first->domain;
    ck_time_t error;

    if (!restart->has_all_ends || ended == NULL ||
        (!is_one_clock && (first->error < 0 || ended->error < 0))) {
        return;
    }
    error = is_one_clock ? 0 : first->error + ended->error;
    if (first->start - ended->end <= error) {
        return;
    }
    fprintf(file, ", %s", word_time(first->start - ended->end).text);
    if (error > 0) {
        fprintf(file, " +- %s", word_time(error).text);
    }
    fprintf(file, " after %s ended",
            restart->count == 1 ? "it" : "the first of them");
}

/* "ranks 0 and 1 were started again at 2.31 s (restart 1), 0.8 s after the
 * first of them ended". */
static void put_restart(const struct page *page, struct restart *restart)
{
    const struct report *report = page->report;
    bool is_one;

    for (size_t i = 0; i < report->ranks_count; i++) {
        restart_add(restart, &report->ranks[i]);
    }
    if (restart->count == 0) {
        return;
    }
    is_one = restart->count == 1;
    fprintf(page->file, " %s", page_red(page));
    page_ranks(page->file, restart->ranks, restart->count);
    fprintf(page->file, " %s started again at %s (restart %d)",
            is_one ? "was" : "were",
            word_time(restart->first->start - report->whole.start).text,
            restart->number);
    put_pause(page->file, restart);
    fprintf(page->file, "%s\n", page_normal(page));
}

static void put_restarts(const struct page *page)
{
    const struct report *report = page->report;
    int32_t *ranks = xmalloc((report->ranks_count + 1) * sizeof(*ranks));
    int32_t most = 0;

    for (size_t i = 0; i < report->ranks_count; i++) {
        const struct report_rank *rank = &report->ranks[i];

        for (size_t k = 0; k < rank->incarnations_count; k++) {
            most = rank->incarnations[k].number > most
                       ? rank->incarnations[k].number
                       : most;
        }
    }
    for (int32_t number =
             most < REPORT_INCARNATIONS ? 1 : most - REPORT_INCARNATIONS + 2;
         number <= most; number++) {
        struct restart restart = {
            .number = number, .ranks = ranks, .has_all_ends = true};

        put_restart(page, &restart);
    }
    free(ranks);
}

void page_ends(const struct page *page)
{
    const struct report *report = page->report;
    const struct report_rank **ends =
        xcalloc(report->ranks_count + 1, sizeof(*ends));
    size_t count = 0;

    for (size_t i = 0; i < report->ranks_count; i++) {
        const struct report_rank *rank = &report->ranks[i];

        if (!is_well(rank) && rank->end != REPORT_END_MISSING &&
            !(is_running(report, rank) && page_is_going_on(page))) {
            ends[count++] = rank;
        }
    }
    qsort(ends, count, sizeof(*ends), by_end);
    put_launchers(page);
    put_rows(page, ends, count);
    put_missing(page);
    put_restarts(page);
    put_darks(page);
    free(ends);
}

/* A stop that is worth a word. */
#define STOPPED_LEAST (10 * CK_TIME_MS)

void page_stopped_answer(const struct page *page)
{
    const struct report *report = page->report;
    const struct report_rank *most = NULL;
    size_t count = 0;

    for (size_t i = 0; i < report->ranks_count; i++) {
        const struct report_rank *rank = &report->ranks[i];

        if (rank->stops > 0 && rank->stopped >= STOPPED_LEAST) {
            count++;
            most = most == NULL || rank->stopped > most->stopped ? rank : most;
        }
    }
    if (most == NULL) {
        return;
    }
    fprintf(page->file, " Stopped by a signal (SIGSTOP, SIGTSTP): %s, for %s",
            page_who(page, most->number).text, word_time(most->stopped).text);
    if (count > 1) {
        fprintf(page->file, ", and %zu more", count - 1);
    }
    fputs(";\n   what a rank was in then took that much longer.\n", page->file);
}
