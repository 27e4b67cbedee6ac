/* openclhandle.c - few near lines, and many far ones
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * A pointer's own line is one of the near ones, which stay in a CPU's cache:
 * most programs release an event at once, or wait for it soon, and then few
 * pointers are here at a time. One that finds no room there is in one of a few
 * far lines, which are anywhere; the own line counts those, so that far ones
 * are looked at only where there is something. A place whose pointer was
 * removed is free.
 */
#include "agent/inject/opencl/openclhandle.h"

#include <stddef.h>

#define FAR_LINES (HANDLE_LINES - HANDLE_NEAR)
#define FAR_TRIES 4

static uint32_t line_own(uintptr_t key)
{
    return (uint32_t)(key >> 8 ^ key >> 18 ^ key >> 28) % HANDLE_NEAR;
}

static uint32_t line_far(uintptr_t key, uint32_t try)
{
    uint32_t mixed = (uint32_t)((uint64_t)key * 0x9e3779b97f4a7c15ull >> 40);

    return HANDLE_NEAR + (mixed + try) % FAR_LINES;
}

static struct handle_entry *
line_find(struct handle_table *table, uint32_t line, uintptr_t key)
{
    struct handle_entry *entry = &table->entries[line * HANDLE_LINE];

    for (int i = 0; i < HANDLE_LINE; i++, entry++) {
        if (atomic_load_explicit(&entry->key, memory_order_acquire) == key &&
            atomic_load_explicit(&entry->value, memory_order_acquire) != 0) {
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
        for (uint32_t i = 0; i < FAR_TRIES && entry == NULL; i++) {
            entry = line_find(table, line_far(key, i), key);
        }
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
    for (uint32_t i = 0; i < FAR_TRIES && entry == NULL; i++) {
        entry = line_claim(table, line_far(key, i), key);
    }
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

/* No thread finds it any more. */
static void entry_free(struct handle_table *table,
                       struct handle_entry *entry,
                       uintptr_t key)
{
    atomic_store_explicit(&entry->key, 0, memory_order_release);
    if ((uint32_t)(entry - table->entries) / HANDLE_LINE >= HANDLE_NEAR) {
        atomic_fetch_sub(&table->elsewhere[line_own(key)], 1);
    }
}

bool handle_change(struct handle_table *table,
                   const void *pointer,
                   uint64_t from,
                   uint64_t to)
{
    uintptr_t key = (uintptr_t)pointer;
    struct handle_entry *entry = handle_find(table, key);

    if (entry == NULL || key == 0 || from == 0 ||
        !atomic_compare_exchange_strong(&entry->value, &from, to)) {
        return false;
    }
    if (to == 0) {
        entry_free(table, entry, key);
    }
    return true;
}

uint64_t handle_take(struct handle_table *table, const void *pointer)
{
    uint64_t value = handle_get(table, pointer);

    while (value != 0 && !handle_change(table, pointer, value, 0)) {
        value = handle_get(table, pointer);
    }
    return value;
}
