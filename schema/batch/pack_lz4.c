/* pack_lz4.c - lz4 blocks
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <lz4.h>

#include "schema/batch/pack_kinds.h"

static size_t bound(size_t length)
{
    return (size_t)LZ4_compressBound((int)length);
}

static int64_t pack(const void *from, size_t length, void *to, size_t room)
{
    int room_int = room > LZ4_MAX_INPUT_SIZE ? LZ4_MAX_INPUT_SIZE : (int)room;
    int packed = LZ4_compress_default(from, to, (int)length, room_int);

    return packed > 0 ? packed : -1;
}

static int64_t unpack(const void *from, size_t length, void *to, size_t room)
{
    return LZ4_decompress_safe(from, to, (int)length, (int)room);
}

const struct pack_kind pack_lz4 = {bound, pack, unpack};
