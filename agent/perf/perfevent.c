/* perfevent.c - events of the kernel that sample and report switches, for one
 * CPU
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "agent/perf/perfevent.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdbool.h>
#include <string.h>
#include <time.h>

#include "agent/perf/perfcall.h"

/* What each ring's event counts. */
static const uint64_t counted[PERFEVENT_RINGS] = {
    [PERFEVENT_SAMPLES] = PERF_COUNT_SW_CPU_CLOCK,
    [PERFEVENT_SWITCHES] = PERF_COUNT_SW_DUMMY,
    [PERFEVENT_MINOR] = PERF_COUNT_SW_PAGE_FAULTS_MIN,
    [PERFEVENT_MAJOR] = PERF_COUNT_SW_PAGE_FAULTS_MAJ,
};

int perfevent_open(pid_t pid, int cpu, const struct perfevent_wish *wish)
{
    bool is_wide = wish->reach == REACH_WIDE;
    bool has_tasks = wish->ring == PERFEVENT_SAMPLES;
    bool has_samples = wish->ring != PERFEVENT_SWITCHES;
    bool has_stacks = has_samples && wish->stack_bytes > 0;
    struct perf_event_attr attr = {
        .type = PERF_TYPE_SOFTWARE,
        .size = sizeof(attr),
        .config = counted[wish->ring],
        .sample_period = has_samples ? (uint64_t)wish->period : 0,
        .sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU |
                       (has_samples ? PERFEVENT_PLAIN : 0) |
                       (has_stacks ? PERFEVENT_STACKS : 0),
        .sample_regs_user = has_stacks ? PERFEVENT_REGISTERS_MASK : 0,
        .sample_stack_user = has_stacks ? wish->stack_bytes : 0,
        .disabled = !is_wide,
        .inherit = !is_wide,
        .enable_on_exec = !is_wide,
        .exclude_kernel = wish->reach == REACH_USER,
        .exclude_hv = wish->reach == REACH_USER,
        .exclude_idle = 1,
        .exclude_callchain_kernel =
            wish->reach == REACH_USER || wish->ring != PERFEVENT_SAMPLES,
        .sample_id_all = 1,
        .context_switch = !has_samples,
        .mmap = has_tasks,
        .comm = has_tasks, /* reports when an exec was */
        .task = has_tasks,
        .use_clockid = 1,
        .clockid = CLOCK_MONOTONIC_RAW,
        .watermark = 1,
        .wakeup_watermark = wish->wake_bytes,
    };

    return perfcall_open(&attr, is_wide ? -1 : pid, cpu, -1);
}

const char *perfevent_why(int error)
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
