/* crc_table.c - crc32c without ISA-L: SSE4.2 where the processor has it
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Polynomial 0x1edc6f41, reflected 0x82f63b78; start and result inverted.
 */
#include "schema/frame.h"

#include <string.h>

#define POLYNOMIAL 0x82f63b78u

/* table[k][b]: the crc of byte b followed by k zero bytes. */
static uint32_t table[8][256];

static void __attribute__((constructor)) table_fill(void)
{
    for (uint32_t b = 0; b < 256; b++) {
        uint32_t crc = b;

        for (int bit = 0; bit < 8; bit++) {
            crc = crc >> 1 ^ (POLYNOMIAL & (0 - (crc & 1)));
        }
        table[0][b] = crc;
    }
    for (int k = 1; k < 8; k++) {
        for (uint32_t b = 0; b < 256; b++) {
            uint32_t crc = table[k - 1][b];

            table[k][b] = crc >> 8 ^ table[0][crc & 0xff];
        }
    }
}

static uint32_t crc_by_table(uint32_t crc, const uint8_t *at, size_t length)
{
    while (length >= 8) {
        uint64_t word;

        memcpy(&word, at, 8);
        word ^= crc;
        crc = 0;
        for (int k = 0; k < 8; k++) {
            crc ^= table[7 - k][word >> (8 * k) & 0xff];
        }
        at += 8;
        length -= 8;
    }
    while (length-- > 0) {
        crc = crc >> 8 ^ table[0][(crc ^ *at++) & 0xff];
    }
    return crc;
}

#if defined(__x86_64__)
static uint32_t __attribute__((target("sse4.2")))
crc_by_sse(uint32_t crc, const uint8_t *at, size_t length)
{
    uint64_t wide = crc;

    while (length >= 8) {
        uint64_t word;

        memcpy(&word, at, 8);
        wide = __builtin_ia32_crc32di(wide, word);
        at += 8;
        length -= 8;
    }
    crc = (uint32_t)wide;
    while (length-- > 0) {
        crc = __builtin_ia32_crc32qi(crc, *at++);
    }
    return crc;
}

static int has_sse(void)
{
    return __builtin_cpu_supports("sse4.2");
}
#else
static uint32_t crc_by_sse(uint32_t crc, const uint8_t *at, size_t length)
{
    return crc_by_table(crc, at, length);
}

static int has_sse(void)
{
    return 0;
}
#endif

uint32_t ck_crc32c(uint32_t crc, const void *bytes, size_t length)
{
    return ~(has_sse() ? crc_by_sse(~crc, bytes, length)
                       : crc_by_table(~crc, bytes, length));
}
