/* perfcall.c - the one place that calls perf_event_open()
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * A filter refuses a call with an errno, or ends who makes it: a unit of
 * systemd with SystemCallFilter=@system-service does. Under a filter a child
 * tries first.
 */
#include "agent/perf/perfcall.h"

#include <errno.h>
#include <stdbool.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/process/procfile.h"

/* May our system calls be filtered? The file shows it without such a call,
 * unless a long list of groups has no room before it. */
static bool is_filtered(void)
{
    char text[8192];

    (void)procfile_read(text, sizeof(text), "/proc/self/status");
    return procfile_number(text, "\nSeccomp:", 1) != 0;
}

/* Does the call end a child that makes it? So it is if none can be made. */
static bool is_fatal(void)
{
    int status = 0;
    pid_t found;
    pid_t pid = fork();

    if (pid == 0) {
        (void)prctl(PR_SET_DUMPABLE, 0); /* no core file */
        (void)syscall(SYS_perf_event_open, NULL, 0, -1, -1, 0);
        _exit(0);
    }
    do {
        found = pid < 0 ? -1 : waitpid(pid, &status, 0);
    } while (found < 0 && pid > 0 && errno == EINTR);
    return found < 0 || !WIFEXITED(status);
}

int perfcall_open(struct perf_event_attr *attr, pid_t pid, int cpu, int group)
{
    static enum { UNKNOWN, PERMITTED, FATAL } state;

    if (state == UNKNOWN) {
        state = is_filtered() && is_fatal() ? FATAL : PERMITTED;
    }
    if (state == FATAL) {
        errno = ENOSYS;
        return -1;
    }
    return (int)syscall(SYS_perf_event_open, attr, pid, cpu, group,
                        PERF_FLAG_FD_CLOEXEC);
}
