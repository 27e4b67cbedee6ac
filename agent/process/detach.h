/* detach.h - set a collector apart from the front that forked it
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CK_AGENT_PROCESS_DETACH_H
#define CK_AGENT_PROCESS_DETACH_H

#include <sched.h>
#include <stdbool.h>

#include "agent/process/identity.h"

/* A collector is named so. */
#define DETACH_NAME "ckagent-collect"

/* A descriptor for words to the user when the front is gone: the launcher's
 * stderr, or ours where there is no launcher. -1 = none, or not wanted. To be
 * taken before detach_go(). */
int detach_stderr(const struct identity *identity, bool is_wanted);

/* CPUs that the launcher bound a rank to, of 8192. */
struct detach_cpus {
    cpu_set_t sets[8];
};

/* Own process group, /dev/null on 0, 1, 2 (stderr stays with `keeps_stderr`),
 * no inherited files, all CPUs of the cpuset, default signals. *home: the CPUs
 * before. */
void detach_go(bool keeps_stderr, struct detach_cpus *home);

/* Back to the CPUs that detach_go() found, and free again: to be called now and
 * then. An idle CPU draws the collector away at its next turn. Where none is
 * idle each collector stops its own rank, all at the same time, instead of one
 * rank twice while the others wait for it. */
void detach_home(const struct detach_cpus *home);

#endif
