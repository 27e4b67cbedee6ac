/* pack_kinds.h - what a packing offers to pack.c
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CK_SCHEMA_BATCH_PACK_KINDS_H
#define CK_SCHEMA_BATCH_PACK_KINDS_H

#include <stddef.h>
#include <stdint.h>

struct pack_kind {
    size_t (*bound)(size_t length);
    /* Bytes written, or -1. */
    int64_t (*pack)(const void *from, size_t length, void *to, size_t room);
    int64_t (*unpack)(const void *from, size_t length, void *to, size_t room);
};

extern const struct pack_kind pack_lz4;
extern const struct pack_kind pack_zstd;

#ifdef HAVE_LZ4
#define PACK_LZ4 &pack_lz4
#else
#define PACK_LZ4 NULL
#endif

#ifdef HAVE_ZSTD
#define PACK_ZSTD &pack_zstd
#else
#define PACK_ZSTD NULL
#endif

#endif
