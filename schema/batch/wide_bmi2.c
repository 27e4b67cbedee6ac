/* wide_bmi2.c - the hot loops of the column codec with BMI2 and AVX2
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * One instruction spreads the bits of a number over its bytes, and one gathers
 * them, so there is no branch on its length.
 */
#include "schema/batch/wide.h"

#include <immintrin.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "schema/batch/numbers.h"
#include "schema/batch/reader.h"

#define WIDE __attribute__((target("avx2,bmi,bmi2,lzcnt")))
#define WIDE_INLINE static inline __attribute__((always_inline)) WIDE

/* A number that is not zero. Writes 8 bytes whatever its length. */
WIDE_INLINE uint8_t *number_store(uint8_t *out, uint64_t z)
{
    unsigned more = (unsigned)(63 - _lzcnt_u64(z)) * 37 >> 8; /* / 7 */
    uint64_t marks = _bzhi_u64(0x8080808080808080, 8 * more);
    uint64_t bytes = _pdep_u64(z, 0x7f7f7f7f7f7f7f7f) | marks;

    if (__builtin_expect(more >= 8, 0)) {
        return numbers_one(out, z);
    }
    memcpy(out, &bytes, sizeof(bytes));
    return out + more + 1;
}

WIDE uint8_t *wide_numbers_bmi2(uint8_t *out,
                                uint64_t *run,
                                const int64_t *differences,
                                unsigned count)
{
    uint64_t zeros = *run;

    for (unsigned i = 0; i < count; i++) {
        int64_t d = differences[i];

        if (d == 0) {
            zeros++;
            continue;
        }
        if (zeros != 0) {
            out = numbers_run(out, zeros);
            zeros = 0;
        }
        out = number_store(out, (uint64_t)d << 1 ^ (uint64_t)(d >> 63));
    }
    *run = zeros;
    return out;
}

/* A column on its way. */
struct taking {
    const uint8_t *at;
    const uint8_t *last; /* where eight bytes can be loaded; NULL = nowhere */
    uint64_t limit;
    int64_t *out;
    int64_t *end;
};

#define HIGH_BITS 0x8080808080808080
#define LOW_BITS 0x7f7f7f7f7f7f7f7f

/* Four numbers of two bytes each, which most differences of times are. False:
 * it is something else. */
WIDE_INLINE bool pairs_take(struct taking *taking, uint64_t x)
{
    __m128i seven, z, d;

    if ((~x & HIGH_BITS) != 0x8000800080008000 ||
        taking->end - taking->out < 4) {
        return false;
    }
    seven = _mm_cvtsi64_si128((long long)(x & LOW_BITS));
    if ((_mm_movemask_epi8(_mm_cmpeq_epi8(seven, _mm_setzero_si128())) &
         0xaa) != 0) {
        return false; /* a needless zero */
    }
    z = _mm_or_si128(
        _mm_and_si128(seven, _mm_set1_epi16(0x7f)),
        _mm_srli_epi16(_mm_andnot_si128(_mm_set1_epi16(0xff), seven), 1));
    d = _mm_xor_si128(_mm_srli_epi16(z, 1),
                      _mm_sub_epi16(_mm_setzero_si128(),
                                    _mm_and_si128(z, _mm_set1_epi16(1))));
    _mm256_storeu_si256((void *)taking->out, _mm256_cvtepi16_epi64(d));
    taking->out += 4;
    taking->at += 8;
    return true;
}

/* Two numbers that end within eight bytes: where the next ones are is known
 * after one load, not after two. False: it is something else. */
WIDE_INLINE bool couple_take(struct taking *taking, uint64_t x, uint64_t ends)
{
    uint64_t others = _blsr_u64(ends);
    unsigned top = (unsigned)_tzcnt_u64(ends);
    unsigned next = (unsigned)_tzcnt_u64(others); /* 64 = there is none */
    uint64_t nothing = ~(((x & LOW_BITS) + LOW_BITS) | x) & HIGH_BITS;
    uint64_t first, second;

    if (others == 0 || _bzhi_u64(nothing, next + 1) != 0 ||
        taking->end - taking->out < 2) {
        return false; /* or a run begins, or a number has a needless zero */
    }
    first = _pext_u64(x, _bzhi_u64(LOW_BITS, top));
    second = _pext_u64(x >> top >> 1, _bzhi_u64(LOW_BITS, next - top - 1));
    if (first > taking->limit || second > taking->limit) {
        return false;
    }
    taking->out[0] = reader_unzigzag(first);
    taking->out[1] = reader_unzigzag(second);
    taking->out += 2;
    taking->at += (next >> 3) + 1;
    return true;
}

/* Two numbers of three bytes each: nothing of where the next ones are has to be
 * found out. False: it is something else. */
WIDE_INLINE bool twins_take(struct taking *taking, uint64_t x, uint64_t ends)
{
    uint64_t first = _pext_u64(x, 0x7f7f7f);
    uint64_t second = _pext_u64(x, 0x7f7f7f000000);

    if ((ends & 0xffffffffffff) != 0x800000800000 ||
        taking->end - taking->out < 2 || first >> 14 == 0 ||
        second >> 14 == 0 || (first | second) > taking->limit) {
        return false;
    }
    taking->out[0] = reader_unzigzag(first);
    taking->out[1] = reader_unzigzag(second);
    taking->out += 2;
    taking->at += 6;
    return true;
}

/* Numbers of up to eight bytes, until one wants a closer look: it begins a run,
 * or is too large, or ends in a needless zero. */
WIDE_INLINE void numbers_take(struct taking *taking, bool has_pairs)
{
    while (taking->out < taking->end && taking->at <= taking->last) {
        uint64_t x, z, ends;
        unsigned top;

        memcpy(&x, taking->at, sizeof(x));
        ends = ~x & HIGH_BITS;
        if ((has_pairs && pairs_take(taking, x)) ||
            (has_pairs && twins_take(taking, x, ends)) ||
            couple_take(taking, x, ends)) {
            continue;
        }
        top = (unsigned)_tzcnt_u64(ends); /* 7, 15, ... 63, or 64 */
        z = _pext_u64(x, _bzhi_u64(LOW_BITS, top));
        if (top == 64 || (x >> (top - 7) & 0x7f) == 0 || z > taking->limit) {
            return;
        }
        *taking->out++ = reader_unzigzag(z);
        taking->at += (top >> 3) + 1;
    }
}

/* What is left of a run. */
WIDE_INLINE void zeros_take(struct taking *taking, struct reader *from)
{
    size_t room = (size_t)(taking->end - taking->out);
    size_t count = from->run < room ? (size_t)from->run : room;

    memset(taking->out, 0, count * sizeof(*taking->out));
    taking->out += count;
    from->run -= count;
}

WIDE int wide_differences(struct reader *reader,
                          uint64_t left,
                          unsigned bytes,
                          int64_t *differences,
                          unsigned count)
{
    struct reader from = *reader;
    struct taking taking = {.last =
                                from.end - from.at >= 8 ? from.end - 8 : NULL,
                            .limit = ~(uint64_t)0 >> (64 - 8 * bytes),
                            .out = differences,
                            .end = differences + count};

    while (taking.out < taking.end) {
        if (from.run == 0) {
            taking.at = from.at;
            if (bytes > 1) {
                numbers_take(&taking, true);
            } else {
                numbers_take(&taking, false);
            }
            from.at = taking.at;
        } else {
            zeros_take(&taking, &from);
        }
        if (taking.out < taking.end) {
            left -= (uint64_t)(taking.out - differences);
            differences = taking.out;
            if (reader_difference(&from, left, bytes, taking.out++) != 0) {
                return -1;
            }
        }
    }
    *reader = from;
    return 0;
}

/* One unit of a row and its peer: or(xor). */
#define UNIT_CHANGES(changes, row, peer, unit)                                 \
    (changes) = _mm256_or_si256(                                               \
        (changes),                                                             \
        _mm256_xor_si256(                                                      \
            _mm256_loadu_si256((const void *)((row) + (size_t)(unit)*32)),     \
            _mm256_loadu_si256((const void *)((peer) + (size_t)(unit)*32))))

/* Three variables, no array: they must stay in registers. */
WIDE_INLINE void rows_changes(const uint8_t *const *row,
                              const uint8_t *const *peer,
                              unsigned count,
                              unsigned units,
                              uint64_t *changed)
{
    __m256i first = _mm256_setzero_si256();
    __m256i second = _mm256_setzero_si256();
    __m256i third = _mm256_setzero_si256();
    uint64_t head = 0;
    uint64_t before;

    memcpy(&before, row[0], sizeof(before));
    for (unsigned i = 0; i < count; i++) {
        const uint8_t *r = row[i + 1];
        const uint8_t *p = peer[i];
        uint64_t own;

        memcpy(&own, r, sizeof(own));
        head |= own ^ before;
        before = own;
        UNIT_CHANGES(first, r, p, 0);
        if (units > 1) {
            UNIT_CHANGES(second, r, p, 1);
        }
        if (units > 2) {
            UNIT_CHANGES(third, r, p, 2);
        }
    }
    _mm256_storeu_si256((void *)changed, first);
    if (units > 1) {
        _mm256_storeu_si256((void *)(changed + 4), second);
    }
    if (units > 2) {
        _mm256_storeu_si256((void *)(changed + 8), third);
    }
    changed[0] = head;
}

WIDE void wide_changes(const uint8_t *const *row,
                       const uint8_t *const *peer,
                       unsigned count,
                       unsigned units,
                       uint64_t *changed)
{
    switch (units) {
    case 1:
        rows_changes(row, peer, count, 1, changed);
        break;
    case 2:
        rows_changes(row, peer, count, 2, changed);
        break;
    default:
        rows_changes(row, peer, count, 3, changed);
    }
}
