/* inlined.c - which functions were inlined at an address
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * The tree of a unit is gone down along what has the address: a function, the
 * blocks in it, and functions that were inlined there. Name spaces and types
 * have no addresses, and are searched.
 */
#include "agent/symbols/inlined.h"

#include <dwarf.h>
#include <stdbool.h>
#include <string.h>

/* Deeper trees are damage. */
#define DEPTH_MAX 64

/* What is collected on the way down, the outermost first. */
struct way {
    Dwarf_Die *unit;
    Dwarf_Addr pc;
    Dwarf_Die found[DEPTH_MAX];
    size_t count;
};

enum visit { VISIT_NO, VISIT_SEARCH, VISIT_IF_THERE };

static enum visit visit_of(int tag)
{
    switch (tag) {
    case DW_TAG_namespace:
    case DW_TAG_module:
    case DW_TAG_class_type:
    case DW_TAG_structure_type:
        return VISIT_SEARCH;
    case DW_TAG_subprogram:
    case DW_TAG_inlined_subroutine:
    case DW_TAG_lexical_block:
    case DW_TAG_try_block:
    case DW_TAG_catch_block:
        return VISIT_IF_THERE;
    default:
        return VISIT_NO;
    }
}

/* True: the address is in what is below it. */
static bool descend(struct way *way, Dwarf_Die *die, int depth)
{
    Dwarf_Die child;
    int rc = depth < DEPTH_MAX ? dwarf_child(die, &child) : -1;

    while (rc == 0) {
        int tag = dwarf_tag(&child);
        enum visit visit = visit_of(tag);

        if (visit == VISIT_SEARCH && descend(way, &child, depth + 1)) {
            return true;
        }
        if (visit == VISIT_IF_THERE && dwarf_haspc(&child, way->pc) == 1) {
            if (tag == DW_TAG_inlined_subroutine && way->count < DEPTH_MAX) {
                way->found[way->count++] = child;
            }
            (void)descend(way, &child, depth + 1);
            return true;
        }
        rc = dwarf_siblingof(&child, &child);
    }
    return false;
}

static const char *function_name(Dwarf_Die *die)
{
    Dwarf_Attribute attribute;
    const char *name = dwarf_formstring(
        dwarf_attr_integrate(die, DW_AT_linkage_name, &attribute));

    return name != NULL ? name : dwarf_diename(die);
}

static struct inlined inlined_of(Dwarf_Die *unit, Dwarf_Die *die)
{
    struct inlined inlined = {.function = function_name(die)};
    Dwarf_Attribute attribute;
    Dwarf_Files *files;
    Dwarf_Word number;
    size_t count;

    if (dwarf_formudata(dwarf_attr(die, DW_AT_call_file, &attribute),
                        &number) == 0 &&
        dwarf_getsrcfiles(unit, &files, &count) == 0 && number < count) {
        inlined.file = dwarf_filesrc(files, number, NULL, NULL);
    }
    if (dwarf_formudata(dwarf_attr(die, DW_AT_call_line, &attribute),
                        &number) == 0 &&
        number <= UINT32_MAX) {
        inlined.line = (uint32_t)number;
    }
    return inlined;
}

size_t inlined_find(Dwarf_Die *unit,
                    Dwarf_Addr pc,
                    struct inlined inlined[INLINED_MAX])
{
    struct way way = {.unit = unit, .pc = pc, .count = 0};
    size_t used = 0;

    (void)descend(&way, unit, 0);
    for (size_t i = way.count; i-- > 0 && used < INLINED_MAX;) {
        inlined[used] = inlined_of(unit, &way.found[i]);
        used += inlined[used].function != NULL;
    }
    return used;
}
