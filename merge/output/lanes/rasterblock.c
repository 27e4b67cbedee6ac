/* rasterblock.c - a raster as two blocks of bytes: what there is, and its cells
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "merge/output/lanes/rasterblock.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "merge/model/memory.h"
#include "schema/json.h"
#include "schema/order.h"

#define VERSION 1
#define FIFTEENTHS 15
#define MARK_COLUMNS 4
/* Of devices and of calls, and the place behind the last one. */
#define MARKS_MOST(classes) ((size_t)2 * RASTER_MARKS * (classes) + 1)

struct writer {
    const struct raster *raster;
    const struct defs *defs;
    const struct rasterblock_wish *wish;
    size_t step; /* cells of the raster that are one of the block */
    size_t columns;
    struct numbers *bytes;
};

/* Several cells as one: the class with most time in all of them. */
static struct raster_cell
cell_of(const struct writer *writer, size_t rank, size_t column)
{
    struct raster_cell most = {0};
    uint64_t shares[UINT8_MAX + 1] = {0}, best = 0;
    size_t end = (column + 1) * writer->step;

    if (writer->step == 1) {
        return raster_at(writer->raster, rank, column);
    }
    for (size_t i = column * writer->step;
         i < end && i < raster_columns(writer->raster); i++) {
        struct raster_cell cell = raster_at(writer->raster, rank, i);

        shares[cell.class] += cell.share;
        if (shares[cell.class] > best) {
            best = shares[cell.class];
            most.class = cell.class;
        }
    }
    most.share =
        best > 0 && best < writer->step ? 1 : (uint16_t)(best / writer->step);
    return most;
}

static void put_cells(const struct writer *writer)
{
    size_t count = raster_ranks(writer->raster) * writer->columns;
    unsigned char *classes = writer->bytes->at + writer->bytes->used;
    unsigned char *shares = classes + count;

    for (size_t i = 0; i < count; i++) {
        struct raster_cell cell =
            cell_of(writer, i / writer->columns, i % writer->columns);
        unsigned part = cell.share * FIFTEENTHS / RASTER_WHOLE;

        classes[i] = cell.share > 0 ? (unsigned char)(cell.class + 1) : 0;
        shares[i] = (unsigned char)(cell.share > 0 && part == 0 ? 1 : part);
    }
    writer->bytes->used += 2 * count;
}

/* A figure of a mark, for its column. */
static uint64_t mark_figure(const struct writer *writer,
                            const struct raster_mark *mark,
                            int column)
{
    ck_time_t width = raster_width(writer->raster) * (ck_time_t)writer->step;
    ck_time_t begin = raster_part(writer->raster).start;
    uint64_t first = (uint64_t)((mark->start - begin) / width);
    uint64_t last = (uint64_t)((mark->end - 1 - begin) / width);
    const uint64_t figures[MARK_COLUMNS] = {mark->class, mark->rank, first,
                                            last - first + 1};

    return figures[column];
}

/* All of them; the caller frees them. */
static struct raster_mark *marks_of(const struct writer *writer, size_t *count)
{
    struct raster_mark *marks =
        xcalloc(MARKS_MOST(writer->wish->classes), sizeof(*marks));

    *count = 0;
    for (unsigned class = 0; class < writer->wish->classes; class ++) {
        size_t i = 0;

        while (raster_mark_at(writer->raster, class, i, &marks[*count])) {
            i++;
            (*count)++;
        }
    }
    return marks;
}

static ck_time_t length_of(const struct raster_mark *mark)
{
    return mark->end - mark->start;
}

CK_ORDER(by_length,
         struct raster_mark,
         CK_LESS(length_of(b), length_of(a))
             ?: CK_UP(rank) ?: CK_UP(start) ?: CK_UP(class))

/* The shortest ones come last, so that they are seen. */
static size_t put_marks(const struct writer *writer)
{
    size_t count;
    struct raster_mark *marks = marks_of(writer, &count);

    qsort(marks, count, sizeof(*marks), by_length);
    for (int column = 0; column < MARK_COLUMNS; column++) {
        for (size_t i = 0; i < count; i++) {
            numbers_put(writer->bytes, mark_figure(writer, &marks[i], column));
        }
    }
    free(marks);
    return count;
}

static void
put_index(const struct writer *writer, struct ck_json *json, size_t marks)
{
    ck_json_object(json, NULL);
    ck_json_int(json, "version", VERSION);
    ck_json_int(json, "start_ns",
                raster_part(writer->raster).start - writer->wish->zero);
    ck_json_int(json, "cell_ns",
                raster_width(writer->raster) * (ck_time_t)writer->step);
    ck_json_uint(json, "columns", writer->columns);
    ck_json_array(json, "ranks");
    for (size_t i = 0; i < raster_ranks(writer->raster); i++) {
        ck_json_int(json, NULL, writer->defs->ranks[i].number);
    }
    ck_json_end(json);
    ck_json_array(json, "classes");
    for (unsigned i = 0; i < writer->wish->classes; i++) {
        ck_json_string(json, NULL, writer->wish->class_name(i));
    }
    ck_json_end(json);
    ck_json_uint(json, "marks", marks);
    ck_json_end(json);
}

int rasterblock_make(struct rasterblock *block,
                     const struct raster *raster,
                     const struct defs *defs,
                     const struct rasterblock_wish *wish)
{
    size_t ranks = raster_ranks(raster), all = raster_columns(raster);
    struct writer writer = {raster, defs, wish, 1, all, &block->bytes};
    struct ck_json *json = ck_json_create(NULL, false);
    size_t marks = MARKS_MOST(wish->classes) * MARK_COLUMNS;

    *block = (struct rasterblock){0};
    while (ranks * writer.columns > wish->cells && writer.columns > 1) {
        writer.step *= 2;
        writer.columns = (all + writer.step - 1) / writer.step;
    }
    if (json == NULL) {
        errno = ENOMEM;
        return -1;
    }
    numbers_reserve(&block->bytes,
                    marks + 2 * ranks * writer.columns / NUMBER_MOST + 1);
    put_cells(&writer);
    put_index(&writer, json, put_marks(&writer));
    block->index = ck_json_take(json);
    block->index_length = block->index == NULL ? 0 : strlen(block->index);
    return block->index == NULL ? -1 : 0;
}

void rasterblock_fini(struct rasterblock *block)
{
    free(block->index);
    free(block->bytes.at);
    *block = (struct rasterblock){0};
}
