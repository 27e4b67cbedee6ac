/* numbers.c - the numbers of a column as bytes
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "schema/batch/numbers.h"

#include <string.h>

#include "schema/batch/wide.h"

/* LEB128. Lengths up to three, which most numbers have, go their own way; up
 * to 56 bits there is no branch on the length: the groups of seven are spread
 * over eight bytes. Writes up to 8 bytes whatever the length.
 */
static inline uint8_t *put_number(uint8_t *out, uint64_t z)
{
    uint64_t x;
    unsigned length;

    if (z < 0x80) {
        *out = (uint8_t)z;
        return out + 1;
    }
    if (z < 0x200000) {
        unsigned is_three = z >= 0x4000;
        uint32_t spread =
            (uint32_t)((z & 0x7f) | (z & 0x3f80) << 1 | (z & 0x1fc000) << 2);

        spread |= 0x80u | is_three << 15;
        memcpy(out, &spread, sizeof(spread));
        return out + 2 + is_three;
    }
    if (__builtin_expect(z >> 56 != 0, 0)) {
        return numbers_one(out, z);
    }
    length = (70u - (unsigned)__builtin_clzll(z)) / 7;
    x = (z & 0x0fffffffu) | (z & 0x00fffffff0000000u) << 4;
    x = (x & 0x00003fff00003fffu) | (x & 0x0fffc0000fffc000u) << 2;
    x = (x & 0x007f007f007f007fu) | (x & 0x3f803f803f803f80u) << 1;
    x |= 0x8080808080808080u >> (64 - 8 * (length - 1)) & 0x8080808080808080u;
    memcpy(out, &x, 8);
    return out + length;
}

static inline uint64_t zigzag(int64_t d)
{
    return (uint64_t)d << 1 ^ (uint64_t)(d >> 63);
}

uint8_t *numbers_put_plain(uint8_t *out,
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
        out = put_number(out, zigzag(d));
    }
    *run = zeros;
    return out;
}

uint8_t *numbers_put(uint8_t *out,
                     uint64_t *run,
                     const int64_t *differences,
                     unsigned count)
{
    switch (wide_level()) {
    case WIDE_AVX512:
        return wide_numbers_avx512(out, run, differences, count);
    case WIDE_BMI2:
        return wide_numbers_bmi2(out, run, differences, count);
    default:
        return numbers_put_plain(out, run, differences, count);
    }
}
