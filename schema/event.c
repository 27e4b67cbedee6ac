/* event.c - kind.def as tables
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "schema/event.h"

static const char *const kind_names[CK_KIND_LIMIT] = {
#define CK_KIND(number, NAME, CLASS, text, meaning) [number] = text,
#include "schema/kind.def"
};

struct class_row {
    const char *name;
    unsigned units;
};

static const struct class_row classes[CK_CLASS_LIMIT] = {
#define CK_CLASS(number, NAME, type, units, text) [number] = {text, units},
#include "schema/kind.def"
};

const uint8_t ck_kind_classes[CK_KIND_LIMIT] = {
#define CK_KIND(number, NAME, CLASS, text, meaning) [number] = CK_CLASS_##CLASS,
#include "schema/kind.def"
};

const char *ck_kind_name(unsigned kind)
{
    const char *name = kind < CK_KIND_LIMIT ? kind_names[kind] : NULL;

    return name == NULL ? "?" : name;
}

const char *ck_class_name(unsigned cls)
{
    const char *name = cls < CK_CLASS_LIMIT ? classes[cls].name : NULL;

    return name == NULL ? "?" : name;
}

unsigned ck_class_units(unsigned cls)
{
    return cls < CK_CLASS_LIMIT ? classes[cls].units : 0;
}
