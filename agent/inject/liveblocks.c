/* liveblocks.c - sampled blocks that the program has not given back
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 *   set = hash of the address;  addresses of a set are one cache line
 *   way: 0 = free -> BUSY -> address -> BUSY -> 0
 *
 * A way belongs to the thread that made it BUSY. What another thread frees, the
 * program has handed to it, so the block is seen there.
 */
#include "agent/inject/liveblocks.h"

#include <stdatomic.h>

#include "agent/inject/inject.h"

#define BUSY 1u

_Atomic uint8_t liveblocks_taken[LIVEBLOCKS_SETS];

static INJECT_ROOM _Alignas(
    64) _Atomic uint64_t addresses[LIVEBLOCKS_SETS][LIVEBLOCKS_WAYS];
static INJECT_ROOM struct held {
    struct live_block block;
    uint32_t era;
} blocks[LIVEBLOCKS_SETS][LIVEBLOCKS_WAYS];
static _Atomic uint32_t era;

bool liveblocks_add(const struct live_block *block)
{
    size_t set = liveblocks_set((const void *)(uintptr_t)block->address);

    for (size_t way = 0; way < LIVEBLOCKS_WAYS; way++) {
        _Atomic uint64_t *address = &addresses[set][way];
        uint64_t none = 0;

        if (atomic_load_explicit(address, memory_order_relaxed) == 0 &&
            atomic_compare_exchange_strong(address, &none, BUSY)) {
            blocks[set][way] = (struct held){
                *block, atomic_load_explicit(&era, memory_order_relaxed)};
            atomic_fetch_add_explicit(&liveblocks_taken[set], 1,
                                      memory_order_relaxed);
            /* release: pairs with the acquire in liveblocks_remove() */
            atomic_store_explicit(address, block->address,
                                  memory_order_release);
            return true;
        }
    }
    return false;
}

bool liveblocks_remove(const void *block, struct live_block *removed)
{
    size_t set = liveblocks_set(block);

    /* 0 and BUSY are no addresses: they are states of a way. */
    if ((uint64_t)(uintptr_t)block <= BUSY) {
        return false;
    }
    for (size_t way = 0; way < LIVEBLOCKS_WAYS; way++) {
        _Atomic uint64_t *address = &addresses[set][way];
        uint64_t wanted = (uint64_t)(uintptr_t)block;
        bool is_ours;

        /* acquire: pairs with the release in liveblocks_add() */
        if (atomic_load_explicit(address, memory_order_acquire) != wanted ||
            !atomic_compare_exchange_strong(address, &wanted, BUSY)) {
            continue;
        }
        *removed = blocks[set][way].block;
        is_ours = blocks[set][way].era ==
                  atomic_load_explicit(&era, memory_order_relaxed);
        atomic_fetch_sub_explicit(&liveblocks_taken[set], 1,
                                  memory_order_relaxed);
        atomic_store_explicit(address, 0, memory_order_release);
        return is_ours;
    }
    return false;
}

void liveblocks_forget(void)
{
    atomic_fetch_add_explicit(&era, 1, memory_order_relaxed);
}
