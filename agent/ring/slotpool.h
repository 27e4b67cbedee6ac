/* slotpool.h - slots that are kept ready for threads to come
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CK_AGENT_RING_SLOTPOOL_H
#define CK_AGENT_RING_SLOTPOOL_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/ring/ringfile.h"

struct slotpool {
    struct ringfile *ring; /* borrowed */
    uint32_t claims;       /* header->claims at the last full look */
};

void slotpool_init(struct slotpool *slotpool, struct ringfile *ring);
/* One turn; `images` = process images that record. True: few slots are left,
 * so it is worth looking for threads that died. */
bool slotpool_step(struct slotpool *slotpool, uint32_t images);

#endif
