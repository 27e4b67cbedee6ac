/* wide_none.c - processors other than x86-64
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "schema/batch/wide.h"

#include <assert.h>

enum wide wide_level(void)
{
    return WIDE_NONE;
}

uint8_t *wide_numbers_bmi2(uint8_t *out,
                           uint64_t *run,
                           const int64_t *differences,
                           unsigned count)
{
    (void)run;
    (void)differences;
    (void)count;
    assert(!"called where it is not there");
    return out;
}

uint8_t *wide_numbers_avx512(uint8_t *out,
                             uint64_t *run,
                             const int64_t *differences,
                             unsigned count)
{
    (void)run;
    (void)differences;
    (void)count;
    assert(!"called where it is not there");
    return out;
}

int wide_differences(struct reader *reader,
                     uint64_t left,
                     unsigned bytes,
                     int64_t *differences,
                     unsigned count)
{
    (void)reader;
    (void)left;
    (void)bytes;
    (void)differences;
    (void)count;
    assert(!"called where it is not there");
    return -1;
}

void wide_changes(const uint8_t *const *row,
                  const uint8_t *const *peer,
                  unsigned count,
                  unsigned units,
                  uint64_t *changed)
{
    (void)row;
    (void)peer;
    (void)count;
    (void)units;
    (void)changed;
    assert(!"called where it is not there");
}
