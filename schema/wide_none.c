/* wide_none.c - processors without AVX-512
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "schema/wide.h"

#include <assert.h>
#include <stddef.h>

bool wide_is_there(void)
{
    return false;
}

uint8_t *wide_numbers(uint8_t *out,
                      uint64_t *run,
                      const int64_t *differences,
                      unsigned count)
{
    (void)out;
    (void)run;
    (void)differences;
    (void)count;
    assert(!"called where it is not there");
    return NULL;
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
