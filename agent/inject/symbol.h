/* symbol.h - definitions of the libraries that were there at the start
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * What dlsym() with RTLD_NEXT and RTLD_DEFAULT answers about the program and
 * the libraries that the loader mapped with it, without its lock: a wrapper
 * asks at its first call, in any thread and in signal handlers. So nothing is
 * looked up at the start of a process that may end in a millisecond.
 */
#ifndef CK_AGENT_INJECT_SYMBOL_H
#define CK_AGENT_INJECT_SYMBOL_H

/* The first definition behind this library, or NULL. */
void *symbol_next(const char *name);

/* The first definition of all, or NULL. */
void *symbol_first(const char *name);

#endif
