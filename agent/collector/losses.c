/* losses.c - what a collector lost, and what of that it has recorded
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "agent/collector/losses.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include "schema/event.h"

void losses_limit(struct losses *losses, uint64_t records, ck_time_t since)
{
    losses->limit += records;
    if (losses->limit_at == 0 || since < losses->limit_at) {
        losses->limit_at = since;
    }
}

/* Records since the count was `before`. More than one loss in each nanosecond
 * since the machine began cannot be: such a count was overwritten. */
static uint64_t lost_since(struct losses *losses, uint64_t now, uint64_t before)
{
    if (now - before <= (uint64_t)ck_time_raw()) {
        return now - before;
    }
    losses->broken++;
    return 0;
}

/* A span of the ring's clock that a slot's writer noted, as far as that can
 * be. */
static void span_take(const struct losses *losses,
                      const struct ck_ring_slot *slot,
                      struct ck_counter *lost)
{
    int64_t now = lost->e.start;
    int64_t first = clocksync_raw(losses->sync, atomic_load(&slot->lost_first));
    int64_t last = clocksync_raw(losses->sync, atomic_load(&slot->lost_last));

    if (first > 0 && first <= last && last <= now) {
        lost->e.start = first;
        lost->enabled = last - first;
    }
}

static void lost_put(struct losses *losses,
                     enum ck_lost reason,
                     uint64_t records,
                     const struct ck_ring_slot *slot)
{
    struct ck_counter lost = {
        .e = {.kind = CK_KIND_LOST,
              .units = sizeof(lost) / CK_UNIT_BYTES,
              .flags = CK_FLAG_RAW,
              .start = ck_time_raw()},
        .value = (int64_t)records,
        .reason = reason,
        .tid = slot == NULL ? 0 : slot->tid,
    };

    if (reason == CK_LOST_LIMIT) {
        lost.enabled = lost.e.start - losses->limit_at;
        lost.e.start = losses->limit_at;
    }
    if (slot != NULL && atomic_load(&slot->lost_first) != 0) {
        span_take(losses, slot, &lost);
    }
    losses->recorded += records;
    (void)selfstream_put(losses->selfstream, &lost.e);
}

void losses_inherit(struct losses *losses, uint64_t *noslot)
{
    losses->noslot_told = noslot;
    losses->noslot = *noslot > (uint64_t)ck_time_raw() ? 0 : *noslot;
    losses->recorded = losses->framed = losses->noslot;
}

void losses_inherit_slot(struct losses *losses,
                         const struct ck_ring_slot *slot,
                         struct slotstate *slotstate)
{
    slotstate->dropped = slot->dropped_told;
    slotstate->reentered = slot->reentered_told;
    if (slotstate->dropped > (uint64_t)ck_time_raw() ||
        slotstate->reentered > (uint64_t)ck_time_raw()) {
        slotstate->dropped = slotstate->reentered = 0; /* overwritten */
        losses->broken++;
    }
    losses->recorded += slotstate->dropped + slotstate->reentered;
    losses->framed = losses->recorded;
}

bool losses_frame(struct losses *losses)
{
    if (losses->framed == losses->recorded ||
        selfstream_flush(losses->selfstream) != 0) {
        return false;
    }
    losses->framed = losses->recorded;
    *losses->noslot_told = losses->noslot;
    return true;
}

void losses_framed_slot(struct ck_ring_slot *slot,
                        const struct slotstate *slotstate)
{
    slot->dropped_told = slotstate->dropped;
    slot->reentered_told = slotstate->reentered;
}

void losses_slot(struct losses *losses,
                 struct ck_ring_slot *slot,
                 struct slotstate *slotstate)
{
    /* acquire: pairs with the release in ck_ring_count_lost() */
    uint64_t dropped =
        atomic_load_explicit(&slot->dropped, memory_order_acquire);
    uint64_t reentered = atomic_load(&slot->reentered);

    if (dropped != slotstate->dropped) {
        lost_put(losses, CK_LOST_RING,
                 lost_since(losses, dropped, slotstate->dropped), slot);
        slotstate->dropped = dropped;
        atomic_store(&slot->lost_first, 0);
    }
    if (reentered != slotstate->reentered) {
        lost_put(losses, CK_LOST_REENTRY,
                 lost_since(losses, reentered, slotstate->reentered), slot);
        slotstate->reentered = reentered;
    }
}

void losses_record(struct losses *losses, uint64_t noslot)
{
    if (noslot != losses->noslot) {
        lost_put(losses, CK_LOST_NOSLOT,
                 lost_since(losses, noslot, losses->noslot), NULL);
        losses->noslot = noslot;
    }
    if (losses->limit != 0) {
        lost_put(losses, CK_LOST_LIMIT, losses->limit, NULL);
        losses->limit = 0;
    }
    if (losses->spool != 0) {
        lost_put(losses, CK_LOST_SPOOL, losses->spool, NULL);
        losses->spool = 0;
    }
    if (losses->broken != 0) {
        selfstream_note(
            losses->selfstream,
            "recording memory was overwritten: at least %llu records "
            "could not be read",
            (unsigned long long)losses->broken);
        lost_put(losses, CK_LOST_RING, losses->broken, NULL);
        losses->broken = 0;
    }
}

uint64_t losses_all(const struct losses *losses)
{
    return losses->recorded + losses->limit + losses->spool + losses->broken;
}
