/* callsite.h - where in the user's program a call comes from
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * The site of a call is its return address. An address in a library of the
 * system (a solver, an I/O library, the device's runtime) is of little use:
 * the site is then that of the innermost caller in the program itself or in a
 * library outside of the system's folders, if the stack shows one. In a Python
 * program it is the place in its source (pythonsite.h).
 *
 * The stack is walked by the unwind table that the compiler wrote for each
 * function (ehframe.h). The rule for an address is cached, so a walk is a few
 * loads a frame; no lock is taken and nothing is allocated.
 */
#ifndef CK_AGENT_INJECT_CALLSITE_H
#define CK_AGENT_INJECT_CALLSITE_H

#include <stddef.h>
#include <stdint.h>

/* Return addresses that each library remembers; others are looked up at each
 * walk. */
#define CALL_SITES_MAX 4096
/* Frames of a walk. */
#define CALL_FRAMES_MAX 48

/* Sites in [begin, begin + size) are taken as they are: those of the program
 * itself, or all. */
extern uint64_t call_site_begin;
extern uint64_t call_site_size;

/* To be called when the library is loaded. */
void call_site_load(void);

/* The site of a call by this thread with the return address `site`, whose
 * wrapper's frame is still there; 0 where that is not known. Only with a
 * writer, not within a record. Keeps errno. */
uint64_t call_site_find(uint64_t site);

/* The callers of this thread's call with the return address `site`, innermost
 * first, which is the first of them; of a Python program its places. The count,
 * 0 where they are not known. As call_site_find(). */
size_t call_stack_take(uint64_t site, uint64_t *frames, size_t room);

/* The code that the address is in; [0, 0) = that of libc, or not known. */
void call_site_module(const void *address, uint64_t *begin, uint64_t *size);

static inline uint64_t call_site(const void *site)
{
    uint64_t address = (uint64_t)(uintptr_t)site;

    return __builtin_expect(address - call_site_begin < call_site_size, 1)
               ? address
               : call_site_find(address);
}

#endif
