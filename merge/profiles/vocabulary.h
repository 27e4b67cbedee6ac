/* vocabulary.h - numbers for texts, in order of first sight
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CK_MERGE_PROFILES_VOCABULARY_H
#define CK_MERGE_PROFILES_VOCABULARY_H

#include <stddef.h>
#include <stdint.h>

/* Where a text is in `texts`. */
struct vocabulary_span {
    size_t text;
    size_t length;
};

struct vocabulary_slot {
    uint64_t hash;
    uint32_t id; /* 0 = free */
};

/* All zeros at first. */
struct vocabulary {
    struct vocabulary_slot *slots; /* a power of two, open addressing */
    size_t room;
    uint32_t count;
    struct vocabulary_span *spans; /* by id - 1 */
    size_t spans_room;
    char *texts;
    size_t texts_used, texts_room;
};

void vocabulary_fini(struct vocabulary *words);
/* Number of a text (1, 2 ...), given at first sight. */
uint32_t
vocabulary_find(struct vocabulary *words, const char *text, size_t length);
/* Borrowed until the next text is new. */
const char *
vocabulary_text(const struct vocabulary *words, uint32_t id, size_t *length);
/* A text with NULs, which would end it early: each becomes its symbol, as far
 * as there is room. Returns the length. */
size_t vocabulary_show(char *to, size_t room, const char *text, size_t length);

#endif
