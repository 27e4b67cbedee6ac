/* steps.c - each step: how long it took which rank, and what was done in it
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "merge/analysis/steps/steps.h"

#include <stdlib.h>
#include <string.h>

#include "merge/model/array.h"
#include "merge/model/memory.h"
#include "merge/model/table.h"
#include "schema/order.h"

/* A step counts as an outlier from that many times the middle one on. */
#define OUTLIER_PERCENT 150

struct mine {
    ck_time_t start;
    ck_time_t end;
    uint32_t step;
};

/* The steps of one rank, by start. */
struct rank {
    struct mine *items;
    size_t count, room;
    size_t last; /* the one found last */
    bool has_marks;
    ck_time_t first_end; /* of its first step, INT64_MAX = not begun */
};

struct steps {
    const struct defs *defs; /* borrowed */
    struct region region;
    struct rank *ranks; /* by index in the definitions */
    bool are_known;     /* a rank has marks: this is asked for each piece */
    struct table *keys; /* number, how often before -> step */
    struct report_step *items;
    size_t count, room;
    size_t cells;       /* steps for which there are cells */
    ck_time_t *lengths; /* step, rank; -1 = none */
    ck_time_t *caused;  /* step, rank */
};

struct steps *steps_create(const struct defs *defs, struct region region)
{
    struct steps *steps = xcalloc(1, sizeof(*steps));

    steps->defs = defs;
    steps->region = region;
    steps->keys = table_create();
    steps->ranks = xcalloc(defs->ranks_count + 1, sizeof(*steps->ranks));
    for (size_t i = 0; i < defs->ranks_count; i++) {
        steps->ranks[i].first_end = INT64_MAX;
    }
    for (size_t i = 0; i < defs->processes_count; i++) {
        const struct stamps *marks = &defs->processes[i].steps;
        uint32_t rank = defs_rank_index(defs, defs->processes[i].rank);

        if (rank != DEFS_NONE &&
            (marks->last[0] != INT64_MIN || marks->last[1] != INT64_MIN)) {
            steps->ranks[rank].has_marks = true;
            steps->are_known = true;
        }
    }
    return steps;
}

void steps_destroy(struct steps *steps)
{
    if (steps == NULL) {
        return;
    }
    for (size_t i = 0; steps->ranks != NULL && i < steps->defs->ranks_count;
         i++) {
        free(steps->ranks[i].items);
    }
    free(steps->ranks);
    free(steps->items);
    free(steps->lengths);
    free(steps->caused);
    table_destroy(steps->keys);
    free(steps);
}

/* ---- steps and their cells ---------------------------------------------- */

static ck_time_t *
cell(const struct steps *steps, ck_time_t *cells, size_t step, uint32_t rank)
{
    return step < steps->cells ? &cells[step * steps->defs->ranks_count + rank]
                               : NULL;
}

/* Room for the cells of one more step, as long as there may be more. */
static void cells_grow(struct steps *steps)
{
    size_t ranks = steps->defs->ranks_count;
    size_t wanted = steps->cells == 0 ? 16 : steps->cells * 2;
    ck_time_t *lengths, *caused;

    if (steps->count < steps->cells || wanted * ranks > STEPS_CELLS_MAX) {
        return;
    }
    lengths = xrealloc(steps->lengths, wanted * ranks * sizeof(*lengths));
    steps->lengths = lengths;
    caused = xrealloc(steps->caused, wanted * ranks * sizeof(*caused));
    steps->caused = caused;
    for (size_t i = steps->cells * ranks; i < wanted * ranks; i++) {
        lengths[i] = -1;
        caused[i] = 0;
    }
    steps->cells = wanted;
}

static void step_new(struct steps *steps, int64_t number, struct region part)
{
    cells_grow(steps);
    array_grow(&steps->items, &steps->room, steps->count,
               sizeof(*steps->items));
    steps->items[steps->count++] =
        (struct report_step){.number = number,
                             .start = part.start,
                             .end = part.end,
                             .shortest = INT64_MAX,
                             .longest = -1,
                             .longest_rank = DEFS_RANK_UNKNOWN,
                             .worst = DEFS_RANK_UNKNOWN};
}

/* The step of that number that the rank has not had, DEFS_NONE = there are too
 * many. */
static void step_find(struct steps *steps,
                      uint32_t rank,
                      int64_t number,
                      struct region part,
                      uint32_t *found)
{
    *found = DEFS_NONE;
    for (uint64_t before = 0; before < STEPS_MAX; before++) {
        struct table_key key = {(uint64_t)number, before, 0};
        const ck_time_t *length;
        int64_t index;

        if (table_count(steps->keys) >= STEPS_MAX) {
            return;
        }
        index = table_number(steps->keys, key);
        if ((size_t)index == steps->count) {
            step_new(steps, number, part);
        }
        length = cell(steps, steps->lengths, (size_t)index, rank);
        if (length == NULL || *length < 0) {
            *found = (uint32_t)index;
            return;
        }
    }
}

/* A step of the rank; they come by start. */
static void first_add(struct steps *steps, uint32_t index, struct region part)
{
    struct rank *rank = &steps->ranks[index];

    steps->are_known = true;
    if (rank->first_end == INT64_MAX) {
        rank->has_marks = true;
        rank->first_end = part.end;
    }
}

void steps_add(struct steps *steps,
               uint32_t index,
               struct region part,
               int64_t number)
{
    struct rank *rank = &steps->ranks[index];
    ck_time_t length = region_length(part);
    ck_time_t *kept;
    struct report_step *step;
    uint32_t found;

    first_add(steps, index, part);
    if (!steps->defs->ranks[index].is_wanted) {
        return;
    }
    step_find(steps, index, number, part, &found);
    array_grow(&rank->items, &rank->room, rank->count, sizeof(*rank->items));
    if (found == DEFS_NONE) {
        return;
    }
    rank->items[rank->count++] = (struct mine){part.start, part.end, found};
    step = &steps->items[found];
    kept = cell(steps, steps->lengths, found, index);
    if (kept != NULL) {
        *kept = length;
    }
    step->ranks++;
    step->start = part.start < step->start ? part.start : step->start;
    step->end = part.end > step->end ? part.end : step->end;
    step->shortest = length < step->shortest ? length : step->shortest;
    if (length > step->longest) {
        step->longest = length;
        step->longest_rank = steps->defs->ranks[index].number;
    }
}

/* ---- what is done in them ----------------------------------------------- */

/* The rank's first step that ends after `time`, its count when none does. */
static size_t mine_after(struct rank *rank, ck_time_t time)
{
    size_t at = rank->last < rank->count ? rank->last : rank->count;

    while (at > 0 && rank->items[at - 1].end > time) {
        at--;
    }
    while (at < rank->count && rank->items[at].end <= time) {
        at++;
    }
    rank->last = at;
    return at;
}

static struct report_step *
step_at(struct steps *steps, uint32_t index, ck_time_t time)
{
    struct rank *rank = &steps->ranks[index];
    size_t at = mine_after(rank, time);

    return at < rank->count && rank->items[at].start <= time
               ? &steps->items[rank->items[at].step]
               : NULL;
}

static bool is_launch(const char *function)
{
    static const char *const names[] = {
        "clEnqueueNDRangeKernel", "clEnqueueTask",      "cudaLaunchKernel",
        "cuLaunchKernel",         "cudaGraphLaunch",    "cuGraphLaunch",
        "cudaLaunchCooperative",  "cuLaunchCooperative"};

    for (size_t i = 0; function != NULL && i < sizeof(names) / sizeof(names[0]);
         i++) {
        if (strncmp(function, names[i], strlen(names[i])) == 0) {
            return true;
        }
    }
    return false;
}

static void call_count(struct steps *steps,
                       const struct timeline_event *event,
                       struct report_step *step)
{
    unsigned kind = event->record->kind;
    const char *name;

    if (timeline_is_device(event)) {
        step->copies += kind >= CK_KIND_COPY_H2D;
        return;
    }
    if (kind == CK_KIND_COLLECTIVE || kind == CK_KIND_ICOLLECTIVE) {
        step->collectives++;
        return;
    }
    if (kind != CK_KIND_API_OPENCL && kind != CK_KIND_API_CUDA_RUNTIME &&
        kind != CK_KIND_API_CUDA_DRIVER) {
        return;
    }
    name = defs_name(steps->defs, event->process, event->record->name);
    if (is_launch(name)) {
        step->launches++;
    } else if (cause_of_call(kind, name) == CAUSE_GPU_SYNC) {
        step->syncs++;
    }
}

void steps_take(void *consumer, const struct timeline_event *event)
{
    struct steps *steps = consumer;
    struct report_step *step;
    uint32_t rank;

    if (event->record->kind != CK_KIND_STEP && steps->count == 0) {
        return;
    }
    rank = defs_rank_index(steps->defs, event->rank);
    if (rank == DEFS_NONE) {
        return;
    }
    if (event->record->kind == CK_KIND_STEP) {
        struct region part = {event->start, event->end};
        struct region inside = part;

        first_add(steps, rank, part);
        if (region_clip(steps->region, &inside.start, &inside.end)) {
            steps_add(steps, rank, part,
                      ((const struct ck_mark *)event->record)->value);
        }
        return;
    }
    step = steps->defs->ranks[rank].is_wanted
               ? step_at(steps, rank, event->start)
               : NULL;
    if (step != NULL) {
        call_count(steps, event, step);
    }
}

bool steps_is_start(const struct steps *steps,
                    uint32_t index,
                    ck_time_t time,
                    ck_time_t *until)
{
    const struct rank *rank = &steps->ranks[index];

    if (!rank->has_marks || time >= rank->first_end) {
        return false;
    }
    if (rank->first_end < *until) {
        *until = rank->first_end;
    }
    return true;
}

size_t steps_count(const struct steps *steps)
{
    return steps->count;
}

const struct report_step *steps_item(const struct steps *steps, size_t step)
{
    return &steps->items[step];
}

bool steps_are_known(const struct steps *steps)
{
    return steps->are_known;
}

size_t steps_ranks(const struct steps *steps)
{
    return steps->defs->ranks_count;
}

void steps_idle(struct steps *steps,
                uint32_t index,
                struct region part,
                enum cause cause)
{
    struct rank *rank = &steps->ranks[index];

    for (size_t at = mine_after(rank, part.start);
         at < rank->count && rank->items[at].start < part.end; at++) {
        struct region inside = {rank->items[at].start, rank->items[at].end};

        if (region_clip(part, &inside.start, &inside.end)) {
            steps->items[rank->items[at].step].causes[cause] +=
                region_length(inside);
        }
    }
}

void steps_wait(struct steps *steps,
                uint32_t index,
                struct region part,
                uint32_t blamed)
{
    struct rank *rank = &steps->ranks[index];

    for (size_t at = mine_after(rank, part.start);
         at < rank->count && rank->items[at].start < part.end; at++) {
        struct region inside = {rank->items[at].start, rank->items[at].end};
        ck_time_t *kept = NULL;

        if (!region_clip(part, &inside.start, &inside.end)) {
            continue;
        }
        steps->items[rank->items[at].step].waited += region_length(inside);
        if (blamed != DEFS_NONE) {
            kept = cell(steps, steps->caused, rank->items[at].step, blamed);
        }
        if (kept != NULL) {
            *kept += region_length(inside);
        }
    }
}

void steps_unsure(struct steps *steps,
                  uint32_t index,
                  struct region part,
                  ck_time_t error)
{
    struct rank *rank = &steps->ranks[index];

    for (size_t at = mine_after(rank, part.start);
         at < rank->count && rank->items[at].start < part.end; at++) {
        steps->items[rank->items[at].step].waited_error += error;
    }
}

void steps_walk(struct steps *steps,
                uint32_t index,
                struct region part,
                steps_take_f f,
                void *state)
{
    struct rank *rank = &steps->ranks[index];

    for (size_t at = mine_after(rank, part.start);
         at < rank->count && rank->items[at].start < part.end; at++) {
        struct region inside = {rank->items[at].start, rank->items[at].end};

        if (region_clip(part, &inside.start, &inside.end)) {
            f(state, rank->items[at].step, inside);
        }
    }
}

/* ---- the report --------------------------------------------------------- */

CK_ORDER(by_time, ck_time_t, CK_LESS(*a, *b))

void steps_lengths(const struct steps *steps,
                   uint32_t index,
                   struct steps_lengths *lengths)
{
    const struct rank *rank = &steps->ranks[index];
    ck_time_t *values = xcalloc(rank->count + 1, sizeof(*values));

    for (size_t i = 0; i < rank->count; i++) {
        values[i] = rank->items[i].end - rank->items[i].start;
    }
    qsort(values, rank->count, sizeof(*values), by_time);
    *lengths = (struct steps_lengths){.count = rank->count};
    if (rank->count > 0) {
        lengths->median = values[(rank->count - 1) / 2];
        lengths->longest = values[rank->count - 1];
    }
    free(values);
}

/* The rank that caused most waiting in a step; DEFS_NONE = none did. */
static uint32_t
worst_find(const struct steps *steps, size_t step, ck_time_t *most)
{
    uint32_t worst = DEFS_NONE;

    *most = 0;
    for (uint32_t rank = 0; rank < steps->defs->ranks_count; rank++) {
        const ck_time_t *caused = cell(steps, steps->caused, step, rank);

        if (caused != NULL && *caused > *most) {
            *most = *caused;
            worst = rank;
        }
    }
    return worst;
}

int steps_blame(const struct steps *steps,
                uint32_t rank,
                struct steps_blame *blame)
{
    ck_time_t *values = xcalloc(steps->count + 1, sizeof(*values));

    *blame = (struct steps_blame){0, 0, 0};
    for (size_t i = 0; i < steps->count && i < steps->cells; i++) {
        ck_time_t most;
        uint32_t worst = worst_find(steps, i, &most);

        blame->of += worst != DEFS_NONE;
        if (worst == rank) {
            values[blame->worst++] = most;
        }
    }
    qsort(values, blame->worst, sizeof(*values), by_time);
    if (blame->worst > 0) {
        blame->median = values[(blame->worst - 1) / 2];
    }
    free(values);
    return 0;
}

CK_ORDER(by_start, struct report_step, CK_UP(start))

static void outliers_mark(struct report_step *items,
                          size_t count,
                          ck_time_t *values,
                          struct report_steps *table)
{
    for (size_t i = 0; i < count; i++) {
        values[i] = items[i].longest;
    }
    qsort(values, count, sizeof(*values), by_time);
    table->median = count == 0 ? 0 : values[(count - 1) / 2];
    for (size_t i = 0; i < count; i++) {
        items[i].is_outlier =
            items[i].longest / OUTLIER_PERCENT > table->median / 100;
        table->outliers += items[i].is_outlier;
    }
}

void steps_report(const struct steps *steps, struct report *report)
{
    struct report_steps *table = &report->table;
    ck_time_t *values = xcalloc(steps->count + 1, sizeof(*values));

    table->items = xcalloc(steps->count + 1, sizeof(*table->items));
    table->count = steps->count;
    table->ranks = steps->defs->ranks_count;
    for (size_t i = 0; i < steps->count; i++) {
        struct report_step *row = &table->items[i];
        uint32_t worst;

        *row = steps->items[i];
        worst = worst_find(steps, i, &row->worst_ns);
        if (worst != DEFS_NONE) {
            row->worst = steps->defs->ranks[worst].number;
        }
        row->lengths = cell(steps, steps->lengths, i, 0);
    }
    outliers_mark(table->items, table->count, values, table);
    qsort(table->items, table->count, sizeof(*table->items), by_start);
    free(values);
}
