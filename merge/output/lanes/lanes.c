/* lanes.c - the run as rows of a timeline, in bounded memory
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "merge/output/lanes/lanes.h"

#include <stdlib.h>
#include <string.h>

#include "merge/analysis/devices/devices.h"
#include "merge/model/array.h"
#include "merge/model/defs.h"
#include "merge/model/memory.h"
#include "merge/model/table.h"
#include "merge/model/threadindex.h"
#include "merge/output/lanes/longest.h"
#include "merge/output/lanes/placednames.h"
#include "schema/order.h"

/* Rows of one thread or queue whose items nest or overlap. */
#define DEPTHS 4
#define ROWS_MOST ((size_t)1 << 16)
/* Rows that are in no picture of all ranks get no more than these: devices and
 * first threads that come late have room beside any number of threads. */
#define ROWS_OTHER (ROWS_MOST / 2)
#define WAITS_MOST ((size_t)1 << 14)
/* Names whose class is remembered, by address. */
#define KNOWN 1024
/* Threads and queues whose rows are. */
#define KNOWN_ROWS 1024
/* The first level is that part of the run, each further one twice it. */
#define LEVEL_FIRST 65536
#define LEVEL_NEXT 2
/* Full lanes of a rank, where that is guessed: of a run that is folded from the
 * start, half as many items are kept as there may be. */
#define RANK_LANES 8

struct known {
    const char *name;
    uint16_t kind; /* of the record; 0 = unused */
    uint8_t class;
};

/* The same of a call, with its name for the place that it was called from. */
struct known_call {
    const char *name;
    uint64_t site;
    uint32_t process;
    uint16_t kind; /* 0 = unused */
    uint8_t class;
    const char *placed;
};

/* Where an item belongs, in registers: one for each record. */
struct where {
    uint64_t of;   /* process << 32 | number of the thread or device */
    uint64_t kind; /* queue << 32 | enum lanes_kind and 1 */
};

/* Rows of one thread or queue that were found lately. */
struct known_rows {
    struct where where;
    uint32_t rows[DEPTHS]; /* their numbers and 1; 0 = not known */
};

struct lanes {
    const struct defs *defs; /* borrowed */
    struct region part;
    size_t items_most;
    size_t items; /* in all lanes */
    ck_time_t w;
    struct lanes_row *rows;
    size_t rows_count;
    size_t rows_room;
    struct table *keys;
    struct shown_wait *waits; /* the longest ones */
    struct longest longest;   /* of them */
    uint64_t waits_left;
    uint64_t taken;
    uint64_t hidden;
    struct closeups *closeups;
    struct raster *raster; /* NULL = few ranks */
    struct placednames *placed;
    struct threadindex *threads;
    struct known known[KNOWN];
    struct known_call known_calls[KNOWN];
    struct known_rows known_rows[KNOWN_ROWS];
};

/* Records that are stored: nearly all are items. */
static uint64_t records_of(const struct defs *defs)
{
    uint64_t records = 0;

    for (size_t i = 0; i < defs->agents_count; i++) {
        records += defs->agents[i].events;
    }
    return records;
}

struct lanes *
lanes_create(const struct defs *defs, struct region part, size_t items)
{
    struct lanes *lanes = xcalloc(1, sizeof(*lanes));

    lanes->defs = defs;
    lanes->part = part;
    lanes->items_most = items;
    if (records_of(defs) > items / 2 * 3) {
        lanes->w = region_length(part) / (ck_time_t)items * RANK_LANES *
                   (ck_time_t)(defs->ranks_count + 1);
        lanes->w = lanes->w < 2 ? 2 : lanes->w;
    }
    lanes->keys = table_create();
    lanes->waits = xmalloc(WAITS_MOST * sizeof(*lanes->waits));
    lanes->longest.most = WAITS_MOST;
    lanes->closeups = closeups_create();
    lanes->placed = placednames_create(defs);
    lanes->threads = threadindex_create(defs);
    if (defs->ranks_count > RASTER_RANKS_SHOWN &&
        defs->ranks_count <= ROWS_MOST / DEPTHS) {
        lanes->raster = raster_create(part, defs->ranks_count, LANES_CLASSES);
    }
    return lanes;
}

void lanes_destroy(struct lanes *lanes)
{
    if (lanes == NULL) {
        return;
    }
    for (size_t i = 0; i < lanes->rows_count; i++) {
        lane_fini(&lanes->rows[i].lane);
    }
    free(lanes->rows);
    free(lanes->waits);
    longest_fini(&lanes->longest);
    table_destroy(lanes->keys);
    closeups_destroy(lanes->closeups);
    raster_destroy(lanes->raster);
    placednames_destroy(lanes->placed);
    threadindex_destroy(lanes->threads);
    free(lanes);
}

static struct where
where_of(enum lanes_kind kind, uint32_t process, uint32_t number)
{
    return (struct where){(uint64_t)process << 32 | number, (uint64_t)kind + 1};
}

/* Is it of those that the picture of all ranks is made from? */
static bool is_pictured(const struct defs *defs, const struct lanes_row *row)
{
    return row->depth == 0 &&
           (row->kind == LANES_IDLE || row->kind == LANES_QUEUE ||
            (row->kind == LANES_CALLS && lanes_is_main(defs, row)));
}

static bool has_room(const struct lanes *lanes, const struct lanes_row *row)
{
    return lanes->rows_count < ROWS_OTHER ||
           (lanes->rows_count < ROWS_MOST && is_pictured(lanes->defs, row));
}

/* The number and 1 of the row of that depth, made at first sight; 0 = there are
 * too many. */
static uint32_t row_number(struct lanes *lanes,
                           struct where where,
                           int32_t rank,
                           uint32_t depth)
{
    const struct table_key key = {where.of, where.kind, depth};
    const struct lanes_row row = {
        .kind = (enum lanes_kind)((uint32_t)where.kind - 1),
        .rank = rank,
        .process = (uint32_t)(where.of >> 32),
        .number = (uint32_t)where.of,
        .queue = (uint32_t)(where.kind >> 32),
        .depth = depth};
    size_t number;

    if (!has_room(lanes, &row) && !table_has(lanes->keys, key)) {
        return 0;
    }
    number = (size_t)table_number(lanes->keys, key);
    if (number == lanes->rows_count) {
        array_grow(&lanes->rows, &lanes->rows_room, lanes->rows_count,
                   sizeof(*lanes->rows));
        lanes->rows[lanes->rows_count++] = row;
        closeups_row(lanes->closeups, (uint32_t)number, rank,
                     row.kind == LANES_IDLE);
    }
    return (uint32_t)number + 1;
}

/* What is remembered of the rows of a thread or a queue. */
static inline struct known_rows *known_rows(struct lanes *lanes,
                                            struct where where)
{
    uint64_t hash = (where.of ^ where.kind << 24) * 0x9e3779b97f4a7c15u;
    struct known_rows *known =
        &lanes->known_rows[hash >> 32 & (KNOWN_ROWS - 1)];

    if (known->where.of != where.of || known->where.kind != where.kind) {
        *known = (struct known_rows){.where = where};
    }
    return known;
}

static void fold_all(struct lanes *lanes)
{
    ck_time_t first = region_length(lanes->part) / LEVEL_FIRST;

    lanes->w = lanes->w == 0 ? (first > 1 ? first : 2) : lanes->w * LEVEL_NEXT;
    lanes->items = 0;
    for (size_t i = 0; i < lanes->rows_count; i++) {
        lane_fold(&lanes->rows[i].lane, lanes->w);
        lanes->items += lanes->rows[i].lane.count;
    }
}

void lanes_shrink(struct lanes *lanes, size_t items)
{
    /* A level as long as the run leaves a few items a lane. */
    while (lanes->items > items && lanes->w < region_length(lanes->part)) {
        fold_all(lanes);
    }
}

/* The first row of that place, from `depth` on, where what begins at `start`
 * does not overlap: its number and 1; 0 = there is none. */
static uint32_t row_find(struct lanes *lanes,
                         struct known_rows *known,
                         int32_t rank,
                         ck_time_t start)
{
    for (uint32_t depth = 0; depth < DEPTHS; depth++) {
        const struct lane *lane;

        if (known->rows[depth] == 0) {
            known->rows[depth] = row_number(lanes, known->where, rank, depth);
        }
        if (known->rows[depth] == 0) {
            return 0;
        }
        lane = &lanes->rows[known->rows[depth] - 1].lane;
        if (lane->count == 0 || lane->end <= start) {
            return known->rows[depth];
        }
    }
    return 0;
}

bool lanes_is_main(const struct defs *defs, const struct lanes_row *row)
{
    const struct defs_thread *thread;

    if (row->kind == LANES_IDLE || row->kind == LANES_QUEUE) {
        return false;
    }
    thread = &defs->threads[row->number];
    return thread->tid == defs->processes[thread->process].pid;
}

/* What is put into a row. */
struct put {
    struct region part;
    const char *name; /* NULL = none */
    uint8_t class;
};

/* Into the cells of its rank: a device's, else calls of its first thread. */
static __attribute__((noinline)) void raster_put(const struct lanes *lanes,
                                                 uint32_t number,
                                                 struct region part,
                                                 uint8_t class)
{
    const struct lanes_row *row = &lanes->rows[number];
    const struct raster_lane lane = {number,
                                     defs_rank_index(lanes->defs, row->rank),
                                     row->kind == LANES_CALLS};

    if (lane.rank < lanes->defs->ranks_count && is_pictured(lanes->defs, row)) {
        raster_item(lanes->raster, &lane, part, class);
    }
}

/* Into a row of that place, and among the items that are remembered. */
static inline __attribute__((always_inline)) void
put(struct lanes *lanes, struct where where, int32_t rank, struct put item)
{
    struct known_rows *known = known_rows(lanes, where);
    uint32_t number = known->rows[0];
    struct lane *lane;
    size_t before;

    lanes->taken++;
    if (number == 0 || lanes->rows[number - 1].lane.end > item.part.start) {
        number = row_find(lanes, known, rank, item.part.start);
        if (number == 0) {
            lanes->hidden++;
            return;
        }
    }
    if ((uint32_t)where.kind == LANES_IDLE + 1) {
        closeups_late(lanes->closeups, number - 1, item.part.end);
    }
    closeups_put(lanes->closeups, number - 1, item.part, item.class, item.name);
    if (lanes->raster != NULL) {
        raster_put(lanes, number - 1, item.part, item.class);
    }
    lane = &lanes->rows[number - 1].lane;
    before = lane->count;
    lane_put(lane, item.part, item.class, item.name, lanes->w);
    lanes->items += lane->count - before;
    if (lanes->items > lanes->items_most) {
        lanes_shrink(lanes, lanes->items_most / 4 * 3);
    }
}

static uint8_t class_find(uint16_t kind, const char *name)
{
    if (kind >= CK_KIND_COPY_H2D && kind <= CK_KIND_COPY_MAP) {
        return LANES_COPY;
    }
    if (kind == CK_KIND_KERNEL) {
        return name != NULL && devices_is_communication(name) ? LANES_COMM
                                                              : LANES_COMPUTE;
    }
    return (uint8_t)cause_of_call(kind, name);
}

/* The same, remembered: kept texts stay where they are. */
static inline uint8_t
class_of(struct lanes *lanes, uint16_t kind, const char *name)
{
    size_t at = ((uintptr_t)name / 8 + kind) % KNOWN;
    struct known *known = &lanes->known[at];

    if (known->kind != kind || known->name != name) {
        *known = (struct known){name, kind, class_find(kind, name)};
    }
    return known->class;
}

static inline struct put
item_of(const struct timeline_event *event, uint8_t class, const char *name)
{
    return (struct put){{event->start, event->end}, name, class};
}

/* An item with the name and the class of its record. */
static inline __attribute__((always_inline)) void put_named(
    struct lanes *lanes, struct where where, const struct timeline_event *event)
{
    const char *name =
        defs_name(lanes->defs, event->process, event->record->name);

    put(lanes, where, event->rank,
        item_of(event, class_of(lanes, event->record->kind, name), name));
}

/* The address that a call was called from, at the same place in all three
 * classes; 0 = such records have none. */
static inline uint64_t site_of(const struct ck_event *record)
{
    switch (record->kind) {
    case CK_KIND_OVERHEAD:
    case CK_KIND_SYNC:
    case CK_KIND_NCCL_CALL:
        return 0;
    default:
        return ((const struct ck_call *)record)->site;
    }
}

/* What such a call is drawn as, remembered. */
static inline const struct known_call *
known_call(struct lanes *lanes, const struct timeline_event *event)
{
    const struct ck_event *record = event->record;
    const char *name = defs_name(lanes->defs, event->process, record->name);
    uint64_t site = site_of(record);
    size_t at = ((uintptr_t)name / 8 + record->kind + (site >> 2) +
                 (size_t)event->process * 13) %
                KNOWN;
    struct known_call *known = &lanes->known_calls[at];

    if (known->kind != record->kind || known->name != name ||
        known->site != site || known->process != event->process) {
        *known = (struct known_call){
            name,
            site,
            event->process,
            record->kind,
            class_of(lanes, record->kind, name),
            placednames_of(lanes->placed, event->process, name, site)};
    }
    return known;
}

static void take_call(struct lanes *lanes, const struct timeline_event *event)
{
    const struct known_call *known = known_call(lanes, event);

    put(lanes, where_of(LANES_CALLS, event->process, event->thread),
        event->rank, item_of(event, known->class, known->placed));
}

/* tid, call, device and queue are alike in kernels and copies. */
static void take_device(struct lanes *lanes, const struct timeline_event *event)
{
    const struct ck_copy *work = (const struct ck_copy *)event->record;
    struct where where = where_of(LANES_QUEUE, event->process, work->device);

    if ((event->record->flags & CK_FLAG_BAD_TIME) == 0) {
        where.kind |= (uint64_t)work->queue << 32;
        put_named(lanes, where, event);
    }
}

/* A collector recorded it of one of its processes. Threads that recorded
 * nothing themselves have no row. */
static void take_off(struct lanes *lanes, const struct timeline_event *event)
{
    const struct ck_mark *mark = (const struct ck_mark *)event->record;
    uint32_t thread = threadindex_told(
        lanes->threads, lanes->defs->processes[event->process].agent,
        mark->e.name, (uint32_t)mark->value);
    uint32_t process;

    if (thread == DEFS_NONE) {
        return;
    }
    process = lanes->defs->threads[thread].process;
    put(lanes, where_of(LANES_OFFCPU, process, thread),
        lanes->defs->processes[process].rank,
        item_of(event,
                mark->e.kind == CK_KIND_PREEMPTED ? CAUSE_OFFCPU_RUNNABLE
                                                  : CAUSE_OFFCPU_BLOCKED,
                NULL));
}

static void take_mark(struct lanes *lanes, const struct timeline_event *event)
{
    if (event->record->kind == CK_KIND_PREEMPTED ||
        event->record->kind == CK_KIND_BLOCKED) {
        take_off(lanes, event);
    } else if (event->record->kind == CK_KIND_STEP) {
        closeups_step(lanes->closeups, event->end - event->start);
        put(lanes, where_of(LANES_STEPS, event->process, event->thread),
            event->rank, item_of(event, LANES_STEP, NULL));
    } else if (event->record->kind == CK_KIND_RANGE) {
        put(lanes, where_of(LANES_RANGES, event->process, event->thread),
            event->rank,
            item_of(
                event, LANES_RANGE,
                defs_name(lanes->defs, event->process, event->record->name)));
    }
}

int lanes_take(void *consumer, const struct timeline_event *event)
{
    struct lanes *lanes = consumer;

    if (event->end <= lanes->part.start || event->start >= lanes->part.end) {
        return 0;
    }
    switch (ck_kind_class(event->record->kind)) {
    case CK_CLASS_MARK:
        take_mark(lanes, event);
        return 0;
    case CK_CLASS_CALL:
    case CK_CLASS_MESSAGE:
    case CK_CLASS_COLLECTIVE:
        if (!ck_kind_is_about_call(event->record->kind)) {
            take_call(lanes, event);
        }
        return 0;
    case CK_CLASS_KERNEL:
    case CK_CLASS_COPY:
        take_device(lanes, event);
        return 0;
    default:
        return 0;
    }
}

void lanes_idle(struct lanes *lanes, const struct lanes_gap *gap)
{
    const struct put item = {gap->part, NULL, (uint8_t)gap->why.cause};
    const int32_t ranks[CLOSEUP_RANKS] = {gap->rank, gap->why.blamed,
                                          gap->last};

    if (gap->part.start < gap->part.end) {
        put(lanes, where_of(LANES_IDLE, 0, gap->physical), gap->rank, item);
        closeups_piece(lanes->closeups, &gap->why, gap->part, ranks);
    }
}

static ck_time_t wait_length(const struct shown_wait *wait)
{
    return region_length(wait->part);
}

/* Of the waits for each rank the longest is worth a close look. */
static void wait_piece(struct lanes *lanes, const struct shown_wait *wait)
{
    const struct closeup_of of = {.cause = CAUSES, .blamed = wait->whom};
    const int32_t ranks[CLOSEUP_RANKS] = {wait->rank, wait->whom, wait->whom};

    if (wait->whom != DEFS_RANK_UNKNOWN) {
        closeups_piece(lanes->closeups, &of, wait->part, ranks);
    }
}

void lanes_wait(struct lanes *lanes, const struct shown_wait *wait)
{
    size_t place;

    if (wait->rank == DEFS_RANK_UNKNOWN ||
        wait->part.end <= lanes->part.start ||
        wait->part.start >= lanes->part.end) {
        return;
    }
    wait_piece(lanes, wait);
    lanes->waits_left += lanes->longest.count == WAITS_MOST;
    place = longest_put(&lanes->longest, wait_length(wait));
    if (place != LONGEST_NONE) {
        lanes->waits[place] = *wait;
    }
}

void lanes_finish(struct lanes *lanes)
{
    closeups_finish(lanes->closeups);
    if (lanes->raster != NULL) {
        raster_finish(lanes->raster);
    }
}

const struct place *lanes_place(const struct lanes *lanes, const char *name)
{
    return placednames_place(lanes->placed, name);
}

const struct closeups *lanes_closeups(const struct lanes *lanes)
{
    return lanes->closeups;
}

const struct raster *lanes_raster(const struct lanes *lanes)
{
    return lanes->raster;
}

const struct lanes_row *lanes_rows(const struct lanes *lanes, size_t *count)
{
    *count = lanes->rows_count;
    return lanes->rows;
}

CK_ORDER(by_start, struct shown_wait, CK_UP(part.start))

const struct shown_wait *lanes_waits(struct lanes *lanes, size_t *count)
{
    qsort(lanes->waits, lanes->longest.count, sizeof(*lanes->waits), by_start);
    *count = lanes->longest.count;
    return lanes->waits;
}

ck_time_t lanes_level(const struct lanes *lanes)
{
    return lanes->w;
}

struct region lanes_part(const struct lanes *lanes)
{
    return lanes->part;
}

uint64_t lanes_taken(const struct lanes *lanes)
{
    return lanes->taken;
}

size_t lanes_count(const struct lanes *lanes)
{
    return lanes->items;
}

uint64_t lanes_hidden(const struct lanes *lanes)
{
    return lanes->hidden;
}

uint64_t lanes_waits_left(const struct lanes *lanes)
{
    return lanes->waits_left;
}

const char *lanes_class_name(unsigned class)
{
    static const char *const names[] = {"compute", "comm_transfer", "copy_only",
                                        "range", "step"};

    if (class >= LANES_COMPUTE) {
        return names[class - LANES_COMPUTE];
    }
    return class < CAUSES ? cause_name(class) : "";
}
