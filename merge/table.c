/* table.c - numbers for keys, in order of first sight
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "merge/table.h"

#include <errno.h>
#include <stdlib.h>

#include "merge/array.h"

struct table {
    struct table_key *keys; /* by number */
    size_t count;
    size_t room;
    uint32_t *slots; /* number + 1; 0 = unused */
    size_t mask;
};

static inline size_t key_hash(struct table_key key)
{
    /* Three products that do not wait for each other, then one that mixes. */
    uint64_t hash = key.a * 0x9e3779b97f4a7c15u + key.b * 0xc2b2ae3d27d4eb4fu +
                    key.c * 0x165667b19e3779f9u;

    hash = (hash ^ (hash >> 32)) * 0x9e3779b97f4a7c15u;
    return (size_t)(hash ^ (hash >> 32));
}

struct table *table_create(void)
{
    struct table *table = calloc(1, sizeof(*table));

    if (table == NULL) {
        return NULL;
    }
    table->mask = 255;
    table->slots = calloc(table->mask + 1, sizeof(*table->slots));
    if (table->slots == NULL) {
        free(table);
        return NULL;
    }
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

/* Slot of the key, or the free one where it belongs. */
static inline size_t table_slot(const struct table *table, struct table_key key)
{
    size_t at = key_hash(key) & table->mask;

    while (table->slots[at] != 0) {
        const struct table_key *have = &table->keys[table->slots[at] - 1];

        if (have->a == key.a && have->b == key.b && have->c == key.c) {
            return at;
        }
        at = (at + 1) & table->mask;
    }
    return at;
}

static int table_double(struct table *table)
{
    size_t mask = table->mask * 2 + 1;
    uint32_t *slots = calloc(mask + 1, sizeof(*slots));

    if (slots == NULL) {
        return -1;
    }
    free(table->slots);
    table->slots = slots;
    table->mask = mask;
    for (size_t i = 0; i < table->count; i++) {
        slots[table_slot(table, table->keys[i])] = (uint32_t)i + 1;
    }
    return 0;
}

int64_t table_number_of(struct table *table, uint64_t a, uint64_t b, uint64_t c)
{
    struct table_key key = {a, b, c};
    size_t at = table_slot(table, key);

    if (table->slots[at] != 0) {
        return (int64_t)table->slots[at] - 1;
    }
    if (table->count == UINT32_MAX - 1) {
        errno = ENOMEM;
        return -1;
    }
    if (array_grow(&table->keys, &table->room, table->count,
                   sizeof(*table->keys)) != 0) {
        return -1;
    }
    if (table->count * 2 > table->mask) {
        if (table_double(table) != 0) {
            return -1;
        }
        at = table_slot(table, key);
    }
    table->keys[table->count] = key;
    table->slots[at] = (uint32_t)++table->count;
    return (int64_t)table->count - 1;
}

bool table_has(const struct table *table, struct table_key key)
{
    return table->slots[table_slot(table, key)] != 0;
}

size_t table_count(const struct table *table)
{
    return table->count;
}

struct table_key table_key(const struct table *table, size_t number)
{
    return table->keys[number];
}
