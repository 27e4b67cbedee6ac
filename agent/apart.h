/* apart.h - set a collector apart from the front that forked it
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CK_AGENT_APART_H
#define CK_AGENT_APART_H

#include <stdbool.h>

#include "agent/identity.h"

/* A descriptor for words to the user when the front is gone: the launcher's
 * stderr, or ours where there is no launcher. -1 = none, or not wanted. To be
 * taken before apart_go(). */
int apart_stderr(const struct identity *identity, bool is_wanted);

/* Own session, /dev/null on 0, 1, 2 (stderr stays with `keeps_stderr`), no
 * inherited files, all CPUs of the cpuset, default signals. */
void apart_go(bool keeps_stderr);

/* Back to the CPUs that the launcher bound our rank to, if there are such, and
 * free again: to be called now and then. An idle CPU draws the collector away
 * at its next turn. Where none is idle each collector stops its own rank, all
 * at the same time, instead of one rank twice while the others wait for it. */
void apart_home(void);

#endif
