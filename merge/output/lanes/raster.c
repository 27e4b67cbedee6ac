/* raster.c - each rank of a large job over the run, in bounded memory
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Of each lane one cell is open: the time of each class in it. When the lane
 * goes on to another cell, the class with most time is written down, unless
 * another lane of that rank has had more of one there.
 */
#include "merge/output/lanes/raster.h"

#include <stdlib.h>
#include <string.h>

#include "merge/model/array.h"
#include "merge/model/memory.h"
#include "merge/output/lanes/longest.h"

/* Cells of devices, and of calls. */
#define PLANES 2

/* The cell of a lane that is open. */
struct open {
    size_t column;
    struct raster_lane lane;
    ck_time_t of[]; /* each class */
};

struct marks {
    struct raster_mark at[RASTER_MARKS];
    struct longest longest;
};

struct raster {
    struct region part;
    size_t ranks;
    size_t columns;
    ck_time_t width;
    unsigned classes;
    struct raster_cell *planes[PLANES];
    struct marks *marks[PLANES]; /* of each class */
    bool *has_device;            /* of each rank */
    struct open **open;          /* by number of the lane; NULL = none */
    size_t open_count;
};

struct raster *raster_create(struct region part, size_t ranks, unsigned classes)
{
    struct raster *raster = xcalloc(1, sizeof(*raster));
    ck_time_t length = region_length(part) > 0 ? region_length(part) : 1;
    size_t columns = RASTER_CELLS / ranks;

    columns = columns < 1 ? 1 : columns;
    columns = columns > RASTER_COLUMNS ? RASTER_COLUMNS : columns;
    raster->part = part;
    raster->ranks = ranks;
    raster->classes = classes;
    raster->width = (length + (ck_time_t)columns - 1) / (ck_time_t)columns;
    raster->columns = (size_t)((length + raster->width - 1) / raster->width);
    raster->has_device = xcalloc(ranks, sizeof(*raster->has_device));
    for (size_t i = 0; i < PLANES; i++) {
        raster->planes[i] =
            xcalloc(ranks * raster->columns, sizeof(struct raster_cell));
        raster->marks[i] = xcalloc(classes, sizeof(struct marks));
        for (unsigned k = 0; k < classes; k++) {
            raster->marks[i][k].longest.most = RASTER_MARKS;
        }
    }
    return raster;
}

void raster_destroy(struct raster *raster)
{
    if (raster == NULL) {
        return;
    }
    for (size_t i = 0; i < PLANES; i++) {
        for (unsigned k = 0; k < raster->classes; k++) {
            longest_fini(&raster->marks[i][k].longest);
        }
        free(raster->planes[i]);
        free(raster->marks[i]);
    }
    for (size_t i = 0; i < raster->open_count; i++) {
        free(raster->open[i]);
    }
    free(raster->open);
    free(raster->has_device);
    free(raster);
}

/* The open cell's class with most time, written down; nothing is open then. */
static void settle(struct raster *raster, struct open *open)
{
    struct raster_cell *cell =
        &raster->planes[open->lane.is_call]
                       [open->lane.rank * raster->columns + open->column];
    ck_time_t most = 0;
    uint8_t class = 0;
    double share;

    for (unsigned i = 0; i < raster->classes; i++) {
        if (open->of[i] > most) {
            most = open->of[i];
            class = (uint8_t)i;
        }
        open->of[i] = 0;
    }
    share = (double)most / (double)raster->width * RASTER_WHOLE;
    share = share > RASTER_WHOLE ? RASTER_WHOLE : share;
    if (most > 0 && share >= (double)cell->share) {
        *cell = (struct raster_cell){class, share < 1 ? 1 : (uint16_t)share};
    }
}

static struct open *open_of(struct raster *raster,
                            const struct raster_lane *lane)
{
    struct open *open;

    if (lane->number >= raster->open_count) {
        size_t count = (size_t)lane->number * 2 + 16;

        raster->open = xrealloc(raster->open, count * sizeof(struct open *));
        memset(raster->open + raster->open_count, 0,
               (count - raster->open_count) * sizeof(struct open *));
        raster->open_count = count;
    }
    if (raster->open[lane->number] == NULL) {
        open = xcalloc(1, sizeof(*open) + raster->classes * sizeof(ck_time_t));
        open->lane = *lane;
        raster->open[lane->number] = open;
    }
    return raster->open[lane->number];
}

static ck_time_t length_of(const struct raster_mark *mark)
{
    return mark->end - mark->start;
}

static void marks_put(struct marks *marks, const struct raster_mark *mark)
{
    size_t place = longest_put(&marks->longest, length_of(mark));

    if (place != LONGEST_NONE) {
        marks->at[place] = *mark;
    }
}

void raster_item(struct raster *raster,
                 const struct raster_lane *lane,
                 struct region item,
                 uint8_t class)
{
    struct raster_mark mark = {item.start, item.end, lane->rank, class};
    struct open *open;

    if (!region_clip(raster->part, &mark.start, &mark.end)) {
        return;
    }
    open = open_of(raster, lane);
    if (!lane->is_call) {
        raster->has_device[lane->rank] = true;
    }
    marks_put(&raster->marks[lane->is_call][class], &mark);
    for (ck_time_t at = mark.start; at < mark.end;) {
        size_t column = (size_t)((at - raster->part.start) / raster->width);
        ck_time_t end =
            raster->part.start + (ck_time_t)(column + 1) * raster->width;

        end = end < mark.end ? end : mark.end;
        if (column != open->column) {
            settle(raster, open);
            open->column = column;
        }
        open->of[class] += end - at;
        at = end;
    }
}

void raster_finish(struct raster *raster)
{
    for (size_t i = 0; i < raster->open_count; i++) {
        if (raster->open[i] != NULL) {
            settle(raster, raster->open[i]);
        }
    }
}

struct region raster_part(const struct raster *raster)
{
    return raster->part;
}

size_t raster_columns(const struct raster *raster)
{
    return raster->columns;
}

ck_time_t raster_width(const struct raster *raster)
{
    return raster->width;
}

size_t raster_ranks(const struct raster *raster)
{
    return raster->ranks;
}

struct raster_cell
raster_at(const struct raster *raster, size_t rank, size_t column)
{
    return raster
        ->planes[!raster->has_device[rank]][rank * raster->columns + column];
}

bool raster_mark_at(const struct raster *raster,
                    unsigned class,
                    size_t number,
                    struct raster_mark *mark)
{
    for (size_t plane = 0; plane < PLANES; plane++) {
        const struct marks *marks = &raster->marks[plane][class];

        for (size_t i = 0; i < marks->longest.count; i++) {
            if (raster->has_device[marks->at[i].rank] == (plane == 0) &&
                length_of(&marks->at[i]) > marks->longest.left_out &&
                number-- == 0) {
                *mark = marks->at[i];
                return true;
            }
        }
    }
    return false;
}
