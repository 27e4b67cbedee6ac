/* event.c - kind.def as tables
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "schema/event.h"

struct kind_row {
    const char *name;
    enum ck_class cls;
};

static const struct kind_row kinds[CK_KIND_LIMIT] = {
#define CK_KIND(number, NAME, CLASS, text, meaning)                            \
    [number] = {text, CK_CLASS_##CLASS},
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

enum ck_class ck_kind_class(unsigned kind)
{
    return kind < CK_KIND_LIMIT ? kinds[kind].cls : CK_CLASS_NONE;
}

const char *ck_kind_name(unsigned kind)
{
    const char *name = kind < CK_KIND_LIMIT ? kinds[kind].name : NULL;

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
