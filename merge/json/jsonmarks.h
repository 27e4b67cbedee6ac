/* jsonmarks.h - where the tokens of JSON are, found 64 bytes at a time
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * A mark is a quote that opens or closes a string, one of {}[],: outside of
 * strings, or the first byte of anything else there that is no white space.
 * So where the next token begins does not depend on a look at this one.
 */
#ifndef CK_MERGE_JSON_JSONMARKS_H
#define CK_MERGE_JSON_JSONMARKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Most bytes that are looked at in one go. */
#define JSON_MARKS_BYTES ((size_t)32 << 10)
#define JSON_MARKS_WORDS (JSON_MARKS_BYTES / 64)

struct json_marks {
    uint8_t *text; /* the marks' zero */
    const uint16_t *next;
    const uint16_t *end;
    /* A bit for each byte of a string that wants a closer look: a backslash, a
     * control character, or beyond 127. */
    uint64_t odd[JSON_MARKS_WORDS];
    uint16_t marks[JSON_MARKS_BYTES + 64];
};

/* What 64 bytes are, a bit for each. */
struct json_block {
    uint64_t quote;
    uint64_t slash;
    uint64_t bracket; /* {}[],: */
    uint64_t space;
    uint64_t odd; /* a control character, or beyond 127 */
};

/* From one block to the next: 1, or all bits, or none. */
struct json_carry {
    uint64_t escaped; /* the next byte is behind a backslash */
    uint64_t string;  /* within a string */
    uint64_t word;    /* within a number or a word */
};

/* False: this processor finds tokens faster one after the other. */
bool json_marks_can(void);
/* Find the marks of `bytes` from `text` on, which is outside of a string. 64
 * bytes more are readable. */
void json_marks_find(struct json_marks *marks, uint8_t *text, size_t bytes);

/* The same for 64 bytes at once each; where to the next mark goes. */
uint16_t *
json_marks_avx2(struct json_marks *marks, uint16_t *to, size_t blocks);
uint16_t *
json_marks_avx512(struct json_marks *marks, uint16_t *to, size_t blocks);

/* True when nothing in the string from its quote at `from` to that at `to`
 * wants a closer look. */
static inline bool
json_marks_plain(const struct json_marks *marks, size_t from, size_t to)
{
    size_t last = to / 64;
    uint64_t odd = marks->odd[from / 64];

    for (size_t i = from / 64; i < last; i++) {
        odd |= marks->odd[i + 1];
    }
    return odd == 0;
}

/* Marks of a block; its odd bytes that are in strings are left. */
static inline uint64_t json_block_marks(struct json_block *block,
                                        struct json_carry *carry)
{
    uint64_t quote = block->quote;
    uint64_t string;
    uint64_t word;
    uint64_t marks;

    if ((block->slash | carry->escaped) != 0) {
        /* Behind an odd number of backslashes: of a run that begins at an even
         * place the sum goes over into the byte behind it, if that is odd. */
        const uint64_t even = 0x5555555555555555u;
        uint64_t slash = block->slash & ~carry->escaped;
        uint64_t follows = slash << 1 | carry->escaped;
        uint64_t starts = slash & ~even & ~follows;
        uint64_t sum;

        carry->escaped = __builtin_add_overflow(starts, slash, &sum);
        quote &= ~((even ^ sum << 1) & follows);
    }
    string = quote;
    string ^= string << 1;
    string ^= string << 2;
    string ^= string << 4;
    string ^= string << 8;
    string ^= string << 16;
    string ^= string << 32;
    string ^= carry->string;
    carry->string = (uint64_t)0 - (string >> 63);
    block->odd = (block->odd | block->slash) & string;
    word = ~(string | quote | block->bracket | block->space);
    marks = quote | (block->bracket & ~string) |
            (word & ~(word << 1 | carry->word));
    carry->word = word >> 63;
    return marks;
}

#endif
