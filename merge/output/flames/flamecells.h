/* flamecells.h - time by stack and by instant, in bounded memory
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * A column of the run (a second where it is long enough) has 50 cells. Time of
 * each kind is kept by cell; time of each path (a stack) by cell, too, and in
 * wider cells where there are too many pairs of both. No time is lost: a path
 * for which there is no room is added to "other stacks".
 */
#ifndef CK_MERGE_OUTPUT_FLAMES_FLAMECELLS_H
#define CK_MERGE_OUTPUT_FLAMES_FLAMECELLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "merge/model/interval.h"
#include "merge/model/table.h"

enum flame_kind {
    FLAME_CPU,    /* samples */
    FLAME_OFFCPU, /* waited in the kernel, or ready without a CPU */
    FLAME_DEVICE, /* kernels and copies, by the line that launched them */
    FLAME_IDLE,   /* of devices, by cause */
    FLAME_KINDS
};

/* Paths of a kind, and pairs of path and cell, at most. */
#define FLAMECELLS_PATHS ((size_t)1 << 15)
#define FLAMECELLS_SUMS ((size_t)1 << 17)
/* Cells of the run at most. */
#define FLAMECELLS_CELLS ((size_t)1 << 18)

/* Time of a path in a cell. */
struct flame_sum {
    uint32_t path;
    uint32_t cell;
    ck_time_t ns;
};

struct flamecells;
/* Of `part`. `realtime` of the axis's zero: columns begin with its seconds; 0 =
 * not known. */
struct flamecells *flamecells_create(struct region part, int64_t realtime);
void flamecells_destroy(struct flamecells *cells);
/* Add the time of a piece (clipped to the part), or of a point the time that it
 * represents. The path is not copied on its way: what was just written would be
 * waited for. */
void flamecells_add(struct flamecells *cells,
                    enum flame_kind kind,
                    const struct table_key *path,
                    struct region piece,
                    ck_time_t ns);
/* Nothing comes any more. */
void flamecells_finish(struct flamecells *cells);

/* ---- what there is ------------------------------------------------------ */

ck_time_t flamecells_start(const struct flamecells *cells); /* of the first */
ck_time_t flamecells_column(const struct flamecells *cells);
ck_time_t flamecells_width(const struct flamecells *cells);
size_t flamecells_count(const struct flamecells *cells);
/* ns by cell; NULL = there is none of that kind. */
const ck_time_t *flamecells_times(const struct flamecells *cells,
                                  enum flame_kind kind);
/* Cells of the paths' sums are so many times as wide. */
size_t flamecells_wide(const struct flamecells *cells);
size_t flamecells_paths(const struct flamecells *cells, enum flame_kind kind);
/* The key of a path; false = it is that of other stacks. */
bool flamecells_path(const struct flamecells *cells,
                     enum flame_kind kind,
                     size_t path,
                     struct table_key *key);
/* Sums of a kind by cell, then path; the caller's to free. */
struct flame_sum *flamecells_sums(const struct flamecells *cells,
                                  enum flame_kind kind,
                                  size_t *count);

#endif
