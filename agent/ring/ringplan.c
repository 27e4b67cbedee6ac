/* ringplan.c - how much memory a ring takes, and in how many slots
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "agent/ring/ringplan.h"

#include <errno.h>

#include "schema/ring/ring.h"

#define PAGE_BYTES ((uint64_t)4096)
#define SLOTS_DEFAULT 256
#define SLOTS_LEAST 4
#define SLOTS_LARGE 4 /* or more, where memory is scarce */
#define SLOTS_SMALL 64
#define OUTBOX_BYTES_LEAST ((uint64_t)64 << 10)

static uint64_t page_round(uint64_t bytes)
{
    return (bytes + PAGE_BYTES - 1) & ~(PAGE_BYTES - 1);
}

uint64_t ringplan_head(uint32_t slots)
{
    return page_round(CK_RING_HEADS_OFFSET +
                      (uint64_t)slots * sizeof(struct ck_ring_slot));
}

uint64_t ringplan_power(uint64_t bytes)
{
    uint64_t power = 1;

    while (power <= bytes / 2) {
        power *= 2;
    }
    return power;
}

uint64_t ringplan_bodies(const struct ringplan *plan)
{
    return plan->large * plan->slot_bytes +
           (plan->slots - plan->large) * plan->small_bytes;
}

/* A share of three quarters of the file system, and never more than three
 * quarters of what is free now. */
static uint64_t
plan_budget(uint64_t total, uint64_t available, unsigned sharers)
{
    uint64_t share = total / 4 * 3 / (sharers == 0 ? 1 : sharers);
    uint64_t now = available / 4 * 3;

    return share < now ? share : now;
}

/* The outbox and the table of slots, a quarter each at most where it is tight:
 * what is left of the budget for bodies. */
static uint64_t plan_head(struct ringplan *plan, uint64_t budget)
{
    uint64_t room;

    while (plan->outbox_bytes > budget / 4 &&
           plan->outbox_bytes > OUTBOX_BYTES_LEAST) {
        plan->outbox_bytes = page_round(plan->outbox_bytes / 2);
    }
    while (ringplan_head(plan->slots) > budget / 4 &&
           plan->slots > SLOTS_LEAST) {
        plan->slots /= 2;
    }
    room = ringplan_head(plan->slots) + plan->outbox_bytes;
    return budget > room ? budget - room : 0;
}

/* Large slots for the threads that every program has take half of the room,
 * small ones for a burst of threads the other half. */
static void plan_bodies(struct ringplan *plan, uint64_t room, unsigned large)
{
    uint32_t most = plan->slots;

    plan->large = most;
    plan->small_bytes = plan->slot_bytes;
    if (room / plan->slot_bytes >= most) {
        return;
    }
    while (room / 2 / plan->slot_bytes < large &&
           plan->slot_bytes > RINGPLAN_SLOT_BYTES_LEAST) {
        plan->slot_bytes /= 2;
    }
    plan->small_bytes = ringplan_power(room / 2 / SLOTS_SMALL);
    if (plan->small_bytes < RINGPLAN_SLOT_BYTES_LEAST) {
        plan->small_bytes = RINGPLAN_SLOT_BYTES_LEAST;
    }
    if (plan->small_bytes > plan->slot_bytes) {
        plan->small_bytes = plan->slot_bytes;
    }
    plan->large = (uint32_t)(room / 2 / plan->slot_bytes);
    room -= plan->large * plan->slot_bytes;
    plan->slots = plan->large + (uint32_t)(room / plan->small_bytes);
    plan->slots = plan->slots < most ? plan->slots : most;
}

int ringplan_make(struct ringplan *plan,
                  uint64_t total,
                  uint64_t available,
                  unsigned sharers,
                  const struct ringplan *wish)
{
    struct ringplan made = {
        .slots = wish->slots != 0 ? wish->slots : SLOTS_DEFAULT,
        .slot_bytes = ringplan_power(
            wish->slot_bytes != 0 ? wish->slot_bytes : CK_RING_SLOT_BYTES),
        .outbox_bytes =
            page_round(wish->outbox_bytes != 0 ? wish->outbox_bytes
                                               : CK_RING_OUTBOX_BYTES),
    };
    uint64_t room;

    if (made.slots > CK_RING_SLOTS_MAX) {
        made.slots = CK_RING_SLOTS_MAX;
    }
    if (made.slot_bytes < RINGPLAN_SLOT_BYTES_LEAST) {
        made.slot_bytes = RINGPLAN_SLOT_BYTES_LEAST;
    }
    room = plan_head(&made, plan_budget(total, available, sharers));
    plan_bodies(&made, room, wish->slot_bytes == 0 ? SLOTS_LARGE : 1);
    if (made.slots < SLOTS_LEAST) {
        errno = ENOSPC;
        return -1;
    }
    *plan = made;
    return 0;
}
