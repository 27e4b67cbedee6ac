/* signals.c - signals to the front that are meant for the program
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "agent/process/signals.h"

#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "agent/process/inherited.h"
#include "schema/fd.h"

/* A fault of our own is not held up by being blocked: the kernel ends us. */
static const uint64_t all_signals =
    ~(INHERITED_BIT(SIGKILL) | INHERITED_BIT(SIGSTOP));

int signals_open(struct signals *signals)
{
    signals->ignored = inherited_ignored();
    if (inherited_block(all_signals) != 0) {
        return -1;
    }
    /* By system call: the C library leaves its own two signals out. */
    signals->fd = (int)syscall(SYS_signalfd4, -1, &all_signals,
                               sizeof(all_signals), O_CLOEXEC | O_NONBLOCK);
    return signals->fd < 0 ? -1 : 0;
}

void signals_close(struct signals *signals)
{
    groupwatch_stop(&signals->watch);
    ck_fd_close(signals->fd);
    signals->fd = -1;
}

bool signals_read(struct signals *signals, struct signalfd_siginfo *info)
{
    return read(signals->fd, info, sizeof(*info)) == (ssize_t)sizeof(*info);
}

bool signals_asks_end(int number)
{
    return number == SIGTERM || number == SIGINT || number == SIGHUP ||
           number == SIGQUIT;
}

bool signals_is_ending(const struct signals *signals, int number)
{
    return signals_asks_end(number) &&
           (signals->ignored & INHERITED_BIT(number)) == 0;
}

/* What the kernel sends of our own children, writes and use of the CPU. */
static bool is_ours(const struct signalfd_siginfo *info)
{
    return (info->ssi_signo == SIGCHLD && info->ssi_code > 0) ||
           (info->ssi_signo == SIGXCPU && info->ssi_code == SI_KERNEL) ||
           (info->ssi_code == SI_USER && (pid_t)info->ssi_pid == getpid());
}

/* With what came with it, where the kernel lets us send it. */
static void signal_send(pid_t pid, const struct signalfd_siginfo *info)
{
    int number = (int)info->ssi_signo;
    siginfo_t same;

    memset(&same, 0, sizeof(same));
    same.si_signo = number;
    same.si_code = info->ssi_code;
    same.si_pid = (pid_t)info->ssi_pid;
    same.si_uid = (uid_t)info->ssi_uid;
    same.si_value.sival_ptr = (void *)(uintptr_t)info->ssi_ptr;
    if (info->ssi_code != SI_QUEUE ||
        syscall(SYS_rt_sigqueueinfo, pid, number, &same) != 0) {
        (void)kill(pid, number);
    }
}

void signals_hand_on(struct signals *signals,
                     const struct signalfd_siginfo *info,
                     pid_t program)
{
    bool is_apart = getpgid(program) != getpgrp();

    if (is_ours(info)) {
        return;
    }
    /* Asked in any case: the answer is used up by asking. */
    if (groupwatch_has(&signals->watch, (int)info->ssi_signo) && !is_apart) {
        return;
    }
    if ((pid_t)info->ssi_pid == program && info->ssi_code <= 0) {
        if (getppid() > 1) {
            signal_send(getppid(), info);
        }
    } else {
        signal_send(program, info);
    }
}

void signals_forget(struct signals *signals,
                    const struct signalfd_siginfo *info)
{
    if (!is_ours(info)) {
        (void)groupwatch_has(&signals->watch, (int)info->ssi_signo);
    }
}

/* SIGCONT is blocked, and waits after a stop; or it came before one, which it
 * was to end. SIGTSTP and its like do nothing in a group that no shell looks
 * after. */
static bool is_going_on(void)
{
    sigset_t waiting;

    return sigpending(&waiting) == 0 && sigismember(&waiting, SIGCONT) == 1;
}

void signals_stop(int number)
{
    struct sigaction before;
    struct sigaction plain = {.sa_handler = SIG_DFL};
    sigset_t only;

    /* A stop would take it back. */
    if (is_going_on()) {
        return;
    }
    if (number != SIGSTOP && sigaction(number, &plain, &before) == 0) {
        (void)sigemptyset(&only);
        (void)sigaddset(&only, number);
        (void)kill(getpid(), number);
        (void)sigprocmask(SIG_UNBLOCK, &only, NULL);
        (void)sigprocmask(SIG_BLOCK, &only, NULL);
        (void)sigaction(number, &before, NULL);
        if (is_going_on()) {
            return;
        }
    }
    (void)raise(SIGSTOP);
}
