/* vocabulary.c - numbers for texts, in order of first sight
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "merge/profiles/vocabulary.h"

#include <stdlib.h>
#include <string.h>

#include "merge/model/array.h"
#include "merge/model/memory.h"
#include "schema/fnv.h"

#define NAMES_FIRST 1024

static uint64_t hash_of(const char *text, size_t length)
{
    uint64_t hash = length * 0x9e3779b97f4a7c15u;

    while (length >= 8) {
        uint64_t part;

        memcpy(&part, text, sizeof(part));
        hash = (hash ^ part) * 0xff51afd7ed558ccdu;
        hash ^= hash >> 32;
        text += 8;
        length -= 8;
    }
    while (length-- > 0) {
        hash = (hash ^ (uint8_t)*text++) * CK_FNV_PRIME;
    }
    return hash ^ hash >> 29;
}

static void slots_grow(struct vocabulary *words)
{
    size_t room = words->room * 2;
    struct vocabulary_slot *slots = xcalloc(room, sizeof(*slots));

    for (size_t i = 0; i < words->room; i++) {
        size_t at = words->slots[i].hash & (room - 1);

        if (words->slots[i].id == 0) {
            continue;
        }
        while (slots[at].id != 0) {
            at = (at + 1) & (room - 1);
        }
        slots[at] = words->slots[i];
    }
    free(words->slots);
    words->slots = slots;
    words->room = room;
}

/* Keep the text behind the others. */
static void text_keep(struct vocabulary *words, const char *text, size_t length)
{
    if (words->texts_room - words->texts_used < length) {
        size_t room = words->texts_room * 2 + length + 4096;
        char *grown = xrealloc(words->texts, room);

        words->texts = grown;
        words->texts_room = room;
    }
    memcpy(words->texts + words->texts_used, text, length);
    words->texts_used += length;
}

static uint32_t
word_add(struct vocabulary *words, size_t at, const char *text, size_t length)
{
    array_grow(&words->spans, &words->spans_room, words->count,
               sizeof(*words->spans));
    text_keep(words, text, length);
    words->spans[words->count] =
        (struct vocabulary_span){words->texts_used - length, length};
    words->slots[at].hash = hash_of(text, length);
    words->slots[at].id = ++words->count;
    if (words->count > words->room / 2) {
        slots_grow(words);
    }
    return words->count;
}

uint32_t
vocabulary_find(struct vocabulary *words, const char *text, size_t length)
{
    uint64_t hash = hash_of(text, length);
    size_t at;

    if (words->room == 0) {
        words->slots = xcalloc(NAMES_FIRST, sizeof(*words->slots));
        words->room = NAMES_FIRST;
    }
    at = hash & (words->room - 1);
    while (words->slots[at].id != 0) {
        const struct vocabulary_slot *slot = &words->slots[at];
        const struct vocabulary_span *span = &words->spans[slot->id - 1];

        if (slot->hash == hash && span->length == length &&
            memcmp(words->texts + span->text, text, length) == 0) {
            return slot->id;
        }
        at = (at + 1) & (words->room - 1);
    }
    return word_add(words, at, text, length);
}

const char *
vocabulary_text(const struct vocabulary *words, uint32_t id, size_t *length)
{
    const struct vocabulary_span *span = &words->spans[id - 1];

    *length = span->length;
    return words->texts + span->text;
}

void vocabulary_fini(struct vocabulary *words)
{
    free(words->slots);
    free(words->spans);
    free(words->texts);
    memset(words, 0, sizeof(*words));
}

size_t vocabulary_show(char *to, size_t room, const char *text, size_t length)
{
    static const char symbol[] = "\xe2\x90\x80";
    size_t used = 0;

    for (size_t i = 0; i < length; i++) {
        size_t bytes = text[i] == '\0' ? sizeof(symbol) - 1 : 1;

        if (used + bytes > room) {
            break;
        }
        memcpy(to + used, text[i] == '\0' ? symbol : text + i, bytes);
        used += bytes;
    }
    return used;
}
