/* quantile.c - the middle of many values in bounded memory
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "merge/model/quantile.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "merge/model/array.h"
#include "merge/model/memory.h"
#include "schema/order.h"

#define BUCKET_BITS 6
#define BUCKETS (1 << BUCKET_BITS)

void quantile_init(struct quantile *q)
{
    memset(q, 0, sizeof(*q));
}

void quantile_fini(struct quantile *q)
{
    free(q->values);
    for (size_t i = 0; i < 64; i++) {
        free(q->buckets[i]);
    }
    memset(q, 0, sizeof(*q));
}

static int power_of(uint64_t value)
{
    return value == 0 ? 0 : 63 - __builtin_clzll(value);
}

static void bucket_make(struct quantile *q, int power)
{
    q->buckets[power] = xcalloc(BUCKETS + 1, sizeof(uint32_t));
}

static inline void bucket_add(struct quantile *q, int64_t value)
{
    int power = power_of((uint64_t)value);
    uint64_t low = (uint64_t)value - (value == 0 ? 0 : (uint64_t)1 << power);
    size_t at =
        (size_t)(power <= BUCKET_BITS ? low : low >> (power - BUCKET_BITS));

    if (q->buckets[power] == NULL) {
        bucket_make(q, power);
    }
    if (value == 0) {
        at = BUCKETS; /* zero has a place of its own beside 1 */
    }
    q->buckets[power][at]++;
}

static void quantile_spill(struct quantile *q)
{
    for (size_t i = 0; i < QUANTILE_EXACT; i++) {
        bucket_add(q, q->values[i]);
    }
    free(q->values);
    q->values = NULL;
    q->room = 0;
}

void quantile_add(struct quantile *q, int64_t value)
{
    if (value < 0) {
        value = 0;
    }
    if (q->count < QUANTILE_EXACT) {
        array_grow(&q->values, &q->room, (size_t)q->count, sizeof(*q->values));
        q->values[q->count++] = value;
        return;
    }
    if (q->count == QUANTILE_EXACT && q->values != NULL) {
        quantile_spill(q);
    }
    bucket_add(q, value);
    q->count++;
}

bool quantile_is_exact(const struct quantile *q)
{
    return q->count <= QUANTILE_EXACT;
}

CK_ORDER(by_value, int64_t, CK_LESS(*a, *b))

static int64_t bucket_middle(int power, size_t at)
{
    uint64_t width =
        power <= BUCKET_BITS ? 1 : (uint64_t)1 << (power - BUCKET_BITS);

    return (int64_t)(((uint64_t)1 << power) + at * width + width / 2);
}

static int64_t bucket_at(const struct quantile *q, uint64_t rank)
{
    uint64_t seen = q->buckets[0] != NULL ? q->buckets[0][BUCKETS] : 0;

    if (seen > rank) {
        return 0;
    }
    for (int power = 0; power < 64; power++) {
        for (size_t at = 0; q->buckets[power] != NULL && at < BUCKETS; at++) {
            seen += q->buckets[power][at];
            if (seen > rank) {
                return bucket_middle(power, at);
            }
        }
    }
    return 0;
}

int64_t quantile_at(struct quantile *q, double part)
{
    uint64_t rank;

    if (q->count == 0) {
        return 0;
    }
    /* 0.07 * 20000 is a little more than 1400. */
    rank = (uint64_t)ceil(part * (double)q->count - 1e-6);
    rank = rank == 0 ? 0 : rank - 1;
    if (rank >= q->count) {
        rank = q->count - 1;
    }
    if (!quantile_is_exact(q)) {
        return bucket_at(q, rank);
    }
    qsort(q->values, (size_t)q->count, sizeof(*q->values), by_value);
    return q->values[rank];
}
