/* jsonmarks_avx512.c - where the tokens of JSON are, by AVX-512
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <immintrin.h>

#include "merge/json/jsonmarks.h"

#define WIDE                                                                   \
    __attribute__((target(                                                     \
        "avx512f,avx512bw,avx512vl,avx512vbmi,avx512vbmi2,bmi,bmi2,popcnt")))

static inline WIDE uint64_t is(__m512i bytes, __m512i which)
{
    return _mm512_cmpeq_epi8_mask(bytes, which);
}

/* Of the bytes with equal low halves one at most is white space, and one at
 * most a bracket, once '[' and '{', ']' and '}' are made equal. What else is
 * made a comma or a colon by that is a control character, and seen to be one
 * when it is asked for. */
static inline WIDE struct json_block block_of(const uint8_t *text)
{
    const __m512i spaces = _mm512_broadcast_i32x4(_mm_setr_epi8(
        ' ', 0, 1, 1, 1, 1, 1, 1, 1, '\t', '\n', 1, 1, '\r', 1, 1));
    const __m512i brackets = _mm512_broadcast_i32x4(
        _mm_setr_epi8(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, ':', '{', ',', '}', 0, 0));
    const __m512i bit = _mm512_set1_epi8(0x20);
    __m512i bytes = _mm512_loadu_si512(text);
    struct json_block block;

    block.quote = is(bytes, _mm512_set1_epi8('"'));
    block.slash = is(bytes, _mm512_set1_epi8('\\'));
    block.bracket =
        is(_mm512_or_si512(bytes, bit), _mm512_shuffle_epi8(brackets, bytes));
    block.space = is(bytes, _mm512_shuffle_epi8(spaces, bytes));
    block.odd = _mm512_cmplt_epi8_mask(bytes, bit);
    return block;
}

/* Places of the bits, in order. */
static inline WIDE uint16_t *
marks_put(uint16_t *to, uint64_t found, uint16_t zero)
{
    const __m512i places = _mm512_set_epi8(
        63, 62, 61, 60, 59, 58, 57, 56, 55, 54, 53, 52, 51, 50, 49, 48, 47, 46,
        45, 44, 43, 42, 41, 40, 39, 38, 37, 36, 35, 34, 33, 32, 31, 30, 29, 28,
        27, 26, 25, 24, 23, 22, 21, 20, 19, 18, 17, 16, 15, 14, 13, 12, 11, 10,
        9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
    __m512i packed = _mm512_maskz_compress_epi8(found, places);
    __m512i from = _mm512_set1_epi16((short)zero);
    unsigned count = (unsigned)__builtin_popcountll(found);

    _mm512_storeu_si512(
        to, _mm512_add_epi16(
                from, _mm512_cvtepu8_epi16(_mm512_castsi512_si256(packed))));
    if (count > 32) {
        _mm512_storeu_si512(
            to + 32,
            _mm512_add_epi16(from, _mm512_cvtepu8_epi16(
                                       _mm512_extracti64x4_epi64(packed, 1))));
    }
    return to + count;
}

WIDE uint16_t *
json_marks_avx512(struct json_marks *marks, uint16_t *to, size_t blocks)
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
