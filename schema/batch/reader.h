/* reader.h - numbers, differences and runs out of the bytes of a column
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Used by recordorder.c, group.c and scan.c alone. Any bytes are safe: numbers
 * are checked against their width, runs against the records left, columns
 * against their end.
 */
#ifndef CK_SCHEMA_BATCH_READER_H
#define CK_SCHEMA_BATCH_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "schema/batch/columns.h"

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

/* The next number, the slow way: LEB128 without needless zeros, at most 64
 * bits. 0 or -1. */
int reader_number_slow(struct reader *reader, uint64_t *number);

/* The next number. Where eight bytes are left, a number of up to 56 bits is
 * taken from one load: the groups of seven are moved together.
 */
static inline int reader_number(struct reader *reader, uint64_t *number)
{
    const uint8_t *at = reader->at;
    uint64_t x;
    uint64_t ends;

    if (at != reader->end && *at < 0x80) {
        *number = *at;
        reader->at = at + 1;
        return 0;
    }
    if (reader->end - at < 8) {
        return reader_number_slow(reader, number);
    }
    memcpy(&x, at, sizeof(x));
    ends = ~x & 0x8080808080808080;
    if (__builtin_expect(ends == 0, 0)) {
        return reader_number_slow(reader, number);
    }
    ends ^= ends - 1; /* all bits up to the end of the number */
    x &= ends & 0x7f7f7f7f7f7f7f7f;
    if ((x & (ends ^ ends >> 8)) == 0) {
        return -1;
    }
    reader->at = at + (unsigned)(__builtin_ctzll(~ends | 1ull << 63) + 1) / 8;
    x = (x & 0x007f007f007f007f) | (x & 0x7f007f007f007f00) >> 1;
    x = (x & 0x00003fff00003fff) | (x & 0x3fff00003fff0000) >> 2;
    *number = (x & 0x0fffffff) | (x & 0x0fffffff00000000) >> 4;
    return 0;
}

/* A column: one that is absent is a run of zeros. */
static inline struct reader reader_of_column(const struct columns_bytes *bytes,
                                             uint32_t records)
{
    struct reader reader = reader_of(bytes);

    reader.run = bytes->length == 0 ? records : 0;
    return reader;
}

static inline int reader_run(struct reader *reader, uint64_t left)
{
    uint64_t more;

    reader->at++;
    if (reader_number(reader, &more) != 0 || more >= left) {
        return -1;
    }
    reader->run = more + 1;
    return 0;
}

static inline int64_t reader_unzigzag(uint64_t z)
{
    return (int64_t)(z >> 1 ^ (0 - (z & 1)));
}

/* The next difference of a column, whose `left` numbers from here on are not
 * yet read: zero within a run. 0 or -1. */
static inline __attribute__((always_inline)) int reader_difference(
    struct reader *reader, uint64_t left, unsigned bytes, int64_t *difference)
{
    const uint64_t limit = ~(uint64_t)0 >> (64 - 8 * bytes);
    uint64_t z;

    if (reader->run == 0 && reader->at != reader->end && *reader->at == 0 &&
        reader_run(reader, left) != 0) {
        return -1;
    }
    if (reader->run != 0) {
        reader->run--;
        *difference = 0;
        return 0;
    }
    if (reader_number(reader, &z) != 0 || z > limit) {
        return -1;
    }
    *difference = reader_unzigzag(z);
    return 0;
}

/* The next `count` of them. 0 or -1. */
int reader_differences(struct reader *reader,
                       uint64_t left,
                       unsigned bytes,
                       int64_t *differences,
                       unsigned count);

/* True, and the zeros are taken, when a column with `left` records not yet
 * read has no other difference for the next `count`. */
static inline bool
reader_is_still(struct reader *reader, uint64_t left, unsigned count, int *rc)
{
    if (reader->run == 0 && reader->at != reader->end && *reader->at == 0) {
        *rc |= reader_run(reader, left);
    }
    if (reader->run < count) {
        return false;
    }
    reader->run -= count;
    return true;
}

/* True when all was read. */
static inline bool reader_is_done(const struct reader *reader)
{
    return reader->at == reader->end && reader->run == 0;
}

#endif
