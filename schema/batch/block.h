/* block.h - some records of one class, coded column by column
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Used by encode.c alone, which fills the block.
 */
#ifndef CK_SCHEMA_BATCH_BLOCK_H
#define CK_SCHEMA_BATCH_BLOCK_H

#include <stddef.h>
#include <stdint.h>

#include "schema/batch/columns.h"
#include "schema/batch/field.h"

/* Records that are coded column by column before the next are looked at: those
 * of several classes in turn are still in the first-level cache. */
#define BLOCK_ROWS 128

struct column {
    uint8_t *bytes;
    size_t used;
    size_t room;
    uint64_t run; /* zero differences not written yet */
};

struct block {
    /* row[0] is the last record of the block before. */
    const uint8_t *row[BLOCK_ROWS + 1];
    const uint8_t *peer[BLOCK_ROWS]; /* predecessors in the same context */
    unsigned count;
    uint32_t records; /* of the blocks before */
    uint32_t next;    /* bits of columns coded as NEXT in this batch */
    const uint8_t *last[FIELD_CONTEXTS];
    struct column column[COLUMNS_MAX];
    struct column text;
};

/* Make room for so many more bytes. 0, or -1 with ENOMEM. */
int column_grow(struct column *column, size_t bytes);
static inline int column_reserve(struct column *column, size_t bytes)
{
    return column->used + bytes <= column->room ? 0
                                                : column_grow(column, bytes);
}

/* Code the records of the block, which is empty afterwards; append the call
 * sites in them to `sites`, but for most repetitions. 0, or -1 with ENOMEM.
 */
int block_flush(struct block *block, unsigned cls, struct column *sites);

#endif
