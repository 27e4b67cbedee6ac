/* teamrows.c - sums of parallel regions and of waits in them
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "merge/analysis/threads/teamrows.h"

#include <stdlib.h>
#include <string.h>

#include "merge/model/array.h"
#include "merge/model/memory.h"
#include "merge/model/table.h"

/* Activities of the evidence: rows of waits, and processes. */
enum sort { SORT_WAIT, SORT_SERIAL, SORTS };

/* A region's line, over all ranks. */
struct region_row {
    struct place place;
    const char *runtime;
    uint32_t level;
    uint32_t threads;
    uint64_t count;
    ck_time_t wall;
    ck_time_t states[REPORT_TEAM_STATES];
    ck_time_t awaited;
    uint32_t end_row; /* of waits: for the last thread */
};

struct wait_row {
    struct place place;
    const char *what;
    enum report_team_state state;
    uint64_t count;
    ck_time_t ns;
    ck_time_t longest;
    ck_time_t worked; /* of ns, by samples */
};

/* A thread that was the last one, of a row of waits. */
struct last_row {
    uint64_t count;
    ck_time_t caused;
};

/* One process: outermost regions of its first thread. */
struct process_row {
    uint32_t threads;
    uint64_t regions;
    ck_time_t parallel;
    ck_time_t members; /* sum of threads x time of regions */
    ck_time_t master_mpi;
    ck_time_t states[REPORT_TEAM_STATES];
    /* Samples outside of regions: of its first thread, and of others that were
     * in teams, in code of the program. */
    ck_time_t serial_cpu, unseen_cpu;
    bool is_several;
};

struct teamrows {
    const struct defs *defs; /* borrowed */
    struct region region;
    struct table *region_keys;
    struct region_row *regions;
    size_t regions_count, regions_room;
    struct table *wait_keys;
    struct wait_row *waits;
    size_t waits_count, waits_room;
    struct table *last_keys; /* wait, rank, thread */
    struct last_row *lasts;
    size_t lasts_count, lasts_room;
    struct table *rank_keys; /* wait, rank: how often */
    uint64_t *ranks;
    size_t ranks_count, ranks_room;
    struct table *own_keys; /* thread, wait */
    ck_time_t *owns;
    size_t owns_count, owns_room;
    struct process_row *processes;
    struct team_member *threads;
    struct evidence *evidence;
};

struct teamrows *teamrows_create(const struct defs *defs, struct region region)
{
    struct teamrows *rows = xcalloc(1, sizeof(*rows));

    rows->defs = defs;
    rows->region = region;
    rows->region_keys = table_create();
    rows->wait_keys = table_create();
    rows->last_keys = table_create();
    rows->rank_keys = table_create();
    rows->own_keys = table_create();
    rows->processes =
        xcalloc(defs->processes_count + 1, sizeof(*rows->processes));
    rows->threads = xcalloc(defs->threads_count + 1, sizeof(*rows->threads));
    for (size_t i = 0; i < defs->threads_count; i++) {
        rows->threads[i].number = rows->threads[i].row = DEFS_NONE;
    }
    rows->evidence = evidence_create(defs);
    return rows;
}

void teamrows_destroy(struct teamrows *rows)
{
    if (rows == NULL) {
        return;
    }
    table_destroy(rows->region_keys);
    table_destroy(rows->wait_keys);
    table_destroy(rows->last_keys);
    table_destroy(rows->rank_keys);
    table_destroy(rows->own_keys);
    free(rows->regions);
    free(rows->waits);
    free(rows->lasts);
    free(rows->ranks);
    free(rows->owns);
    free(rows->processes);
    free(rows->threads);
    evidence_destroy(rows->evidence);
    free(rows);
}

/* ---- which row ---------------------------------------------------------- */

/* Places that are known are the same in all processes. */
static struct table_key key_of(const struct timeline_event *event,
                               uint64_t site,
                               uint64_t more,
                               const struct place *place)
{
    return place->function == NULL && place->file == NULL
               ? (struct table_key){event->process, site, more << 1 | 1}
               : (struct table_key){(uint64_t)(uintptr_t)place->function,
                                    (uint64_t)(uintptr_t)place->file,
                                    (uint64_t)place->line << 32 | more << 1};
}

static uint32_t
wait_row(struct teamrows *rows, struct table_key key, struct wait_row row)
{
    int64_t number = table_number(rows->wait_keys, key);

    if ((size_t)number == rows->waits_count) {
        array_grow(&rows->waits, &rows->waits_room, rows->waits_count,
                   sizeof(*rows->waits));
        rows->waits[rows->waits_count++] = row;
    }
    return (uint32_t)number;
}

/* How often the rank had waits of the row. */
static uint64_t *rank_of(struct teamrows *rows, uint32_t wait, uint32_t process)
{
    int32_t rank = rows->defs->processes[process].rank;
    int64_t number = table_number(
        rows->rank_keys, (struct table_key){wait, (uint64_t)(int64_t)rank, 0});

    if ((size_t)number == rows->ranks_count) {
        array_grow(&rows->ranks, &rows->ranks_room, rows->ranks_count,
                   sizeof(*rows->ranks));
        rows->ranks[rows->ranks_count++] = 0;
    }
    return &rows->ranks[number];
}

uint32_t teamrows_region(struct teamrows *rows,
                         const struct team *outer,
                         const struct timeline_event *event)
{
    const struct ck_team *record = (const struct ck_team *)event->record;
    struct region_row row = {
        .level = record->level,
        .runtime = defs_name(rows->defs, event->process, record->e.name),
    };
    struct table_key key;
    int64_t number;

    row.place =
        team_place(rows->defs, event->process, record->site,
                   outer == NULL ? NULL : &rows->regions[outer->row].place);
    key = key_of(event, record->site, record->level, &row.place);
    number = table_number(rows->region_keys, key);

    if ((size_t)number == rows->regions_count) {
        struct wait_row end = {.place = row.place,
                               .what = "end of region",
                               .state = REPORT_TEAM_IMBALANCE};

        /* No place has that number of nested regions. */
        key.c |= (uint64_t)1 << 31;
        row.end_row = wait_row(rows, key, end);
        array_grow(&rows->regions, &rows->regions_room, rows->regions_count,
                   sizeof(*rows->regions));
        rows->regions[rows->regions_count++] = row;
    }
    return (uint32_t)number;
}

uint32_t teamrows_wait(struct teamrows *rows,
                       const struct team *team,
                       const struct timeline_event *event,
                       enum report_team_state state)
{
    const struct ck_team *record = (const struct ck_team *)event->record;
    struct wait_row row = {
        .what = defs_name(rows->defs, event->process, event->record->name),
        .state = state,
    };
    uint32_t number;

    row.place = team_place(rows->defs, event->process, record->site,
                           &rows->regions[team->row].place);
    number = wait_row(
        rows, key_of(event, record->site, event->record->kind, &row.place),
        row);
    if (event->start < rows->region.end && event->end > rows->region.start) {
        ck_time_t ns = event->end - event->start;
        struct wait_row *kept = &rows->waits[number];

        kept->count++;
        kept->longest = ns > kept->longest ? ns : kept->longest;
        (*rank_of(rows, number, event->process))++;
    }
    return number;
}

/* ---- sums --------------------------------------------------------------- */

static ck_time_t clipped(const struct teamrows *rows, struct region part)
{
    return region_clip(rows->region, &part.start, &part.end)
               ? part.end - part.start
               : 0;
}

void teamrows_begun(struct teamrows *rows,
                    const struct team *team,
                    bool is_several)
{
    struct process_row *process = &rows->processes[team->process];
    ck_time_t ns = clipped(rows, team->part);

    process->is_several = process->is_several || is_several;
    process->parallel += ns;
    process->regions += ns > 0;
    if (team->size > process->threads) {
        process->threads = team->size;
    }
}

/* What a thread waited for longest. */
static void
own_add(struct teamrows *rows, uint32_t thread, uint32_t row, ck_time_t ns)
{
    struct team_member *own = &rows->threads[thread];
    int64_t number =
        table_number(rows->own_keys, (struct table_key){thread, row, 0});

    if ((size_t)number == rows->owns_count) {
        array_grow(&rows->owns, &rows->owns_room, rows->owns_count,
                   sizeof(*rows->owns));
        rows->owns[rows->owns_count++] = 0;
    }
    rows->owns[number] += ns;
    if (rows->owns[number] > own->most) {
        own->most = rows->owns[number];
        own->row = row;
    }
}

/* The first thread of a nested team is one of the team around it. */
static void thread_add(struct teamrows *rows,
                       const struct team *team,
                       const struct team_part *part,
                       enum report_team_state what,
                       ck_time_t ns)
{
    struct team_member *own = &rows->threads[part->thread];

    if (team->level > 0 && part == team->parts) {
        return;
    }
    own->number = (uint32_t)(part - team->parts);
    own->is_outer = own->is_outer || team->level == 0;
    if (what == REPORT_TEAM_WORK) {
        own->work += ns;
    } else if (what == REPORT_TEAM_IMBALANCE || what == REPORT_TEAM_BARRIER ||
               what == REPORT_TEAM_AWAIT) {
        own->waited += ns;
    }
}

void teamrows_take(void *state,
                   const struct team *team,
                   const struct team_part *part,
                   enum report_team_state what,
                   uint32_t row,
                   struct region time)
{
    struct teamrows *rows = state;
    struct region_row *region = &rows->regions[team->row];
    ck_time_t ns = clipped(rows, time);

    if (ns == 0) {
        return;
    }
    region->states[what] += ns;
    thread_add(rows, team, part, what, ns);
    if (team->level == 0) {
        struct process_row *process = &rows->processes[team->process];

        process->states[what] += ns;
        if (what == REPORT_TEAM_MPI && part == team->parts) {
            process->master_mpi += ns;
        }
    }
    if (what == REPORT_TEAM_IMBALANCE) {
        row = region->end_row;
    }
    if (row != DEFS_NONE) {
        rows->waits[row].ns += ns;
        own_add(rows, part->thread, row, ns);
    }
}

static void last_add(struct teamrows *rows,
                     const struct team *team,
                     uint32_t row,
                     uint32_t last,
                     ck_time_t caused)
{
    int32_t rank = rows->defs->processes[team->process].rank;
    int64_t number =
        table_number(rows->last_keys,
                     (struct table_key){row, (uint64_t)(int64_t)rank, last});

    if ((size_t)number == rows->lasts_count) {
        array_grow(&rows->lasts, &rows->lasts_room, rows->lasts_count,
                   sizeof(*rows->lasts));
        rows->lasts[rows->lasts_count++] = (struct last_row){0, 0};
    }
    rows->lasts[number].count++;
    rows->lasts[number].caused += caused;
}

void teamrows_last(struct teamrows *rows,
                   const struct team *team,
                   uint32_t last,
                   ck_time_t done)
{
    uint32_t row = rows->regions[team->row].end_row;
    ck_time_t caused = 0;

    if (done < rows->region.start || done >= rows->region.end) {
        return;
    }
    for (uint32_t i = 0; i < team->parts_count; i++) {
        if (team->parts[i].thread != DEFS_NONE && i != last) {
            ck_time_t waited = done - team->parts[i].worked;

            caused += waited;
            if (waited > rows->waits[row].longest) {
                rows->waits[row].longest = waited;
            }
        }
    }
    (*rank_of(rows, row, team->process))++;
    rows->waits[row].count += team->size - (team->size > 0);
    if (team->size > 1) {
        last_add(rows, team, row, last, caused);
    }
}

void teamrows_meeting(struct teamrows *rows,
                      const struct team *team,
                      const struct team_meeting *meeting)
{
    if (team->size > 1) {
        last_add(rows, team, meeting->row, meeting->last, meeting->waited);
    }
}

void teamrows_over(struct teamrows *rows, const struct team *team)
{
    struct region_row *row = &rows->regions[team->row];
    struct process_row *process = &rows->processes[team->process];
    ck_time_t ns = clipped(rows, team->part);
    uint32_t present = 0;
    ck_time_t unknown;

    if (ns == 0) {
        return;
    }
    for (uint32_t i = 0; i < team->parts_count; i++) {
        present += team->parts[i].thread != DEFS_NONE;
    }
    unknown = team->size > present ? (team->size - present) * ns : 0;
    row->count++;
    row->wall += ns;
    row->threads = team->size > row->threads ? team->size : row->threads;
    row->states[REPORT_TEAM_UNKNOWN] += unknown;
    if (team->level == 0) {
        process->states[REPORT_TEAM_UNKNOWN] += unknown;
        process->members += ns * (team->size > present ? team->size : present);
        process->threads =
            present > process->threads ? present : process->threads;
    }
}

void teamrows_did(struct teamrows *rows,
                  const struct team *team,
                  uint32_t row,
                  struct evidence_item item)
{
    row = row == DEFS_NONE ? rows->regions[team->row].end_row : row;
    item.activity = SORTS * row + SORT_WAIT;
    evidence_add(rows->evidence, &item);
}

void teamrows_worked(struct teamrows *rows,
                     const struct team *team,
                     uint32_t row,
                     ck_time_t ns)
{
    row = row == DEFS_NONE ? rows->regions[team->row].end_row : row;
    rows->waits[row].worked += ns;
}

void teamrows_serial(struct teamrows *rows, struct evidence_item item)
{
    item.activity = SORTS * item.a + SORT_SERIAL;
    evidence_add(rows->evidence, &item);
    rows->processes[item.a].serial_cpu += item.weight;
}

void teamrows_unseen(struct teamrows *rows,
                     uint32_t thread,
                     const struct evidence_item *item)
{
    if (rows->threads[thread].number != DEFS_NONE) {
        rows->processes[item->a].unseen_cpu += item->weight;
    }
}

void teamrows_awaited(struct teamrows *rows, uint32_t row, ck_time_t ns)
{
    rows->regions[row].awaited += ns;
}

/* ---- the report   ------------------------------------------------------- */

static bool is_wanted(const struct teamrows *rows, int32_t rank)
{
    return defs_is_wanted(rows->defs, rank);
}

/* Of each row of waits who was waited for most, and how many ranks it has. */
struct found {
    struct report_last last;
    uint32_t ranks;
};

/* The caller's to free. */
static struct found *found_make(const struct teamrows *rows)
{
    struct found *found = xcalloc(rows->waits_count + 1, sizeof(*found));

    for (size_t i = 0; i < rows->waits_count; i++) {
        found[i].last.rank = DEFS_RANK_UNKNOWN;
    }
    for (size_t i = 0; i < rows->lasts_count; i++) {
        struct table_key key = table_key(rows->last_keys, i);
        struct report_last *last = &found[key.a].last;

        if (rows->lasts[i].caused > last->caused) {
            last->rank = (int32_t)(int64_t)key.b;
            last->thread = (uint32_t)key.c;
            last->count = rows->lasts[i].count;
            last->caused = rows->lasts[i].caused;
        }
    }
    for (size_t i = 0; i < rows->lasts_count; i++) {
        struct table_key key = table_key(rows->last_keys, i);
        struct report_last *last = &found[key.a].last;

        if (last->count > 0 && (int32_t)(int64_t)key.b == last->rank) {
            last->of += rows->lasts[i].count;
        }
    }
    for (size_t i = 0; i < rows->ranks_count; i++) {
        found[table_key(rows->rank_keys, i).a].ranks += rows->ranks[i] > 0;
    }
    return found;
}

static ck_time_t lost_of(const struct report_team_region *row)
{
    ck_time_t lost = 0;

    for (int i = REPORT_TEAM_FORK; i <= REPORT_TEAM_AWAIT; i++) {
        lost += row->states[i];
    }
    return lost;
}

static int by_lost(const void *a, const void *b)
{
    ck_time_t left = lost_of(a), right = lost_of(b);

    return (left < right) - (left > right);
}

static void regions_report(const struct teamrows *rows,
                           const struct found *found,
                           struct report_threads *threads)
{
    threads->regions =
        xcalloc(rows->regions_count + 1, sizeof(*threads->regions));
    for (size_t i = 0; i < rows->regions_count; i++) {
        const struct region_row *from = &rows->regions[i];
        struct report_team_region *row =
            &threads->regions[threads->regions_count];

        if (from->count == 0) {
            continue;
        }
        *row = (struct report_team_region){.place = from->place,
                                           .runtime = from->runtime,
                                           .level = from->level,
                                           .threads = from->threads,
                                           .count = from->count,
                                           .wall = from->wall,
                                           .awaited = from->awaited};
        memcpy(row->states, from->states, sizeof(row->states));
        row->last = found[from->end_row].last;
        row->ranks = found[from->end_row].ranks;
        row->did =
            evidence_sampled(rows->evidence, SORTS * from->end_row + SORT_WAIT);
        threads->regions_count++;
    }
    qsort(threads->regions, threads->regions_count, sizeof(*threads->regions),
          by_lost);
}

static int by_ns(const void *a, const void *b)
{
    const struct report_team_wait *left = a;
    const struct report_team_wait *right = b;

    return (left->ns < right->ns) - (left->ns > right->ns);
}

static void waits_report(const struct teamrows *rows,
                         const struct found *found,
                         struct report_threads *threads)
{
    threads->waits = xcalloc(rows->waits_count + 1, sizeof(*threads->waits));
    for (size_t i = 0; i < rows->waits_count; i++) {
        const struct wait_row *from = &rows->waits[i];
        struct report_team_wait *row = &threads->waits[threads->waits_count];

        if (from->ns == 0) {
            continue;
        }
        *row = (struct report_team_wait){.place = from->place,
                                         .what = from->what,
                                         .state = from->state,
                                         .count = from->count,
                                         .ns = from->ns,
                                         .longest = from->longest,
                                         .worked = from->worked};
        row->last = found[i].last;
        row->ranks = found[i].ranks;
        row->did =
            evidence_sampled(rows->evidence, (uint32_t)(SORTS * i + SORT_WAIT));
        threads->waits_count++;
    }
    qsort(threads->waits, threads->waits_count, sizeof(*threads->waits), by_ns);
}

/* Of each rank's processes the one that was in regions longest, DEFS_NONE = it
 * has none; by the rank's index, the caller's to free. */
static uint32_t *processes_choose(const struct teamrows *rows)
{
    const struct defs *defs = rows->defs;
    uint32_t *best = xmalloc((defs->ranks_count + 1) * sizeof(*best));

    for (size_t i = 0; i < defs->ranks_count; i++) {
        best[i] = DEFS_NONE;
    }
    for (uint32_t i = 0; i < defs->processes_count; i++) {
        uint32_t rank = defs_rank_index(defs, defs->processes[i].rank);

        if (rank != DEFS_NONE && rows->processes[i].regions > 0 &&
            (best[rank] == DEFS_NONE ||
             rows->processes[i].parallel >
                 rows->processes[best[rank]].parallel)) {
            best[rank] = i;
        }
    }
    return best;
}

/* Of the time outside of regions that in which the other threads had work all
 * the same: in a region that has no record, as one that the program ended in.
 * Their share of the CPU is known, for all threads lack CPUs alike. */
static ck_time_t unseen_of(const struct process_row *from, ck_time_t serial)
{
    double all = (double)from->serial_cpu * ((double)from->threads - 1);

    return all <= (double)from->unseen_cpu
               ? (from->unseen_cpu > 0 ? serial : 0)
               : (ck_time_t)((double)serial * (double)from->unseen_cpu / all);
}

static struct report_team_rank rank_row(const struct teamrows *rows,
                                        uint32_t process,
                                        const struct report_rank *rank)
{
    const struct process_row *from = &rows->processes[process];
    ck_time_t n = (ck_time_t)from->threads;
    struct report_team_rank row = {
        .rank = rank->number,
        .threads = from->threads,
        .regions = from->regions,
        .parallel = from->parallel,
        .is_several = from->is_several,
        .outside = rank->mpi_calls > 0
                       ? rank->useful + from->master_mpi
                       : region_length(rows->region) - rank->gone,
    };
    ck_time_t unseen;

    if (row.outside < row.parallel) {
        row.outside = row.parallel;
    }
    memcpy(row.states, from->states, sizeof(row.states));
    row.serial = (n - 1) * (row.outside - row.parallel);
    unseen = unseen_of(from, row.serial);
    row.serial -= unseen;
    row.states[REPORT_TEAM_UNKNOWN] += unseen;
    row.idle = n * row.parallel - from->members;
    row.useful = row.outside - row.parallel + row.states[REPORT_TEAM_WORK];
    row.serial_did = evidence_sampled(
        rows->evidence, (uint32_t)(SORTS * process + SORT_SERIAL));
    return row;
}

static void hybrid_add(struct report_hybrid *hybrid,
                       const struct report_team_rank *row,
                       ck_time_t region)
{
    ck_time_t n = (ck_time_t)row->threads;

    hybrid->ranks++;
    hybrid->threads += row->threads;
    hybrid->time += n * region;
    hybrid->outside += n * row->outside;
    hybrid->useful += row->useful;
    hybrid->serial += row->serial;
    hybrid->idle += row->idle;
    for (int i = 0; i < REPORT_TEAM_STATES; i++) {
        hybrid->states[i] += row->states[i];
    }
}

static void ranks_sum(const struct teamrows *rows, struct report *report)
{
    struct report_threads *threads = &report->threads;
    struct report_hybrid *hybrid = &threads->hybrid;
    uint32_t *processes = processes_choose(rows);

    threads->ranks = xcalloc(report->ranks_count + 1, sizeof(*threads->ranks));
    for (size_t i = 0; i < report->ranks_count; i++) {
        uint32_t rank = defs_rank_index(rows->defs, report->ranks[i].number);
        uint32_t process = rank == DEFS_NONE ? DEFS_NONE : processes[rank];
        struct report_team_rank row;

        if (process == DEFS_NONE || !is_wanted(rows, report->ranks[i].number)) {
            continue;
        }
        row = rank_row(rows, process, &report->ranks[i]);
        if (!row.is_several) {
            hybrid_add(hybrid, &row, region_length(rows->region));
        }
        threads->ranks[threads->ranks_count++] = row;
    }
    free(processes);
    if (hybrid->ranks > 0 && hybrid->time > 0) {
        hybrid->parallel = (double)hybrid->useful / (double)hybrid->time;
        hybrid->mpi = (double)hybrid->outside / (double)hybrid->time;
        hybrid->openmp = hybrid->outside == 0
                             ? 0
                             : (double)hybrid->useful / (double)hybrid->outside;
    }
}

void teamrows_report(const struct teamrows *rows, struct report *report)
{
    struct found *found = found_make(rows);

    regions_report(rows, found, &report->threads);
    waits_report(rows, found, &report->threads);
    free(found);
    ranks_sum(rows, report);
}

struct team_member teamrows_thread(const struct teamrows *rows, uint32_t thread)
{
    return rows->threads[thread];
}

void teamrows_named(const struct teamrows *rows,
                    uint32_t row,
                    const char **what,
                    struct place *place)
{
    *what = rows->waits[row].what;
    *place = rows->waits[row].place;
}
