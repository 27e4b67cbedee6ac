/* wide_avx512.c - the hot loops of the encoder with AVX-512
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * A number of up to 56 bits is spread over the eight bytes of its lane, seven
 * bits each; how many of them count follows from its leading zeros: all but the
 * last are marked, bit 7. One instruction moves the bytes that count together.
 */
#include "schema/batch/wide.h"

#include <immintrin.h>
#include <stddef.h>
#include <string.h>

#include "schema/batch/numbers.h"

#define WIDE                                                                   \
    __attribute__((target("avx512f,avx512bw,avx512cd,avx512vl,avx512vbmi,"     \
                          "avx512vbmi2,bmi,bmi2,popcnt")))
#define WIDE_INLINE static inline __attribute__((always_inline)) WIDE
#define LANES 8

/* By leading zeros (8 to 63): how far the marks "another byte follows" of
 * eight bytes are shifted out. */
static const uint8_t marks_out[64] __attribute__((aligned(64))) = {
    0,  0,  0,  0,  0,  0,  0,  0,  8,  8,  8,  8,  8,  8,  8,  16,
    16, 16, 16, 16, 16, 16, 24, 24, 24, 24, 24, 24, 24, 32, 32, 32,
    32, 32, 32, 32, 40, 40, 40, 40, 40, 40, 40, 48, 48, 48, 48, 48,
    48, 48, 56, 56, 56, 56, 56, 56, 56, 64, 64, 64, 64, 64, 64, 64,
};

/* The lanes of `some` hold numbers below 2^56: their marks. Others: none. */
WIDE_INLINE __m512i lanes_marks(__mmask8 some, __m512i z)
{
    __m512i out =
        _mm512_maskz_permutexvar_epi8(0x0101010101010101, _mm512_lzcnt_epi64(z),
                                      _mm512_load_si512(marks_out));

    return _mm512_maskz_srlv_epi64(
        some, _mm512_set1_epi64((int64_t)0x8080808080808080), out);
}

/* Eight numbers as LEB128 in eight bytes each. */
WIDE_INLINE __m512i lanes_bytes(__m512i z, __m512i marks)
{
    const __m512i sevens = _mm512_set1_epi64(0x312a231c150e0700);

    /* The low seven bits of each byte, the mark above them: or(and). */
    return _mm512_ternarylogic_epi64(_mm512_multishift_epi64_epi8(sevens, z),
                                     _mm512_set1_epi8(0x7f), marks, 0xea);
}

/* The bytes that count to `out`: those of `firsts`, and all after a mark. */
WIDE_INLINE uint8_t *
lanes_store(uint8_t *out, __m512i bytes, __m512i marks, uint64_t firsts)
{
    uint64_t kept = _mm512_movepi8_mask(marks) << 1 | firsts;

    _mm512_storeu_si512(out, _mm512_maskz_compress_epi8(kept, bytes));
    return out + (unsigned)_mm_popcnt_u64(kept);
}

/* A run of zeros, or none; most are short. */
WIDE_INLINE uint8_t *run_store(uint8_t *out, uint64_t run)
{
    if (__builtin_expect(run > 0x80, 0)) {
        return numbers_run(out, run);
    }
    out[0] = 0;
    out[1] = (uint8_t)(run - 1);
    return out + (run == 0 ? 0 : 2);
}

/* `count` lanes; those in `some`, at least one, are not zero. Zeros
 * between them are two bytes in the lane of the first zero: 0, and how many
 * follow it.
 */
WIDE_INLINE uint8_t *lanes_mixed(
    uint8_t *out, uint64_t *run, __m512i z, unsigned some, unsigned count)
{
    const __m512i behind = _mm512_set_epi64(8, 7, 6, 5, 4, 3, 2, 1);
    unsigned last = 31 - (unsigned)__builtin_clz(some);
    unsigned starts = ~some & some << 1 & ((1u << last) - 1);
    __m512i rest = _mm512_srlv_epi64(_mm512_set1_epi64(some), behind);
    __m512i next =
        _mm512_and_si512(rest, _mm512_sub_epi64(_mm512_setzero_si512(), rest));
    __m512i zeros = _mm512_slli_epi64(
        _mm512_sub_epi64(_mm512_set1_epi64(63), _mm512_lzcnt_epi64(next)), 8);
    __m512i marks = lanes_marks((__mmask8)some, z);
    __m512i bytes =
        _mm512_mask_mov_epi64(lanes_bytes(z, marks), (__mmask8)starts, zeros);

    marks =
        _mm512_mask_mov_epi64(marks, (__mmask8)starts, _mm512_set1_epi64(0x80));
    out = run_store(out, *run + (unsigned)__builtin_ctz(some));
    *run = count - 1 - last;
    return lanes_store(out, bytes, marks,
                       _pdep_u64(some | starts, 0x0101010101010101));
}

WIDE uint8_t *wide_numbers_avx512(uint8_t *out,
                                  uint64_t *run,
                                  const int64_t *differences,
                                  unsigned count)
{
    const __m512i top = _mm512_set1_epi64((int64_t)0xff00000000000000);
    uint64_t zeros = *run;

    for (unsigned i = 0; i < count; i += LANES) {
        unsigned n = count - i < LANES ? count - i : LANES;
        __m512i d = _mm512_maskz_loadu_epi64((__mmask8)(0xffu >> (LANES - n)),
                                             differences + i);
        __m512i z =
            _mm512_xor_si512(_mm512_add_epi64(d, d), _mm512_srai_epi64(d, 63));
        unsigned some = _mm512_test_epi64_mask(z, z);

        if (some == 0) {
            zeros += n;
        } else if (_mm512_test_epi64_mask(z, top) != 0) {
            out = numbers_put_plain(out, &zeros, differences + i, n);
        } else if (some == 0xff) {
            __m512i marks = lanes_marks(0xff, z);

            out = run_store(out, zeros);
            out = lanes_store(out, lanes_bytes(z, marks), marks,
                              0x0101010101010101);
            zeros = 0;
        } else {
            out = lanes_mixed(out, &zeros, z, some, n);
        }
    }
    *run = zeros;
    return out;
}
