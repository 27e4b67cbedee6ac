/* pack_zstd.c - zstd frames, level 1: the packed columns leave little more to
 * gain
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <zstd.h>

#include "schema/batch/pack_kinds.h"

#define ZSTD_LEVEL 1

static size_t bound(size_t length)
{
    return ZSTD_compressBound(length);
}

static int64_t pack(const void *from, size_t length, void *to, size_t room)
{
    size_t packed = ZSTD_compress(to, room, from, length, ZSTD_LEVEL);

    return ZSTD_isError(packed) ? -1 : (int64_t)packed;
}

static int64_t unpack(const void *from, size_t length, void *to, size_t room)
{
    size_t raw = ZSTD_decompress(to, room, from, length);

    return ZSTD_isError(raw) ? -1 : (int64_t)raw;
}

const struct pack_kind pack_zstd = {bound, pack, unpack};
