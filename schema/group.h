/* group.h - the columns of one class back to records
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Used by decode.c alone. Any bytes are safe.
 */
#ifndef CK_SCHEMA_GROUP_H
#define CK_SCHEMA_GROUP_H

#include <stddef.h>
#include <stdint.h>

#include "schema/columns.h"
#include "schema/field.h"

/* Where the reading of some bytes is. */
struct reader {
    const uint8_t *at;
    const uint8_t *end;
    uint64_t run; /* zero differences still to come */
};

/* A reader of some bytes; of none when there are none. */
static inline struct reader reader_of(const struct columns_bytes *bytes)
{
    static const uint8_t nothing[1];
    const uint8_t *at = bytes->length == 0 ? nothing : bytes->bytes;

    return (struct reader){at, at + bytes->length, 0};
}

/* The next LEB128 number, up to 64 bits, without needless zeros. 0 or -1. */
int reader_number(struct reader *reader, uint64_t *number);

/* Decode the fixed units of all records of a group, record i to row[i]. 0, or
 * -1: the bytes do not fit the records. */
int group_decode(const struct columns_group *group,
                 unsigned cls,
                 uint8_t *const *row);

#endif
