/* blockrecord.c - the records of a sampled block: it is there, it is gone
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "agent/inject/blockrecord.h"

#define UNITS (sizeof(struct ck_stacked) / CK_UNIT_BYTES)

bool blockrecord_put(const struct live_block *block,
                     enum ck_kind kind,
                     uint32_t name,
                     int64_t now,
                     uint8_t flags)
{
    struct ck_stacked *record =
        ck_ring_begin(&inject_thread, inject_ring.clock, UNITS);

    if (record == NULL) {
        return false;
    }
    *record = (struct ck_stacked){
        .e = {.kind = (uint16_t)kind,
              .units = UNITS,
              .flags = flags,
              .name = name,
              .start = now},
        .address = block->address,
        .site = block->site,
        .bytes = block->bytes,
        .stack = block->stack,
        .mean = block->mean,
    };
    ck_ring_commit(&inject_thread, UNITS);
    return true;
}
