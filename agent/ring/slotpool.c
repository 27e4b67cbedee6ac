/* slotpool.c - slots that are kept ready for threads to come
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * As many again as there are in use: a burst may double the threads within one
 * turn. Nothing is looked at while no thread takes a slot and none fills one.
 */
#include "agent/ring/slotpool.h"

#define SLOTS_AHEAD 64 /* with the first part of their memory */
#define SLOTS_WHOLE 2  /* with all of it, and one an image, up to the most */
#define SLOTS_WHOLE_MOST 8
#define SLOTS_A_TURN 16 /* get memory in one turn */
#define WHOLE_A_TURN 1  /* of those that are not needed yet: some ms each */
#define SLOTS_FEW 16

void slotpool_init(struct slotpool *slotpool, struct ringfile *ring)
{
    slotpool->ring = ring;
    slotpool->claims = atomic_load(&ring->header->claims) - 1;
}

bool slotpool_step(struct slotpool *slotpool, uint32_t images)
{
    struct ringfile *ring = slotpool->ring;
    uint32_t claims = atomic_load(&ring->header->claims);
    unsigned whole = images < SLOTS_WHOLE_MOST - SLOTS_WHOLE
                         ? SLOTS_WHOLE + images
                         : SLOTS_WHOLE_MOST;
    unsigned left;
    unsigned used;
    unsigned added;

    if (claims == slotpool->claims && ring->narrow == 0) {
        return false;
    }
    left = ringfile_free(ring);
    used = ring->backed - left;
    (void)ringfile_widen(ring, 0, SLOTS_A_TURN); /* they fill up */
    added = ringfile_back(ring, used > SLOTS_AHEAD ? used : SLOTS_AHEAD,
                          SLOTS_A_TURN);
    if (added == 0 && ringfile_widen(ring, whole, WHOLE_A_TURN) == 0) {
        slotpool->claims = claims;
    }
    return left < SLOTS_FEW;
}
