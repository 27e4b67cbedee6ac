/* cgroup.h - what a process's control groups limit: CPU time and memory
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Versions 1 and 2, in whatever mount is seen from here. A quota may be set at
 * any level above a process: the narrowest one counts.
 */
#ifndef CK_AGENT_PROCESS_CGROUP_H
#define CK_AGENT_PROCESS_CGROUP_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct cgroup_quota {
    int64_t cpus_milli;    /* 0 = there is none */
    int64_t periods;       /* running totals of the level with it: */
    int64_t throttled;     /* of those, in which it was used up */
    int64_t throttled_ns;  /* added up over CPUs */
    char folder[PATH_MAX]; /* of that level; "" = none */
};

/* The folder of a process's group below the mount point of its hierarchy, from
 * the texts of /proc/PID/cgroup and /proc/self/mountinfo. False when there is
 * none with a controller of CPU time. `mount`: the mount point. */
bool cgroup_folder(const char *groups,
                   const char *mounts,
                   bool is_v2,
                   char folder[PATH_MAX],
                   char mount[PATH_MAX]);
/* The narrowest quota from a folder up to the mount point. */
void cgroup_narrowest(const char *folder,
                      const char *mount,
                      struct cgroup_quota *quota);
/* Of a process; nothing where none is seen. */
void cgroup_read(pid_t pid, struct cgroup_quota *quota);

/* The narrowest limit of memory from a folder up to the mount point, in bytes;
 * 0 = none. */
uint64_t cgroup_memory_narrowest(const char *folder, const char *mount);
/* Bytes of memory that this process can have: of its groups and the machine. */
uint64_t cgroup_memory(void);

#endif
