/* recordorder.h - the classes of the records of a batch, one after the
 * other
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Used by decode.c and scan.c alone. Any bytes are safe.
 */
#ifndef CK_SCHEMA_BATCH_RECORDORDER_H
#define CK_SCHEMA_BATCH_RECORDORDER_H

#include "schema/batch/columns.h"
#include "schema/batch/reader.h"

/* The next run of the order: its class and how many. 0 or -1. */
static inline int
recordorder_next(struct reader *order, unsigned *cls, uint32_t *count)
{
    uint64_t number;

    if (order->at != order->end && *order->at < 0x80) {
        *cls = *order->at & 31; /* most runs are short: one byte */
        *count = (uint32_t)(*order->at++ >> 5) + 1;
        return 0;
    }
    if (reader_number(order, &number) != 0 ||
        number >> 5 >= CK_FRAME_RECORDS_MAX) {
        return -1;
    }
    *cls = (unsigned)(number & 31);
    *count = (uint32_t)(number >> 5) + 1;
    return 0;
}

/* Count the records of each class; *skipped = those of unknown classes. 0, or
 * -1: they are too many, or the groups do not agree. */
int recordorder_count(const struct columns_view *view,
                      uint32_t counts[CK_CLASS_LIMIT],
                      uint32_t *skipped);

#endif
