/* array.h - an array that grows
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CK_MERGE_MODEL_ARRAY_H
#define CK_MERGE_MODEL_ARRAY_H

#include <stddef.h>
#include <stdint.h>

#include "merge/model/memory.h"

/* Make room for one item more than `count` in *items, which has room for
 * *room items of `size` bytes. */
static inline void
array_grow(void *items, size_t *room, size_t count, size_t size)
{
    void **where = items;
    size_t wanted;

    if (count < *room) {
        return;
    }
    wanted = *room < 8 ? 16 : *room * 2;
    if (wanted > SIZE_MAX / 2 / size) {
        memory_out(SIZE_MAX);
    }
    *where = xrealloc(*where, wanted * size);
    *room = wanted;
}

/* How many of the items, which ascend by the int64_t at `offset` of each, are
 * at or before `at`: the last of these is the one begun by then. */
static inline size_t array_until(
    const void *items, size_t count, size_t size, size_t offset, int64_t at)
{
    size_t low = 0;

    while (low < count) {
        size_t middle = low + (count - low) / 2;
        const char *item = (const char *)items + middle * size;

        if (*(const int64_t *)(const void *)(item + offset) <= at) {
            low = middle + 1;
        } else {
            count = middle;
        }
    }
    return low;
}

/* The same, from the last item backwards in steps that double: quick where few
 * are behind `at`, however many there are. */
static inline size_t array_until_late(
    const void *items, size_t count, size_t size, size_t offset, int64_t at)
{
    size_t high = count, step = 1;

    while (high > 0) {
        size_t low = high > step ? high - step : 0;
        const char *item = (const char *)items + low * size;

        if (*(const int64_t *)(const void *)(item + offset) <= at) {
            return low + 1 +
                   array_until(item + size, high - low - 1, size, offset, at);
        }
        high = low;
        step *= 2;
    }
    return 0;
}

#endif
