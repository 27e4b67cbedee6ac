/* raster.h - each rank of a large job over the run: what most of each part of
 * it was, in bounded memory
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Lanes of a thousand ranks are too many to be seen at once, and folded ones
 * are coarse. So of a job of many ranks there is a grid of cells, too: of each
 * rank and each part of the run the class that took most of it, and how much of
 * it. The longest items of each class are kept besides, so that what is rare or
 * long is seen although other work took more of its cell.
 */
#ifndef CK_MERGE_OUTPUT_LANES_RASTER_H
#define CK_MERGE_OUTPUT_LANES_RASTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "merge/model/interval.h"

/* A job of no more ranks has none: all its lanes are shown. */
#define RASTER_RANKS_SHOWN 64
#define RASTER_CELLS ((size_t)1 << 20)
#define RASTER_COLUMNS ((size_t)2048)
/* Longest items of a class that are kept. */
#define RASTER_MARKS 256
/* Share of a cell: so much is all of it. */
#define RASTER_WHOLE 65535

/* One lane that the cells of a rank are made from. */
struct raster_lane {
    uint32_t number; /* of the lane */
    uint32_t rank;   /* its index */
    bool is_call;    /* shown where the rank has no lane of a device */
};

struct raster_cell {
    uint8_t class;
    uint16_t share; /* 0 = nothing is in it */
};

struct raster_mark {
    ck_time_t start;
    ck_time_t end;
    uint32_t rank;
    uint8_t class;
};

struct raster;
/* `classes` are numbered from 0. */
struct raster *
raster_create(struct region part, size_t ranks, unsigned classes);
void raster_destroy(struct raster *raster);
/* Items of a lane come in order of time and do not overlap. */
void raster_item(struct raster *raster,
                 const struct raster_lane *lane,
                 struct region item,
                 uint8_t class);
/* Nothing comes any more. */
void raster_finish(struct raster *raster);

struct region raster_part(const struct raster *raster);
size_t raster_columns(const struct raster *raster);
ck_time_t raster_width(const struct raster *raster); /* of a cell */
size_t raster_ranks(const struct raster *raster);
struct raster_cell
raster_at(const struct raster *raster, size_t rank, size_t column);
/* Those of a class that are longer than all that are not kept, in no order;
 * false = there is no such one. */
bool raster_mark_at(const struct raster *raster,
                    unsigned class,
                    size_t number,
                    struct raster_mark *mark);

#endif
