/* cuptientry.h - an entry of a table that threads write and read without a lock
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Two threads may write one entry at once, and a third one may read it
 * meanwhile: what it then holds is of both, or of none. So it has a sum of its
 * key and its words, and an entry whose sum is another one is empty. Each word
 * has a factor of its own, so that errors in two words cannot cancel out.
 * Plain stores: they cost a launch less than to take the entry.
 */
#ifndef CK_AGENT_INJECT_CUPTI_CUPTIENTRY_H
#define CK_AGENT_INJECT_CUPTI_CUPTIENTRY_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct entry {
    _Atomic uint64_t key; /* 0 = empty */
    _Atomic uint64_t words[2];
    _Atomic uint64_t sum;
};

static inline uint64_t entry_sum(uint64_t key, uint64_t first, uint64_t second)
{
    return key * 0x9e3779b97f4a7c15u ^ first * 0xc2b2ae3d27d4eb4fu ^
           second * 0x165667b19e3779f9u;
}

static inline void
entry_set(struct entry *entry, uint64_t key, uint64_t first, uint64_t second)
{
    atomic_store_explicit(&entry->words[0], first, memory_order_relaxed);
    atomic_store_explicit(&entry->words[1], second, memory_order_relaxed);
    atomic_store_explicit(&entry->sum, entry_sum(key, first, second),
                          memory_order_relaxed);
    /* release: pairs with the acquire in entry_get() */
    atomic_store_explicit(&entry->key, key, memory_order_release);
}

/* False: it is of another key, or of none. */
static inline bool
entry_get(struct entry *entry, uint64_t key, uint64_t words[2])
{
    if (atomic_load_explicit(&entry->key, memory_order_acquire) != key) {
        return false;
    }
    words[0] = atomic_load_explicit(&entry->words[0], memory_order_relaxed);
    words[1] = atomic_load_explicit(&entry->words[1], memory_order_relaxed);
    return atomic_load_explicit(&entry->sum, memory_order_relaxed) ==
           entry_sum(key, words[0], words[1]);
}

#endif
