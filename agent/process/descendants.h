/* descendants.h - which processes are the target's, and since when each runs
 * its image
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * The kernel's records of forks and of execs show both. A process whose fork
 * was not seen is looked up in /proc once. Used by the sampler, on its thread.
 */
#ifndef CK_AGENT_PROCESS_DESCENDANTS_H
#define CK_AGENT_PROCESS_DESCENDANTS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "schema/time.h"

/* Processes that are remembered; strangers are forgotten first. */
#define DESCENDANTS_MAX 4096

struct descendants;

/* `is_wide`: other processes are reported as well. NULL with ENOMEM. */
struct descendants *descendants_create(pid_t target, bool is_wide);
void descendants_destroy(struct descendants *descendants);

void descendants_forked(struct descendants *descendants,
                        uint32_t pid,
                        uint32_t parent,
                        ck_time_t time);
void descendants_execed(struct descendants *descendants,
                        uint32_t pid,
                        ck_time_t time);

/* Is it the target, or a process that comes from it? */
bool descendants_has(struct descendants *descendants, uint32_t pid);
/* When its last fork or exec was, 0 = before what was seen. */
ck_time_t descendants_since(const struct descendants *descendants,
                            uint32_t pid);

#endif
