/* framerows.h - records of a stored frame
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CK_AGGREGATOR_STORE_FRAMEROWS_H
#define CK_AGGREGATOR_STORE_FRAMEROWS_H

#include <stddef.h>
#include <stdint.h>

#include "schema/event.h"
#include "schema/frame.h"

struct framerows {
    uint8_t *bytes; /* whole records */
    size_t used;
    size_t at; /* of the next one */
};

/* Decode the records of these classes (1 << class) of a verified frame. 0, or
 * -1: it does not decode, or there is no memory; *rows is to be freed. */
int framerows_read(struct framerows *rows,
                   const struct ck_frame_header *header,
                   const void *payload,
                   uint32_t classes);
void framerows_free(struct framerows *rows);
/* The next one; NULL behind the last one. A text has the bytes that it
 * announces. Borrowed. */
const struct ck_event *framerows_next(struct framerows *rows);

#endif
