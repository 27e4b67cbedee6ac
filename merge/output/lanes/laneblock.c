/* laneblock.c - lanes as two blocks of bytes: what there is, and its items
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "merge/output/lanes/laneblock.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "merge/model/defs.h"
#include "merge/model/memory.h"
#include "merge/model/table.h"
#include "merge/output/cxxname.h"
#include "merge/output/numbers.h"
#include "schema/json.h"

#define VERSION 1
/* Ticks of a level, so that a run is as exact as a pixel can show. */
#define TICKS 64
/* Columns of a lane. */
#define COLUMNS 7
/* Names whose numbers are remembered, by address. */
#define KNOWN 256

struct known_name {
    const char *name;
    int64_t number;
};

struct writer {
    struct lanes *lanes;
    const struct defs *defs;
    struct table *names;      /* by address: equal texts are one */
    struct known_name *known; /* KNOWN of them */
    struct ck_json *json;
    struct numbers *items;
    struct lane_items read; /* of the lane that is put */
    ck_time_t level;
    unsigned shift; /* a tick is so many times doubled a ns */
    ck_time_t zero;
    ck_time_t end; /* of the part, in ns from zero */
    size_t count;  /* of items so far */
    bool has_waits;
    const struct closeup *const *closeups; /* NULL = whole lanes */
    size_t closeups_count;
};

static uint64_t tick_of(const struct writer *writer)
{
    return (uint64_t)1 << writer->shift;
}

/* In ticks from zero, within the part. */
static uint64_t tick_down(const struct writer *writer, ck_time_t time)
{
    ck_time_t ns = time - writer->zero;

    ns = ns < 0 ? 0 : ns;
    return (uint64_t)(ns > writer->end ? writer->end : ns) >> writer->shift;
}

static uint64_t tick_up(const struct writer *writer, ck_time_t time)
{
    ck_time_t ns = time - writer->zero;

    ns = ns < 0 ? 0 : ns;
    return ((uint64_t)(ns > writer->end ? writer->end : ns) + tick_of(writer) -
            1) >>
           writer->shift;
}

/* Gaps, then lengths, at `at`. Rounding makes no two items overlap. Returns
 * what is behind them. */
static unsigned char *put_times(const struct writer *writer,
                                const struct lane_items *lane,
                                unsigned char *at)
{
    uint64_t *lengths = xmalloc((lane->count + 1) * sizeof(*lengths));
    uint64_t before = 0;

    for (size_t i = 0; i < lane->count; i++) {
        uint64_t start = tick_down(writer, lane->all[i].start);
        uint64_t end = tick_up(writer, lane->all[i].end);

        start = start < before ? before : start;
        end = end < start ? start : end;
        at = number_write(at, start - before);
        lengths[i] = end - start;
        before = end;
    }
    for (size_t i = 0; i < lane->count; i++) {
        at = number_write(at, lengths[i]);
    }
    free(lengths);
    return at;
}

/* Its number and 1, 0 = none. */
static int64_t name_number(const struct writer *writer, const char *name)
{
    struct known_name *known = &writer->known[(uintptr_t)name / 8 % KNOWN];

    if (name == NULL) {
        return 0;
    }
    if (known->name != name) {
        known->name = name;
        known->number =
            table_number_of(writer->names, (uint64_t)(uintptr_t)name, 0, 0);
    }
    return known->number < 0 ? -1 : known->number + 1;
}

/* What folded items have besides. */
static unsigned char *put_folded(const struct writer *writer,
                                 const struct lane_items *lane,
                                 unsigned char *at)
{
    for (size_t i = 0; i < lane->count; i++) {
        at = number_write(at, lane->all[i].count);
    }
    for (size_t i = 0; i < lane->count; i++) {
        at = number_write(at, (uint64_t)lane->all[i].busy >> writer->shift);
    }
    for (size_t i = 0; i < lane->count; i++) {
        at = number_write(at, (uint64_t)lane->all[i].longest >> writer->shift);
    }
    return at;
}

static int put_items(const struct writer *writer, const struct lane_items *lane)
{
    struct numbers *file = writer->items;
    unsigned char *at;

    numbers_reserve(file, COLUMNS * lane->count);
    at = put_times(writer, lane, file->at + file->used);
    for (size_t i = 0; i < lane->count; i++) {
        at = number_write(at, lane->all[i].class);
    }
    for (size_t i = 0; i < lane->count; i++) {
        int64_t name = name_number(writer, lane->all[i].name);

        if (name < 0) {
            return -1;
        }
        at = number_write(at, (uint64_t)name);
    }
    if (writer->level > 0) {
        at = put_folded(writer, lane, at);
    }
    file->used = (size_t)(at - file->at);
    return 0;
}

static void title_of(const struct writer *writer,
                     const struct lanes_row *row,
                     char title[300])
{
    const struct defs *defs = writer->defs;
    const struct defs_device *device;
    const struct defs_thread *thread;

    switch (row->kind) {
    case LANES_IDLE:
        (void)snprintf(title, 300, "%.250s", defs->physicals[row->number].name);
        break;
    case LANES_QUEUE:
        device = defs_device(defs, row->process, row->number);
        (void)snprintf(title, 300, "%.200s #%u queue %u",
                       device != NULL ? device->name : "device", row->number,
                       row->queue);
        break;
    default:
        thread = &defs->threads[row->number];
        (void)snprintf(title, 300, "%.250s %u",
                       thread->name != NULL ? thread->name : "thread",
                       thread->tid);
        break;
    }
}

static const char *const kinds[LANES_KINDS] = {
    [LANES_IDLE] = "idle",   [LANES_QUEUE] = "queue",
    [LANES_STEPS] = "steps", [LANES_RANGES] = "ranges",
    [LANES_CALLS] = "calls", [LANES_OFFCPU] = "offcpu",
};

/* Its items at the level of the block. */
static void lane_at(struct writer *writer, const struct lane *lane)
{
    lane_read(lane, &writer->read);
    if (writer->level > lanes_level(writer->lanes)) {
        lane_items_fold(&writer->read, writer->level);
    }
}

/* A row with what was read of it. `closeup`: the number of the one that it is
 * of, -1 = it is a whole lane. */
static int
put_lane(struct writer *writer, const struct lanes_row *row, int64_t closeup)
{
    size_t offset = writer->items->used;
    size_t count = writer->read.count;
    char title[300];

    if (put_items(writer, &writer->read) != 0) {
        return -1;
    }
    writer->count += count;
    title_of(writer, row, title);
    ck_json_object(writer->json, NULL);
    ck_json_string(writer->json, "kind", kinds[row->kind]);
    ck_json_int(writer->json, "rank", row->rank);
    ck_json_string(writer->json, "title", title);
    ck_json_bool(writer->json, "main", lanes_is_main(writer->defs, row));
    ck_json_uint(writer->json, "depth", row->depth);
    ck_json_uint(writer->json, "items", count);
    ck_json_uint(writer->json, "tick_ns", tick_of(writer));
    ck_json_uint(writer->json, "offset", offset);
    ck_json_uint(writer->json, "bytes", writer->items->used - offset);
    if (closeup >= 0) {
        ck_json_int(writer->json, "closeup", closeup);
    }
    ck_json_end(writer->json);
    return 0;
}

/* The rows of a close look, each with its items. */
static int put_closeup(struct writer *writer, size_t number)
{
    const struct closeup *closeup = writer->closeups[number];
    struct lane_items *read = &writer->read;
    size_t count;
    const struct lanes_row *rows = lanes_rows(writer->lanes, &count);
    int rc = 0;

    lane_items_reserve(read, closeup->count);
    for (size_t i = 0, next; i < closeup->count && rc == 0; i = next) {
        read->count = 0;
        for (next = i; next < closeup->count &&
                       closeup->items[next].row == closeup->items[i].row;
             next++) {
            const struct closeup_item *item = &closeup->items[next];

            read->all[read->count++] =
                lane_item(item->start, item->end, item->class, item->name);
        }
        rc = put_lane(writer, &rows[closeup->items[i].row], (int64_t)number);
    }
    return rc;
}

static void put_parts(const struct writer *writer)
{
    ck_json_array(writer->json, "closeups");
    for (size_t i = 0; i < writer->closeups_count; i++) {
        const struct region *part = &writer->closeups[i]->part;
        ck_time_t start = part->start - writer->zero;
        ck_time_t end = part->end - writer->zero;

        ck_json_object(writer->json, NULL);
        ck_json_int(writer->json, "start_ns", start > 0 ? start : 0);
        ck_json_int(writer->json, "end_ns",
                    end < writer->end ? end : writer->end);
        ck_json_end(writer->json);
    }
    ck_json_end(writer->json);
}

static int put_lanes(struct writer *writer)
{
    size_t count;
    const struct lanes_row *rows = lanes_rows(writer->lanes, &count);
    int rc = 0;

    ck_json_array(writer->json, "lanes");
    for (size_t i = 0; i < writer->closeups_count && rc == 0; i++) {
        rc = put_closeup(writer, i);
    }
    for (size_t i = 0; i < count && writer->closeups == NULL && rc == 0; i++) {
        lane_at(writer, &rows[i].lane);
        rc = put_lane(writer, &rows[i], -1);
    }
    ck_json_end(writer->json);
    return rc;
}

/* A column of the waits. */
static void put_waits(const struct writer *writer)
{
    static const char *const columns[] = {"start", "length", "rank",
                                          "whom",  "kind",   "error"};
    size_t count;
    const struct shown_wait *waits = lanes_waits(writer->lanes, &count);

    ck_json_object(writer->json, "waits");
    ck_json_uint(writer->json, "left_out", lanes_waits_left(writer->lanes));
    for (size_t c = 0; c < sizeof(columns) / sizeof(columns[0]); c++) {
        ck_json_array(writer->json, columns[c]);
        for (size_t i = 0; i < count; i++) {
            const struct shown_wait *wait = &waits[i];
            const ck_time_t values[] = {
                wait->part.start - writer->zero,
                region_length(wait->part),
                wait->rank,
                wait->whom == DEFS_RANK_UNKNOWN ? -1 : wait->whom,
                0,
                wait->error};

            if (strcmp(columns[c], "kind") == 0) {
                ck_json_string(writer->json, NULL,
                               wait->kind == NULL ? "" : wait->kind);
            } else {
                ck_json_int(writer->json, NULL, values[c]);
            }
        }
        ck_json_end(writer->json);
    }
    ck_json_end(writer->json);
}

static void put_names(const struct writer *writer)
{
    ck_json_array(writer->json, "classes");
    for (unsigned i = 0; i < LANES_CLASSES; i++) {
        ck_json_string(writer->json, NULL, lanes_class_name(i));
    }
    ck_json_end(writer->json);
    ck_json_array(writer->json, "names");
    for (size_t i = 0; i < table_count(writer->names); i++) {
        ck_json_string(writer->json, NULL,
                       (const char *)(uintptr_t)table_key(writer->names, i).a);
    }
    ck_json_end(writer->json);
}

/* Where calls of each name were called from. */
static void put_places(const struct writer *writer)
{
    char plain[CXXNAME_MAX];

    ck_json_array(writer->json, "places");
    for (size_t i = 0; i < table_count(writer->names); i++) {
        const struct place *place =
            lanes_place(writer->lanes,
                        (const char *)(uintptr_t)table_key(writer->names, i).a);

        if (place == NULL) {
            ck_json_null(writer->json, NULL);
            continue;
        }
        ck_json_object(writer->json, NULL);
        if (place->file != NULL) {
            ck_json_string(writer->json, "file", place->file);
            ck_json_uint(writer->json, "line", place->line);
        } else {
            ck_json_string(writer->json, "function",
                           cxxname_plain(plain, sizeof(plain), place->function)
                               ? plain
                               : place->function);
        }
        ck_json_end(writer->json);
    }
    ck_json_end(writer->json);
}

static int put_all(struct writer *writer)
{
    struct lanes *lanes = writer->lanes;

    ck_json_object(writer->json, NULL);
    ck_json_int(writer->json, "version", VERSION);
    ck_json_int(writer->json, "start_ns",
                lanes_part(lanes).start - writer->zero);
    ck_json_int(writer->json, "length_ns", writer->end);
    ck_json_int(writer->json, "level_ns", writer->level);
    ck_json_uint(writer->json, "items_taken", lanes_taken(lanes));
    ck_json_uint(writer->json, "items_hidden", lanes_hidden(lanes));
    if (put_lanes(writer) != 0) {
        return -1;
    }
    if (writer->closeups != NULL) {
        put_parts(writer);
    }
    if (writer->has_waits) {
        put_waits(writer);
    } else {
        ck_json_null(writer->json, "waits");
    }
    put_names(writer);
    put_places(writer);
    ck_json_end(writer->json);
    return 0;
}

/* What the writer is asked for. 0, or -1 with ENOMEM. */
static int block_make(struct laneblock *block, struct writer *writer)
{
    struct region part = lanes_part(writer->lanes);
    struct known_name known[KNOWN] = {{NULL, 0}};
    struct numbers items = {0};
    int rc = -1;

    writer->known = known;
    while (writer->level >> writer->shift > 2 * TICKS) {
        writer->shift++;
    }
    writer->end = part.end - writer->zero;
    writer->items = &items;
    *block = (struct laneblock){0};
    writer->names = table_create();
    writer->json = ck_json_create(NULL, false);
    if (writer->json != NULL) {
        rc = put_all(writer);
    }
    block->items = items.at;
    block->items_length = items.used;
    block->count = writer->count;
    if (rc == 0) {
        block->index = ck_json_take(writer->json);
        block->index_length = block->index == NULL ? 0 : strlen(block->index);
    } else {
        ck_json_destroy(writer->json);
    }
    table_destroy(writer->names);
    free(writer->read.all);
    if (rc != 0 || block->index == NULL) {
        errno = ENOMEM;
        return -1;
    }
    return 0;
}

int laneblock_make(struct laneblock *block,
                   struct lanes *lanes,
                   const struct defs *defs,
                   const struct laneblock_wish *wish)
{
    ck_time_t own = lanes_level(lanes);
    struct writer writer = {.lanes = lanes,
                            .defs = defs,
                            .level = wish->level > own ? wish->level : own,
                            .zero = wish->zero,
                            .has_waits = wish->has_waits};

    return block_make(block, &writer);
}

int laneblock_closeups(struct laneblock *block,
                       struct lanes *lanes,
                       const struct defs *defs,
                       ck_time_t zero,
                       const struct closeup *const *closeups,
                       size_t count)
{
    struct writer writer = {.lanes = lanes,
                            .defs = defs,
                            .zero = zero,
                            .closeups = closeups,
                            .closeups_count = count};

    return block_make(block, &writer);
}

void laneblock_fini(struct laneblock *block)
{
    free(block->index);
    free(block->items);
    *block = (struct laneblock){0};
}
