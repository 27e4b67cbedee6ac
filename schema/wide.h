/* wide.h - the hot loops of the encoder, eight numbers at a time
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Used by block.c and numbers.c where the processor has AVX-512 with VBMI2;
 * what comes out is that of their own loops, byte for byte.
 */
#ifndef CK_SCHEMA_WIDE_H
#define CK_SCHEMA_WIDE_H

#include <stdbool.h>
#include <stdint.h>

/* Does this processor, and its kernel, have what the others need? With
 * CK_TEST_PLAIN in the environment, never. */
bool wide_is_there(void);

/* As numbers_put(): `out` and `run` are the column's end. Writes up to 64 bytes
 * beyond the new end, which is returned. */
uint8_t *wide_numbers(uint8_t *out,
                      uint64_t *run,
                      const int64_t *differences,
                      unsigned count);

/* Bits in which any of `count` rows of so many units (1 to 3) differs from its
 * peer; word 0: from the row before. row[0] is the one before the first.
 */
void wide_changes(const uint8_t *const *row,
                  const uint8_t *const *peer,
                  unsigned count,
                  unsigned units,
                  uint64_t *changed);

#endif
