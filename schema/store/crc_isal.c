/* crc_isal.c - crc32c by ISA-L
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "schema/frame.h"

#include <isa-l/crc.h>

/* ISA-L takes a length of int. */
#define PIECE_BYTES ((size_t)1 << 30)

uint32_t ck_crc32c(uint32_t crc, const void *bytes, size_t length)
{
    const uint8_t *at = bytes;

    crc = ~crc;
    while (length > 0) {
        size_t piece = length < PIECE_BYTES ? length : PIECE_BYTES;

        /* The library only reads; its prototype lacks the const. */
        crc = crc32_iscsi((unsigned char *)(uintptr_t)at, (int)piece, crc);
        at += piece;
        length -= piece;
    }
    return ~crc;
}
