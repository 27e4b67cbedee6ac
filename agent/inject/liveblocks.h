/* liveblocks.h - sampled blocks that the program has not given back
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Asked at every free(): one look at a byte shows for nearly all blocks that
 * they were not sampled. Any thread may call any of these at any time; no lock,
 * nothing is allocated.
 */
#ifndef CK_AGENT_INJECT_LIVEBLOCKS_H
#define CK_AGENT_INJECT_LIVEBLOCKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Sets of blocks, and blocks of a set. */
#define LIVEBLOCKS_SETS_BITS 14
#define LIVEBLOCKS_SETS (1 << LIVEBLOCKS_SETS_BITS)
#define LIVEBLOCKS_WAYS 8

struct live_block {
    uint64_t address;
    uint64_t site;
    uint64_t bytes;
    uint32_t stack;
    uint32_t mean;
};

/* How many of a set's ways are taken. */
extern _Atomic uint8_t liveblocks_taken[LIVEBLOCKS_SETS];

static inline size_t liveblocks_set(const void *address)
{
    return (uint64_t)(uintptr_t)address * UINT64_C(0x9e3779b97f4a7c15) >>
           (64 - LIVEBLOCKS_SETS_BITS);
}

/* Nothing is known of most. NULL is no block. */
static inline bool liveblocks_may_have(const void *address)
{
    return __builtin_expect(
        address != NULL &&
            __atomic_load_n(
                (const uint8_t *)&liveblocks_taken[liveblocks_set(address)],
                __ATOMIC_RELAXED) != 0,
        0);
}

/* Before the program gets the block. False: there is no room for it. */
bool liveblocks_add(const struct live_block *block);
/* Before the block is given back: it is no more there. False: it was not, as
 * NULL never is. */
bool liveblocks_remove(const void *address, struct live_block *block);
/* In a child of fork(): what is there was given to its parent. */
void liveblocks_forget(void);

#endif
