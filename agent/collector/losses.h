/* losses.h - what a collector lost, and what of that it has recorded
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * One a collector, used by drain.c. Counted at once, recorded now and then: a
 * loss is not to cost a record for each turn.
 */
#ifndef CK_AGENT_COLLECTOR_LOSSES_H
#define CK_AGENT_COLLECTOR_LOSSES_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/clock/clocksync.h"
#include "agent/collector/slotstate.h"
#include "agent/stream/selfstream.h"
#include "schema/ring/ring.h"

struct losses {
    struct selfstream *selfstream; /* borrowed */
    const struct clocksync *sync;  /* borrowed */
    uint64_t recorded;
    uint64_t framed; /* of these, when that was noted last */
    /* Not yet recorded: */
    uint64_t limit;        /* records over --limit */
    uint64_t broken;       /* units behind a broken record */
    uint64_t spool;        /* records that found no room behind the slots */
    ck_time_t limit_at;    /* what came later was not kept; 0 = all was */
    uint64_t noslot;       /* records without a slot, of those recorded */
    uint64_t *noslot_told; /* borrowed: of these, in frames */
};

/* So many records were not kept because of --limit, the first of them not
 * before `since`. */
void losses_limit(struct losses *losses, uint64_t records, ck_time_t since);

/* Take over from a collector before this one; `noslot`: as it kept it. */
void losses_inherit(struct losses *losses, uint64_t *noslot);
void losses_inherit_slot(struct losses *losses,
                         const struct ck_ring_slot *slot,
                         struct slotstate *slotstate);

/* Record what a slot's writer counted since the last time. */
void losses_slot(struct losses *losses,
                 struct ck_ring_slot *slot,
                 struct slotstate *slotstate);
/* Record the others; `noslot` = as the ring's header counts. */
void losses_record(struct losses *losses, uint64_t noslot);

/* Put what was recorded into a frame, which does not go with this process, and
 * note that in the ring: who takes over goes on from there. True when slots
 * are to be noted. */
bool losses_frame(struct losses *losses);
void losses_framed_slot(struct ck_ring_slot *slot,
                        const struct slotstate *slotstate);

/* Records lost so far, for any reason. */
uint64_t losses_all(const struct losses *losses);

#endif
