/* numbers.h - the numbers of a column as bytes
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Zigzag LEB128, runs of zeros counted (docs/protocol.md). Used by the encoder
 * alone.
 */
#ifndef CK_SCHEMA_BATCH_NUMBERS_H
#define CK_SCHEMA_BATCH_NUMBERS_H

#include <stddef.h>
#include <stdint.h>

/* Room that `count` numbers need: 10 bytes a number, and 4 a run; there is at
 * most one run for each number and one at the end. Up to 64 bytes are
 * written beyond the end.
 */
#define NUMBERS_BYTES(count) ((size_t)(count)*14 + 80)

/* Write differences at `out`; *run zeros came before and are not written yet,
 * nor are those at the end. The new end. */
uint8_t *numbers_put(uint8_t *out,
                     uint64_t *run,
                     const int64_t *differences,
                     unsigned count);
/* The same on any processor. */
uint8_t *numbers_put_plain(uint8_t *out,
                           uint64_t *run,
                           const int64_t *differences,
                           unsigned count);

/* LEB128, for what is written seldom. Up to 10 bytes. */
static inline uint8_t *numbers_one(uint8_t *out, uint64_t number)
{
    while (number >= 0x80) {
        *out++ = (uint8_t)(number | 0x80);
        number >>= 7;
    }
    *out = (uint8_t)number;
    return out + 1;
}

/* A run of zero differences. */
static inline uint8_t *numbers_run(uint8_t *out, uint64_t run)
{
    *out = 0;
    return numbers_one(out + 1, run - 1);
}

#endif
