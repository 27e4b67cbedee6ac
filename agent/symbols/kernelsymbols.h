/* kernelsymbols.h - functions of the kernel, by /proc/kallsyms
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CK_AGENT_SYMBOLS_KERNELSYMBOLS_H
#define CK_AGENT_SYMBOLS_KERNELSYMBOLS_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define KERNELSYMBOLS_NAME 128

/* What is asked. */
struct kernelsymbol {
    uint64_t address;
    uint64_t start; /* of the function; 0 = not known */
    char name[KERNELSYMBOLS_NAME];
    uint64_t key; /* the asker's own */
};

/* Find the functions of the symbols, which are sorted by address here, in lines
 * as those of /proc/kallsyms. How many have one. All addresses of a reader
 * without the right are 0 there. */
size_t
kernelsymbols_find(FILE *lines, struct kernelsymbol *symbols, size_t count);

#endif
