/* series.h - values of a thing, by cell
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Cells from the first that has something to the last, each with a time. They
 * are short until one of them has more than such can have: of many ranks they
 * are most of the memory.
 */
#ifndef CK_MERGE_ANALYSIS_STEPS_SERIES_H
#define CK_MERGE_ANALYSIS_STEPS_SERIES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "schema/time.h"

/* Empty when all is 0. */
struct series {
    void *cells; /* uint32_t, or ck_time_t where it is long; owned */
    size_t first;
    size_t count, room;
    bool is_long;
};

/* Add to a cell; those between it and the others are 0. */
void series_add(struct series *series, size_t cell, ck_time_t ns);
/* The value of the first cell (at = 0) or of one behind it, before count. */
ck_time_t series_get(const struct series *series, size_t at);
/* The cells that a series would have with that one. */
size_t series_length(const struct series *series, size_t cell);
/* Each cell takes in the next one: 2n and 2n + 1 become n. */
void series_fold(struct series *series);
void series_fini(struct series *series);

#endif
