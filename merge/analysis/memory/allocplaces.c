/* allocplaces.c - where in the program memory came from
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * What a stack held at its process's peak is wanted, and the peak is known only
 * at the end. So peaks have numbers, and a stack keeps what it held at the last
 * one before it changes again: one that did not change since holds that still.
 */
#include "merge/analysis/memory/allocplaces.h"

#include <math.h>
#include <stdlib.h>

#include "merge/analysis/history/stackplaces.h"
#include "merge/model/array.h"
#include "merge/model/memory.h"
#include "merge/model/table.h"
#include "merge/model/userfile.h"
#include "schema/order.h"

/* Sums of what blocks represent. */
struct held {
    double bytes;
    double variance;
};

/* Blocks of a process (of its device) with one stack. */
struct spot {
    struct held all;  /* that were ever given */
    struct held live; /* now */
    struct held peak; /* at the peak with that number: */
    uint64_t peaks;
    double blocks;
    uint64_t samples;
    uint32_t stack;
    uint32_t holder;
};

/* A process, or one and its device. */
struct holder {
    struct held live;
    struct held peak;
    ck_time_t peak_at;
    uint64_t peaks; /* number of the last one */
};

/* A block of a device that is live, by its address. */
struct live {
    struct held block;
    uint32_t spot;
    bool is_there;
};

struct allocplaces {
    const struct defs *defs; /* borrowed */
    struct stackplaces *stacks;
    struct spot *spots; /* by the number of the stack */
    size_t count, room;
    struct table *keys; /* process, device */
    struct holder *holders;
    size_t holders_count, holders_room;
    struct table *addresses; /* process, address */
    struct live *lives;
    size_t lives_count, lives_room;
    enum allocplaces_of of;
    uint32_t mean;
    uint64_t damaged; /* records of blocks that cannot be */
};

struct allocplaces *allocplaces_create(const struct defs *defs,
                                       const struct lookback *lookback,
                                       enum allocplaces_of of)
{
    struct allocplaces *places = xcalloc(1, sizeof(*places));

    places->defs = defs;
    places->of = of;
    places->stacks = stackplaces_create(defs, lookback);
    places->keys = table_create();
    places->addresses = table_create();
    return places;
}

void allocplaces_destroy(struct allocplaces *places)
{
    if (places != NULL) {
        stackplaces_destroy(places->stacks);
        free(places->spots);
        free(places->holders);
        table_destroy(places->keys);
        table_destroy(places->addresses);
        free(places->lives);
        free(places);
    }
}

static uint32_t
holder_find(struct allocplaces *places, uint32_t process, uint32_t device)
{
    size_t number = (size_t)table_number_of(places->keys, process, device, 0);

    if (number == places->holders_count) {
        array_grow(&places->holders, &places->holders_room, number,
                   sizeof(*places->holders));
        places->holders[places->holders_count++] = (struct holder){.peaks = 0};
    }
    return (uint32_t)number;
}

/* Of a row; it is there. */
static const struct holder *holder_of(const struct allocplaces *places,
                                      const struct stackplace *of)
{
    const struct table_key key = {of->process, of->tid, 0};

    return &places->holders[table_find(places->keys, key)];
}

static struct spot *spot_find(struct allocplaces *places,
                              uint32_t process,
                              uint32_t device,
                              const struct ck_stacked *record)
{
    const struct ck_sample key = {.tid = device, .stack = record->stack};
    size_t number = stackplaces_number(places->stacks, process, &key);

    if (number == places->count) {
        array_grow(&places->spots, &places->room, places->count,
                   sizeof(*places->spots));
        places->spots[places->count++] =
            (struct spot){.stack = record->stack,
                          .holder = holder_find(places, process, device)};
    }
    return &places->spots[number];
}

static void held_add(struct held *held, const struct held *more, double sign)
{
    held->bytes += sign * more->bytes;
    held->variance += sign * more->variance;
}

/* What the stack held at the last peak stays known. */
static void spot_keep(struct spot *spot, const struct holder *holder)
{
    if (spot->peaks != holder->peaks) {
        spot->peak = spot->live;
        spot->peaks = holder->peaks;
    }
}

/* It was asked for. */
static void
block_count(struct spot *spot, const struct held *block, double blocks)
{
    held_add(&spot->all, block, 1);
    spot->blocks += blocks;
    spot->samples++;
}

static void block_add(struct spot *spot,
                      struct holder *holder,
                      const struct held *block,
                      ck_time_t at)
{
    held_add(&spot->live, block, 1);
    held_add(&holder->live, block, 1);
    if (holder->live.bytes > holder->peak.bytes) {
        holder->peak = holder->live;
        holder->peak_at = at;
        holder->peaks++;
    }
}

static void
block_remove(struct spot *spot, struct holder *holder, const struct held *block)
{
    if (spot->live.bytes > 0) {
        held_add(&spot->live, block, -1);
        held_add(&holder->live, block, -1);
    }
}

/* Whether it is a record of that memory. */
static bool is_taken(const struct allocplaces *places,
                     const struct ck_stacked *record)
{
    unsigned kind = record->e.kind;

    return places->of == ALLOCPLACES_DEVICES
               ? kind == CK_KIND_DEVICE_ALLOCATED ||
                     kind == CK_KIND_DEVICE_FREED
               : (kind == CK_KIND_ALLOCATED || kind == CK_KIND_FREED) &&
                     record->mean > 0;
}

static bool is_given(const struct ck_stacked *record)
{
    return record->e.kind == CK_KIND_ALLOCATED ||
           record->e.kind == CK_KIND_DEVICE_ALLOCATED;
}

static struct live *
live_find(struct allocplaces *places, uint32_t process, uint64_t address)
{
    size_t number =
        (size_t)table_number_of(places->addresses, process, address, 0);

    if (number == places->lives_count) {
        array_grow(&places->lives, &places->lives_room, number,
                   sizeof(*places->lives));
        places->lives[places->lives_count++] = (struct live){.is_there = false};
    }
    return &places->lives[number];
}

/* Memory of a device is known by its address: what gives it back may have
 * nothing else. One that is there when another one is given at its address was
 * given back without a record. */
static void device_take(struct allocplaces *places,
                        const struct timeline_event *event)
{
    const struct ck_stacked *record = (const struct ck_stacked *)event->record;
    struct live *live = live_find(places, event->process, record->address);
    struct spot *spot;

    if (live->is_there) {
        spot = &places->spots[live->spot];
        spot_keep(spot, &places->holders[spot->holder]);
        block_remove(spot, &places->holders[spot->holder], &live->block);
        live->is_there = false;
    }
    if (!is_given(record) || record->bytes == 0) {
        return;
    }
    places->mean = 1;
    spot = spot_find(places, event->process, record->mean, record);
    *live = (struct live){{.bytes = (double)record->bytes},
                          (uint32_t)(spot - places->spots),
                          true};
    spot_keep(spot, &places->holders[spot->holder]);
    block_count(spot, &live->block, 1);
    block_add(spot, &places->holders[spot->holder], &live->block, event->start);
}

/* A block of the allocator's. */
static void sampled_take(struct allocplaces *places,
                         const struct timeline_event *event)
{
    const struct ck_stacked *record = (const struct ck_stacked *)event->record;
    double p = -expm1(-(double)record->bytes / record->mean);
    struct held block = {.bytes = (double)record->bytes / p};
    struct spot *spot = spot_find(places, event->process, 0, record);
    struct holder *holder = &places->holders[spot->holder];

    block.variance = block.bytes * block.bytes * (1 - p);
    spot_keep(spot, holder);
    if (is_given(record)) {
        if ((record->e.flags & CK_FLAG_PART) == 0) {
            places->mean = record->mean;
            block_count(spot, &block, 1 / p);
        }
        block_add(spot, holder, &block, event->start);
    } else {
        block_remove(spot, holder, &block);
    }
}

void allocplaces_take(void *consumer, const struct timeline_event *event)
{
    struct allocplaces *places = consumer;
    const struct ck_stacked *record = (const struct ck_stacked *)event->record;

    if (!is_taken(places, record) ||
        !defs_is_wanted(places->defs,
                        places->defs->processes[event->process].rank)) {
        return;
    }
    if (record->bytes > CK_BLOCK_BYTES_MAX) {
        places->damaged++;
    } else if (places->of == ALLOCPLACES_DEVICES) {
        device_take(places, event);
    } else if (record->bytes > 0) {
        sampled_take(places, event);
    }
}

/* ---- rows ---------------------------------------------------------------- */

/* Sums of damaged records may be larger than any number. */
static uint64_t rounded(double number)
{
    if (number >= (double)UINT64_MAX) {
        return UINT64_MAX;
    }
    return number < 1 ? 0 : (uint64_t)(number + 0.5);
}

static uint64_t deviation(const struct held *held)
{
    return held->variance <= 0 ? 0 : rounded(sqrt(held->variance));
}

/* What the stack held at the last peak of its process. */
static struct held peak_of(const struct allocplaces *places,
                           const struct stackplace *of)
{
    const struct spot *spot = &places->spots[of->number];

    return spot->peaks == holder_of(places, of)->peaks ? spot->peak
                                                       : spot->live;
}

/* Sums over rows of one function. */
struct sums {
    struct held all, peak, live;
    double blocks;
    uint64_t samples;
};

static void sums_add(struct sums *sums,
                     const struct allocplaces *places,
                     const struct stackplace *of)
{
    const struct spot *spot = &places->spots[of->number];
    struct held peak = peak_of(places, of);

    held_add(&sums->all, &spot->all, 1);
    held_add(&sums->live, &spot->live, 1);
    held_add(&sums->peak, &peak, 1);
    sums->blocks += spot->blocks;
    sums->samples += spot->samples;
}

static struct report_held held_report(const struct sums *sums)
{
    return (struct report_held){
        .bytes = rounded(sums->all.bytes),
        .bytes_error = deviation(&sums->all),
        .peak = rounded(sums->peak.bytes),
        .peak_error = deviation(&sums->peak),
        .last = rounded(sums->live.bytes),
        .blocks = rounded(sums->blocks),
        .samples = sums->samples,
    };
}

/* Rows of one function, those of a rank together. */
static struct report_allocation function_make(const struct allocplaces *places,
                                              const struct stackplace *rows,
                                              size_t count)
{
    struct report_allocation row = {
        .place = stackplaces_line(rows, count),
        .callers = stackplaces_callers(places->stacks, rows, count),
        .rank = rows[0].rank};
    struct sums all = {.samples = 0}, rank = {.samples = 0};

    for (size_t i = 0; i < count; i++) {
        bool is_new = i == 0 || rows[i].rank != rows[i - 1].rank;

        rank = is_new ? (struct sums){.samples = 0} : rank;
        row.ranks += is_new;
        sums_add(&all, places, &rows[i]);
        sums_add(&rank, places, &rows[i]);
        if (rounded(rank.peak.bytes) > row.rank_peak) {
            row.rank_peak = rounded(rank.peak.bytes);
            row.rank = rows[i].rank;
        }
    }
    row.held = held_report(&all);
    return row;
}

CK_ORDER(most_first,
         struct report_allocation,
         CK_DOWN(held.peak) ?: CK_DOWN(held.bytes))

CK_ORDER(by_rank,
         struct stackplace,
         CK_UP(rank) ?: CK_UP(tid) ?: CK_UP(process))

/* Of a rank (and its device): its processes, each at its own peak; the time is
 * that of the one that had the most. */
static struct report_allocation_rank rank_make(const struct allocplaces *places,
                                               const struct stackplace *rows,
                                               size_t count)
{
    struct report_allocation_rank row = {.rank = rows[0].rank,
                                         .device = rows[0].tid};
    struct sums sums = {.samples = 0};
    double most = 0;

    for (size_t i = 0; i < count; i++) {
        const struct holder *holder = holder_of(places, &rows[i]);

        sums_add(&sums, places, &rows[i]);
        row.processes += i == 0 || rows[i].process != rows[i - 1].process;
        if (holder->peak.bytes > most) {
            most = holder->peak.bytes;
            row.peak_at = holder->peak_at;
            row.process = rows[i].process;
        }
    }
    row.held = held_report(&sums);
    return row;
}

/* `rows` in another order afterwards. */
static void ranks_report(const struct allocplaces *places,
                         struct stackplace *rows,
                         size_t count,
                         struct report_allocations *report)
{
    size_t end;

    report->ranks = xcalloc(count + 1, sizeof(*report->ranks));
    if (count > 1) {
        qsort(rows, count, sizeof(*rows), by_rank);
    }
    for (size_t at = 0; at < count; at = end) {
        end = at + 1;
        while (end < count && rows[end].rank == rows[at].rank &&
               rows[end].tid == rows[at].tid) {
            end++;
        }
        report->ranks[report->ranks_count++] =
            rank_make(places, &rows[at], end - at);
    }
}

static void functions_report(const struct allocplaces *places,
                             const struct stackplace *rows,
                             size_t count,
                             struct report_allocations *report)
{
    size_t end;

    report->places = xcalloc(count + 1, sizeof(*report->places));
    for (size_t at = 0; at < count; at = end) {
        end = at + 1;
        while (end < count && stackplaces_is_function(&rows[at], &rows[end])) {
            end++;
        }
        report->places[report->places_count++] =
            function_make(places, &rows[at], end - at);
    }
    if (report->places_count > 1) {
        qsort(report->places, report->places_count, sizeof(*report->places),
              most_first);
    }
    if (report->places_count > ALLOCPLACES_LISTED_MAX) {
        report->places_count = ALLOCPLACES_LISTED_MAX;
    }
}

/* The device's name, where the row has one. */
static const char *device_name(const struct defs *defs,
                               const struct report_allocation_rank *row)
{
    const struct defs_process *process = &defs->processes[row->process];

    for (size_t i = 0; i < process->devices_count; i++) {
        if (process->devices[i].number == row->device) {
            return process->devices[i].name;
        }
    }
    return NULL;
}

/* The innermost function of the user's own: templates of the standard library
 * are in the user's program, too. */
static struct place user_place(const struct allocplaces *places,
                               const struct stackplace *of)
{
    const struct defs *defs = places->defs;
    const struct defs_agent *agent =
        &defs->agents[defs->processes[of->process].agent];
    uint32_t number = places->spots[of->number].stack;
    const struct defs_stack *stack = defs_stack_find(agent, number);

    for (uint32_t i = 0; stack != NULL && i < stack->depth; i++) {
        struct place place = defs_place(defs, of->process, stack->frames[i]);

        if (place.file != NULL && userfile_path(place.file)) {
            return place;
        }
    }
    return of->place;
}

void allocplaces_report(const struct allocplaces *places, struct report *report)
{
    struct report_allocations *to = places->of == ALLOCPLACES_DEVICES
                                        ? &report->device_memory
                                        : &report->allocations;
    struct stackplace *rows = xcalloc(places->count + 1, sizeof(*rows));

    if (places->damaged > 0) {
        report->damage_places += places->damaged;
        report->damage_first = "a block of more than 2^48 bytes in a record";
    }
    for (size_t i = 0; i < places->count; i++) {
        rows[i] = stackplaces_at(places->stacks, i);
        stackplaces_move(places->stacks, &rows[i],
                         user_place(places, &rows[i]));
        rows[i].weight = rounded(places->spots[i].all.bytes);
    }
    stackplaces_sort(rows, places->count);
    to->mean = places->mean;
    functions_report(places, rows, places->count, to);
    ranks_report(places, rows, places->count, to);
    for (size_t i = 0; i < to->ranks_count; i++) {
        to->ranks[i].device_name = device_name(places->defs, &to->ranks[i]);
    }
    free(rows);
}
