/* threads.c - what all threads of the ranks did: teams, locks, the CPU
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "merge/analysis/threads/threads.h"

#include <stdlib.h>

#include "merge/analysis/threads/locks.h"
#include "merge/analysis/threads/teams.h"
#include "merge/model/memory.h"
#include "schema/order.h"

/* Threads of less are not worth a row: they came and went. */
#define WORTH_NS CK_TIME_MS

/* Without calls: samples, and times off the CPU. */
struct seen {
    ck_time_t cpu;
    ck_time_t ready;
    ck_time_t blocked;
};

struct threads {
    const struct defs *defs;       /* borrowed */
    const struct history *history; /* borrowed */
    struct region region;
    struct teams *teams; /* NULL = there was none yet, */
    struct locks *locks; /* nor a wait for a lock */
    struct seen *seen;   /* by thread */
};

struct threads *threads_create(const struct defs *defs,
                               const struct history *history,
                               struct region region)
{
    struct threads *threads = xcalloc(1, sizeof(*threads));

    threads->defs = defs;
    threads->history = history;
    threads->region = region;
    threads->seen = xcalloc(defs->threads_count + 1, sizeof(*threads->seen));
    return threads;
}

void threads_destroy(struct threads *threads)
{
    if (threads == NULL) {
        return;
    }
    teams_destroy(threads->teams);
    locks_destroy(threads->locks);
    free(threads->seen);
    free(threads);
}

static void sample_take(struct threads *threads,
                        const struct timeline_event *event)
{
    const struct ck_sample *record = (const struct ck_sample *)event->record;
    uint32_t thread;

    if (event->start < threads->region.start ||
        event->start >= threads->region.end) {
        return;
    }
    thread = history_told(threads->history, threads->defs, event, record->tid);
    if (thread != HISTORY_NONE && record->weight > 0) {
        threads->seen[thread].cpu += record->weight;
    }
}

static void off_take(struct threads *threads,
                     const struct timeline_event *event,
                     bool is_blocked)
{
    const struct ck_mark *mark = (const struct ck_mark *)event->record;
    struct region part = {event->start, event->end};
    uint32_t thread = history_told(threads->history, threads->defs, event,
                                   (uint32_t)mark->value);

    if (thread == HISTORY_NONE ||
        !region_clip(threads->region, &part.start, &part.end)) {
        return;
    }
    if (is_blocked) {
        threads->seen[thread].blocked += region_length(part);
    } else {
        threads->seen[thread].ready += region_length(part);
    }
}

/* Records of no other class are of use while there is no team and no wait for a
 * lock yet. */
#define FIRST                                                                  \
    ((uint32_t)1 << CK_CLASS_SAMPLE | (uint32_t)1 << CK_CLASS_MARK |           \
     (uint32_t)1 << CK_CLASS_CALL | (uint32_t)1 << CK_CLASS_TEAM)

static void taken(struct threads *threads, const struct timeline_event *event)
{
    switch (event->record->kind) {
    case CK_KIND_SAMPLE:
        sample_take(threads, event);
        break;
    case CK_KIND_PREEMPTED:
        off_take(threads, event, false);
        break;
    case CK_KIND_BLOCKED:
        off_take(threads, event, true);
        break;
    default:
        break;
    }
    if (threads->teams == NULL &&
        ck_kind_class(event->record->kind) == CK_CLASS_TEAM) {
        threads->teams =
            teams_create(threads->defs, threads->history, threads->region);
    }
    if (threads->locks == NULL && locks_is_wait(threads->defs, event)) {
        threads->locks =
            locks_create(threads->defs, threads->history, threads->region);
    }
    if (threads->teams != NULL) {
        teams_take(threads->teams, event);
    }
    if (threads->locks != NULL) {
        locks_take(threads->locks, event);
    }
}

void threads_take(void *state, const struct timeline_event *event)
{
    struct threads *threads = state;

    if ((FIRST >> ck_kind_class(event->record->kind) & 1) != 0 ||
        threads->teams != NULL || threads->locks != NULL) {
        taken(threads, event);
    }
}

void threads_awaited(struct threads *threads,
                     uint32_t thread,
                     struct region part)
{
    if (threads->teams != NULL) {
        teams_awaited(threads->teams, thread, part);
    }
}

/* ---- the report   ------------------------------------------------------- */

static struct report_thread thread_row(const struct threads *threads,
                                       uint32_t index)
{
    const struct defs *defs = threads->defs;
    const struct seen *seen = &threads->seen[index];
    struct team_member team =
        threads->teams == NULL
            ? (struct team_member){.number = DEFS_NONE, .row = DEFS_NONE}
            : teams_thread(threads->teams, index);
    struct report_thread row = {
        .rank = defs->processes[defs->threads[index].process].rank,
        .tid = defs->threads[index].tid,
        .count = 1,
        .name = defs->threads[index].name,
        .number = team.number,
        .cpu = seen->cpu,
        .ready = seen->ready,
        .blocked = seen->blocked,
        .work = team.work,
        .team_wait = team.waited,
    };

    if (threads->locks != NULL) {
        row.lock_wait = locks_thread(threads->locks, index, &row.what,
                                     &row.place, &row.what_ns);
    }
    if (team.most > row.what_ns) {
        teams_wait_named(threads->teams, team.row, &row.what, &row.place);
        row.what_ns = team.most;
    }
    return row;
}

/* A row on its way into the report. */
struct row {
    struct report_thread thread;
    bool is_nested; /* in nested regions alone */
};

CK_ORDER(by_rank,
         struct row,
         CK_UP(thread.rank) ?: CK_UP(thread.number) ?: CK_UP(is_nested) ?:
         CK_UP(thread.tid))

static bool is_worth(const struct report_thread *row)
{
    return row->cpu + row->work + row->team_wait + row->lock_wait >= WORTH_NS;
}

/* Threads of nested regions that have one number there are one row. */
static size_t rows_join(struct row *rows, size_t count)
{
    size_t kept = 0;

    for (size_t i = 0; i < count; i++) {
        struct report_thread *to = kept > 0 ? &rows[kept - 1].thread : NULL;
        const struct report_thread *from = &rows[i].thread;

        if (to == NULL || !rows[i].is_nested || !rows[kept - 1].is_nested ||
            to->rank != from->rank || to->number != from->number) {
            rows[kept++] = rows[i];
            continue;
        }
        to->count += from->count;
        to->cpu += from->cpu;
        to->ready += from->ready;
        to->blocked += from->blocked;
        to->work += from->work;
        to->team_wait += from->team_wait;
        to->lock_wait += from->lock_wait;
        if (from->what_ns > to->what_ns) {
            to->what = from->what;
            to->place = from->place;
            to->what_ns = from->what_ns;
        }
    }
    return kept;
}

/* Those of wanted ranks that did anything, by rank; how many. */
static size_t rows_make(const struct threads *threads, struct row *rows)
{
    const struct defs *defs = threads->defs;
    size_t count = 0, kept = 0;

    for (uint32_t i = 0; i < defs->threads_count; i++) {
        struct row row = {.thread = thread_row(threads, i)};

        row.is_nested = threads->teams != NULL &&
                        row.thread.number != DEFS_NONE &&
                        !teams_thread(threads->teams, i).is_outer;
        if (defs_is_wanted(defs, row.thread.rank)) {
            rows[count++] = row;
        }
    }
    qsort(rows, count, sizeof(*rows), by_rank);
    count = rows_join(rows, count);
    for (size_t i = 0; i < count; i++) {
        if (is_worth(&rows[i].thread)) {
            rows[kept++] = rows[i];
        }
    }
    return kept;
}

/* Threads of ranks with more than one that did anything. */
static void rows_report(const struct threads *threads, struct report *report)
{
    struct report_threads *to = &report->threads;
    struct row *rows = xcalloc(threads->defs->threads_count + 1, sizeof(*rows));
    size_t count = rows_make(threads, rows);

    to->threads = xcalloc(count + 1, sizeof(*to->threads));
    for (size_t i = 0; i < count && to->threads_count < THREADS_LISTED_MAX;
         i++) {
        int32_t rank = rows[i].thread.rank;
        bool has_other = rows[i].thread.count > 1 ||
                         (i > 0 && rows[i - 1].thread.rank == rank) ||
                         (i + 1 < count && rows[i + 1].thread.rank == rank);

        if (has_other) {
            to->threads[to->threads_count++] = rows[i].thread;
        }
    }
    free(rows);
}

/* Processes that have an OpenMP runtime and recorded no region. */
static void silent_report(const struct threads *threads, struct report *report)
{
    struct report_threads *to = &report->threads;

    for (size_t i = 0; i < report->ranks_count; i++) {
        const char *runtime = NULL;
        bool has_team = false;

        for (size_t k = 0; k < to->ranks_count; k++) {
            has_team = has_team || to->ranks[k].rank == report->ranks[i].number;
        }
        for (size_t p = 0; !has_team && p < threads->defs->processes_count;
             p++) {
            const struct defs_process *process = &threads->defs->processes[p];

            for (size_t m = 0; process->rank == report->ranks[i].number &&
                               m < process->modules_count;
                 m++) {
                if (process->modules[m].is_team) {
                    runtime = process->modules[m].path;
                }
            }
        }
        if (runtime != NULL) {
            to->silent = runtime;
            to->silent_ranks++;
        }
    }
}

void threads_report(struct threads *threads, struct report *report)
{
    if (threads->teams != NULL) {
        teams_report(threads->teams, report);
    }
    if (threads->locks != NULL) {
        locks_report(threads->locks, report);
    }
    rows_report(threads, report);
    silent_report(threads, report);
}
