/* pythonwalk.h - the frames of a thread that runs Python, read from outside
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CK_AGENT_PYTHON_PYTHONWALK_H
#define CK_AGENT_PYTHON_PYTHONWALK_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "agent/python/pythonfind.h"

/* Frames that are read, innermost first. */
#define PYTHONWALK_FRAMES_MAX 64

struct pythonframe {
    uint64_t address;
    uint64_t code;
    uint64_t previous;
    uint64_t instruction;
    uint64_t copy; /* of the code's instructions */
};

enum pythonwalk {
    PYTHONWALK_NO_THREAD, /* not a thread of Python's (yet, any more) */
    PYTHONWALK_EMPTY,     /* of Python's, and runs none of it */
    PYTHONWALK_TWICE,     /* two reads agreed */
    PYTHONWALK_MOVED,     /* the inner ones changed in between: those of the
                           * second read */
    PYTHONWALK_OUTER,     /* the inner ones changed with every read: only the
                           * outer ones, which two reads agree on */
    PYTHONWALK_DAMAGED,   /* no two reads agreed on any frame */
};

/* Where the thread's state is: at `state` if that still is its own, else it
 * is looked for among all. 0 = there is none. */
uint64_t pythonwalk_thread(pid_t pid,
                           const struct pythonprogram *program,
                           uint32_t tid,
                           uint64_t state);

/* Its frames, with room for PYTHONWALK_FRAMES_MAX. */
enum pythonwalk pythonwalk_frames(pid_t pid,
                                  const struct pythonprogram *program,
                                  uint64_t state,
                                  struct pythonframe *frames,
                                  size_t *count);

#endif
