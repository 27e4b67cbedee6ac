/* lookup.h - places of call sites whose collector did not live to look them up
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * ckmerge asks, of the program cklines (`ckagent --lines` is the same): it has
 * the addresses and the table of modules, this reads ELF and DWARF.
 */
#ifndef CK_AGENT_SYMBOLS_LOOKUP_H
#define CK_AGENT_SYMBOLS_LOOKUP_H

#include <stdio.h>

/* Answer each line "ADDRESS BIAS BUILD_ID PATH" (hexadecimal numbers; the
 * return address of a call, the module's load bias, its build id, its file; "@"
 * before it: of a stack's frame, whose line is given where the file itself has
 * lines)
 * by a line "LINE<tab>FUNCTION<tab>FILE"; 0 and nothing for what is not known.
 * Only a file with that very build id is believed. Questions about one module
 * are fastest together. 0, or -1 with errno.
 */
int lookup_run(FILE *in, FILE *out);

#endif
