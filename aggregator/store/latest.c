/* latest.c - which of the facts are replaced by later ones
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "aggregator/store/latest.h"

#include <errno.h>
#include <stdlib.h>

#define ROOM_FIRST 256 /* a power of two */

struct entry {
    uint64_t key; /* 0 = free */
    uint64_t last;
};

struct latest {
    struct entry *entries; /* open addressing, at most half full */
    size_t count;
    size_t room;
    uint64_t seen; /* replaceable rows */
    uint64_t clocks;
    uint64_t asked;
    uint64_t clocks_asked;
};

struct latest *latest_create(void)
{
    struct latest *latest = calloc(1, sizeof(*latest));

    if (latest) {
        latest->room = ROOM_FIRST;
        latest->entries = calloc(latest->room, sizeof(*latest->entries));
    }
    if (latest && !latest->entries) {
        free(latest);
        return NULL;
    }
    return latest;
}

void latest_destroy(struct latest *latest)
{
    int saved = errno;

    if (latest) {
        free(latest->entries);
        free(latest);
    }
    errno = saved;
}

/* The finalizer of splitmix64. */
static uint64_t mix(uint64_t value)
{
    value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9u;
    value = (value ^ (value >> 27)) * 0x94d049bb133111ebu;
    return value ^ (value >> 31);
}

static uint64_t key_of(uint64_t a, uint64_t b, uint64_t c, uint64_t d)
{
    uint64_t key = mix(a + 1);

    key = mix(key ^ (b + 0x9e3779b97f4a7c15u));
    key = mix(key ^ (c + 0x9e3779b97f4a7c15u));
    key = mix(key ^ (d + 0x9e3779b97f4a7c15u));
    return key ? key : 1;
}

/* What the row is of, 0 = it replaces nothing. */
static uint64_t row_key(uint32_t incarnation, const struct ck_event *row)
{
    if (row->kind == CK_KIND_COUNTER || row->kind == CK_KIND_CALLS) {
        const struct ck_counter *counter = (const void *)row;

        return key_of(row->kind, incarnation, row->name, counter->tid);
    }
    if (row->kind == CK_KIND_OPEN) {
        const struct ck_open *open = (const void *)row;

        return key_of(row->kind, open->incarnation, open->depth, open->tid);
    }
    return 0;
}

/* The entry of a key, or where it belongs. */
static struct entry *
entry_find(struct entry *entries, size_t room, uint64_t key)
{
    size_t at = (size_t)key & (room - 1);

    while (entries[at].key != 0 && entries[at].key != key) {
        at = (at + 1) & (room - 1);
    }
    return &entries[at];
}

static int latest_grow(struct latest *latest)
{
    size_t room = latest->room * 2;
    struct entry *entries = calloc(room, sizeof(*entries));

    if (!entries) {
        return -1;
    }
    for (size_t i = 0; i < latest->room; i++) {
        if (latest->entries[i].key != 0) {
            *entry_find(entries, room, latest->entries[i].key) =
                latest->entries[i];
        }
    }
    free(latest->entries);
    latest->entries = entries;
    latest->room = room;
    return 0;
}

int latest_see(struct latest *latest,
               uint32_t incarnation,
               const struct ck_event *row)
{
    uint64_t key = row_key(incarnation, row);
    struct entry *entry;

    latest->clocks += ck_kind_class(row->kind) == CK_CLASS_CLOCK;
    if (key == 0) {
        return 0;
    }
    if (2 * latest->count >= latest->room && latest_grow(latest) != 0) {
        return -1;
    }
    entry = entry_find(latest->entries, latest->room, key);
    latest->count += entry->key == 0;
    *entry = (struct entry){key, latest->seen++};
    return 0;
}

bool latest_stays(struct latest *latest,
                  uint32_t incarnation,
                  const struct ck_event *row)
{
    uint64_t key = row_key(incarnation, row);

    if (ck_kind_class(row->kind) == CK_CLASS_CLOCK) {
        return 2 * latest->clocks_asked++ + 1 >= latest->clocks;
    }
    return key == 0 || entry_find(latest->entries, latest->room, key)->last ==
                           latest->asked++;
}
