/* flameblock.h - flames as two blocks of bytes: what there is, and its numbers
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * The index is JSON:
 *   {"version", "start_ns" (of the first cell), "column_ns", "width_ns" (of a
 *    cell), "cells", "wide" (cells of a sum's), "frames": [text], "nodes",
 *    "kinds": [{"name": "cpu|offcpu|device|idle", "total_ns", "largest_ns" (in
 *    a cell), "paths", "paths_left" (that are one, "other stacks"), "sums"}]}
 * Times count from `zero`.
 *
 * The numbers are columns of unsigned LEB128, one behind the other: of the
 * nodes the distance to the one around it (its own number and 1 = none), the
 * frame; then of each kind the node of each path; where total_ns > 0 for each
 * cell its time in 255ths of largest_ns, rounded up; of the sums the distance
 * to the cell of the one before, the path, and the ns.
 */
#ifndef CK_MERGE_OUTPUT_FLAMES_FLAMEBLOCK_H
#define CK_MERGE_OUTPUT_FLAMES_FLAMEBLOCK_H

#include <stddef.h>

#include "merge/output/flames/flames.h"
#include "merge/output/numbers.h"

struct flameblock {
    char *index; /* a text */
    size_t index_length;
    struct numbers numbers;
};

/* With so many paths of each kind, those with most time. 0; freed by
 * flameblock_fini() in both cases. */
int flameblock_make(struct flameblock *block,
                    const struct flames *flames,
                    size_t paths,
                    ck_time_t zero);
void flameblock_fini(struct flameblock *block);

#endif
