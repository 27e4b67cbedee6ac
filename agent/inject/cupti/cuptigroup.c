/* cuptigroup.c - which communicator of NCCL a launched kernel is of
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "agent/inject/cupti/cuptigroup.h"

#include <stdatomic.h>

__attribute__((visibility("default"))) nccl_link_f ck_nccl_link;

struct entry {
    _Atomic uint64_t key; /* correlation + 1; 0 = being changed or unused */
    _Atomic uint64_t group;
};
static struct entry entries[GROUP_LAUNCHES];

static __thread struct nccl_group current;
static __thread uint32_t newest; /* launch; 0 = none since it was asked for */

static void entry_set(uint32_t correlation, struct nccl_group group)
{
    struct entry *entry = &entries[correlation % GROUP_LAUNCHES];

    atomic_store_explicit(&entry->key, 0, memory_order_relaxed);
    atomic_thread_fence(memory_order_release);
    atomic_store_explicit(&entry->group,
                          (uint64_t)group.name << 32 | group.number,
                          memory_order_relaxed);
    /* release: pairs with the acquire in group_get() */
    atomic_store_explicit(&entry->key, (uint64_t)correlation + 1,
                          memory_order_release);
}

void group_launch(uint32_t correlation)
{
    newest = correlation;
    if (current.name != 0) {
        entry_set(correlation, current);
    }
}

struct nccl_group group_get(uint32_t correlation)
{
    struct entry *entry = &entries[correlation % GROUP_LAUNCHES];
    uint64_t key = (uint64_t)correlation + 1, group;

    if (atomic_load_explicit(&entry->key, memory_order_acquire) != key) {
        return (struct nccl_group){0, 0};
    }
    group = atomic_load_explicit(&entry->group, memory_order_relaxed);
    atomic_thread_fence(memory_order_acquire);
    if (atomic_load_explicit(&entry->key, memory_order_relaxed) != key) {
        return (struct nccl_group){0, 0};
    }
    return (struct nccl_group){(uint32_t)(group >> 32), (uint32_t)group};
}

static void begin(struct nccl_group group)
{
    current = group;
}

static bool launched(struct nccl_group group)
{
    bool is_new = newest != 0;

    if (is_new && group.name != 0) {
        entry_set(newest, group);
    }
    newest = 0;
    return is_new;
}

const struct nccl_link *ck_nccl_link(void)
{
    static const struct nccl_link link = {begin, launched};

    return &link;
}
