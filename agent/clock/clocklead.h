/* clocklead.h - which agent probes the clock for all of its domain
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * One of the agents of a job on one machine that share a clock holds a lock
 * file beside the job's socket. When it ends, however it ends, the kernel lets
 * go of the lock and the next that looks has it.
 */
#ifndef CK_AGENT_CLOCK_CLOCKLEAD_H
#define CK_AGENT_CLOCK_CLOCKLEAD_H

#include <stdbool.h>

#include "agent/process/identity.h"

struct clocklead {
    char path[128]; /* "" = no directory for it: each agent leads itself */
    int fd;         /* -1 = another one leads */
};

void clocklead_init(struct clocklead *lead, const struct identity *identity);
/* Let go, and remove the file. */
void clocklead_fini(struct clocklead *lead);
/* Try to lead. True when we do. Never waits. */
bool clocklead_take(struct clocklead *lead);

#endif
