/* standstack.h - the frames of a thread that waits, read from outside
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * The kernel shows where the thread left the program, and its memory is read
 * from there on; the rules of .eh_frame do the rest. Other registers than two
 * are not known until a frame has kept them. Python frames come in place of the
 * interpreter's. Used by the collector's thread only.
 */
#ifndef CK_AGENT_STANDING_STANDSTACK_H
#define CK_AGENT_STANDING_STANDSTACK_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "agent/standing/threadlook.h"
#include "agent/stream/selfstream.h"

/* Of the stack, from the stack pointer on. */
#define STANDSTACK_BYTES ((size_t)64 << 10)

struct standstack;
struct unwind;

/* `sampled` unwinds samples of the same processes: it has read the rules of
 * their files, and is kept up to date on the code that they map. Borrowed; NULL
 * = there is none. NULL with ENOMEM. */
struct standstack *standstack_create(struct unwind *sampled);
void standstack_destroy(struct standstack *standstack);

enum standstack_end {
    STANDSTACK_WHOLE,
    STANDSTACK_PART,    /* its outer frames are missing */
    STANDSTACK_NONE,    /* it runs */
    STANDSTACK_REFUSED, /* its memory may not be read */
};

struct standstack_frames {
    uint64_t *frames; /* innermost first; borrowed */
    size_t room;
    size_t count;
};

/* What was seen of all processes. */
struct standstack_seen {
    uint64_t changes; /* another number once one has mapped code, or is another;
                         0 = that is not known */
    uint64_t lost;    /* records of that */
};

/* Look at that process. */
void standstack_begin(struct standstack *standstack,
                      pid_t pid,
                      struct standstack_seen seen);
/* The thread's frames. */
enum standstack_end standstack_take(struct standstack *standstack,
                                    pid_t pid,
                                    uint32_t tid,
                                    const struct threadlook *look,
                                    struct standstack_frames *frames);
/* Name a frame of Python, once in a process image. */
void standstack_name(struct standstack *standstack,
                     struct selfstream *selfstream,
                     uint32_t incarnation,
                     uint64_t frame);

#endif
