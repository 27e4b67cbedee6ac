/* inherited.h - what ckagent was started with and changes for itself
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * The program gets it back before its exec: signals that are blocked, signals
 * that are ignored, the limits of open files and of the stack, and the mask of
 * file modes, which may not take from ckagent what it makes: its directories
 * are there for later runs.
 */
#ifndef CK_AGENT_PROCESS_INHERITED_H
#define CK_AGENT_PROCESS_INHERITED_H

#include <stdbool.h>
#include <stdint.h>

/* With fewer files than so many ckagent does not record. */
#define INHERITED_FILES_LEAST 32
/* Nor with less stack: paths and texts are there. */
#define INHERITED_STACK_LEAST ((uint64_t)1 << 20)

/* First of all: keep what is there; then SIGCHLD as by default, SIGPIPE and
 * SIGXFSZ ignored, and as many files and as much stack as are permitted. */
void inherited_take(void);
/* Are they enough to record? */
bool inherited_has_files(void);
bool inherited_has_stack(void);

/* Signals as bits, signal 1 in the lowest, of all that the kernel has: a C
 * library keeps two of them for itself. */
#define INHERITED_BIT(number) ((uint64_t)1 << ((number)-1))

/* Block these, too. 0 or -1. */
int inherited_block(uint64_t signals);
/* What was ignored at the start. */
uint64_t inherited_ignored(void);

/* In the child, or before an exec in place: all as it was. */
void inherited_restore(void);

#endif
