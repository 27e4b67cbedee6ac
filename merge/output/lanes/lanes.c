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
#include "schema/order.h"

/* Rows of one thread or queue whose items nest or overlap. */
#define DEPTHS 4
#define ROWS_MOST ((size_t)1 << 16)
#define WAITS_MOST ((size_t)1 << 14)
/* Names whose class is remembered, by address. */
#define KNOWN 1024
/* Threads and queues whose rows are. */
#define KNOWN_ROWS 256
/* The first level is that part of the run, each further one twice it. */
#define LEVEL_FIRST 65536
#define LEVEL_NEXT 2
/* Full lanes of a rank, where that is guessed: of a run that is folded from the
 * start, half as many items are kept as there may be. */
#define RANK_LANES 4

struct known {
    const char *name;
    uint16_t kind; /* of the record; 0 = unused */
    uint8_t class;
};

/* Rows of one thread or queue that were found lately. */
struct known_rows {
    uint32_t kind; /* and 1; 0 = unused */
    uint32_t process;
    uint32_t number;
    uint32_t queue;
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
    struct shown_wait *waits; /* a heap, the shortest first */
    size_t waits_count;
    uint64_t waits_left;
    uint64_t taken;
    uint64_t hidden;
    struct closeups *closeups;
    struct known known[KNOWN];
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
    lanes->waits = xcalloc(WAITS_MOST, sizeof(*lanes->waits));
    lanes->closeups = closeups_create();
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
    table_destroy(lanes->keys);
    closeups_destroy(lanes->closeups);
    free(lanes);
}

static struct table_key key_of(const struct lanes_row *what)
{
    return (struct table_key){(uint64_t)what->kind << 32 | what->depth,
                              (uint64_t)what->process << 32 | what->number,
                              what->queue};
}

/* The row of that place, made at first sight. */
static struct lanes_row *row_of(struct lanes *lanes,
                                const struct lanes_row *what)
{
    int64_t number = table_number(lanes->keys, key_of(what));

    if ((size_t)number == lanes->rows_count) {
        array_grow(&lanes->rows, &lanes->rows_room, lanes->rows_count,
                   sizeof(*lanes->rows));
        lanes->rows[lanes->rows_count++] = *what;
    }
    return &lanes->rows[number];
}

/* Is there no room for a row that is not there yet? */
static bool is_full(const struct lanes *lanes, const struct lanes_row *what)
{
    return lanes->rows_count >= ROWS_MOST &&
           !table_has(lanes->keys, key_of(what));
}

/* What is remembered of the rows of a thread or a queue. */
static struct known_rows *known_rows(struct lanes *lanes,
                                     const struct lanes_row *what)
{
    uint32_t at = what->number * 5 + what->process * 31 + what->queue * 3 +
                  (uint32_t)what->kind;
    struct known_rows *known = &lanes->known_rows[at % KNOWN_ROWS];

    if (known->kind != (uint32_t)what->kind + 1 ||
        known->process != what->process || known->number != what->number ||
        known->queue != what->queue) {
        *known = (struct known_rows){.kind = (uint32_t)what->kind + 1,
                                     .process = what->process,
                                     .number = what->number,
                                     .queue = what->queue};
    }
    return known;
}

static ck_time_t row_end(const struct lanes_row *row)
{
    return row->lane.count == 0 ? INT64_MIN
                                : row->lane.items[row->lane.count - 1].end;
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

/* Into that row, and among the items that are remembered. */
static void
row_put(struct lanes *lanes, uint32_t number, const struct lane_item *item)
{
    struct lanes_row *row = &lanes->rows[number];
    const struct closeup_item own = {item->start,
                                     item->end,
                                     item->name,
                                     number,
                                     row->rank,
                                     item->class,
                                     row->kind == LANES_IDLE};
    size_t before = row->lane.count;

    lane_add(&row->lane, item, lanes->w);
    lanes->items += row->lane.count - before;
    closeups_item(lanes->closeups, &own);
    if (lanes->items > lanes->items_most) {
        lanes_shrink(lanes, lanes->items_most / 4 * 3);
    }
}

/* The number and 1 of the row of that depth, made at first sight; 0 = there are
 * too many. */
static uint32_t
row_number(struct lanes *lanes, const struct lanes_row *what, uint32_t depth)
{
    struct lanes_row where = *what;

    where.depth = depth;
    return is_full(lanes, &where)
               ? 0
               : (uint32_t)(row_of(lanes, &where) - lanes->rows) + 1;
}

/* Into the first row of that place where it does not overlap. */
static void put(struct lanes *lanes,
                const struct lanes_row *what,
                const struct lane_item *item)
{
    struct known_rows *known = known_rows(lanes, what);

    lanes->taken++;
    for (uint32_t depth = 0; depth < DEPTHS; depth++) {
        if (known->rows[depth] == 0) {
            known->rows[depth] = row_number(lanes, what, depth);
        }
        if (known->rows[depth] == 0) {
            break;
        }
        if (row_end(&lanes->rows[known->rows[depth] - 1]) <= item->start) {
            row_put(lanes, known->rows[depth] - 1, item);
            return;
        }
    }
    lanes->hidden++;
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
static uint8_t class_of(struct lanes *lanes, uint16_t kind, const char *name)
{
    size_t at = ((uintptr_t)name / 8 + kind) % KNOWN;
    struct known *known = &lanes->known[at];

    if (known->kind != kind || known->name != name) {
        *known = (struct known){name, kind, class_find(kind, name)};
    }
    return known->class;
}

/* tid, call, device and queue are alike in kernels and copies. */
static void take_device(struct lanes *lanes, const struct timeline_event *event)
{
    const struct ck_copy *work = (const struct ck_copy *)event->record;
    const char *name =
        defs_name(lanes->defs, event->process, event->record->name);
    struct lanes_row row = {.kind = LANES_QUEUE,
                            .rank = event->rank,
                            .process = event->process,
                            .number = work->device,
                            .queue = work->queue};
    struct lane_item item;

    if ((event->record->flags & CK_FLAG_BAD_TIME) != 0) {
        return;
    }
    item = lane_item(event->start, event->end,
                     class_of(lanes, event->record->kind, name), name);
    put(lanes, &row, &item);
}

static void take_mark(struct lanes *lanes, const struct timeline_event *event)
{
    struct lanes_row row = {.rank = event->rank,
                            .process = event->process,
                            .number = event->thread};
    struct lane_item item;

    if (event->record->kind == CK_KIND_STEP) {
        row.kind = LANES_STEPS;
        closeups_step(lanes->closeups, event->end - event->start);
        item = lane_item(event->start, event->end, LANES_STEP, NULL);
    } else if (event->record->kind == CK_KIND_RANGE) {
        row.kind = LANES_RANGES;
        item = lane_item(
            event->start, event->end, LANES_RANGE,
            defs_name(lanes->defs, event->process, event->record->name));
    } else {
        return;
    }
    put(lanes, &row, &item);
}

static void take_call(struct lanes *lanes, const struct timeline_event *event)
{
    struct lanes_row row = {.kind = LANES_CALLS,
                            .rank = event->rank,
                            .process = event->process,
                            .number = event->thread};
    const char *name =
        defs_name(lanes->defs, event->process, event->record->name);
    struct lane_item item;

    if (event->record->kind == CK_KIND_COMPLETE) {
        return;
    }
    item = lane_item(event->start, event->end,
                     class_of(lanes, event->record->kind, name), name);
    put(lanes, &row, &item);
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
        take_call(lanes, event);
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
    const struct lanes_row row = {
        .kind = LANES_IDLE, .rank = gap->rank, .number = gap->physical};
    const struct lane_item item = lane_item(gap->part.start, gap->part.end,
                                            (uint8_t)gap->why.cause, NULL);
    const int32_t ranks[CLOSEUP_RANKS] = {gap->rank, gap->why.blamed,
                                          gap->last};

    if (gap->part.start < gap->part.end) {
        put(lanes, &row, &item);
        closeups_piece(lanes->closeups, &gap->why, gap->part, ranks);
    }
}

static ck_time_t wait_length(const struct shown_wait *wait)
{
    return region_length(wait->part);
}

/* The shortest one at the top again, from `at` down. */
static void waits_sink(struct lanes *lanes, size_t at)
{
    struct shown_wait *waits = lanes->waits;

    for (;;) {
        size_t low = at;

        for (size_t child = 2 * at + 1; child <= 2 * at + 2; child++) {
            if (child < lanes->waits_count &&
                wait_length(&waits[child]) < wait_length(&waits[low])) {
                low = child;
            }
        }
        if (low == at) {
            return;
        }
        struct shown_wait swap = waits[at];

        waits[at] = waits[low];
        waits[low] = swap;
        at = low;
    }
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
    if (wait->rank == DEFS_RANK_UNKNOWN ||
        wait->part.end <= lanes->part.start ||
        wait->part.start >= lanes->part.end) {
        return;
    }
    wait_piece(lanes, wait);
    if (lanes->waits_count < WAITS_MOST) {
        lanes->waits[lanes->waits_count++] = *wait;
        for (size_t i = lanes->waits_count == WAITS_MOST ? WAITS_MOST / 2 : 0;
             i-- > 0;) {
            waits_sink(lanes, i);
        }
        return;
    }
    lanes->waits_left++;
    if (wait_length(wait) > wait_length(&lanes->waits[0])) {
        lanes->waits[0] = *wait;
        waits_sink(lanes, 0);
    }
}

void lanes_finish(struct lanes *lanes)
{
    closeups_finish(lanes->closeups);
}

const struct closeups *lanes_closeups(const struct lanes *lanes)
{
    return lanes->closeups;
}

const struct lanes_row *lanes_rows(const struct lanes *lanes, size_t *count)
{
    *count = lanes->rows_count;
    return lanes->rows;
}

CK_ORDER(by_start, struct shown_wait, CK_UP(part.start))

const struct shown_wait *lanes_waits(struct lanes *lanes, size_t *count)
{
    qsort(lanes->waits, lanes->waits_count, sizeof(*lanes->waits), by_start);
    *count = lanes->waits_count;
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
