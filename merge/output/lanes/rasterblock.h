/* rasterblock.h - a raster as two blocks of bytes: what there is, and its cells
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * The index is JSON:
 *   {"version", "start_ns", "cell_ns", "columns", "ranks": [number],
 *    "classes": [text], "marks"}
 *
 * Times count from `zero`. Cells are bytes, rank behind rank: of each one its
 * class and 1, 0 = nothing is in it; then of each one how many fifteenths of it
 * that class took, 1 at least. Then columns of unsigned LEB128 numbers, one of
 * each mark (the longest items of each class, the shortest last): class, index
 * of the rank, the first cell that it touches, and how many.
 */
#ifndef CK_MERGE_OUTPUT_LANES_RASTERBLOCK_H
#define CK_MERGE_OUTPUT_LANES_RASTERBLOCK_H

#include <stddef.h>

#include "merge/model/defs.h"
#include "merge/output/lanes/raster.h"
#include "merge/output/numbers.h"

struct rasterblock {
    char *index; /* a text */
    size_t index_length;
    struct numbers bytes;
};

/* What is to be in it: no more than so many cells. */
struct rasterblock_wish {
    ck_time_t zero;
    size_t cells;
    const char *(*class_name)(unsigned class);
    unsigned classes;
};

/* 0; freed by rasterblock_fini() in both cases. */
int rasterblock_make(struct rasterblock *block,
                     const struct raster *raster,
                     const struct defs *defs,
                     const struct rasterblock_wish *wish);
void rasterblock_fini(struct rasterblock *block);

#endif
