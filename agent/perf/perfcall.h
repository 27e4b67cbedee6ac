/* perfcall.h - the one place that calls perf_event_open()
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CK_AGENT_PERF_PERFCALL_H
#define CK_AGENT_PERF_PERFCALL_H

#include <linux/perf_event.h>
#include <sys/types.h>

/* As perf_event_open(), close-on-exec: a descriptor, or -1 with errno. ENOSYS
 * also where a seccomp filter would end us for the call. */
int perfcall_open(struct perf_event_attr *attr, pid_t pid, int cpu, int group);

#endif
