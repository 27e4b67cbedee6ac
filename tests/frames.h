/* frames.h - records as a frame, as an agent sends it
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CK_TESTS_FRAMES_H
#define CK_TESTS_FRAMES_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "schema/batch/wire.h"
#include "schema/event.h"
#include "schema/frame.h"

/* Encode the records behind the header, which has its agent, stream and
 * position, and seal it. There is room for the payload and 8 bytes. Returns
 * the bytes of the frame; 0: they could not be encoded. */
static inline size_t frame_close(struct ck_frame_header *header,
                                 struct ck_batch_writer *writer,
                                 struct ck_batch_info info,
                                 const void *records,
                                 size_t bytes)
{
    const void *payload;
    size_t length;

    if (ck_batch_encode(writer, &info, records, bytes, &payload, &length,
                        NULL) != 0) {
        return 0;
    }
    header->units = info.units;
    header->records = info.records;
    header->classes = info.classes;
    header->length = header->raw = (uint32_t)length;
    memcpy(header + 1, payload, length);
    memset((uint8_t *)(header + 1) + length, 0, 8);
    ck_frame_seal(header, payload);
    return ck_frame_bytes(header);
}

/* Put a text record and its bytes there. Returns the bytes of the record. */
static inline size_t
text_put(void *to, enum ck_kind kind, uint32_t name, const char *text)
{
    size_t length = strlen(text);
    struct ck_text record = {
        .e = {.kind = (uint16_t)kind,
              .units = (uint8_t)ck_text_units(length),
              .name = name},
        .length = (uint32_t)length,
    };
    size_t bytes = (size_t)record.e.units * CK_UNIT_BYTES;

    memset(to, 0, bytes);
    memcpy(to, &record, sizeof(record));
    memcpy((uint8_t *)to + sizeof(record), text, length);
    return bytes;
}

#endif
