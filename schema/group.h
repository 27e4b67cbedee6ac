/* group.h - the columns of one class back to records
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Used by decode.c alone. Any bytes are safe.
 */
#ifndef CK_SCHEMA_GROUP_H
#define CK_SCHEMA_GROUP_H

#include <stddef.h>
#include <stdint.h>

#include "schema/columns.h"
#include "schema/field.h"

/* Decode the fixed units of all records of a group, record i to row[i]. 0, or
 * -1: the bytes do not fit the records. */
int group_decode(const struct columns_group *group,
                 unsigned cls,
                 uint8_t *const *row);

#endif
