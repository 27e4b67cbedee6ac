/* pack.h - lz4 and zstd for frames
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CK_SCHEMA_BATCH_PACK_H
#define CK_SCHEMA_BATCH_PACK_H

#include <stddef.h>

#include "schema/err.h"
#include "schema/frame.h"

/* Room that ck_pack() may need for `length` bytes. */
size_t ck_pack_bound(enum ck_pack pack, size_t length);
/* Compress; returns the bytes written, or -1 with err (not built in, no
 * room). PACK_NONE copies. */
int64_t ck_pack(enum ck_pack pack,
                const void *from,
                size_t length,
                void *to,
                size_t room,
                struct ck_err *err);
/* Decompress to exactly `raw` bytes. 0, or -1 with err. */
int ck_unpack(enum ck_pack pack,
              const void *from,
              size_t length,
              void *to,
              size_t raw,
              struct ck_err *err);
/* Of "none", "lz4", "zstd": 0, or -1 for an unknown name. */
int ck_pack_from_name(const char *name, enum ck_pack *pack);

#endif
