/* textthreads.c - teams of threads and their locks, of the text report
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "merge/output/text/page.h"

#include <stdlib.h>
#include <string.h>

#include "merge/model/defs.h"
#include "merge/model/memory.h"
#include "merge/output/words.h"

#define TOP_REGIONS 8
#define TOP_WAITS 8
#define TOP_LOCKS 5
#define TOP_THREADS 16
#define PLACE 36
#define FUNCTION 20
/* A lock that makes threads serial for less than an n-th of the region, or an
 * n-th of the threads' time that is lost, is no answer. */
#define ANSWER_SHARE 10
/* ... and for less than that is not worth a row. */
#define WORTH_SHARE 200
/* Samples of tasks in less than an n-th of a wait may be of its borders. */
#define TASKS_SHARE 100
/* Waits that are so few may come by chance. */
#define LOCK_COUNT 10

static ck_time_t lost_of(const ck_time_t states[REPORT_TEAM_STATES])
{
    ck_time_t sum = 0;

    for (int i = REPORT_TEAM_FORK; i <= REPORT_TEAM_AWAIT; i++) {
        sum += states[i];
    }
    return sum;
}

/* "main (a.c:10)" */
static void put_place(const struct page *page, const struct place *place)
{
    page_cell(page, place->function != NULL ? place->function : "(not known)",
              40);
    if (place->file != NULL) {
        fputs(" (", page->file);
        page_place(page, place);
        fputc(')', page->file);
    }
}

/* " of rank 3", where there are several. */
static void put_of_rank(const struct page *page, int32_t rank)
{
    if (page->report->has_ranks && rank >= 0) {
        fprintf(page->file, " of rank %d", rank);
    }
}

/* ", which computed in f (a.c:3)": where samples are clear. */
static void put_did(const struct page *page,
                    const char *who,
                    const struct report_sampled *did)
{
    if (did->ns * 2 < did->total || did->place.function == NULL) {
        return;
    }
    fprintf(page->file, "%s computed in ", who);
    put_place(page, &did->place);
    fprintf(page->file, ", %s %% of samples",
            page_sampled(page, did->ns, did->total).text);
}

/* ---- the answer --------------------------------------------------------- */

static bool is_convoy(const struct report *report,
                      const struct report_lock *lock)
{
    return lock->at_once > 1 && lock->count >= LOCK_COUNT &&
           lock->serial * ANSWER_SHARE >= region_length(report->region);
}

/* A lock that lets only one thread run. */
static void put_convoy(const struct page *page)
{
    const struct report *report = page->report;
    const struct report_lock *lock = &report->threads.locks[0];

    fprintf(page->file, " %sFor %s %% of the region (%s) ", page_bold(page),
            word_percent(lock->serial, region_length(report->region)).text,
            word_time(lock->serial).text);
    if (lock->at_once < lock->threads) {
        fprintf(page->file,
                "all but one of up to %u threads at a time (%u in all)",
                lock->at_once, lock->threads);
    } else if (lock->threads == 2) {
        fputs("one of the 2 threads", page->file);
    } else {
        fprintf(page->file, "all but one of the %u threads", lock->threads);
    }
    fprintf(page->file, "%s that use one lock waited for it: %s at ",
            page_normal(page), lock->what == NULL ? "?" : lock->what);
    put_place(page, &lock->place);
    put_of_rank(page, lock->rank);
    if (lock->ranks > 1) {
        fprintf(page->file, ", and %u rank%s more", lock->ranks - 1,
                word_s(lock->ranks - 1));
    }
    fprintf(page->file, ". Together threads waited %s for it",
            word_time(lock->ns).text);
    if (lock->call != NULL && lock->call_ns * 2 > lock->wall) {
        fputs(". Meanwhile who held it was in ", page->file);
        page_call_of(page, lock->call, &lock->call_place);
    } else {
        put_did(page, ". Who held it", &lock->did);
    }
    fputs(".\n", page->file);
}

/* "at the end of a parallel region" */
static const char *wait_words(const struct report_team_wait *wait)
{
    switch (wait->state) {
    case REPORT_TEAM_IMBALANCE:
        return "at the end of a parallel region";
    case REPORT_TEAM_BARRIER:
        return "at a barrier";
    case REPORT_TEAM_AWAIT:
        return "for tasks";
    default:
        return "for a lock";
    }
}

/* The longest waits of teams. */
static void put_wait_answer(const struct page *page)
{
    const struct report_threads *threads = &page->report->threads;
    const struct report_team_wait *wait = &threads->waits[0];

    fprintf(page->file,
            " %sOpenMP threads waited %s (%s %% of their time) %s%s: ",
            page_bold(page), word_time(wait->ns).text,
            word_percent(wait->ns, threads->hybrid.outside).text,
            wait_words(wait), page_normal(page));
    put_place(page, &wait->place);
    if (wait->last.count > 0) {
        fprintf(page->file, ". Thread %u", wait->last.thread);
        put_of_rank(page, wait->last.rank);
        fprintf(page->file, " was the last one %s of %s times",
                word_count(wait->last.count).text,
                word_count(wait->last.of).text);
    }
    put_did(page, "; who was waited for", &wait->did);
    fputs(".\n", page->file);
}

/* The region in which threads waited for their last one while other ranks
 * waited for theirs; NULL = there is none. */
static const struct report_team_region *
awaited_find(const struct report *report)
{
    const struct report_threads *threads = &report->threads;
    const struct report_team_region *most = NULL;

    for (size_t i = 0; i < threads->regions_count; i++) {
        const struct report_team_region *region = &threads->regions[i];

        if (region->awaited > 0 &&
            (most == NULL || region->awaited > most->awaited)) {
            most = region;
        }
    }
    return most;
}

static void put_awaited(const struct page *page)
{
    const struct report_team_region *region = awaited_find(page->report);

    fprintf(page->file,
            " Ranks waited %s in MPI for ranks whose OpenMP threads waited for "
            "their last one then, at the end of the parallel region of ",
            word_time(region->awaited).text);
    put_place(page, &region->place);
    fprintf(page->file, ": most for thread %u", region->last.thread);
    put_of_rank(page, region->last.rank);
    put_did(page, "; it", &region->did);
    fputs(".\n", page->file);
}

/* The rank with most serial time. */
static const struct report_team_rank *serial_find(const struct report *report)
{
    const struct report_threads *threads = &report->threads;
    const struct report_team_rank *serial = &threads->ranks[0];

    for (size_t i = 0; i < threads->ranks_count; i++) {
        if (threads->ranks[i].serial > serial->serial) {
            serial = &threads->ranks[i];
        }
    }
    return serial;
}

static void put_serial(const struct page *page)
{
    const struct report_hybrid *hybrid = &page->report->threads.hybrid;
    const struct report_team_rank *serial = serial_find(page->report);

    fprintf(page->file,
            " OpenMP threads had no work for %s %% of their time, for one "
            "thread alone ran outside of parallel regions",
            word_percent(hybrid->serial, hybrid->outside).text);
    put_of_rank(page, serial->rank);
    put_did(page, "; it", &serial->serial_did);
    fputs(".\n", page->file);
}

/* Is that much of the time that teams have outside MPI? */
static bool is_much(const struct report *report, ck_time_t ns)
{
    ck_time_t outside = report->threads.hybrid.outside;

    return outside > 0 && ns * ANSWER_SHARE >= outside;
}

/* What threads that wait in regions were ready to run for, without a CPU. */
static ck_time_t ready_sum(const struct report_threads *threads)
{
    ck_time_t sum = 0;

    for (size_t i = 0; i < threads->threads_count; i++) {
        const struct report_thread *thread = &threads->threads[i];

        sum += thread->team_wait > 0 ? thread->ready : 0;
    }
    return sum;
}

/* Was it waiting, not running tasks that have no record? Who runs tasks may
 * have had no CPU for most of it, and few samples then. */
static bool is_known_wait(const struct report_threads *threads,
                          const struct report_team_wait *wait)
{
    ck_time_t ready = ready_sum(threads);
    ck_time_t most = wait->ns > ready ? wait->ns - ready : 0;

    return wait->worked * TASKS_SHARE < wait->ns ||
           wait->worked * ANSWER_SHARE < most;
}

void page_threads_answer(const struct page *page)
{
    const struct report *report = page->report;
    const struct report_threads *threads = &report->threads;

    if (threads->locks_count > 0 && is_convoy(report, &threads->locks[0])) {
        page_folded(page, put_convoy);
    }
    if (threads->waits_count > 0 && is_much(report, threads->waits[0].ns) &&
        is_known_wait(threads, &threads->waits[0])) {
        page_folded(page, put_wait_answer);
    }
    if (awaited_find(report) != NULL &&
        is_much(report, awaited_find(report)->awaited)) {
        page_folded(page, put_awaited);
    }
    if (is_much(report, threads->hybrid.serial)) {
        page_folded(page, put_serial);
    }
}

/* ---- tables ------------------------------------------------------------- */

static void put_efficiency(const struct page *page)
{
    const struct report_hybrid *hybrid = &page->report->threads.hybrid;
    const struct {
        ck_time_t ns;
        const char *words;
    } parts[] = {
        {hybrid->serial, "outside of regions"},
        {hybrid->states[REPORT_TEAM_IMBALANCE], "at ends of regions"},
        {hybrid->states[REPORT_TEAM_BARRIER], "at barriers"},
        {hybrid->states[REPORT_TEAM_LOCK], "for locks"},
        {hybrid->states[REPORT_TEAM_AWAIT], "for tasks"},
        {hybrid->states[REPORT_TEAM_FORK] + hybrid->states[REPORT_TEAM_JOIN],
         "to begin and end regions"},
        {hybrid->idle, "in smaller teams"},
        {hybrid->states[REPORT_TEAM_MPI], "in MPI within regions"},
        {hybrid->states[REPORT_TEAM_UNKNOWN], "not recorded"},
    };
    bool is_first = true;

    fprintf(page->file,
            "%u thread%s of %u %s: parallel %.3f = MPI %.3f x OpenMP %.3f\n",
            hybrid->threads, word_s(hybrid->threads), hybrid->ranks,
            page->report->has_ranks ? (hybrid->ranks == 1 ? "rank" : "ranks")
                                    : "program",
            hybrid->parallel, hybrid->mpi, hybrid->openmp);
    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
        if (parts[i].ns * WORTH_SHARE < hybrid->outside) {
            continue;
        }
        fprintf(page->file, "%s%s %% %s",
                is_first ? "             Of their time outside MPI they lost "
                         : ", ",
                word_percent(parts[i].ns, hybrid->outside).text,
                parts[i].words);
        is_first = false;
    }
    fputs(is_first ? "" : ".\n", page->file);
}

static void put_last(const struct page *page, const struct report_last *last)
{
    if (last->count == 0) {
        fputc('-', page->file);
        return;
    }
    if (page->report->has_ranks && last->rank >= 0) {
        fprintf(page->file, "%d.", last->rank);
    }
    fprintf(page->file, "%u: %s of %s", last->thread,
            word_count(last->count).text, word_count(last->of).text);
}

/* "main", or of a file without symbols "libx.so+0x12": its places differ in
 * nothing else. */
static void function_name(const struct place *place, char *text, size_t room)
{
    const char *function =
        place->function == NULL ? "(not known)" : place->function;
    const char *offset = place->file == NULL ? strstr(function, "+0x") : NULL;
    const char *version = strstr(function, ".so.");
    size_t length = FUNCTION;

    if (offset != NULL) {
        const char *end = version != NULL && version < offset
                              ? version + strlen(".so")
                              : offset;

        length =
            end - function < FUNCTION ? (size_t)(end - function) : FUNCTION;
    }
    (void)snprintf(text, room, "%.*s%s", (int)length, function,
                   offset == NULL ? "" : offset);
}

/* "main  a.c:10" */
static void put_where(const struct page *page, const struct place *place)
{
    const char *slash = place->file == NULL ? NULL : strrchr(place->file, '/');
    const char *file = slash == NULL ? place->file : slash + 1;
    char text[128];

    function_name(place, text, sizeof(text));
    if (file != NULL) {
        size_t used = strlen(text);

        (void)snprintf(text + used, sizeof(text) - used, " %.40s:%u", file,
                       place->line);
    }
    page_column(page, text, PLACE);
}

static void put_region(const struct page *page,
                       const struct report_team_region *row)
{
    ck_time_t all = lost_of(row->states) + row->states[REPORT_TEAM_WORK] +
                    row->states[REPORT_TEAM_MPI] +
                    row->states[REPORT_TEAM_UNKNOWN];

    fputc(' ', page->file);
    put_where(page, &row->place);
    fprintf(page->file, " %7s %3u %8s %5s %5s %5s %5s  ",
            word_count(row->count).text, row->threads,
            word_seconds(row->wall).text,
            word_percent(row->states[REPORT_TEAM_WORK], all).text,
            word_percent(row->states[REPORT_TEAM_IMBALANCE], all).text,
            word_percent(row->states[REPORT_TEAM_BARRIER], all).text,
            word_percent(row->states[REPORT_TEAM_LOCK], all).text);
    put_last(page, &row->last);
    fputc('\n', page->file);
}

static void put_regions(const struct page *page)
{
    const struct report_threads *threads = &page->report->threads;

    fprintf(page->file, " %-*s %7s %3s %8s %5s %5s %5s %5s  %s\n", PLACE,
            "PARALLEL REGIONS (thread-time, %)", "times", "thr", "total s",
            "work", "end", "barr.", "lock", "last thread");
    for (size_t i = 0; i < threads->regions_count && i < TOP_REGIONS; i++) {
        put_region(page, &threads->regions[i]);
    }
    if (threads->regions_count > TOP_REGIONS) {
        fprintf(page->file, "    and %zu more\n",
                threads->regions_count - TOP_REGIONS);
    }
}

static void put_waits(const struct page *page)
{
    const struct report_threads *threads = &page->report->threads;
    size_t count = 0;

    for (size_t i = 0; i < threads->waits_count && count < TOP_WAITS; i++) {
        const struct report_team_wait *row = &threads->waits[i];

        if (row->ns * WORTH_SHARE < threads->hybrid.outside) {
            break;
        }
        if (count++ == 0) {
            fprintf(page->file, " %-*s %-16s %8s %8s %9s  %s\n", PLACE,
                    "WAITS IN REGIONS", "", "waits", "total s", "longest",
                    "last thread");
        }
        fputc(' ', page->file);
        put_where(page, &row->place);
        fputc(' ', page->file);
        page_column(page, row->what == NULL ? "?" : row->what, 16);
        fprintf(page->file, " %8s %8s %9s  ", word_count(row->count).text,
                word_seconds(row->ns).text, word_time(row->longest).text);
        put_last(page, &row->last);
        fputc('\n', page->file);
    }
}

static void put_locks(const struct page *page)
{
    const struct report *report = page->report;
    const struct report_threads *threads = &report->threads;
    ck_time_t region = region_length(report->region);
    size_t count = 0;

    for (size_t i = 0; i < threads->locks_count && count < TOP_LOCKS; i++) {
        const struct report_lock *row = &threads->locks[i];

        if (row->ns * WORTH_SHARE < region) {
            continue;
        }
        if (count++ == 0) {
            fprintf(page->file, " %-*s %-18s %3s %7s %8s %6s  %s\n", PLACE,
                    "LOCKS WAITED FOR", "", "thr", "waits", "total s", "serial",
                    "address");
        }
        fputc(' ', page->file);
        put_where(page, &row->place);
        fputc(' ', page->file);
        page_column(page, row->what == NULL ? "?" : row->what, 18);
        fprintf(page->file, " %3u %7s %8s %5s%%  0x%llx\n", row->threads,
                word_count(row->count).text, word_seconds(row->ns).text,
                word_percent(row->serial, region).text,
                (unsigned long long)row->address);
    }
}

static void put_thread(const struct page *page, const struct report_thread *row)
{
    char rank[16] = "-", number[16] = "-", tid[16];

    if (page->report->has_ranks && row->rank >= 0) {
        (void)snprintf(rank, sizeof(rank), "%d", row->rank);
    }
    if (row->number != DEFS_NONE) {
        (void)snprintf(number, sizeof(number), "%u", row->number);
    }
    if (row->count > 1) {
        (void)snprintf(tid, sizeof(tid), "x%u", row->count);
    } else {
        (void)snprintf(tid, sizeof(tid), "%u", row->tid);
    }
    fprintf(page->file, " %4s %8s %4s ", rank, tid, number);
    page_column(page, row->name == NULL ? "-" : row->name, 12);
    fprintf(page->file, " %8s %8s %8s %8s %8s  ", word_seconds(row->cpu).text,
            word_seconds(row->ready).text, word_seconds(row->blocked).text,
            word_seconds(row->team_wait).text,
            word_seconds(row->lock_wait).text);
    if (row->what == NULL) {
        fputc('-', page->file);
    } else {
        page_cell(page, row->what, 18);
        fputc(' ', page->file);
        page_place_in(page, &row->place, 16);
    }
    fputc('\n', page->file);
}

/* Where some thread waited for another one of its process. */
static void put_threads(const struct page *page)
{
    const struct report_threads *threads = &page->report->threads;
    bool is_waited = threads->ranks_count > 0, has_joined = false;

    for (size_t i = 0; i < threads->threads_count; i++) {
        const struct report_thread *row = &threads->threads[i];

        is_waited = is_waited || row->lock_wait * WORTH_SHARE >=
                                     region_length(page->report->region);
    }
    if (!is_waited || threads->threads_count == 0) {
        return;
    }
    fprintf(page->file, " %4s %8s %4s %-12s %8s %8s %8s %8s %8s  %s\n", "RANK",
            "TID", "thr", "THREADS, s", "on CPU", "ready", "blocked", "team",
            "lock", "waited most for");
    for (size_t i = 0; i < threads->threads_count && i < TOP_THREADS; i++) {
        put_thread(page, &threads->threads[i]);
        has_joined = has_joined || threads->threads[i].count > 1;
    }
    if (has_joined) {
        fputs("    xN: N threads that had that number, in nested regions\n",
              page->file);
    }
    if (threads->threads_count > TOP_THREADS) {
        fprintf(page->file, "    and %zu more threads\n",
                threads->threads_count - TOP_THREADS);
    }
}

static void put_tables(const struct page *page)
{
    if (page->report->threads.regions_count > 0) {
        put_regions(page);
        put_waits(page);
    }
    put_locks(page);
    put_threads(page);
}

void page_threads(const struct page *page)
{
    bool has_teams = page->report->threads.hybrid.ranks > 0;
    struct page inner = *page;
    char *text;
    size_t length;

    inner.file = xmemstream(&text, &length);
    put_tables(&inner);
    (void)fclose(inner.file);
    if (has_teams) {
        fprintf(page->file, "\n%s OPENMP%s      ", page_bold(page),
                page_normal(page));
        page_folded(page, put_efficiency);
    } else if (length > 0) {
        fputc('\n', page->file);
    }
    fputs(text, page->file);
    free(text);
}

void page_threads_trust(const struct page *page)
{
    const struct report_threads *threads = &page->report->threads;
    size_t several = 0;

    if (threads->silent != NULL) {
        fprintf(page->file,
                "             OpenMP: no region was recorded of %u rank%s that "
                "loaded ",
                threads->silent_ranks, word_s(threads->silent_ranks));
        page_cell(page, threads->silent, 48);
        fputc('\n', page->file);
    }
    if (threads->astray > 0) {
        fprintf(page->file,
                "             OpenMP: %s record%s of regions that did not end, "
                "or were lost\n",
                word_count(threads->astray).text, word_s(threads->astray));
    }
    if (threads->nested > 0) {
        fprintf(page->file,
                "             OpenMP: %s nested region%s, each in a row of its "
                "line; threads' shares are of\n               outermost ones\n",
                word_count(threads->nested).text, word_s(threads->nested));
    }
    for (size_t i = 0; i < threads->ranks_count; i++) {
        several += threads->ranks[i].is_several;
    }
    if (several > 0) {
        fprintf(
            page->file,
            "             OpenMP: %zu rank%s had teams of several threads at "
            "a time: not in the quotients\n",
            several, word_s(several));
    }
    if (threads->short_waits > 0) {
        fprintf(page->file,
                "             OpenMP: %s wait%s for locks of less than 1 us "
                "count as work\n",
                word_count(threads->short_waits).text,
                word_s(threads->short_waits));
    }
    if (threads->left_out > 0) {
        fprintf(page->file,
                "             %s lock%s with the least waits %s in no row\n",
                word_count(threads->left_out).text, word_s(threads->left_out),
                threads->left_out == 1 ? "is" : "are");
    }
}
