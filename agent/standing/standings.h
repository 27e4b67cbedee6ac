/* standings.h - where all threads of a process are, as records
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * One STANDING record a thread, with key=value lines:
 *   state=S        of /proc/PID/stat
 *   call=futex     the system call that it waits in; its number, if it has no
 *                  name here
 *   lock=7f01      address of the lock that it waits for,
 *   owner=1234     and the thread that holds it
 *   file=/a/b      that its system call is about
 *   stack=whole    whole, part, sampled (while it ran), refused or none
 *   age=1200000    of a sampled stack, ns
 *   name=worker    of the thread
 * The stack's number is that of a STACK record. Used by the collector's thread
 * only.
 */
#ifndef CK_AGENT_STANDING_STANDINGS_H
#define CK_AGENT_STANDING_STANDINGS_H

#include <stdint.h>
#include <sys/types.h>

#include "agent/stream/selfstream.h"

struct sampler;
struct standings;
struct symbols;

/* `sampler` (may be NULL) has the newest samples of threads that run, and
 * unwinds those that wait; both borrowed. NULL with ENOMEM. */
struct standings *standings_create(struct sampler *sampler,
                                   struct symbols *symbols);
void standings_destroy(struct standings *standings);

/* Look at all threads of the process now, and write what is seen. Threads whose
 * memory might not be read are counted. */
void standings_take(struct standings *standings,
                    struct selfstream *selfstream,
                    uint32_t incarnation,
                    pid_t pid);

/* What looks saw so far. */
struct standings_tally {
    uint64_t looks; /* of processes */
    uint64_t threads;
    uint64_t stacks;  /* read from outside */
    uint64_t whole;   /* of them */
    uint64_t sampled; /* threads that ran, with a sample */
    uint64_t running; /* without one */
    uint64_t refused;
    uint64_t left_out; /* beyond THREADLOOK_THREADS_MAX */
};
struct standings_tally standings_tally(const struct standings *standings);

#endif
