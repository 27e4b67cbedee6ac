/* keytable.c - a number and a pointer by key
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "aggregator/store/keytable.h"

#include <errno.h>
#include <stdlib.h>

#define ROOM_FIRST 64 /* a power of two */

struct keytable {
    struct keytable_entry *entries; /* open addressing, at most half full */
    size_t count;
    size_t room;
};

/* The finalizer of splitmix64. */
static uint64_t mix(uint64_t value)
{
    value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9u;
    value = (value ^ (value >> 27)) * 0x94d049bb133111ebu;
    return value ^ (value >> 31);
}

uint64_t keytable_key(uint64_t a, uint64_t b, uint64_t c, uint64_t d)
{
    uint64_t key = mix(a + 1);

    key = mix(key ^ (b + 0x9e3779b97f4a7c15u));
    key = mix(key ^ (c + 0x9e3779b97f4a7c15u));
    key = mix(key ^ (d + 0x9e3779b97f4a7c15u));
    return key ? key : 1;
}

struct keytable *keytable_create(void)
{
    struct keytable *table = calloc(1, sizeof(*table));

    if (table) {
        table->room = ROOM_FIRST;
        table->entries = calloc(table->room, sizeof(*table->entries));
    }
    if (table && !table->entries) {
        free(table);
        return NULL;
    }
    return table;
}

void keytable_destroy(struct keytable *table)
{
    int saved = errno;

    if (table) {
        free(table->entries);
        free(table);
    }
    errno = saved;
}

/* The entry of a key, or where it belongs. */
static struct keytable_entry *
entry_find(struct keytable_entry *entries, size_t room, uint64_t key)
{
    size_t at = (size_t)key & (room - 1);

    while (entries[at].key != 0 && entries[at].key != key) {
        at = (at + 1) & (room - 1);
    }
    return &entries[at];
}

static int grow(struct keytable *table)
{
    size_t room = table->room * 2;
    struct keytable_entry *entries = calloc(room, sizeof(*entries));

    if (!entries) {
        return -1;
    }
    for (size_t i = 0; i < table->room; i++) {
        if (table->entries[i].key != 0) {
            *entry_find(entries, room, table->entries[i].key) =
                table->entries[i];
        }
    }
    free(table->entries);
    table->entries = entries;
    table->room = room;
    return 0;
}

struct keytable_entry *keytable_find(struct keytable *table, uint64_t key)
{
    struct keytable_entry *entry = entry_find(table->entries, table->room, key);

    return entry->key == 0 ? NULL : entry;
}

struct keytable_entry *keytable_make(struct keytable *table, uint64_t key)
{
    struct keytable_entry *entry;

    if (2 * table->count >= table->room && grow(table) != 0) {
        return NULL;
    }
    entry = entry_find(table->entries, table->room, key);
    table->count += entry->key == 0;
    entry->key = key;
    return entry;
}

size_t keytable_count(const struct keytable *table)
{
    return table->count;
}

struct keytable_entry *keytable_at(struct keytable *table, size_t place)
{
    return place < table->room ? &table->entries[place] : NULL;
}
