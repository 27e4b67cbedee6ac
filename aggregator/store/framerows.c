/* framerows.c - records of a stored frame
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "aggregator/store/framerows.h"

#include <stdlib.h>

#include "schema/batch/pack.h"
#include "schema/batch/wire.h"

int framerows_read(struct framerows *rows,
                   const struct ck_frame_header *header,
                   const void *payload,
                   uint32_t classes)
{
    size_t room = (size_t)header->units * CK_UNIT_BYTES;
    struct ck_batch_info info = {0};
    void *raw = NULL;
    int rc = -1;

    *rows = (struct framerows){NULL, 0, 0};
    if (header->units == 0 || header->units > CK_FRAME_UNITS_MAX ||
        header->raw > CK_FRAME_RAW_MAX) {
        return -1;
    }
    rows->bytes = malloc(room);
    raw = malloc(header->raw + (size_t)8);
    if (rows->bytes && raw &&
        ck_unpack(header->pack, payload, header->length, raw, header->raw,
                  NULL) == 0) {
        rc = ck_batch_decode_classes(raw, header->raw, classes, &info,
                                     rows->bytes, room, &rows->used, NULL);
    }
    free(raw);
    return rc;
}

void framerows_free(struct framerows *rows)
{
    free(rows->bytes);
}

const struct ck_event *framerows_next(struct framerows *rows)
{
    const struct ck_event *row = (const void *)(rows->bytes + rows->at);
    size_t bytes;

    if (rows->used - rows->at < CK_UNIT_BYTES) {
        return NULL;
    }
    bytes = (size_t)row->units * CK_UNIT_BYTES;
    if (bytes == 0 || bytes > rows->used - rows->at ||
        (ck_class_units((unsigned)ck_kind_class(row->kind)) == 0 &&
         ((const struct ck_text *)row)->length >
             bytes - sizeof(struct ck_text))) {
        return NULL;
    }
    rows->at += bytes;
    return row;
}
