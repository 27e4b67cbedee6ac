/* names.c - texts kept once, ids of a process to texts, addresses to lines
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Both tables are open addressing with linear probing, at most half full.
 */
#include "merge/model/names.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "merge/model/array.h"
#include "merge/model/memory.h"
#include "schema/fnv.h"
#include "schema/order.h"

/* Ids are given from 1 upward (agent/inject); a larger one is damage. */
#define NAMES_ID_MAX ((uint32_t)1 << 22)

struct texts {
    pthread_mutex_t lock; /* of all: a follower keeps texts, too */
    char **slots;
    size_t mask; /* slots - 1 */
    size_t count;
};

struct spot {
    uint64_t address; /* 0 = unused */
    struct place place;
};

struct inlined {
    uint64_t address;
    uint32_t order; /* the last one holds */
    uint32_t count;
    struct place *places;
};

static uint64_t hash_bytes(const char *bytes, size_t length)
{
    uint64_t hash = ck_fnv(CK_FNV_START, bytes, length);

    return hash ^ (hash >> 29);
}

struct texts *texts_create(void)
{
    struct texts *texts = xcalloc(1, sizeof(*texts));

    (void)pthread_mutex_init(&texts->lock, NULL);
    texts->mask = 1023;
    texts->slots = xcalloc(texts->mask + 1, sizeof(*texts->slots));
    return texts;
}

void texts_destroy(struct texts *texts)
{
    if (texts == NULL) {
        return;
    }
    for (size_t i = 0; i <= texts->mask; i++) {
        free(texts->slots[i]);
    }
    free(texts->slots);
    (void)pthread_mutex_destroy(&texts->lock);
    free(texts);
}

static void texts_double(struct texts *texts)
{
    size_t mask = texts->mask * 2 + 1;
    char **slots = xcalloc(mask + 1, sizeof(*slots));

    for (size_t i = 0; i <= texts->mask; i++) {
        char *text = texts->slots[i];
        size_t at;

        if (text == NULL) {
            continue;
        }
        at = hash_bytes(text, strlen(text)) & mask;
        while (slots[at] != NULL) {
            at = (at + 1) & mask;
        }
        slots[at] = text;
    }
    free(texts->slots);
    texts->slots = slots;
    texts->mask = mask;
}

/* Under the lock. */
static const char *
texts_find(struct texts *texts, const char *bytes, size_t length)
{
    size_t at;

    if (texts->count * 2 > texts->mask) {
        texts_double(texts);
    }
    at = hash_bytes(bytes, length) & texts->mask;
    while (texts->slots[at] != NULL) {
        const char *text = texts->slots[at];

        if (strncmp(text, bytes, length) == 0 && text[length] == '\0') {
            return text;
        }
        at = (at + 1) & texts->mask;
    }
    texts->slots[at] = xstrndup(bytes, length);
    texts->count++;
    return texts->slots[at];
}

const char *texts_keep(struct texts *texts, const char *bytes, size_t length)
{
    const char *kept;

    (void)pthread_mutex_lock(&texts->lock);
    kept = texts_find(texts, bytes, strnlen(bytes, length));
    (void)pthread_mutex_unlock(&texts->lock);
    return kept;
}

struct names *names_create(void)
{
    return xcalloc(1, sizeof(struct names));
}

void names_destroy(struct names *names)
{
    if (names == NULL) {
        return;
    }
    free(names->ids);
    free(names->spots);
    for (size_t i = 0; i < names->inlined_count; i++) {
        free(names->inlined[i].places);
    }
    free(names->inlined);
    free(names);
}

int names_set(struct names *names, uint32_t id, const char *text)
{
    if (id >= NAMES_ID_MAX) {
        errno = ERANGE;
        return -1;
    }
    if (id >= names->ids_count) {
        size_t count = names->ids_count == 0 ? 64 : names->ids_count;
        const char **ids;

        while (count <= id) {
            count *= 2;
        }
        ids = xrealloc(names->ids, count * sizeof(*ids));
        memset(ids + names->ids_count, 0,
               (count - names->ids_count) * sizeof(*ids));
        names->ids = ids;
        names->ids_count = count;
    }
    names->ids[id] = text;
    return 0;
}

static size_t spot_at(const struct spot *spots, size_t mask, uint64_t address)
{
    size_t at = (size_t)((address * 0x9e3779b97f4a7c15u) >> 20) & mask;

    while (spots[at].address != 0 && spots[at].address != address) {
        at = (at + 1) & mask;
    }
    return at;
}

static void spots_double(struct names *names)
{
    size_t mask = names->spots == NULL ? 63 : names->spots_mask * 2 + 1;
    struct spot *spots = xcalloc(mask + 1, sizeof(*spots));

    for (size_t i = 0; names->spots != NULL && i <= names->spots_mask; i++) {
        const struct spot *spot = &names->spots[i];

        if (spot->address != 0) {
            spots[spot_at(spots, mask, spot->address)] = *spot;
        }
    }
    free(names->spots);
    names->spots = spots;
    names->spots_mask = mask;
}

void names_set_place(struct names *names, uint64_t address, struct place place)
{
    struct spot *spot;

    if (address == 0) {
        return;
    }
    if (names->spots_count * 2 >= names->spots_mask) {
        spots_double(names);
    }
    spot = &names->spots[spot_at(names->spots, names->spots_mask, address)];
    names->spots_count += spot->address == 0;
    spot->address = address;
    spot->place = place;
}

struct place names_get_place(const struct names *names, uint64_t address)
{
    struct place none = {NULL, NULL, 0};
    const struct spot *spot;

    if (names->spots == NULL || address == 0) {
        return none;
    }
    spot = &names->spots[spot_at(names->spots, names->spots_mask, address)];
    return spot->address == address ? spot->place : none;
}

void names_set_inlined(struct names *names,
                       uint64_t address,
                       const struct place *places,
                       size_t count)
{
    struct inlined *inlined;

    array_grow(&names->inlined, &names->inlined_room, names->inlined_count,
               sizeof(*names->inlined));
    inlined = &names->inlined[names->inlined_count];
    *inlined = (struct inlined){address, (uint32_t)names->inlined_count,
                                (uint32_t)count, NULL};
    inlined->places = xcalloc(count, sizeof(*places));
    memcpy(inlined->places, places, count * sizeof(*places));
    names->inlined_count++;
    names->is_sorted = false;
}

CK_ORDER(by_address, struct inlined, CK_UP(address) ?: CK_DOWN(order))
CK_BEFORE(inlined_before, struct inlined, uint64_t, a->address < key)

const struct place *
names_get_inlined(struct names *names, uint64_t address, size_t *count)
{
    size_t low;

    if (!names->is_sorted && names->inlined_count > 0) {
        qsort(names->inlined, names->inlined_count, sizeof(*names->inlined),
              by_address);
        names->is_sorted = true;
    }
    low = inlined_before(names->inlined, names->inlined_count, address);
    *count = 0;
    if (low == names->inlined_count || names->inlined[low].address != address) {
        return NULL;
    }
    *count = names->inlined[low].count;
    return names->inlined[low].places;
}
