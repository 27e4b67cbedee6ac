/* openclhandle.c - open addressing from pointer to value
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * A key stays at its place once it is there; a removed one leaves a mark that
 * the next insertion takes over.
 */
#include "agent/inject/opencl/openclhandle.h"

#include <stddef.h>

#define HANDLE_REMOVED ((uintptr_t)1)
/* Places looked at: bounds the time of a look-up. */
#define HANDLE_PROBES 64

static uint32_t handle_hash(uintptr_t key)
{
    return (uint32_t)(((uint64_t)key * 0x9e3779b97f4a7c15ull) >> 40);
}

static struct handle_entry *handle_find(struct handle_table *table,
                                        uintptr_t key)
{
    uint32_t at = handle_hash(key);

    for (uint32_t i = 0; i < HANDLE_PROBES; i++) {
        struct handle_entry *entry = &table->entries[(at + i) % HANDLE_ENTRIES];
        uintptr_t held =
            atomic_load_explicit(&entry->key, memory_order_acquire);

        if (held == key) {
            return entry;
        }
        if (held == 0) {
            return NULL;
        }
    }
    return NULL;
}

/* A free place becomes the key's. */
static bool handle_claim(struct handle_entry *entry, uintptr_t key)
{
    uintptr_t held = atomic_load_explicit(&entry->key, memory_order_relaxed);

    return (held == 0 || held == HANDLE_REMOVED) &&
           atomic_compare_exchange_strong(&entry->key, &held, key);
}

bool handle_put(struct handle_table *table, const void *pointer, uint64_t value)
{
    uintptr_t key = (uintptr_t)pointer;
    struct handle_entry *entry = handle_find(table, key);
    uint32_t at = handle_hash(key);

    for (uint32_t i = 0; i < HANDLE_PROBES && entry == NULL; i++) {
        struct handle_entry *free_entry =
            &table->entries[(at + i) % HANDLE_ENTRIES];

        if (handle_claim(free_entry, key)) {
            entry = free_entry;
        }
    }
    if (entry == NULL) {
        return false;
    }
    atomic_store_explicit(&entry->value, value, memory_order_release);
    return true;
}

uint64_t handle_get(struct handle_table *table, const void *pointer)
{
    struct handle_entry *entry = handle_find(table, (uintptr_t)pointer);

    return entry == NULL
               ? 0
               : atomic_load_explicit(&entry->value, memory_order_acquire);
}

uint64_t handle_take(struct handle_table *table, const void *pointer)
{
    struct handle_entry *entry = handle_find(table, (uintptr_t)pointer);
    uint64_t value;

    if (entry == NULL) {
        return 0;
    }
    value = atomic_exchange(&entry->value, 0);
    atomic_store_explicit(&entry->key, HANDLE_REMOVED, memory_order_release);
    return value;
}
