/* slotstate.h - what the collector knows of the thread in a slot
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * One a slot, used by drain.c: whose records are at the slot's tail, and what
 * was reported of it. Zero = nothing is known.
 */
#ifndef CK_AGENT_COLLECTOR_SLOTSTATE_H
#define CK_AGENT_COLLECTOR_SLOTSTATE_H

#include <stdbool.h>
#include <stdint.h>

#include "schema/event.h"
#include "schema/ring/ring.h"
#include "schema/time.h"

struct slotstate {
    uint32_t incarnation; /* 0 = none yet */
    uint32_t tid;
    uint32_t pid;
    bool is_foreign; /* its pid cannot be seen from here */
    uint64_t head;   /* at the last turn */
    ck_time_t pending_since;
    uint64_t dropped; /* already recorded as lost */
    uint64_t reentered;
    uint32_t open_told[CK_RING_OPEN_MAX]; /* call numbers, by depth */
};

/* The slot has a thread of another image: forget what was known. */
void slotstate_fill(struct slotstate *slotstate,
                    struct ck_ring_header *header,
                    const struct ck_ring_slot *slot);
/* The record is the next to be read: does it begin another thread's? */
void slotstate_follow(struct slotstate *slotstate, const uint8_t *record);
/* The thread of a LIVE slot is gone. */
bool slotstate_is_dead(const struct slotstate *slotstate,
                       const struct ck_ring_slot *slot);
/* Copy an open call if it does not change meanwhile. Its number, or 0. */
uint32_t slotstate_open_call(const struct ck_ring_open *entry,
                             struct ck_open *open);

#endif
