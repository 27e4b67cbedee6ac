/* group.h - the columns of one class back to records
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Used by decode.c and cursor.c alone. Any bytes are safe.
 */
#ifndef CK_SCHEMA_BATCH_GROUP_H
#define CK_SCHEMA_BATCH_GROUP_H

#include <stddef.h>
#include <stdint.h>

#include "schema/batch/columns.h"
#include "schema/batch/field.h"
#include "schema/batch/reader.h"

/* A class on its way back to records. */
struct group {
    unsigned cls;
    uint32_t next; /* bits of columns that are coded as NEXT */
    uint64_t left; /* records that are not decoded */
    struct reader readers[COLUMNS_MAX];
    /* What the next rows are compared with; rows decoded before, or zeros. */
    const uint8_t *before;
    const uint8_t *last[FIELD_CONTEXTS];
    uint8_t is_touched[FIELD_CONTEXTS]; /* last[] was set by group_take() */
};

/* The columns are borrowed. */
void group_open(struct group *group,
                const struct columns_group *columns,
                unsigned cls);
/* Decode the fixed units of the next records, one to each row. 0, or -1: the
 * bytes do not fit the records. */
int group_take(struct group *group, uint8_t *const *row, uint32_t count);
/* True when the columns end with the last record. */
bool group_is_done(const struct group *group);

/* All of the above: record i to row[i]. 0, or -1. */
int group_decode(const struct columns_group *group,
                 unsigned cls,
                 uint8_t *const *row);

#endif
