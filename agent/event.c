/* event.c - an event of the kernel's that samples, for one CPU
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "agent/event.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

int event_open(pid_t pid, int cpu, int64_t period, enum reach reach)
{
    struct perf_event_attr attr = {
        .type = PERF_TYPE_SOFTWARE,
        .size = sizeof(attr),
        .config = PERF_COUNT_SW_CPU_CLOCK,
        .sample_period = (uint64_t)period,
        .sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME |
                       PERF_SAMPLE_CPU | PERF_SAMPLE_CALLCHAIN,
        .disabled = reach != REACH_WIDE,
        .inherit = reach != REACH_WIDE,
        .enable_on_exec = reach != REACH_WIDE,
        .exclude_kernel = reach == REACH_USER,
        .exclude_hv = reach == REACH_USER,
        .exclude_idle = 1,
        .exclude_callchain_kernel = 1,
        .sample_id_all = 1,
        .context_switch = 1,
        .mmap = 1,
        .comm = 1, /* says when an exec was */
        .task = 1,
        .use_clockid = 1,
        .clockid = CLOCK_MONOTONIC_RAW,
        .watermark = 1,
    };

    return (int)syscall(SYS_perf_event_open, &attr,
                        reach == REACH_WIDE ? -1 : pid, cpu, -1,
                        PERF_FLAG_FD_CLOEXEC);
}

const char *event_why(int error)
{
    switch (error) {
    case EACCES:
    case EPERM:
        return "perf_event is not permitted here (set "
               "kernel.perf_event_paranoid to 2 or less, or let the container "
               "have perf_event_open)";
    case ENOSYS:
        return "this kernel has no perf_event, or a container filters it";
    case EMFILE:
    case ENFILE:
        return "too many open files (raise ulimit -n)";
    case EINVAL:
        return "this kernel is too old for it (before 4.3)";
    default:
        return strerror(error);
    }
}
