/* stepblock.h - the rows of the steps as two blocks of bytes
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * A run of a day has thousands of steps; as JSON each takes half a kilobyte,
 * most of it the names of its fields. So the report in a page has none of these
 * rows, and the page makes them again out of these blocks (steps.js): the same
 * rows as in report.json.
 *
 * The index is JSON:
 *   {"version", "rows", "of_ranks", "lengths" (of each row, 0 = none are kept),
 *    "causes": [text]}
 *
 * The numbers are columns, one behind the other, each of as many unsigned
 * LEB128 numbers as there are rows: number and start (each less that of the row
 * before; start_rel_ns), then end less start, ranks, shortest, longest less
 * shortest, longest rank, launches, syncs, copies, collectives, waited, its
 * error, rank waited for most, time of that, outlier (0 or 1); idle time by
 * each of the causes; and the length on each rank. What may be below zero is
 * folded: 2 n, or -2 n - 1. Ranks and lengths that may be none have 1 more, 0 =
 * none.
 */
#ifndef CK_MERGE_OUTPUT_PAGE_STEPBLOCK_H
#define CK_MERGE_OUTPUT_PAGE_STEPBLOCK_H

#include <stddef.h>

#include "merge/output/numbers.h"
#include "merge/report/report.h"

struct stepblock {
    char *index; /* a text; NULL = there are no steps */
    size_t index_length;
    struct numbers numbers;
};

/* 0, or -1 with errno; freed by stepblock_fini() in both cases. */
int stepblock_make(struct stepblock *block, const struct report *report);
void stepblock_fini(struct stepblock *block);

#endif
