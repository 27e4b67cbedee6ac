/* numbers.h - unsigned LEB128 numbers in bytes that grow
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CK_MERGE_OUTPUT_NUMBERS_H
#define CK_MERGE_OUTPUT_NUMBERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bytes of a number at most. */
#define NUMBER_MOST 10

/* `at` is freed by the owner; all 0 = empty. */
struct numbers {
    unsigned char *at;
    size_t used;
    size_t room;
};

/* Make room for so many numbers more. */
void numbers_reserve(struct numbers *numbers, size_t count);

/* A number at a place; returns what is behind it. */
static inline unsigned char *number_write(unsigned char *at, uint64_t value)
{
    while (value >= 0x80) {
        *at++ = (unsigned char)((value & 0x7f) | 0x80);
        value >>= 7;
    }
    *at++ = (unsigned char)value;
    return at;
}

/* There is room. */
static inline void numbers_put(struct numbers *numbers, uint64_t value)
{
    numbers->used = (size_t)(number_write(numbers->at + numbers->used, value) -
                             numbers->at);
}

#endif
