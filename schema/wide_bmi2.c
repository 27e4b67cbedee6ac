/* wide_bmi2.c - the hot loops of the encoder with BMI2 and AVX2
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * One instruction spreads the bits of a number over its bytes, so there is no
 * branch on its length.
 */
#include "schema/wide.h"

#include <immintrin.h>
#include <stddef.h>
#include <string.h>

#include "schema/numbers.h"

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
