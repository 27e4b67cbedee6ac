/* cpuload.h - the CPUs that a target may use, and who else used them
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Distinguishes three things that look the same from inside: a program with
 * more threads than CPUs, a cgroup's quota, and other programs. Read from /proc
 * and the cgroup file systems about each second; nothing of it needs rights.
 * One user, one thread.
 */
#ifndef CK_AGENT_PROCESS_CPULOAD_H
#define CK_AGENT_PROCESS_CPULOAD_H

#include <stddef.h>
#include <sys/types.h>

#include "agent/process/proctree.h"
#include "schema/time.h"

struct ck_lines;
struct cpuload;

/* `tree` is borrowed, and read by others. NULL with ENOMEM. */
struct cpuload *cpuload_create(pid_t root, const struct proctree *tree);
void cpuload_destroy(struct cpuload *load);
/* Look at the host; to be called behind each reading of the tree. */
void cpuload_read(struct cpuload *load, ck_time_t now);
/* Add what was seen since the first reading to key=value lines: load_ns and, if
 * that is not 0, the others (docs/analysis.md, "CPUs"). NULL adds nothing. */
void cpuload_lines(const struct cpuload *load, struct ck_lines *lines);

#endif
