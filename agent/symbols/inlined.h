/* inlined.h - which functions were inlined at an address
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CK_AGENT_SYMBOLS_INLINED_H
#define CK_AGENT_SYMBOLS_INLINED_H

#include <elfutils/libdw.h>
#include <stddef.h>
#include <stdint.h>

/* Functions of one address that are found. */
#define INLINED_MAX 16

/* A function that was inlined. */
struct inlined {
    const char *function; /* borrowed; the linker's name where it has one */
    const char *file;     /* of the call, borrowed; NULL = not known */
    uint32_t line;        /* of the call; 0 = not known */
};

/* Find the functions inlined at the address `pc` of the unit, the innermost
 * first; of more the innermost INLINED_MAX. Their number, 0 = none. */
size_t inlined_find(Dwarf_Die *unit,
                    Dwarf_Addr pc,
                    struct inlined inlined[INLINED_MAX]);

#endif
