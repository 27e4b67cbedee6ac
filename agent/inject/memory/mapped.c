/* mapped.c - sampled memory that the program mapped itself, by its addresses
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 *   begin: 0 = free -> BUSY -> address -> 0
 *
 * The blocks themselves are in liveblocks.h: who takes one from there has it.
 */
#include "agent/inject/memory/mapped.h"

#include <stdatomic.h>
#include <stdbool.h>

#include "agent/inject/liveblocks.h"
#include "agent/inject/memory/memorysample.h"

#define BUSY 1u

static INJECT_ROOM struct {
    _Atomic uint64_t begin;
    _Atomic uint64_t end;
} mappings[MAPPED_MAX];
static _Atomic uint32_t used; /* those behind were never used */
static _Atomic bool is_noted;

void mapped_add(const void *block, size_t bytes)
{
    uint64_t begin = (uint64_t)(uintptr_t)block;

    for (uint32_t i = 0; i < MAPPED_MAX; i++) {
        uint64_t none = 0;

        if (atomic_load_explicit(&mappings[i].begin, memory_order_relaxed) ==
                0 &&
            atomic_compare_exchange_strong(&mappings[i].begin, &none, BUSY)) {
            uint32_t before = atomic_load(&used);

            while (before <= i &&
                   !atomic_compare_exchange_weak(&used, &before, i + 1)) {
            }
            atomic_store_explicit(&mappings[i].end, begin + bytes,
                                  memory_order_relaxed);
            /* release: pairs with the acquire in mapped_leave() */
            atomic_store_explicit(&mappings[i].begin, begin,
                                  memory_order_release);
            return;
        }
    }
    if (!atomic_exchange(&is_noted, true)) {
        memorysample_note("more than 4,096 sampled mappings of memory were "
                          "live: of later ones, parts that went are not known. "
                          "A larger --allocations samples fewer");
    }
}

/* What is left of the block from `begin` to `end`: it is as likely to have been
 * sampled as all of it was. */
static void rest_keep(const struct live_block *block,
                      uint64_t begin,
                      uint64_t end,
                      struct inject_label *function)
{
    struct live_block rest = *block;
    uint64_t mean;

    if (begin >= end) {
        return;
    }
    rest.address = begin;
    rest.bytes = end - begin;
    mean = (uint64_t)((double)block->mean * (double)rest.bytes /
                          (double)block->bytes +
                      0.5);
    rest.mean = mean == 0 ? 1 : (uint32_t)mean;
    if (memorysample_rest(&rest, function)) {
        mapped_add((const void *)(uintptr_t)begin, rest.bytes);
    }
}

/* False: another thread has it, or it is another one. */
static bool block_cut(uint64_t at,
                      uint64_t begin,
                      uint64_t end,
                      struct inject_label *by,
                      struct live_block *cut)
{
    struct live_block block;

    if (!liveblocks_remove((const void *)(uintptr_t)at, &block)) {
        return false;
    }
    memorysample_gone(&block, by);
    rest_keep(&block, at, begin < at + block.bytes ? begin : at + block.bytes,
              by);
    rest_keep(&block, end, at + block.bytes, by);
    *cut = block;
    return true;
}

/* munmap() has whole pages. */
static uint64_t pages_end(uint64_t begin, size_t bytes)
{
    const uint64_t page = CK_RING_PAGE_BYTES;

    return (begin + bytes + page - 1) / page * page;
}

bool mapped_leave(const void *at,
                  size_t bytes,
                  struct inject_label *function,
                  struct live_block *cut)
{
    uint64_t begin = (uint64_t)(uintptr_t)at;
    uint64_t end = pages_end(begin, bytes);
    /* No bytes at all, or more than there are: the kernel refuses it. */
    uint32_t count =
        end > begin ? atomic_load_explicit(&used, memory_order_relaxed) : 0;
    bool is_cut = false;

    for (uint32_t i = 0; i < count; i++) {
        /* acquire: pairs with the release in mapped_add() */
        uint64_t first =
            atomic_load_explicit(&mappings[i].begin, memory_order_acquire);
        uint64_t last =
            atomic_load_explicit(&mappings[i].end, memory_order_relaxed);

        if (first > BUSY && first < end && last > begin &&
            atomic_compare_exchange_strong(&mappings[i].begin, &first, 0) &&
            block_cut(first, begin, end, function, cut)) {
            is_cut = true;
        }
    }
    return is_cut;
}

void mapped_return(const struct live_block *cut,
                   const void *at,
                   size_t bytes,
                   struct inject_label *function)
{
    uint64_t begin = (uint64_t)(uintptr_t)at;
    uint64_t end = pages_end(begin, bytes);
    uint64_t last = cut->address + cut->bytes;

    rest_keep(cut, begin > cut->address ? begin : cut->address,
              end < last ? end : last, function);
}

void mapped_forget(void)
{
    uint32_t count = atomic_load_explicit(&used, memory_order_relaxed);

    for (uint32_t i = 0; i < count; i++) {
        atomic_store_explicit(&mappings[i].begin, 0, memory_order_relaxed);
    }
    atomic_store_explicit(&used, 0, memory_order_relaxed);
}
