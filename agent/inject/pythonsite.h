/* pythonsite.h - the line of a Python program that a call comes from
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * The return address of a call that a Python program makes is in the
 * interpreter or in an extension. What the user wrote is in the interpreter's
 * frames, which the calling thread can read: it alone changes its own. Nothing
 * is called but one look at a thread-local key, no lock is taken, no object is
 * made or counted. The innermost frame counts that is not the interpreter's
 * library or an installed package's, if there is one.
 *
 * A place gets a site at or above CK_SITE_TOLD, which is no address, and is
 * recorded as a SYMBOL once in a process image.
 */
#ifndef CK_AGENT_INJECT_PYTHONSITE_H
#define CK_AGENT_INJECT_PYTHONSITE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Places of a process that each library keeps; calls from others have the
 * address in the interpreter. */
#define PYTHON_SITES_MAX 4096

/* The program is an interpreter whose frames are known. */
extern bool python_is_on;

/* To be called when the library is loaded. */
void python_site_load(void);

/* The site of a call by this thread with the return address `site`: a Python
 * place, or `site` itself where none is known. Only with a writer, not within
 * a record. Keeps errno. */
uint64_t python_site_find(uint64_t site);

/* The places of this thread, innermost first, from the one on that
 * python_site_find() finds, up to the first that is not known; 0 = none. As
 * that. */
size_t python_stack_take(uint64_t *frames, size_t room);

#endif
