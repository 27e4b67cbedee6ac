/* pack.c - lz4 and zstd behind one interface
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Each packing is a row of a table; one that was not built in has no
 * functions (pack_lz4.c and pack_zstd.c, or their absence, decide).
 */
#include "schema/batch/pack.h"

#include <string.h>

#include "schema/batch/pack_kinds.h"

static size_t copy_bound(size_t length)
{
    return length;
}

static int64_t copy_pack(const void *from, size_t length, void *to, size_t room)
{
    if (length > room) {
        return -1;
    }
    if (length > 0) {
        memcpy(to, from, length);
    }
    return (int64_t)length;
}

static const struct pack_kind none = {copy_bound, copy_pack, copy_pack};

static const struct {
    const char *name;
    const struct pack_kind *kind; /* NULL: not built in */
} packs[] = {
    [CK_PACK_NONE] = {"none", &none},
    [CK_PACK_LZ4] = {"lz4", PACK_LZ4},
    [CK_PACK_ZSTD] = {"zstd", PACK_ZSTD},
};

#define PACKS (sizeof(packs) / sizeof(packs[0]))

static const struct pack_kind *kind_find(enum ck_pack pack, struct ck_err *err)
{
    if ((size_t)pack >= PACKS) {
        return ck_err_null(err, "unknown packing %d", (int)pack);
    }
    if (packs[pack].kind == NULL) {
        (void)ck_err_set(err,
                         "%s is not built into this ck; build it with "
                         "lib%s",
                         packs[pack].name, packs[pack].name);
    }
    return packs[pack].kind;
}

size_t ck_pack_bound(enum ck_pack pack, size_t length)
{
    const struct pack_kind *kind = kind_find(pack, NULL);

    return kind == NULL || length > CK_FRAME_RAW_MAX ? length
                                                     : kind->bound(length);
}

int64_t ck_pack(enum ck_pack pack,
                const void *from,
                size_t length,
                void *to,
                size_t room,
                struct ck_err *err)
{
    const struct pack_kind *kind = kind_find(pack, err);
    int64_t packed;

    if (kind == NULL) {
        return -1;
    }
    if (length > CK_FRAME_RAW_MAX) {
        return ck_err_set(err, "cannot pack %zu bytes: the limit is %u", length,
                          CK_FRAME_RAW_MAX);
    }
    packed = kind->pack(from, length, to, room);
    return packed >= 0 ? packed
                       : ck_err_set(err, "%s: %zu bytes do not fit into %zu",
                                    packs[pack].name, length, room);
}

int ck_unpack(enum ck_pack pack,
              const void *from,
              size_t length,
              void *to,
              size_t raw,
              struct ck_err *err)
{
    const struct pack_kind *kind = kind_find(pack, err);

    if (kind == NULL) {
        return -1;
    }
    if (length > CK_FRAME_RAW_MAX || raw > CK_FRAME_RAW_MAX ||
        kind->unpack(from, length, to, raw) != (int64_t)raw) {
        return ck_err_set(err, "%s: %zu bytes do not unpack to %zu",
                          packs[pack].name, length, raw);
    }
    return 0;
}

int ck_pack_from_name(const char *name, enum ck_pack *pack)
{
    for (size_t i = 0; i < PACKS; i++) {
        if (strcmp(packs[i].name, name) == 0) {
            *pack = (enum ck_pack)i;
            return 0;
        }
    }
    return -1;
}
