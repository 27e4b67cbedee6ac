/* signals.h - signals to the front that are meant for the program
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * To others the front's pid is the program's: its signals go on to the
 * program, all but SIGKILL and SIGSTOP, which cannot be handed on. A
 * signal to the process group has reached the program already.
 */
#ifndef CK_AGENT_PROCESS_SIGNALS_H
#define CK_AGENT_PROCESS_SIGNALS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/signalfd.h>
#include <sys/types.h>

#include "agent/process/groupwatch.h"

struct signals {
    int fd;           /* signalfd; -1 = none */
    uint64_t ignored; /* when we came: nothing to us, maybe to the program */
    struct groupwatch watch;
};

/* Block all signals and take them from a descriptor. 0, or -1 with errno. */
int signals_open(struct signals *signals);
void signals_close(struct signals *signals);

/* The next one. False: there is none. */
bool signals_read(struct signals *signals, struct signalfd_siginfo *info);

/* A signal by which one asks a process to end? */
bool signals_asks_end(int number);
/* The same, and not ignored when this process began? */
bool signals_is_ending(const struct signals *signals, int number);

/* Give it to the program, which has not ended, unless it has it already; where
 * the program sent it to its parent, give it to the parent of this process. */
void signals_hand_on(struct signals *signals,
                     const struct signalfd_siginfo *info,
                     pid_t program);
/* The same when there is no program any more. */
void signals_forget(struct signals *signals,
                    const struct signalfd_siginfo *info);

/* Stop as a program does by this signal, so that who started this process sees
 * it. Returns when something has made it go on. */
void signals_stop(int number);

#endif
