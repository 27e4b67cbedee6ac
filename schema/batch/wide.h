/* wide.h - the hot loops of the column codec, for processors that can do more
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Used by block.c, numbers.c and reader.c; what comes out is that of their own
 * loops, byte for byte.
 */
#ifndef CK_SCHEMA_BATCH_WIDE_H
#define CK_SCHEMA_BATCH_WIDE_H

#include <stdint.h>

enum wide {
    WIDE_NONE = 0,
    WIDE_BMI2 = 1,   /* and AVX2: a number's bytes at once */
    WIDE_AVX512 = 2, /* with VBMI2: those of eight numbers */
};

/* What this processor, and its kernel, have. With CK_TEST_WIDE in the
 * environment, a number of enum wide, not more than that. */
enum wide wide_level(void);

/* As numbers_put(): `out` and `run` are the column's end. They write up to 64
 * bytes beyond the new end, which is returned. */
uint8_t *wide_numbers_bmi2(uint8_t *out,
                           uint64_t *run,
                           const int64_t *differences,
                           unsigned count);
uint8_t *wide_numbers_avx512(uint8_t *out,
                             uint64_t *run,
                             const int64_t *differences,
                             unsigned count);

struct reader;
/* As reader_differences(), with BMI2 or more. */
int wide_differences(struct reader *reader,
                     uint64_t left,
                     unsigned bytes,
                     int64_t *differences,
                     unsigned count);

/* With BMI2 or more: bits in which any of `count` rows of so many units (1 to
 * 3) differs from its peer; word 0: from the row before. row[0] is the one
 * before the first.
 */
void wide_changes(const uint8_t *const *row,
                  const uint8_t *const *peer,
                  unsigned count,
                  unsigned units,
                  uint64_t *changed);

#endif
