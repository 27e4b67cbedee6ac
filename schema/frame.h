/* frame.h - the unit that is sent, spooled and stored: header + one batch
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * A segment or spool file is frames one after the other; a ZeroMQ message is
 * one frame. docs/protocol.md has the layout.
 */
#ifndef CK_SCHEMA_FRAME_H
#define CK_SCHEMA_FRAME_H

#include <assert.h>
#include <stddef.h>
#include <stdint.h>

#include "schema/err.h"

#ifdef __cplusplus
extern "C" {
#endif

#define CK_FRAME_MAGIC 0x31464b43u /* "CKF1" */
#define CK_FRAME_VERSION 1
/* Bounds of a payload as stored; more is refused before it is read. */
#define CK_FRAME_PAYLOAD_MAX ((uint32_t)8 << 20)
#define CK_FRAME_RAW_MAX ((uint32_t)16 << 20)
/* Bounds that the collector cuts at. */
#define CK_FRAME_RECORDS_MAX 16384
#define CK_FRAME_UNITS_MAX 65536
/* Slot number of the collector's own stream (incarnation 0), and of ckagg's, of
 * which there is one in the file of facts of an agent. */
#define CK_SLOT_COLLECTOR 0xffffffffu
#define CK_SLOT_AGGREGATOR 0xfffffffeu

enum ck_pack {
    CK_PACK_NONE = 0,
    CK_PACK_LZ4 = 1,
    CK_PACK_ZSTD = 2,
};

/* A stream: one slot of one process image of one agent. */
struct ck_stream {
    uint32_t incarnation;
    uint32_t slot;
};

struct ck_frame_header {
    uint32_t magic;
    uint16_t version;
    uint8_t pack;  /* enum ck_pack of the payload */
    uint8_t flags; /* 0 */
    uint8_t agent[16];
    struct ck_stream stream;
    uint64_t first; /* position (units) of the first record */
    uint32_t units; /* first + units = the next frame's first */
    uint32_t records;
    uint32_t length;  /* payload bytes as stored */
    uint32_t raw;     /* payload bytes unpacked; = length with PACK_NONE */
    uint32_t crc;     /* crc32c of header (crc = 0) and payload as stored */
    uint32_t classes; /* 1 << class of all its records; 0 = not known */
};

static_assert(sizeof(struct ck_frame_header) == 64, "wire layout");

/* Bytes of the frame on the wire and on disk: header, payload, zeros to a
 * multiple of 8 (not in length, not in the crc). */
static inline size_t ck_frame_bytes(const struct ck_frame_header *header)
{
    return sizeof(*header) + (((size_t)header->length + 7) & ~(size_t)7);
}

/* crc32c (Castagnoli), continued from `crc` (0 at first). ISA-L, or SSE4.2,
 * or a table. */
uint32_t ck_crc32c(uint32_t crc, const void *bytes, size_t length);

/* Set magic, version and crc of a header that is otherwise complete. */
void ck_frame_seal(struct ck_frame_header *header, const void *payload);

/* Look at bytes that should begin with a frame. Returns its whole length in
 * bytes, 0 when `length` is too short to know or to hold it all, or -1 with
 * err: not a frame, wrong version, out of bounds, or wrong crc. On success
 * *header is a copy; the payload follows the header in `bytes`.
 */
int64_t ck_frame_check(const void *bytes,
                       size_t length,
                       struct ck_frame_header *header,
                       struct ck_err *err);
/* The same without a look at the payload, which may be behind `length`: neither
 * it nor the header is known to be undamaged. */
int64_t ck_frame_glance(const void *bytes,
                        size_t length,
                        struct ck_frame_header *header,
                        struct ck_err *err);

#ifdef __cplusplus
}
#endif

#endif
