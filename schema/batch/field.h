/* field.h - where the members of a class are: kind.def for the column codec
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Used by encode.c and decode.c alone.
 */
#ifndef CK_SCHEMA_BATCH_FIELD_H
#define CK_SCHEMA_BATCH_FIELD_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "schema/batch/columns.h"
#include "schema/event.h"

/* Columns 0..3 exist in every class; the others begin here. */
#define FIELD_FIRST 4
/* Records that are decoded column by column before the next are looked at: a
 * block stays in the first-level cache. */
#define FIELD_BLOCK 256
/* Predecessors that are kept by name and kind. */
#define FIELD_CONTEXTS 256

enum field_code {
    FIELD_SAME = 0,
    FIELD_BACK = 1,
    FIELD_NEXT = 2,
};

struct field {
    uint8_t bytes; /* width; 0 = no such column */
    uint8_t code;  /* enum field_code */
    uint8_t offset;
};

/* By class and column; the columns of a class have no holes. */
extern const struct field ck_fields[CK_CLASS_LIMIT][COLUMNS_MAX];
/* A record of zeros: what comes before the first one. */
extern const uint64_t ck_field_zeros[12];

/* Fixed units of a class, here so that the loops over records call nothing. */
extern const uint8_t ck_field_units[CK_CLASS_LIMIT];

static inline bool field_is_text(unsigned cls)
{
    return cls == CK_CLASS_TEXT || cls == CK_CLASS_MODULE;
}

static inline unsigned field_context(unsigned kind, uint32_t name)
{
    return (name ^ kind * 7) % FIELD_CONTEXTS;
}

static inline uint64_t field_load(const uint8_t *at, unsigned bytes)
{
    uint64_t v8;
    uint32_t v4;
    uint16_t v2;

    switch (bytes) {
    case 8:
        memcpy(&v8, at, 8);
        return v8;
    case 4:
        memcpy(&v4, at, 4);
        return v4;
    case 2:
        memcpy(&v2, at, 2);
        return v2;
    default:
        return *at;
    }
}

static inline void field_store(uint8_t *at, uint64_t value, unsigned bytes)
{
    uint32_t v4 = (uint32_t)value;
    uint16_t v2 = (uint16_t)value;

    switch (bytes) {
    case 8:
        memcpy(at, &value, 8);
        break;
    case 4:
        memcpy(at, &v4, 4);
        break;
    case 2:
        memcpy(at, &v2, 2);
        break;
    default:
        *at = (uint8_t)value;
    }
}

/* A time before the start as a distance; an unknown time (0) becomes ~0, and
 * the time that would have become ~0 takes the free place. Its own inverse.
 */
static inline uint64_t field_back(uint64_t start, uint64_t value)
{
    uint64_t distance = start - value;

    if (distance == start) {
        return ~(uint64_t)0;
    }
    return distance == ~(uint64_t)0 ? start : distance;
}

static inline uint64_t field_back_undo(uint64_t start, uint64_t distance)
{
    if (distance == ~(uint64_t)0) {
        return 0;
    }
    return distance == start ? start + 1 : start - distance;
}

#endif
