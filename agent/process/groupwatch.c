/* groupwatch.c - was a signal sent to us alone, or to our process group?
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "agent/process/groupwatch.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* A machine under load may let the watcher wait; one that is stopped while we
 * run answers never. */
#define ANSWER_MS 5000
#define CLOSE_RANGE 436 /* SYS_close_range, which older headers lack */

/* How often the watcher got each signal since it was last asked. */
struct answer {
    uint32_t counts[GROUPWATCH_SIGNALS];
};

/* Inherits the mask of its creator, which has all signals blocked during the
 * fork. Answers each byte; the end of file ends it. */
static void watcher_run(int hold)
{
    const uint64_t all = ~(uint64_t)0;
    int fd = (int)syscall(SYS_signalfd4, -1, &all, sizeof(all), SFD_NONBLOCK);
    struct signalfd_siginfo info;
    struct answer answer;
    ssize_t got;
    char byte;

    (void)prctl(PR_SET_NAME, "ckagent-group");
    while ((got = read(hold, &byte, 1)) != 0) {
        if (got < 0 && errno != EINTR) {
            break;
        }
        memset(&answer, 0, sizeof(answer));
        while (read(fd, &info, sizeof(info)) == (ssize_t)sizeof(info)) {
            answer.counts[info.ssi_signo % GROUPWATCH_SIGNALS]++;
        }
        (void)!send(hold, &answer, sizeof(answer), MSG_NOSIGNAL);
    }
    _exit(0);
}

/* Close what the kernel lists but 0 to 2. */
static void files_close_listed(int keep)
{
    DIR *list = opendir("/proc/self/fd");
    struct dirent *entry;

    while (list != NULL && (entry = readdir(list)) != NULL) {
        int fd = atoi(entry->d_name); /* "." and "..": 0 */

        if (fd > 2 && fd != keep && fd != dirfd(list)) {
            (void)close(fd);
        }
    }
    if (list != NULL) {
        (void)closedir(list);
    }
}

/* The watcher must not keep the launcher's pipes open. Kernels before 5.9
 * close no range. */
static void files_close(int keep)
{
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);

    for (int i = 0; null >= 0 && i < 3; i++) {
        (void)dup2(null, i);
    }
    if (keep > 3) {
        (void)syscall(CLOSE_RANGE, 3u, (unsigned)keep - 1, 0u);
    }
    if (syscall(CLOSE_RANGE, (unsigned)keep + 1, ~0u, 0u) != 0) {
        files_close_listed(keep);
    }
}

void groupwatch_start(struct groupwatch *watch)
{
    const uint64_t all = ~(uint64_t)0;
    uint64_t before = 0;
    int ends[2];

    memset(watch, 0, sizeof(*watch));
    watch->hold = -1;
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) {
        return;
    }
    /* By system call: the C library leaves its own two signals out. */
    (void)syscall(SYS_rt_sigprocmask, SIG_BLOCK, &all, &before, sizeof(all));
    watch->pid = fork();
    if (watch->pid == 0) {
        (void)close(ends[1]);
        files_close(ends[0]);
        watcher_run(ends[0]);
    }
    (void)syscall(SYS_rt_sigprocmask, SIG_SETMASK, &before, NULL, sizeof(all));
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

/* Ask the watcher. False: it does not answer. */
static bool counts_take(struct groupwatch *watch)
{
    struct pollfd item = {.fd = watch->hold, .events = POLLIN};
    struct answer answer;
    int rc;

    if (send(watch->hold, "?", 1, MSG_NOSIGNAL) != 1) {
        return false;
    }
    do {
        rc = poll(&item, 1, ANSWER_MS);
    } while (rc < 0 && errno == EINTR);
    if (rc <= 0 || recv(watch->hold, &answer, sizeof(answer), MSG_DONTWAIT) !=
                       (ssize_t)sizeof(answer)) {
        return false;
    }
    for (unsigned i = 0; i < GROUPWATCH_SIGNALS; i++) {
        watch->counts[i] += answer.counts[i];
        /* Others than real-time signals are one while they are pending. */
        if (i < (unsigned)__SIGRTMIN && watch->counts[i] > 1) {
            watch->counts[i] = 1;
        }
    }
    return true;
}

static bool has_stop(const struct groupwatch *watch)
{
    return watch->counts[SIGTSTP] != 0 || watch->counts[SIGTTIN] != 0 ||
           watch->counts[SIGTTOU] != 0;
}

/* SIGCONT takes the signals that stop away where they are pending, and each of
 * those takes it: the group may have had this one before what is there now. To
 * hand it on would take that one from the target, too. */
static bool may_be_gone(const struct groupwatch *watch, int signal_number)
{
    switch (signal_number) {
    case SIGCONT:
        return has_stop(watch);
    case SIGTSTP:
    case SIGTTIN:
    case SIGTTOU:
        return watch->counts[SIGCONT] != 0;
    default:
        return false;
    }
}

bool groupwatch_has(struct groupwatch *watch, int signal_number)
{
    uint32_t *count;

    if (watch->pid <= 0 || signal_number < 0 ||
        signal_number >= GROUPWATCH_SIGNALS) {
        return true;
    }
    count = &watch->counts[signal_number];
    /* One of several real-time signals is ours, else all that came so far. */
    if ((*count == 0 || signal_number < __SIGRTMIN) && !counts_take(watch)) {
        return true;
    }
    if (*count == 0) {
        return may_be_gone(watch, signal_number);
    }
    --*count;
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
