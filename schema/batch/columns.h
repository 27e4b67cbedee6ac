/* columns.h - records as packed columns, and back
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Used by wire.cpp alone, which puts the columns into a FlatBuffer. The code
 * is explained in docs/protocol.md.
 */
#ifndef CK_SCHEMA_BATCH_COLUMNS_H
#define CK_SCHEMA_BATCH_COLUMNS_H

#include <stddef.h>
#include <stdint.h>

#include "schema/batch/batch.h"
#include "schema/err.h"
#include "schema/event.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Columns of a class; a reader skips higher numbers. */
#define COLUMNS_MAX 32

struct columns_bytes {
    const uint8_t *bytes; /* borrowed */
    size_t length;        /* 0 = the column is absent */
};

struct columns_group {
    uint32_t records;
    uint32_t next; /* bits of the columns that are coded as NEXT */
    struct columns_bytes column[COLUMNS_MAX];
    struct columns_bytes text; /* of text classes */
};

/* The columns of a batch, wherever their bytes are. */
struct columns_view {
    struct columns_bytes order;
    struct columns_group groups[CK_CLASS_LIMIT];
};

/* An encoder and its buffers, for one thread. NULL with ENOMEM. */
struct columns_encoder;
struct columns_encoder *columns_encoder_create(void);
void columns_encoder_destroy(struct columns_encoder *encoder);

/* As ck_batch_encode(); *view is borrowed from the encoder until the next
 * call.
 */
int columns_encode(struct columns_encoder *encoder,
                   struct ck_batch_info *info,
                   const struct columns_bytes *records,
                   struct columns_view *view,
                   struct ck_err *err);

/* As ck_batch_sites(). */
size_t columns_sites(const struct columns_encoder *encoder,
                     const uint64_t **sites);

/* Where decoded records go. */
struct columns_rows {
    uint8_t *rows; /* 8-aligned */
    size_t room;
    size_t used;
};

/* Decode the classes whose bit is set. Sets info->skipped and rows->used.
 * Any bytes are safe. 0, or -1 with err. */
int columns_decode(const struct columns_view *view,
                   uint32_t classes,
                   struct ck_batch_info *info,
                   struct columns_rows *rows,
                   struct ck_err *err);

/* Close the gaps that records of unknown kinds leave. */
void columns_drop_unknown(struct columns_rows *rows);

/* As ck_batch_cursor_*(). */
struct columns_cursor;
struct columns_cursor *columns_cursor_create(void);
void columns_cursor_destroy(struct columns_cursor *cursor);
int columns_cursor_open(struct columns_cursor *cursor,
                        const struct columns_view *view,
                        uint32_t classes,
                        struct ck_err *err);
int columns_cursor_next(struct columns_cursor *cursor,
                        unsigned pieces,
                        struct columns_rows *rows,
                        struct ck_err *err);

/* As ck_batch_scan(). */
int columns_scan(const struct columns_view *view,
                 uint32_t classes,
                 struct ck_batch_info *info,
                 ck_batch_take_f take,
                 void *state,
                 struct ck_err *err);

#ifdef __cplusplus
}
#endif

#endif
