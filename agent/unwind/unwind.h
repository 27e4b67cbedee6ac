/* unwind.h - the callers of a sampled function, from a copy of its stack
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * The kernel copies a thread's registers and the upper part of its stack with a
 * sample. From them the return addresses are found by what compilers wrote into
 * the files (.eh_frame), so that code without frame pointers has callers, too.
 * The program is not stopped and none of its memory is read. Used by the
 * collector's thread only.
 */
#ifndef CK_AGENT_UNWIND_UNWIND_H
#define CK_AGENT_UNWIND_UNWIND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "agent/ehframe/ehframe.h"

struct unwind;
struct codemaps;

/* A thread as it was. */
struct unwind_thread {
    pid_t pid;
    uint64_t registers[EHFRAME_REGISTERS]; /* DWARF's numbers */
    uint64_t unknown;     /* bits of those that are not: of a thread that was
                             not sampled only two are known */
    const uint8_t *stack; /* copy, from the stack pointer on; borrowed */
    size_t length;
};

/* How a walk ended. */
enum unwind_end {
    UNWIND_WHOLE,   /* at a function without a caller */
    UNWIND_CUT,     /* at the end of the copy */
    UNWIND_UNKNOWN, /* in code without rules */
    UNWIND_WRONG,   /* at what cannot be a frame */
    UNWIND_DEEP,    /* there was no room for more frames */
    UNWIND_ENDS
};

struct unwind_frames {
    uint64_t *frames; /* return addresses, innermost first; borrowed */
    size_t room;
    size_t count;
    bool has_pointers; /* steps were made by frame pointers */
};

/* `codemaps` is borrowed. NULL with ENOMEM. */
struct unwind *unwind_create(struct codemaps *codemaps);
void unwind_destroy(struct unwind *unwind);

/* What is known of that process' code may be wrong. */
void unwind_forget(struct unwind *unwind, pid_t pid);

/* Find the thread's frames: the first is one past its instruction, the others
 * are return addresses. */
enum unwind_end unwind_walk(struct unwind *unwind,
                            const struct unwind_thread *thread,
                            struct unwind_frames *frames);

#endif
