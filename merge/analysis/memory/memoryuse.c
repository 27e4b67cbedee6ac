/* memoryuse.c - how much memory each rank had, over the run
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * A rank has what its processes have. The kernel keeps the peak of a process;
 * when several have theirs is not known, so the peak of a rank with several is
 * that of their sum, as it was looked at.
 */
#include "merge/analysis/memory/memoryuse.h"

#include <stdlib.h>
#include <string.h>

#include "merge/model/array.h"
#include "merge/model/memory.h"

/* Growth: so many points at least, the first quarter of the region left out; a
 * line has to fit, and the rise to be worth a sentence. */
#define GROWTH_POINTS 6
#define GROWTH_SKIP 4
#define GROWTH_R2 0.8
#define GROWTH_BYTES ((int64_t)8 << 20)
#define GROWTH_SHARE 20 /* of the peak: an n-th */

/* More than any process has: damaged. Sums of these fit. */
#define BYTES_MAX ((int64_t)1 << 52)

/* A process's last values. */
struct process {
    uint32_t next; /* of those of its rank that were looked at, DEFS_NONE */
    bool is_in;    /* among them */
    int64_t now[CK_MEMORY_SWAPPED + 1];
    int64_t most; /* as the kernel has it */
};

struct rank {
    struct report_resident *points;
    size_t count;
    uint32_t stride, skipped; /* each n-th is kept */
    struct report_resident first, last, peak;
    int64_t huge, swapped;
    uint32_t process; /* the only one so far; DEFS_NONE = there are several */
    uint32_t looked;  /* the first of those that were looked at, DEFS_NONE */
};

struct memoryuse {
    const struct defs *defs;         /* borrowed */
    const struct lookback *lookback; /* borrowed */
    struct process *processes;       /* of the definitions */
    struct rank *ranks;              /* by index in the definitions */
};

struct memoryuse *memoryuse_create(const struct defs *defs,
                                   const struct lookback *lookback)
{
    struct memoryuse *use = xcalloc(1, sizeof(*use));

    use->defs = defs;
    use->lookback = lookback;
    use->processes =
        xcalloc(defs->processes_count + 1, sizeof(*use->processes));
    use->ranks = xcalloc(defs->ranks_count + 1, sizeof(*use->ranks));
    for (size_t i = 0; i < defs->ranks_count; i++) {
        use->ranks[i].stride = 1;
        use->ranks[i].huge = -1;
        use->ranks[i].looked = DEFS_NONE;
    }
    return use;
}

void memoryuse_destroy(struct memoryuse *use)
{
    if (use == NULL) {
        return;
    }
    for (size_t i = 0; i < use->defs->ranks_count; i++) {
        free(use->ranks[i].points);
    }
    free(use->ranks);
    free(use->processes);
    free(use);
}

/* ---- what comes ---------------------------------------------------------- */

/* Each second point makes room. */
static void points_halve(struct rank *rank)
{
    size_t kept = 0;

    for (size_t i = 0; i < rank->count; i += 2) {
        rank->points[kept++] = rank->points[i];
    }
    rank->count = kept;
    rank->stride *= 2;
}

static void point_add(struct rank *rank, struct report_resident point)
{
    if (rank->points == NULL) {
        rank->points = xcalloc(MEMORYUSE_POINTS, sizeof(*rank->points));
        rank->first = point;
        rank->skipped = 0;
    }
    rank->last = point;
    if (point.bytes > rank->peak.bytes) {
        rank->peak = point;
    }
    if (rank->skipped++ % rank->stride != 0) {
        return;
    }
    if (rank->count == MEMORYUSE_POINTS) {
        points_halve(rank);
    }
    rank->points[rank->count++] = point;
}

/* One that has ended has nothing any more. */
static bool
is_over(const struct memoryuse *use, uint32_t process, ck_time_t time)
{
    return lookback_gone(use->lookback, process) <= time;
}

/* One that is over leaves the list. */
static int64_t rank_sum(struct memoryuse *use,
                        struct rank *rank,
                        ck_time_t time,
                        enum ck_memory which)
{
    uint32_t *link = &rank->looked;
    int64_t sum = 0;

    while (*link != DEFS_NONE) {
        struct process *process = &use->processes[*link];

        if (is_over(use, *link, time)) {
            process->is_in = false;
            *link = process->next;
        } else {
            sum += process->now[which];
            link = &process->next;
        }
    }
    return sum;
}

static void rank_join(struct memoryuse *use, struct rank *rank, uint32_t number)
{
    struct process *process = &use->processes[number];

    if (!process->is_in) {
        process->is_in = true;
        process->next = rank->looked;
        rank->looked = number;
    }
}

static void record_add(struct memoryuse *use,
                       uint32_t process,
                       const struct ck_counter *record,
                       ck_time_t time)
{
    int32_t number = use->defs->processes[process].rank;
    uint32_t index = defs_rank_index(use->defs, number);
    struct process *its = &use->processes[process];
    struct rank *rank;
    int64_t sum;

    if (index == DEFS_NONE) {
        return;
    }
    rank = &use->ranks[index];
    if (rank->points == NULL) {
        rank->process = process;
    } else if (rank->process != process) {
        rank->process = DEFS_NONE;
    }
    rank_join(use, rank, process);
    its->now[record->reason] = record->value;
    sum = rank_sum(use, rank, time, (enum ck_memory)record->reason);
    if (record->reason == CK_MEMORY_RESIDENT) {
        point_add(rank, (struct report_resident){time, sum});
        its->most = record->enabled > its->most ? record->enabled : its->most;
        if (rank->process == process && its->most > rank->peak.bytes) {
            rank->peak = (struct report_resident){time, its->most};
        }
    } else if (record->reason == CK_MEMORY_HUGE) {
        rank->huge = sum > rank->huge ? sum : rank->huge;
    } else {
        rank->swapped = sum > rank->swapped ? sum : rank->swapped;
    }
}

void memoryuse_take(void *consumer, const struct timeline_event *event)
{
    struct memoryuse *use = consumer;
    const struct ck_counter *record = (const struct ck_counter *)event->record;
    uint32_t agent = use->defs->processes[event->process].agent;
    uint32_t process;

    if (event->record->kind != CK_KIND_MEMORY || record->value < 0 ||
        record->value > BYTES_MAX || record->enabled > BYTES_MAX ||
        record->reason < CK_MEMORY_RESIDENT ||
        record->reason > CK_MEMORY_SWAPPED) {
        return;
    }
    process = history_process(lookback_history(use->lookback), agent,
                              event->record->name);
    if (process != DEFS_NONE) {
        record_add(use, process, record, event->start);
    }
}

/* ---- growth -------------------------------------------------------------- */

/* Sums for a line through points. */
struct fit {
    double n, x, y, xx, xy, yy;
};

static void fit_add(struct fit *fit, double x, double y)
{
    fit->n++;
    fit->x += x;
    fit->y += y;
    fit->xx += x * x;
    fit->xy += x * y;
    fit->yy += y * y;
}

/* Slope; *r2 = how well it fits. */
static double fit_slope(const struct fit *fit, double *r2)
{
    double xx = fit->xx - fit->x * fit->x / fit->n;
    double xy = fit->xy - fit->x * fit->y / fit->n;
    double yy = fit->yy - fit->y * fit->y / fit->n;

    *r2 = xx > 0 && yy > 0 ? xy * xy / (xx * yy) : 0;
    return xx > 0 ? xy / xx : 0;
}

/* The lowest of the last half is above the middle of what was before: a saw's
 * teeth do not grow. */
static bool is_rising(const struct report_resident *points, size_t count)
{
    int64_t low = INT64_MAX, high = 0;

    for (size_t i = 0; i < count / 2; i++) {
        high = points[i].bytes > high ? points[i].bytes : high;
    }
    for (size_t i = count / 2; i < count; i++) {
        low = points[i].bytes < low ? points[i].bytes : low;
    }
    return count > 1 && low >= high;
}

/* There are points where it changed: one that stays has few. */
static struct report_growth growth_find(const struct rank *rank,
                                        struct region region)
{
    ck_time_t from = region.start + region_length(region) / GROWTH_SKIP;
    struct report_growth growth = {.is_steady = false};
    struct fit fit = {0};
    size_t first = 0, count;

    while (first < rank->count && rank->points[first].time < from) {
        first++;
    }
    for (size_t i = first; i < rank->count && rank->points[i].time < region.end;
         i++) {
        fit_add(&fit, (double)(rank->points[i].time - from) / CK_TIME_S,
                (double)rank->points[i].bytes);
    }
    count = (size_t)fit.n;
    if (count < GROWTH_POINTS) {
        return growth;
    }
    growth.per_second = fit_slope(&fit, &growth.r2);
    growth.bytes =
        rank->points[first + count - 1].bytes - rank->points[first].bytes;
    growth.is_steady = growth.r2 >= GROWTH_R2 && growth.bytes >= GROWTH_BYTES &&
                       growth.bytes >= rank->peak.bytes / GROWTH_SHARE &&
                       is_rising(rank->points + first, count);
    return growth;
}

/* ---- rows ---------------------------------------------------------------- */

static void step_take(void *state, uint32_t step, struct region inside)
{
    (void)inside;
    *(uint32_t *)state = step;
}

static void steps_look(struct steps *steps,
                       uint32_t index,
                       struct region region,
                       struct report_memory *row)
{
    struct region moment = {row->peak.time, row->peak.time + 1};
    struct steps_lengths lengths;
    uint32_t step = UINT32_MAX;

    if (!steps_are_known(steps) || index >= steps_ranks(steps)) {
        return;
    }
    steps_walk(steps, index, moment, step_take, &step);
    if (step != UINT32_MAX) {
        row->has_peak_step = true;
        row->peak_step = steps_item(steps, step)->number;
    }
    steps_lengths(steps, index, &lengths);
    if (lengths.count > 0) {
        row->growth.steps = lengths.count;
        row->growth.per_step = row->growth.per_second *
                               ((double)region_length(region) / CK_TIME_S) /
                               (double)lengths.count;
    }
}

/* What the collector's counter of that name has: of the tree, or of the threads
 * of one rank of several. -1 = nothing. */
static int64_t counter_of(const struct defs *defs,
                          const struct defs_rank *who,
                          const char *tree,
                          const char *thread)
{
    const struct defs_agent *agent = &defs->agents[who->agent];
    bool is_alone = true;
    int64_t sum = -1;
    uint32_t own = DEFS_NONE;

    for (uint32_t i = 0; i < defs->processes_count; i++) {
        if (defs->processes[i].agent == who->agent) {
            own = defs->processes[i].incarnation == 0 ? i : own;
            is_alone = is_alone && (defs->processes[i].incarnation == 0 ||
                                    defs->processes[i].rank == who->number);
        }
    }
    for (size_t i = 0; own != DEFS_NONE && i < agent->counters_count; i++) {
        const struct defs_counter *counter = &agent->counters[i];
        const char *name = defs_name(defs, own, counter->name);

        if (name == NULL || counter->value < 0) {
            continue;
        }
        if (is_alone && counter->tid == 0 && strcmp(name, tree) == 0) {
            return counter->value;
        }
        for (size_t k = 0; !is_alone && counter->tid != 0 &&
                           strcmp(name, thread) == 0 && k < defs->threads_count;
             k++) {
            const struct defs_process *process =
                &defs->processes[defs->threads[k].process];

            if (defs->threads[k].tid == counter->tid &&
                process->agent == who->agent && process->rank == who->number) {
                sum = (sum < 0 ? 0 : sum) + counter->value;
                break;
            }
        }
    }
    return sum;
}

static void
row_fill(struct memoryuse *use, uint32_t index, struct report_memory *row)
{
    const struct defs_rank *who = &use->defs->ranks[index];
    struct rank *rank = &use->ranks[index];

    *row = (struct report_memory){
        .rank = who->number,
        .points = rank->points,
        .points_count = rank->count,
        .first = rank->first,
        .last = rank->last,
        .peak = rank->peak,
        .huge = rank->huge,
        .swapped = rank->swapped,
        .minor =
            counter_of(use->defs, who, "minor-faults", "thread-minor-faults"),
        .major =
            counter_of(use->defs, who, "major-faults", "thread-major-faults"),
    };
    rank->points = NULL;
}

static int by_rank(const void *left, const void *right)
{
    const struct report_memory *a = left;
    const struct report_memory *b = right;

    return (a->rank > b->rank) - (a->rank < b->rank);
}

void memoryuse_report(struct memoryuse *use,
                      struct steps *steps,
                      struct region region,
                      struct report *report)
{
    const struct defs *defs = use->defs;

    report->memory = xcalloc(defs->ranks_count + 1, sizeof(*report->memory));
    for (uint32_t i = 0; i < defs->ranks_count; i++) {
        struct report_memory *row = &report->memory[report->memory_count];
        struct report_growth growth;

        if (!defs_is_wanted(defs, defs->ranks[i].number)) {
            continue;
        }
        growth = growth_find(&use->ranks[i], region);
        row_fill(use, i, row);
        row->growth = growth;
        if (row->points_count > 0) {
            steps_look(steps, i, region, row);
        }
        if (row->points_count > 0 || row->minor >= 0) {
            report->memory_count++;
        } else {
            free(row->points);
        }
    }
    qsort(report->memory, report->memory_count, sizeof(*report->memory),
          by_rank);
}
