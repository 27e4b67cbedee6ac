/* kernelsymbols.c - functions of the kernel, by /proc/kallsyms
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 *   ffffffff81000000 T _text
 *   ffffffffc0402000 t ext4_init     [ext4]
 *
 * There are more than 100,000 lines, and some tens of functions are wanted: the
 * lines are read once and none is kept. Those of modules are in no order.
 */
#include "agent/symbols/kernelsymbols.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "schema/order.h"

/* An address is in no function that begins farther before it. */
#define FUNCTION_BYTES_MAX 65536
#define LINE_BYTES 1024

CK_ORDER(by_address, struct kernelsymbol, CK_UP(address))

/* The first that is at the address or behind it. */
CK_BEFORE(first_behind, struct kernelsymbol, uint64_t, a->address < key)

/* "ADDRESS TYPE NAME", the name up to a blank. NULL: no function. */
static const char *line_read(const char *line, uint64_t *start, size_t *length)
{
    char *end;

    *start = strtoull(line, &end, 16);
    if (*start == 0 || end[0] != ' ' || strchr("tTwW", end[1]) == NULL ||
        end[1] == '\0' || end[2] != ' ') {
        return NULL;
    }
    *length = strcspn(end + 3, " \t\n");
    return end + 3;
}

size_t
kernelsymbols_find(FILE *lines, struct kernelsymbol *symbols, size_t count)
{
    char line[LINE_BYTES];
    size_t found = 0;

    qsort(symbols, count, sizeof(*symbols), by_address);
    while (fgets(line, sizeof(line), lines) != NULL) {
        uint64_t start;
        size_t length, at;
        const char *name = line_read(line, &start, &length);

        if (name == NULL) {
            continue;
        }
        length = length < KERNELSYMBOLS_NAME ? length : KERNELSYMBOLS_NAME - 1;
        for (at = first_behind(symbols, count, start);
             at < count && symbols[at].address - start < FUNCTION_BYTES_MAX;
             at++) {
            if (symbols[at].start < start) {
                found += symbols[at].start == 0;
                symbols[at].start = start;
                memcpy(symbols[at].name, name, length);
                symbols[at].name[length] = '\0';
            }
        }
    }
    return found;
}
