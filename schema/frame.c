/* frame.c - crc32c, and the check that every frame passes
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "schema/frame.h"

#include <string.h>

/* The crc covers the header with crc = 0, then the payload as stored. */
static uint32_t frame_crc(const struct ck_frame_header *header,
                          const void *payload)
{
    struct ck_frame_header copy = *header;

    copy.crc = 0;
    return ck_crc32c(ck_crc32c(0, &copy, sizeof(copy)), payload,
                     header->length);
}

void ck_frame_seal(struct ck_frame_header *header, const void *payload)
{
    header->magic = CK_FRAME_MAGIC;
    header->version = CK_FRAME_VERSION;
    header->crc = frame_crc(header, payload);
}

static int header_check(const struct ck_frame_header *header,
                        struct ck_err *err)
{
    if (header->magic != CK_FRAME_MAGIC) {
        return ck_err_set(err, "not a frame: magic %08x", header->magic);
    }
    if (header->version != CK_FRAME_VERSION) {
        return ck_err_set(err, "frame of version %u, only %u is known",
                          header->version, CK_FRAME_VERSION);
    }
    if (header->pack > CK_PACK_ZSTD || header->flags != 0) {
        return ck_err_set(err, "frame with unknown packing %u or flags %u",
                          header->pack, header->flags);
    }
    if (header->length > CK_FRAME_PAYLOAD_MAX ||
        header->raw > CK_FRAME_RAW_MAX ||
        header->records > CK_FRAME_RECORDS_MAX ||
        header->units > CK_FRAME_UNITS_MAX ||
        header->first > UINT64_MAX - header->units ||
        (header->pack == CK_PACK_NONE && header->raw != header->length)) {
        return ck_err_set(err,
                          "frame out of bounds: %u bytes (%u unpacked), "
                          "%u records in %u units",
                          header->length, header->raw, header->records,
                          header->units);
    }
    return 0;
}

int64_t ck_frame_glance(const void *bytes,
                        size_t length,
                        struct ck_frame_header *header,
                        struct ck_err *err)
{
    struct ck_frame_header copy;

    if (length < sizeof(copy)) {
        return 0;
    }
    memcpy(&copy, bytes, sizeof(copy));
    if (header_check(&copy, err) != 0) {
        return -1;
    }
    *header = copy;
    return (int64_t)ck_frame_bytes(&copy);
}

int64_t ck_frame_check(const void *bytes,
                       size_t length,
                       struct ck_frame_header *header,
                       struct ck_err *err)
{
    const char *payload = (const char *)bytes + sizeof(*header);
    struct ck_frame_header copy;
    int64_t whole = ck_frame_glance(bytes, length, &copy, err);
    uint32_t crc;

    if (whole <= 0 || length < (uint64_t)whole) {
        return whole < 0 ? -1 : 0;
    }
    crc = frame_crc(&copy, payload);
    if (crc != copy.crc) {
        return ck_err_set(err, "damaged frame: crc %08x, stored %08x", crc,
                          copy.crc);
    }
    *header = copy;
    return whole;
}
