/* openclhandle.c - two cache lines of places for each pointer
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * A pointer's own line is near those of pointers that are near, as a driver's
 * next events mostly are. One that finds no room there has another one, which
 * is anywhere; the own line counts those, so that the other one is looked at
 * only where there is something. A place whose pointer was removed is free.
 */
#include "agent/inject/opencl/openclhandle.h"

#include <stddef.h>

static uint32_t line_own(uintptr_t key)
{
    return (uint32_t)(key >> 8 ^ key >> 23) % HANDLE_LINES;
}

static uint32_t line_other(uintptr_t key)
{
    return (uint32_t)((uint64_t)key * 0x9e3779b97f4a7c15ull >> 40) %
           HANDLE_LINES;
}

static struct handle_entry *
line_find(struct handle_table *table, uint32_t line, uintptr_t key)
{
    struct handle_entry *entry = &table->entries[line * HANDLE_LINE];

    for (int i = 0; i < HANDLE_LINE; i++, entry++) {
        if (atomic_load_explicit(&entry->key, memory_order_acquire) == key) {
            return entry;
        }
    }
    return NULL;
}

/* A free place becomes the key's; NULL: there is none. */
static struct handle_entry *
line_claim(struct handle_table *table, uint32_t line, uintptr_t key)
{
    struct handle_entry *entry = &table->entries[line * HANDLE_LINE];

    for (int i = 0; i < HANDLE_LINE; i++, entry++) {
        uintptr_t none = 0;

        if (atomic_load_explicit(&entry->key, memory_order_relaxed) == 0 &&
            atomic_compare_exchange_strong(&entry->key, &none, key)) {
            return entry;
        }
    }
    return NULL;
}

static struct handle_entry *handle_find(struct handle_table *table,
                                        uintptr_t key)
{
    uint32_t own = line_own(key);
    struct handle_entry *entry = line_find(table, own, key);

    if (entry == NULL && atomic_load(&table->elsewhere[own]) != 0) {
        entry = line_find(table, line_other(key), key);
    }
    return entry;
}

static struct handle_entry *handle_claim(struct handle_table *table,
                                         uintptr_t key)
{
    uint32_t own = line_own(key);
    struct handle_entry *entry = line_claim(table, own, key);

    if (entry != NULL) {
        return entry;
    }
    atomic_fetch_add(&table->elsewhere[own], 1);
    entry = line_claim(table, line_other(key), key);
    if (entry == NULL) {
        atomic_fetch_sub(&table->elsewhere[own], 1);
    }
    return entry;
}

bool handle_put(struct handle_table *table, const void *pointer, uint64_t value)
{
    uintptr_t key = (uintptr_t)pointer;
    struct handle_entry *entry = handle_find(table, key);

    if (entry == NULL) {
        entry = handle_claim(table, key);
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
    uintptr_t key = (uintptr_t)pointer;
    struct handle_entry *entry = handle_find(table, key);
    uint32_t own = line_own(key);
    uint64_t value;

    if (entry == NULL || key == 0) {
        return 0;
    }
    value = atomic_exchange(&entry->value, 0);
    atomic_store_explicit(&entry->key, 0, memory_order_release);
    if ((uint32_t)(entry - table->entries) / HANDLE_LINE != own) {
        atomic_fetch_sub(&table->elsewhere[own], 1);
    }
    return value;
}
