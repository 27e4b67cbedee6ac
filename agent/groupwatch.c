/* groupwatch.c - was a signal sent to us alone, or to our process group?
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "agent/groupwatch.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

/* Blocks everything and waits for the end of file; inherits the mask of its
 * creator, which has all signals blocked during the fork. */
static void watcher_run(int hold)
{
    char byte;

    (void)prctl(PR_SET_NAME, "ckagent-group");
    while (read(hold, &byte, 1) < 0 && errno == EINTR) {
    }
    _exit(0);
}

/* The watcher must not keep the launcher's pipes open. */
static void files_close(int keep)
{
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);

    for (int i = 0; null >= 0 && i < 3; i++) {
        (void)dup2(null, i);
    }
    if (keep > 3) {
        (void)close_range(3, (unsigned)keep - 1, 0);
    }
    (void)close_range((unsigned)keep + 1, ~0u, 0);
}

void groupwatch_start(struct groupwatch *watch)
{
    sigset_t all;
    sigset_t before;
    int ends[2];

    watch->pid = 0;
    watch->hold = -1;
    if (pipe2(ends, O_CLOEXEC) != 0) {
        return;
    }
    (void)sigfillset(&all);
    (void)sigprocmask(SIG_BLOCK, &all, &before);
    watch->pid = fork();
    if (watch->pid == 0) {
        (void)close(ends[1]);
        files_close(ends[0]);
        watcher_run(ends[0]);
    }
    (void)sigprocmask(SIG_SETMASK, &before, NULL);
    (void)close(ends[0]);
    if (watch->pid < 0) {
        watch->pid = 0;
        (void)close(ends[1]);
        return;
    }
    watch->hold = ends[1];
}

void groupwatch_stop(struct groupwatch *watch)
{
    if (watch->pid > 0) {
        (void)kill(watch->pid, SIGKILL);
        (void)waitpid(watch->pid, NULL, 0);
        (void)close(watch->hold);
        watch->pid = 0;
        watch->hold = -1;
    }
}

/* Signals pending for the process as a whole, as /proc shows them. */
static unsigned long long pending_read(pid_t pid)
{
    unsigned long long pending = 0;
    char path[64];
    char line[256];
    FILE *file;

    (void)snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
    file = fopen(path, "re");
    while (file != NULL && fgets(line, sizeof(line), file) != NULL) {
        if (strncmp(line, "ShdPnd:", 7) == 0) {
            pending = strtoull(line + 7, NULL, 16);
            break;
        }
    }
    if (file != NULL) {
        (void)fclose(file);
    }
    return pending;
}

bool groupwatch_has(struct groupwatch *watch, int signal_number)
{
    if (watch->pid <= 0) {
        return true;
    }
    if ((pending_read(watch->pid) >> (signal_number - 1) & 1) == 0) {
        return false;
    }
    /* What is pending stays so: only a fresh watcher can tell the next. */
    groupwatch_stop(watch);
    groupwatch_start(watch);
    return true;
}

bool groupwatch_reaped(struct groupwatch *watch, pid_t pid)
{
    if (watch->pid <= 0 || pid != watch->pid) {
        return false;
    }
    (void)close(watch->hold);
    groupwatch_start(watch);
    return true;
}
