/* batch.h - what a batch has of all its records
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CK_SCHEMA_BATCH_BATCH_H
#define CK_SCHEMA_BATCH_BATCH_H

#include <stdint.h>

#include "schema/event.h"
#include "schema/frame.h"
#include "schema/time.h"

/* What holds for all records of a batch. */
struct ck_batch_info {
    enum ck_clock clock; /* of records without CK_FLAG_RAW */
    uint32_t pid;
    uint32_t tid;     /* of the slot's thread; 0 = the collector */
    uint32_t records; /* set by the encoder and by open */
    uint32_t units;
    uint32_t skipped; /* set by decode: records of unknown class */
    /* Set by decode, from what is there: */
    uint32_t counted; /* records of all classes */
    uint32_t held;    /* units of those that are no texts */
    uint32_t classes; /* set by the encoder: 1 << class */
};

/* A batch in pieces of so many records, of whatever class. */
#define CK_BATCH_PIECE 128

/* Pieces at a time, at most. */
#define CK_BATCH_PIECES_MAX 4

/* Records of one class in one piece, by column; borrowed for the call. */
struct ck_batch_columns {
    enum ck_class cls;
    unsigned count;
    uint32_t piece; /* from 0 on */
    const uint16_t *kind;
    const uint8_t *flags;
    const uint32_t *name;
    const int64_t *start;
    const int64_t *dur;     /* zeros where the class has none */
    const uint32_t *device; /* NULL where the class has none */
};
typedef void (*ck_batch_take_f)(void *state,
                                const struct ck_batch_columns *columns);

#endif
