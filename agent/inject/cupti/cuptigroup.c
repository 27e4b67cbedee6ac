/* cuptigroup.c - which communicator of NCCL a launched kernel is of
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "agent/inject/cupti/cuptigroup.h"

#include <time.h>

#include "agent/inject/cupti/cuptientry.h"

/* Launches that cknccl has yet to claim as NCCL's, or not. */
#define PENDING GROUP_LAUNCHES
/* How long the record of such a launch waits for cknccl: its launching thread
 * may have lost its CPU meanwhile. */
#define PENDING_NS 200000
#define PENDING_WAITS 1000
/* After so many waits in vain no record waits any more. */
#define PENDING_VAIN 4

__attribute__((visibility("default"))) nccl_link_f ck_nccl_link;

/* By correlation + 1. */
static struct entry entries[GROUP_LAUNCHES];
static _Atomic uint64_t pending[PENDING]; /* correlation + 1 */

static __thread struct nccl_group current;
static __thread uint32_t newest; /* launch; 0 = none since it was asked for */
/* cknccl reports behind a launch which group it was of. */
static _Atomic int is_behind;
static _Atomic unsigned vain;

static void group_set(uint32_t correlation, struct nccl_group group)
{
    entry_set(&entries[correlation % GROUP_LAUNCHES], (uint64_t)correlation + 1,
              group.name, group.number);
}

void group_launch(uint32_t correlation)
{
    newest = correlation;
    if (current.name != 0) {
        group_set(correlation, current);
    } else if (atomic_load_explicit(&is_behind, memory_order_relaxed) != 0) {
        /* release: pairs with the acquire in is_pending() */
        atomic_store_explicit(&pending[correlation % PENDING],
                              (uint64_t)correlation + 1, memory_order_release);
    }
}

static struct nccl_group group_find(uint32_t correlation)
{
    uint64_t words[2];

    return entry_get(&entries[correlation % GROUP_LAUNCHES],
                     (uint64_t)correlation + 1, words)
               ? (struct nccl_group){(uint32_t)words[0], (uint32_t)words[1]}
               : (struct nccl_group){0, 0};
}

static bool is_pending(uint32_t correlation)
{
    return atomic_load_explicit(&pending[correlation % PENDING],
                                memory_order_acquire) ==
           (uint64_t)correlation + 1;
}

struct nccl_group group_get(uint32_t correlation)
{
    static const struct timespec pause = {.tv_nsec = PENDING_NS};
    int waits = 0;

    while (is_pending(correlation) && waits < PENDING_WAITS &&
           atomic_load(&vain) < PENDING_VAIN) {
        (void)nanosleep(&pause, NULL);
        waits++;
    }
    if (waits == PENDING_WAITS) {
        (void)atomic_fetch_add(&vain, 1);
    }
    return group_find(correlation);
}

static void begin(struct nccl_group group)
{
    current = group;
}

static bool launched(struct nccl_group group)
{
    uint64_t mine = (uint64_t)newest + 1;
    bool is_new = newest != 0;

    atomic_store_explicit(&is_behind, 1, memory_order_relaxed);
    if (is_new && group.name != 0) {
        group_set(newest, group);
    }
    if (is_new) {
        (void)atomic_compare_exchange_strong(&pending[newest % PENDING], &mine,
                                             0);
    }
    newest = 0;
    return is_new;
}

const struct nccl_link *ck_nccl_link(void)
{
    static const struct nccl_link link = {begin, launched};

    return &link;
}
