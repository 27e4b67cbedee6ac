/* faultplaces.c - where in the program page faults were
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "merge/analysis/memory/faultplaces.h"

#include <stdlib.h>

#include "merge/analysis/history/stackplaces.h"
#include "merge/model/array.h"
#include "merge/model/memory.h"

/* Faults of a thread with one stack. */
struct spot {
    uint64_t minor;
    uint64_t major;
    ck_time_t faulting; /* CPU time of samples that handled some */
    ck_time_t sampled;  /* of all samples */
};

struct faultplaces {
    const struct defs *defs;         /* borrowed */
    const struct lookback *lookback; /* borrowed */
    struct region region;
    struct stackplaces *stacks;
    struct spot *spots; /* by the number of the stack */
    size_t count, room;
};

struct faultplaces *faultplaces_create(const struct defs *defs,
                                       const struct lookback *lookback,
                                       struct region region)
{
    struct faultplaces *places = xcalloc(1, sizeof(*places));

    places->defs = defs;
    places->lookback = lookback;
    places->region = region;
    places->stacks = stackplaces_create(defs, lookback);
    return places;
}

void faultplaces_destroy(struct faultplaces *places)
{
    if (places != NULL) {
        stackplaces_destroy(places->stacks);
        free(places->spots);
        free(places);
    }
}

static struct spot *spot_find(struct faultplaces *places,
                              uint32_t process,
                              const struct ck_sample *record)
{
    size_t number = stackplaces_number(places->stacks, process, record);

    if (number == places->count) {
        array_grow(&places->spots, &places->room, places->count,
                   sizeof(*places->spots));
        places->spots[places->count++] = (struct spot){0};
    }
    return &places->spots[number];
}

void faultplaces_take(void *consumer, const struct timeline_event *event)
{
    struct faultplaces *places = consumer;
    const struct ck_sample *record = (const struct ck_sample *)event->record;
    uint32_t process;
    struct spot *spot;

    if (event->start < places->region.start ||
        event->start >= places->region.end || record->weight <= 0 ||
        record->weight > UINT32_MAX || record->stack > UINT32_MAX) {
        return;
    }
    process = stackplaces_process(places->stacks, event);
    if (process == DEFS_NONE) {
        return;
    }
    spot = spot_find(places, process, record);
    if (event->record->kind == CK_KIND_FAULT_MINOR) {
        spot->minor += (uint64_t)record->weight;
    } else if (event->record->kind == CK_KIND_FAULT_MAJOR) {
        spot->major += (uint64_t)record->weight;
    } else {
        spot->sampled += record->weight;
        spot->faulting +=
            (record->e.flags & CK_FLAG_FAULTING) != 0 ? record->weight : 0;
    }
}

/* ---- rows ---------------------------------------------------------------- */

static bool is_same_row(const struct stackplace *a, const struct stackplace *b)
{
    return stackplaces_is_function(a, b) && a->rank == b->rank &&
           a->process == b->process && a->tid == b->tid;
}

static const char *thread_name(const struct faultplaces *places,
                               const struct stackplace *of)
{
    uint32_t thread = history_thread(lookback_history(places->lookback),
                                     of->process, of->tid);

    return thread >= places->defs->threads_count
               ? NULL
               : places->defs->threads[thread].name;
}

static struct report_fault row_make(const struct faultplaces *places,
                                    const struct stackplace *rows,
                                    size_t count)
{
    struct report_fault row = {
        .rank = rows[0].rank,
        .tid = rows[0].tid,
        .thread = thread_name(places, &rows[0]),
        .place = stackplaces_line(rows, count),
        .callers = stackplaces_callers(places->stacks, rows, count),
    };

    for (size_t i = 0; i < count; i++) {
        row.minor += places->spots[rows[i].number].minor;
        row.major += places->spots[rows[i].number].major;
    }
    return row;
}

/* Rows of one function, those of a rank together. */
static struct report_fault_place function_make(const struct report_fault *rows,
                                               size_t count)
{
    struct report_fault_place place = {.place = rows[0].place,
                                       .callers = rows[0].callers,
                                       .rank = rows[0].rank};
    uint64_t rank = 0;

    for (size_t i = 0; i < count; i++) {
        bool is_new = i == 0 || rows[i].rank != rows[i - 1].rank;

        rank = (is_new ? 0 : rank) + rows[i].minor + rows[i].major;
        place.ranks += is_new;
        place.minor += rows[i].minor;
        place.major += rows[i].major;
        if (rank > place.rank_faults) {
            place.rank_faults = rank;
            place.rank = rows[i].rank;
            place.place = rows[i].place;
            place.callers = rows[i].callers;
        }
    }
    return place;
}

static int most_first(const void *left, const void *right)
{
    const struct report_fault *a = left;
    const struct report_fault *b = right;
    uint64_t its = a->minor + a->major, other = b->minor + b->major;

    if (its != other) {
        return its < other ? 1 : -1;
    }
    return (a->tid > b->tid) - (a->tid < b->tid);
}

static int functions_first(const void *left, const void *right)
{
    const struct report_fault_place *a = left;
    const struct report_fault_place *b = right;
    uint64_t its = a->minor + a->major, other = b->minor + b->major;

    return (its < other) - (its > other);
}

static int to_rank(const void *key, const void *row)
{
    int32_t rank = *(const int32_t *)key;
    int32_t other = ((const struct report_memory *)row)->rank;

    return (rank > other) - (rank < other);
}

/* What is of a rank; its rows are in order of ranks. */
static void rank_add(struct report *report, int32_t rank, const struct spot *of)
{
    struct report_memory *row =
        report->memory_count == 0
            ? NULL
            : bsearch(&rank, report->memory, report->memory_count,
                      sizeof(*report->memory), to_rank);

    if (row != NULL) {
        row->minor_sampled += of->minor;
        row->major_sampled += of->major;
        row->faulting += of->faulting;
        row->sampled += of->sampled;
    }
}

/* The stacks of faults in order of rows, ck's own code left out; what is of a
 * rank goes into the report. */
static size_t spots_place(const struct faultplaces *places,
                          struct stackplace *rows,
                          struct report *report)
{
    size_t count = 0;

    for (size_t i = 0; i < places->count; i++) {
        const struct spot *spot = &places->spots[i];
        uint64_t faults = spot->minor + spot->major;

        rank_add(report, stackplaces_rank(places->stacks, i), spot);
        if (faults + (uint64_t)spot->faulting > 0 &&
            !stackplaces_is_own(places->stacks, i)) {
            rows[count] = stackplaces_at(places->stacks, i);
            rows[count++].weight = faults;
        }
    }
    stackplaces_sort(rows, count);
    return count;
}

static void functions_report(const struct faultplaces *places,
                             struct report *report,
                             const struct stackplace *placed,
                             size_t count)
{
    size_t used = 0, rows = report->faults_count, spot = 0, end;

    report->fault_places = xcalloc(rows + 1, sizeof(*report->fault_places));
    for (size_t at = 0; at < rows; at = end) {
        const struct report_fault *first = &report->faults[at];

        end = at + 1;
        while (end < rows &&
               report->faults[end].place.function == first->place.function &&
               report->faults[end].place.file == first->place.file) {
            end++;
        }
        report->fault_places[used] = function_make(first, end - at);
        for (; spot < count &&
               placed[spot].place.function == first->place.function &&
               placed[spot].place.file == first->place.file;
             spot++) {
            report->fault_places[used].faulting +=
                places->spots[placed[spot].number].faulting;
        }
        used++;
    }
    if (used > 1) {
        qsort(report->fault_places, used, sizeof(*report->fault_places),
              functions_first);
    }
    report->fault_places_count =
        used < FAULTPLACES_LISTED_MAX ? used : FAULTPLACES_LISTED_MAX;
}

void faultplaces_report(const struct faultplaces *places, struct report *report)
{
    struct stackplace *placed = xcalloc(places->count + 1, sizeof(*placed));
    size_t count = spots_place(places, placed, report), end;

    report->faults = xcalloc(count + 1, sizeof(*report->faults));
    for (size_t at = 0; at < count; at = end) {
        end = at + 1;
        while (end < count && is_same_row(&placed[at], &placed[end])) {
            end++;
        }
        report->faults[report->faults_count++] =
            row_make(places, &placed[at], end - at);
    }
    functions_report(places, report, placed, count);
    free(placed);
    if (report->faults_count > 1) {
        qsort(report->faults, report->faults_count, sizeof(*report->faults),
              most_first);
    }
    if (report->faults_count > FAULTPLACES_LISTED_MAX) {
        report->faults_count = FAULTPLACES_LISTED_MAX;
    }
}

/* ---- reasons ------------------------------------------------------------- */

static void sampled_explain(const struct report *report,
                            int32_t rank,
                            struct report_sampled *sampled)
{
    for (size_t i = 0; sampled->faulting > 0 && i < report->faults_count; i++) {
        const struct report_fault *row = &report->faults[i];

        if (row->rank == rank &&
            row->place.function == sampled->place.function &&
            row->place.file == sampled->place.file) {
            sampled->minor += row->minor;
            sampled->major += row->major;
        }
    }
}

/* A thread that reads pages from a disk is blocked, in no call. */
static void blocked_explain(const struct report *report,
                            int32_t rank,
                            struct report_activity *did)
{
    struct report_running *running = &did->running;

    if (did->call != NULL || running->blocked * 2 <= running->total) {
        return;
    }
    for (size_t i = 0; i < report->faults_count; i++) {
        const struct report_fault *row = &report->faults[i];

        if (row->rank != rank) {
            continue;
        }
        running->majors += row->major;
        if (row->major > running->majors_there) {
            running->majors_there = row->major;
            running->majors_place = row->place;
            running->majors_callers = row->callers;
        }
    }
}

static void did_explain(const struct report *report,
                        int32_t rank,
                        struct report_activity *did)
{
    sampled_explain(report, rank, &did->sampled);
    blocked_explain(report, rank, did);
}

static void delays_explain(const struct report *report,
                           struct report_delays *delays)
{
    did_explain(report, delays->rank, &delays->did);
    did_explain(report, delays->rank, &delays->largest.did);
    for (size_t i = 0; i < delays->count; i++) {
        did_explain(report, delays->items[i].rank, &delays->items[i].did);
    }
}

static void causes_explain(const struct report *report,
                           struct report_cause *causes,
                           size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (causes[i].ranks < 2) {
            did_explain(report, causes[i].rank, &causes[i].did);
        }
        delays_explain(report, &causes[i].delays);
    }
}

void faultplaces_explain(struct report *report)
{
    causes_explain(report, report->causes, report->causes_count);
    causes_explain(report, report->waits, report->waits_count);
    delays_explain(report, &report->delays);
    for (size_t i = 0; i < report->stragglers_count; i++) {
        delays_explain(report, &report->stragglers[i].delays);
    }
}
