/* ends.c - ranks that did not end well, and who waited for them
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "merge/output/page.h"

#include <stdlib.h>
#include <string.h>

#include "merge/output/words.h"
#include "merge/rankset.h"

/* Ranks, or runs of them, that are named. */
#define NAMED_MAX 8

/* Below a launcher it is not known how the rank ended, but where it stood when
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

static void
put_call(const struct page *page, const char *name, const struct place *place)
{
    page_cell(page, name, 40);
    if (page_has_place(place)) {
        fputs(" (", page->file);
        page_place(page, place);
        fputc(')', page->file);
    }
}

/* What became of a rank; `first`: who died before the others, NULL. */
static void put_how(const struct page *page,
                    const struct report_rank *rank,
                    const struct report_rank *first)
{
    FILE *file = page->file;

    if (rank->is_orphan) {
        fputs("lost its ckagent, which was killed, and ", file);
    }
    if (rank->is_orphan && rank->end == REPORT_END_UNKNOWN) {
        fputs("ended, nobody saw how,", file);
    } else if (report_was_asked(rank)) {
        fprintf(file, "was interrupted by signal %d (%s)", rank->code,
                strsignal(rank->code));
    } else if (rank->end == REPORT_END_SIGNAL) {
        fprintf(file, "died of signal %d (%s)", rank->code,
                strsignal(rank->code));
    } else if (rank->end == REPORT_END_KILLED && rank->code != 0) {
        fprintf(file, "was interrupted by signal %d (%s), then killed",
                rank->code, strsignal(rank->code));
    } else if (rank->end == REPORT_END_KILLED) {
        fputs("was killed together with its ckagent", file);
    } else if (rank->end == REPORT_END_UNKNOWN && first != NULL) {
        fprintf(file,
                "left no word of its end, killed after rank %d at a "
                "guess",
                first->number);
    } else if (rank->end == REPORT_END_UNKNOWN) {
        fputs("left no word of its end", file);
    } else if (rank->end == REPORT_END_SHARED) {
        fputs(rank->is_unfinalized ? "ended without MPI_Finalize"
                                   : "ended, nobody saw how,",
              file);
    } else {
        fprintf(file, "ended with status %d%s", rank->code,
                rank->is_unfinalized ? " without MPI_Finalize" : "");
    }
}

/* What is not known of it. */
static void put_dark(const struct page *page, const struct report_rank *rank)
{
    static const char *const whys[] = {
        [REPORT_DARK_END] = "what it did after its last record, at",
        [REPORT_DARK_CUT] = "its last records are missing: what it did from",
        [REPORT_DARK_LIMIT] = "it reached --limit: what it did from",
    };

    fprintf(page->file, "%s %s%s is not known", whys[rank->dark],
            word_time(rank->dark_since - page->report->whole.start).text,
            rank->dark == REPORT_DARK_END ? "," : " on");
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
        put_call(page, rank->open, &rank->open_place);
    }
}

/* The sentence, broken at the last column, and the last call below it. */
static void put_end(const struct page *page,
                    const struct report_rank *rank,
                    const struct report_rank *first)
{
    struct page inner = *page;
    char *text = NULL;
    size_t length;

    inner.file = open_memstream(&text, &length);
    if (inner.file == NULL) {
        return;
    }
    put_fate(&inner, rank, first);
    if (fclose(inner.file) == 0) {
        fprintf(page->file, " %s", page_red(page));
        page_wrap(page, text, 1, 3);
    }
    free(text);
    if (rank->last != NULL && !rank->is_open_api) {
        fprintf(page->file, "%s\n   its last call was %s", page_normal(page),
                page_red(page));
        put_call(page, rank->last, &rank->last_place);
        put_last_time(page, rank);
    }
    if (rank->dark != REPORT_DARK_NOT) {
        fprintf(page->file, "%s\n   %s", page_normal(page), page_red(page));
        put_dark(page, rank);
    }
    fprintf(page->file, "%s\n", page_normal(page));
}

/* Ranks that ended well, and of which something is not known all the same. */
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

/* "rank 2", "ranks 1, 4 and 7", "ranks 0-5, 7, 9, 11, 13, 15, 17, 19 and 20
 * more" */
static void put_ranks(FILE *file, const int32_t *ranks, size_t count)
{
    size_t at = 0;

    fputs(count == 1 ? "rank " : "ranks ", file);
    for (size_t named = 0; at < count && named < NAMED_MAX; named++) {
        struct rankset_run run;
        char word[32];
        size_t next = rankset_run(ranks, count, at, &run);

        if (at > 0) {
            fputs(next == count ? " and " : ", ", file);
        }
        (void)rankset_put(&run, word, sizeof(word));
        fputs(word, file);
        at = next;
    }
    if (at < count) {
        fprintf(file, " and %zu more", count - at);
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

    inner.file = open_memstream(&text, &length);
    if (inner.file == NULL) {
        return;
    }
    fputs("the launcher of ", inner.file);
    put_ranks(inner.file, launcher->ranks, launcher->ranks_count);
    fputc(' ', inner.file);
    put_how(&inner, &as_rank, NULL);
    if (launcher->end_time != 0) {
        fprintf(inner.file, " at %s",
                word_time(launcher->end_time - page->report->whole.start).text);
    }
    fputs("; how each of them ended is not known", inner.file);
    if (fclose(inner.file) == 0) {
        fprintf(page->file, " %s", page_red(page));
        page_wrap(page, text, 1, 3);
        fprintf(page->file, "%s\n", page_normal(page));
    }
    free(text);
}

/* Those that did not end well; of one that left no word, its ranks say so. */
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

/* "3 of 4 ranks waited in MPI_Allreduce (train.c:197), collective 57 on
 * MPI_COMM_WORLD, which rank 2 never entered" */
static void put_sentence(const struct page *page,
                         const struct report_impasse *still)
{
    const int32_t *died = still->ranks + still->waited;
    const int32_t *absent = died + still->died;
    FILE *file = page->file;

    fprintf(file, "%zu of %d ranks waited in ", still->waited, still->size);
    put_call(page, still->call, &still->place);
    fprintf(file, ", collective %u on ", still->number);
    if (still->comm != NULL) {
        page_cell(page, still->comm, 40);
    } else {
        fputs("a communicator without a name", file);
    }
    if (still->died > 0) {
        fputs(", in which ", file);
        put_ranks(file, died, still->died);
        fputs(" died", file);
    }
    if (still->absent > 0) {
        fputs(still->died > 0 ? " and which " : ", which ", file);
        put_ranks(file, absent, still->absent);
        fputs(still->is_sure ? " never entered"
                             : " did not enter as far as is recorded",
              file);
    }
}

static void put_impasses(const struct page *page)
{
    const struct report *report = page->report;

    for (size_t i = 0; i < report->impasses_count && i < PAGE_ROWS; i++) {
        const struct report_impasse *still = &report->impasses[i];
        struct page inner = *page;
        char *text = NULL;
        size_t length;

        if (still->waited == 0 || still->died + still->absent == 0) {
            continue;
        }
        inner.file = open_memstream(&text, &length);
        if (inner.file == NULL) {
            return;
        }
        put_sentence(&inner, still);
        if (fclose(inner.file) == 0) {
            fprintf(page->file, " %s", page_red(page));
            page_wrap(page, text, 1, 3);
            fprintf(page->file, "%s\n", page_normal(page));
        }
        free(text);
    }
}

/* "ranks 0 and 3 waited in MPI_Recv (ring.c:40) for rank 2, tag 7 on
 * MPI_COMM_WORLD" */
static void put_wanted(const struct page *page,
                       const struct report_awaited *awaited)
{
    FILE *file = page->file;

    put_ranks(file, awaited->ranks, awaited->ranks_count);
    fputs(" waited in ", file);
    put_call(page, awaited->call, &awaited->place);
    if (awaited->peer < 0) {
        fputs(" for any rank", file);
    } else {
        fputs(" for rank ", file);
        page_rank(page, awaited->peer);
        fputs(awaited->is_send ? " to receive" : "", file);
    }
    if (awaited->tag >= 0) {
        fprintf(file, ", tag %d", awaited->tag);
    } else {
        fputs(", any tag", file);
    }
    fputs(" on ", file);
    if (awaited->comm != NULL) {
        page_cell(page, awaited->comm, 40);
    } else {
        fputs("a communicator without a name", file);
    }
}

/* Messages that were waited for. Where somebody died, those for him. */
static void put_awaited(const struct page *page)
{
    const struct report *report = page->report;

    for (size_t i = 0; i < report->awaited_count && i < PAGE_ROWS; i++) {
        const struct report_awaited *awaited = &report->awaited[i];
        struct page inner = *page;
        char *text = NULL;
        size_t length;

        if (report->awaited[0].has_died && !awaited->has_died) {
            break;
        }
        inner.file = open_memstream(&text, &length);
        if (inner.file == NULL) {
            return;
        }
        put_wanted(&inner, awaited);
        if (fclose(inner.file) == 0) {
            fprintf(page->file, " %s", page_red(page));
            page_wrap(page, text, 1, 3);
            fprintf(page->file, "%s\n", page_normal(page));
        }
        free(text);
    }
}

/* The one rank that a rank waited for; -1 = none, or several. */
static int32_t peer_of(const struct report *report, int32_t rank)
{
    int32_t peer = -1;

    for (size_t i = 0; i < report->awaited_count; i++) {
        const struct report_awaited *awaited = &report->awaited[i];

        for (size_t j = 0; j < awaited->ranks_count; j++) {
            if (awaited->ranks[j] == rank) {
                if (peer >= 0 || awaited->peer < 0) {
                    return -1;
                }
                peer = awaited->peer;
            }
        }
    }
    return peer;
}

/* Ranks that wait for each other's messages in a circle: no run can go on. */
static void put_circle(const struct page *page)
{
    const struct report *report = page->report;

    for (size_t i = 0; i < report->awaited_count; i++) {
        int32_t ranks[PAGE_ROWS];
        size_t count = 0;

        ranks[count++] = report->awaited[i].ranks[0];
        while (count < PAGE_ROWS) {
            int32_t next = peer_of(report, ranks[count - 1]);

            if (next < 0 || next == ranks[0]) {
                break;
            }
            ranks[count++] = next;
        }
        if (peer_of(report, ranks[count - 1]) == ranks[0]) {
            fprintf(page->file, " %s", page_red(page));
            put_ranks(page->file, ranks, count);
            fprintf(page->file,
                    " waited for each other in a circle: a deadlock, unless "
                    "the messages\n   were on their way%s\n",
                    page_normal(page));
            return;
        }
    }
}

/* Who ended first, first: the others mostly ended because of it. Ends without
 * a time come last. */
static int by_end(const void *a, const void *b)
{
    const struct report_rank *left = *(const struct report_rank *const *)a;
    const struct report_rank *right = *(const struct report_rank *const *)b;

    if ((left->end_time == 0) != (right->end_time == 0)) {
        return left->end_time == 0 ? 1 : -1;
    }
    if (left->end_time != right->end_time) {
        return left->end_time < right->end_time ? -1 : 1;
    }
    return (left->number > right->number) - (left->number < right->number);
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
    put_impasses(page);
    put_awaited(page);
    put_circle(page);
    for (size_t i = first != NULL; i < limit; i++) {
        put_end(page, ends[i], first);
    }
    if (count > limit) {
        fprintf(page->file, " and %zu more rank%s (--all-ranks)\n",
                count - limit, word_s(count - limit));
    }
}

/* Where a row of missing ranks ends; count where none begins at `from`. */
static size_t missing_end(const struct report *report, size_t from)
{
    while (from < report->ranks_count &&
           report->ranks[from].end == REPORT_END_MISSING) {
        from++;
    }
    return from;
}

/* "ranks 2-5, 9, 12-127 are not in the run" */
static void put_missing(const struct page *page)
{
    const struct report *report = page->report;
    FILE *file = page->file;
    size_t ranks = 0;
    size_t rows = 0;
    size_t more = 0;

    for (size_t i = 0; i < report->ranks_count; i++) {
        ranks += report->ranks[i].end == REPORT_END_MISSING;
    }
    if (ranks == 0) {
        return;
    }
    fprintf(file, " %srank%s ", page_red(page), word_s(ranks));
    for (size_t i = 0; i < report->ranks_count; i++) {
        size_t end = missing_end(report, i);

        if (end == i) {
            continue;
        }
        if (rows++ >= NAMED_MAX) {
            more += end - i;
        } else {
            fprintf(file, "%s%d", rows > 1 ? ", " : "",
                    report->ranks[i].number);
        }
        if (rows <= NAMED_MAX && end - i > 1) {
            fprintf(file, "-%d", report->ranks[end - 1].number);
        }
        i = end - 1;
    }
    if (more > 0) {
        fprintf(file, " and %zu more", more);
    }
    fprintf(file, " %s not in the run%s\n", ranks == 1 ? "is" : "are",
            page_normal(page));
}

void page_ends(const struct page *page)
{
    const struct report *report = page->report;
    const struct report_rank **ends =
        calloc(report->ranks_count + 1, sizeof(*ends));
    size_t count = 0;

    if (ends == NULL) {
        return;
    }
    for (size_t i = 0; i < report->ranks_count; i++) {
        const struct report_rank *rank = &report->ranks[i];

        if (!is_well(rank) && rank->end != REPORT_END_MISSING) {
            ends[count++] = rank;
        }
    }
    qsort(ends, count, sizeof(*ends), by_end);
    put_launchers(page);
    put_rows(page, ends, count);
    put_missing(page);
    put_darks(page);
    free(ends);
}
