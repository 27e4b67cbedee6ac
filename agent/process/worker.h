/* worker.h - the process that torchrun started for a rank
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * A rank's other processes have its variables, too. Those which come from one
 * worker are one incarnation of the rank; another worker of the same torchrun
 * is the rank started again, whatever TORCHELASTIC_RESTART_COUNT has: it counts
 * only the failures of the workers of its own host.
 */
#ifndef CK_AGENT_PROCESS_WORKER_H
#define CK_AGENT_PROCESS_WORKER_H

#include <stdint.h>
#include <sys/types.h>

struct worker {
    pid_t pid;     /* 0 = not known */
    int64_t ticks; /* its start, in clock ticks since boot */
    pid_t parent;  /* what started it */
};

/* The worker from which a process comes, which may be itself. `env`: the
 * agent's. Not known: torchrun has not started it, or a process between the two
 * has ended. */
void worker_find(char *const *env, pid_t pid, struct worker *worker);

#endif
