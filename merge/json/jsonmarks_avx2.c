/* jsonmarks_avx2.c - where the tokens of JSON are, by AVX2
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <immintrin.h>

#include "merge/json/jsonmarks.h"

#define WIDE __attribute__((target("avx2,bmi,bmi2,popcnt")))

static inline WIDE uint64_t bits(__m256i which)
{
    return (uint32_t)_mm256_movemask_epi8(which);
}

static inline WIDE uint64_t is(__m256i bytes, __m256i which)
{
    return bits(_mm256_cmpeq_epi8(bytes, which));
}

/* Half a block. Of the bytes with equal low halves one at most is white space,
 * and one at most a bracket, once '[' and '{', ']' and '}' are made equal. What
 * else is made a comma or a colon by that is a control character, and seen to
 * be one when it is asked for. */
static inline WIDE struct json_block half_of(const uint8_t *text)
{
    const __m256i spaces = _mm256_broadcastsi128_si256(_mm_setr_epi8(
        ' ', 0, 1, 1, 1, 1, 1, 1, 1, '\t', '\n', 1, 1, '\r', 1, 1));
    const __m256i brackets = _mm256_broadcastsi128_si256(
        _mm_setr_epi8(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, ':', '{', ',', '}', 0, 0));
    const __m256i bit = _mm256_set1_epi8(0x20);
    __m256i bytes = _mm256_loadu_si256((const __m256i *)text);

    return (struct json_block){
        .quote = is(bytes, _mm256_set1_epi8('"')),
        .slash = is(bytes, _mm256_set1_epi8('\\')),
        .bracket = is(_mm256_or_si256(bytes, bit),
                      _mm256_shuffle_epi8(brackets, bytes)),
        .space = is(bytes, _mm256_shuffle_epi8(spaces, bytes)),
        .odd = bits(_mm256_cmpgt_epi8(bit, bytes)),
    };
}

static inline WIDE struct json_block block_of(const uint8_t *text)
{
    struct json_block low = half_of(text);
    struct json_block high = half_of(text + 32);

    low.quote |= high.quote << 32;
    low.slash |= high.slash << 32;
    low.bracket |= high.bracket << 32;
    low.space |= high.space << 32;
    low.odd |= high.odd << 32;
    return low;
}

/* Places of the bits, in order; eight at a time, the last ones are rubbish
 * that the next overwrite. */
static inline WIDE uint16_t *
marks_put(uint16_t *to, uint64_t found, uint16_t zero)
{
    uint16_t *end = to + __builtin_popcountll(found);

    while (to < end) {
        for (unsigned i = 0; i < 8; i++) {
            to[i] = (uint16_t)(zero + _tzcnt_u64(found));
            found &= found - 1;
        }
        to += 8;
    }
    return end;
}

WIDE uint16_t *
json_marks_avx2(struct json_marks *marks, uint16_t *to, size_t blocks)
{
    struct json_carry carry = {0};

    for (size_t i = 0; i < blocks; i++) {
        struct json_block block = block_of(marks->text + i * 64);
        uint64_t found = json_block_marks(&block, &carry);

        marks->odd[i] = block.odd;
        to = marks_put(to, found, (uint16_t)(i * 64));
    }
    return to;
}
