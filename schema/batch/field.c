/* field.c - the tables behind field.h
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "schema/batch/field.h"

#include <stddef.h>

/* A short name for each class's struct, so that CK_FIELD can look into it. */
#define CK_CLASS(number, NAME, type, units, text)                              \
    typedef struct type row_##NAME;
#include "schema/kind.def"

#define CK_FIELD(CLASS, column, member, code)                                  \
    _Static_assert(column >= FIELD_FIRST && column < COLUMNS_MAX,              \
                   "column number of " #CLASS "." #member);                    \
    _Static_assert(FIELD_##code == FIELD_SAME ||                               \
                       sizeof(((row_##CLASS *)0)->member) == 8 ||              \
                       (FIELD_##code == FIELD_NEXT &&                          \
                        sizeof(((row_##CLASS *)0)->member) == 4),              \
                   "width of " #CLASS "." #member " for its code");
#include "schema/kind.def"

const struct field ck_fields[CK_CLASS_LIMIT][COLUMNS_MAX] = {
#define CK_FIELD(CLASS, column, member, code)                                  \
    [CK_CLASS_##CLASS][column] = {                                             \
        sizeof(((row_##CLASS *)0)->member),                                    \
        FIELD_##code,                                                          \
        offsetof(row_##CLASS, member),                                         \
    },
#include "schema/kind.def"
};

const uint64_t ck_field_zeros[12];

const uint8_t ck_field_units[CK_CLASS_LIMIT] = {
#define CK_CLASS(number, NAME, type, units, text) [number] = units,
#include "schema/kind.def"
};
