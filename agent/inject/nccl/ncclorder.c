/* ncclorder.c - the number of a kernel among the collectives of a communicator
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "agent/inject/nccl/ncclorder.h"

enum has {
    HAS_COLLECTIVE = 1,
    HAS_MESSAGE = 2,
    HAS_CAPTURED = 4,
};

static _Atomic uint64_t groups;
static __thread uint64_t group; /* of this thread; 0 = none was reported */

void order_group(void)
{
    group = atomic_fetch_add(&groups, 1) + 1;
}

/* A call: the first of its group forgets what the last group had. Where groups
 * are not reported, a launch ends one. */
static void call_add(struct order *order, enum has what)
{
    if (atomic_load(&order->group) != group ||
        atomic_load(&order->launches) != 0) {
        atomic_store(&order->group, group);
        atomic_store(&order->launches, 0);
        atomic_store(&order->has, 0);
    }
    atomic_fetch_or(&order->has, (uint32_t)what);
}

uint64_t order_collective(struct order *order, bool is_captured)
{
    call_add(order, is_captured ? HAS_CAPTURED : HAS_COLLECTIVE);
    return is_captured ? 0 : atomic_fetch_add(&order->collectives, 1) + 1;
}

void order_message(struct order *order)
{
    call_add(order, HAS_MESSAGE);
}

uint64_t order_launch(struct order *order)
{
    uint32_t launches = atomic_fetch_add(&order->launches, 1);
    uint32_t has = atomic_load(&order->has);
    uint32_t most = (has & HAS_MESSAGE) != 0 ? 1 : ORDER_LAUNCHES;

    return (has & HAS_COLLECTIVE) == 0 || (has & HAS_CAPTURED) != 0 ||
                   launches >= most
               ? 0
               : atomic_load(&order->collectives) * ORDER_LAUNCHES + launches +
                     1;
}
