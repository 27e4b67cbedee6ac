/* event.h - an event of the kernel's that samples, for one CPU
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CK_AGENT_EVENT_H
#define CK_AGENT_EVENT_H

#include <linux/perf_event.h>
#include <stdint.h>
#include <sys/types.h>

/* Trailer of every record that is no sample. */
struct event_id {
    uint32_t pid;
    uint32_t tid;
    uint64_t time;
    uint32_t cpu;
    uint32_t reserved;
};

struct event_fork {
    struct perf_event_header header;
    uint32_t pid;
    uint32_t parent;
    uint32_t tid;
    uint32_t parent_tid;
    uint64_t time;
};

/* Head of a sample; the call chain follows. */
struct event_sample {
    struct perf_event_header header;
    uint64_t ip;
    uint32_t pid;
    uint32_t tid;
    uint64_t time;
    uint32_t cpu;
    uint32_t reserved;
    uint64_t count;
};

/* What an event counts for. */
enum reach {
    REACH_WIDE,   /* all that runs on the CPU */
    REACH_TARGET, /* the target and its children there */
    REACH_USER,   /* the same, without the kernel's part */
};

/* A sample each `period` ns of CPU time, and a record of each switch, mapping
 * of code, fork and exec. The descriptor, or -1 with errno. */
int event_open(pid_t pid, int cpu, int64_t period, enum reach reach);
/* What that errno means here. */
const char *event_why(int error);

#endif
