/* table.c - numbers for keys, in order of first sight
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "merge/model/table.h"

#include <stdlib.h>

#include "merge/model/array.h"
#include "merge/model/memory.h"

struct table {
    struct table_key *keys; /* by number */
    size_t count;
    size_t room;
    /* number + 1; 0 = unused. The bits that numbers do not need are of the
     * key's hash: most other keys are excluded without looking at them. */
    uint32_t *slots;
    size_t mask;
};

static inline uint64_t key_hash(struct table_key key)
{
    /* Three products that do not wait for each other, then one that mixes. */
    uint64_t hash = key.a * 0x9e3779b97f4a7c15u + key.b * 0xc2b2ae3d27d4eb4fu +
                    key.c * 0x165667b19e3779f9u;

    hash = (hash ^ (hash >> 32)) * 0x9e3779b97f4a7c15u;
    return hash ^ (hash >> 32);
}

struct table *table_create(void)
{
    struct table *table = xcalloc(1, sizeof(*table));

    table->mask = 255;
    table->slots = xcalloc(table->mask + 1, sizeof(*table->slots));
    return table;
}

void table_destroy(struct table *table)
{
    if (table == NULL) {
        return;
    }
    free(table->keys);
    free(table->slots);
    free(table);
}

/* What the slot of a key with that hash holds beside its number. */
static inline uint32_t hash_tag(const struct table *table, uint64_t hash)
{
    return (uint32_t)(hash >> 32) & ~(uint32_t)table->mask;
}

static inline int64_t slot_number(const struct table *table, size_t at)
{
    return (int64_t)(table->slots[at] & (uint32_t)table->mask) - 1;
}

/* Slot of the key, or the free one where it belongs. */
static inline size_t
table_slot(const struct table *table, struct table_key key, uint64_t hash)
{
    size_t at = (size_t)hash & table->mask;
    uint32_t tag = hash_tag(table, hash);

    for (; table->slots[at] != 0; at = (at + 1) & table->mask) {
        const struct table_key *have;

        if ((table->slots[at] & ~(uint32_t)table->mask) != tag) {
            continue;
        }
        have = &table->keys[slot_number(table, at)];
        if (have->a == key.a && have->b == key.b && have->c == key.c) {
            return at;
        }
    }
    return at;
}

/* Slots for a larger mask. */
static void table_widen(struct table *table, size_t mask)
{
    uint32_t *slots = xcalloc(mask + 1, sizeof(*slots));

    free(table->slots);
    table->slots = slots;
    table->mask = mask;
    for (size_t i = 0; i < table->count; i++) {
        uint64_t hash = key_hash(table->keys[i]);
        size_t at = table_slot(table, table->keys[i], hash);

        slots[at] = hash_tag(table, hash) | ((uint32_t)i + 1);
    }
}

void table_reserve(struct table *table, size_t count)
{
    size_t mask = table->mask;

    while (count * 2 > mask) {
        mask = mask * 2 + 1;
    }
    if (mask > table->mask) {
        table_widen(table, mask);
    }
}

int64_t table_number_of(struct table *table, uint64_t a, uint64_t b, uint64_t c)
{
    struct table_key key = {a, b, c};
    uint64_t hash = key_hash(key);
    size_t at = table_slot(table, key, hash);

    if (table->slots[at] != 0) {
        return slot_number(table, at);
    }
    if (table->count == UINT32_MAX - 1) {
        memory_out(SIZE_MAX);
    }
    array_grow(&table->keys, &table->room, table->count, sizeof(*table->keys));
    if (table->count * 2 > table->mask) {
        table_widen(table, table->mask * 2 + 1);
        at = table_slot(table, key, hash);
    }
    table->keys[table->count] = key;
    table->slots[at] = hash_tag(table, hash) | (uint32_t)++table->count;
    return (int64_t)table->count - 1;
}

int64_t table_find(const struct table *table, struct table_key key)
{
    size_t at = table_slot(table, key, key_hash(key));

    return table->slots[at] == 0 ? -1 : slot_number(table, at);
}

size_t table_count(const struct table *table)
{
    return table->count;
}

struct table_key table_key(const struct table *table, size_t number)
{
    return table->keys[number];
}
