/* ringplan.h - how much memory a ring takes, and in how many slots
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CK_AGENT_RING_RINGPLAN_H
#define CK_AGENT_RING_RINGPLAN_H

#include <stdint.h>

/* Slots that have memory when the ring is made: a burst of threads finds them.
 */
#define RINGPLAN_SLOTS_AT_START 68
#define RINGPLAN_SLOT_BYTES_LEAST ((uint64_t)16 << 10)

/* Sizes of one ring. */
struct ringplan {
    uint32_t slots;
    uint32_t large;        /* of these, from the first on */
    uint64_t slot_bytes;   /* of a large one, a power of two */
    uint64_t small_bytes;  /* of the others, a power of two */
    uint64_t outbox_bytes; /* whole pages */
};

/* Sizes for one of `sharers` agents on a file system with `total` bytes of
 * which `available` are free. Wishes of 0 mean the defaults; they are cut to
 * what there is: half of it in large slots, half in many small ones, so that
 * every slot can be given all its memory. One that cannot would never begin
 * its second lap. 0, or -1: not even the smallest
 * ring fits.
 */
int ringplan_make(struct ringplan *plan,
                  uint64_t total,
                  uint64_t available,
                  unsigned sharers,
                  const struct ringplan *wish);

/* Bytes of all bodies together. */
uint64_t ringplan_bodies(const struct ringplan *plan);
/* Bytes before the outbox of a ring with so many slots, in whole pages. */
uint64_t ringplan_head(uint32_t slots);
/* The largest power of two that is not above `bytes`; 1 for 0. */
uint64_t ringplan_power(uint64_t bytes);

#endif
