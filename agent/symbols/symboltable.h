/* symboltable.h - the functions and lines of one ELF file
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Addresses are the file's own: those of the process less its load bias.
 */
#ifndef CK_AGENT_SYMBOLS_SYMBOLTABLE_H
#define CK_AGENT_SYMBOLS_SYMBOLTABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/symbols/inlined.h"

#define SYMBOLTABLE_ID_BYTES 64
/* In place of a path: the code that the kernel maps into each process. It is
 * read from the memory of our own. */
#define SYMBOLTABLE_VDSO "[vdso]"

/* Facts of a file that is mapped at `start` from `offset` on, `is_code`: by a
 * mapping that is known for the code in it. build_id is hex text, "" = the file
 * has none. 0, or -1: not readable or not ELF.
 */
int symboltable_identify(const char *path,
                         uint64_t start,
                         uint64_t offset,
                         bool is_code,
                         uint64_t *bias,
                         char build_id[SYMBOLTABLE_ID_BYTES]);

/* Has the file code that Go compiled? False where it cannot be read. */
bool symboltable_is_go(const char *path);

/* Where a symbol is; a size that the file does not have is 0. */
struct symbol_range {
    uint64_t start; /* 0 = it has none of that name */
    uint64_t size;
};
/* The symbols that the file defines, in its dynamic or its full table; a table
 * of more than 16 MiB, or with more than 64 MiB of names, is not read. How many
 * were found, -1: not readable or not ELF. */
int symboltable_ranges(const char *path,
                       const char *const *names,
                       size_t count,
                       struct symbol_range *ranges);

struct symboltable;

/* Read the file's functions, unless its build id is not the one given. NULL
 * with errno (ESTALE: another file is at that path now).
 */
struct symboltable *symboltable_create(const char *path, const char *build_id);
void symboltable_destroy(struct symboltable *table);

/* Does the file itself have its lines? Else a separate debug file may. */
bool symboltable_has_lines(const struct symboltable *table);
/* The function that an address is in, borrowed; NULL = not known. */
const char *symboltable_function(struct symboltable *table, uint64_t address);

/* Where an address is. */
struct symbol_place {
    const char *function;                /* borrowed; NULL = not known */
    const char *file;                    /* borrowed; NULL = not known */
    uint32_t line;                       /* 0 = not known */
    struct inlined inlined[INLINED_MAX]; /* there, innermost first */
    size_t inlined_count;
};
void symboltable_find(struct symboltable *table,
                      uint64_t address,
                      struct symbol_place *place);

#endif
