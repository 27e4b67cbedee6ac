/* quantile.h - the middle of many values in bounded memory
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Exact up to QUANTILE_EXACT values; beyond, values are counted in buckets
 * of 1/64 of a power of two, and the answer is a bucket's middle (+-0.8 %).
 */
#ifndef CK_MERGE_MODEL_QUANTILE_H
#define CK_MERGE_MODEL_QUANTILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define QUANTILE_EXACT 4096

struct quantile {
    int64_t *values; /* the first ones, until there are too many */
    size_t room;
    uint64_t count;
    uint32_t *buckets[64]; /* by power of two; NULL = empty */
};

void quantile_init(struct quantile *q);
void quantile_fini(struct quantile *q);
/* Values below 0 count as 0. */
void quantile_add(struct quantile *q, int64_t value);
/* The value that a part (0..1) of all values do not exceed: the lower of the
 * two middle ones for 0.5. 0 when there is none. */
int64_t quantile_at(struct quantile *q, double part);
/* False once it counts in buckets. */
bool quantile_is_exact(const struct quantile *q);

#endif
