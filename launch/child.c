/* child.c - start a program and find our own files
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * The error of the child's exec comes back through a close-on-exec pipe: EOF
 * means that the program runs. A child gets the signal mask and the SIGPIPE
 * disposition that this process was itself started with.
 *
 * A child that is awaited has this process' memory until its exec (vfork): to
 * copy the page tables of a large process, and to fault in each page that it
 * writes to meanwhile, takes longer than the child's start.
 */
#include "launch/child.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
    FD_NULL = -1,
    FD_KEEP = -2,
    FD_ABOVE = 10, /* where descriptors are parked while 0..2 change */
};

/* Where to look, from the directory of /proc/self/exe. CK_LIBDIR_FROM_BIN is
 * "../lib/x86_64-linux-gnu" or what the installation chose. */
#define OWN_LIBRARIES (CK_LIBDIR_FROM_BIN "/ck")
static const char *const program_places[] = {
    ".", "../bin", OWN_LIBRARIES, "../lib/ck", "../lib64/ck", NULL};
static const char *const library_places[] = {OWN_LIBRARIES, "../lib/ck",
                                             "../lib64/ck", NULL};

static sigset_t first_mask;
static struct sigaction first_sigpipe;

__attribute__((constructor)) static void remember_signals(void)
{
    (void)sigprocmask(SIG_SETMASK, NULL, &first_mask);
    (void)sigaction(SIGPIPE, NULL, &first_sigpipe);
}

static int own_directory(char path[PATH_MAX], struct ck_err *err)
{
    ssize_t length = readlink("/proc/self/exe", path, PATH_MAX - 1);
    char *slash;

    if (length < 0) {
        return ck_err_set(err, "cannot read /proc/self/exe: %s",
                          strerror(errno));
    }
    path[length] = '\0';
    slash = strrchr(path, '/');
    if (slash == NULL) {
        errno = ENOENT;
        return ck_err_set(err, "/proc/self/exe has no directory: %s", path);
    }
    *slash = '\0';
    return 0;
}

static bool is_library(const char *name)
{
    size_t length = strlen(name);

    return length > 3 && strcmp(name + length - 3, ".so") == 0;
}

int ck_child_find(const char *name, char path[PATH_MAX], struct ck_err *err)
{
    const char *const *places =
        is_library(name) ? library_places : program_places;
    int mode = is_library(name) ? R_OK : X_OK;
    char tried[PATH_MAX];
    char own[PATH_MAX];

    if (own_directory(own, err) != 0) {
        return -1;
    }
    for (const char *const *place = places; *place != NULL; place++) {
        int length;

        if (strcmp(*place, ".") == 0) {
            length = snprintf(tried, PATH_MAX, "%s/%s", own, name);
        } else {
            length = snprintf(tried, PATH_MAX, "%s/%s/%s", own, *place, name);
        }
        if (length < PATH_MAX && access(tried, mode) == 0 &&
            realpath(tried, path) != NULL) {
            return 0;
        }
    }
    errno = ENOENT;
    if (is_library(name)) {
        return ck_err_set(err, "%s is not in %s/%s nor %s/%s", name, own,
                          library_places[0], own, library_places[1]);
    }
    return ck_err_set(err, "%s is not in %s nor %s/%s", name, own, own,
                      program_places[1]);
}

/* In the child: put the three descriptors in place. 0 or -1 with errno. */
static int place_fds(const int fds[3])
{
    int parked[3];

    for (int i = 0; i < 3; i++) {
        parked[i] = fds[i];
        if (fds[i] == FD_NULL) {
            parked[i] = open("/dev/null", O_RDWR | O_CLOEXEC);
        } else if (fds[i] >= 0) {
            parked[i] = fcntl(fds[i], F_DUPFD_CLOEXEC, FD_ABOVE);
        }
        if (parked[i] == -1) {
            return -1;
        }
        if (fds[i] == FD_NULL && parked[i] < 3) {
            int above = fcntl(parked[i], F_DUPFD_CLOEXEC, FD_ABOVE);

            if (above < 0) {
                return -1;
            }
            parked[i] = above;
        }
    }
    for (int i = 0; i < 3; i++) {
        if (parked[i] != FD_KEEP && dup2(parked[i], i) < 0) {
            return -1;
        }
    }
    return 0;
}

/* The parent may have ended before this was asked for. */
static void tie(pid_t parent)
{
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) {
        _exit(127);
    }
}

static _Noreturn void
run_child(const struct ck_child *child, pid_t parent, int report)
{
    int failure;

    if (child->is_tied) {
        tie(parent);
    }
    if (child->is_detached) {
        /* Not setsid(): the kernel gives each session its share of the cores,
         * and one that only looks now and then waits behind a busy one. */
        (void)setpgid(0, 0);
        (void)signal(SIGTSTP, SIG_IGN);
        (void)signal(SIGTTOU, SIG_IGN);
    }
    (void)sigaction(SIGPIPE, &first_sigpipe, NULL);
    (void)sigprocmask(SIG_SETMASK, &first_mask, NULL);
    if (place_fds(child->fds) == 0) {
        (void)execvp(child->path, child->argv);
    }
    failure = errno;
    if (report >= 0) {
        (void)!write(report, &failure, sizeof(failure));
    }
    _exit(failure == ENOENT ? 127 : 126);
}

/* A close-on-exec pipe that is not among 0..2. */
static int open_report(int ends[2])
{
    int low[2];

    if (pipe2(low, O_CLOEXEC) != 0) {
        return -1;
    }
    ends[0] = fcntl(low[0], F_DUPFD_CLOEXEC, FD_ABOVE);
    ends[1] = fcntl(low[1], F_DUPFD_CLOEXEC, FD_ABOVE);
    (void)close(low[0]);
    (void)close(low[1]);
    if (ends[0] < 0 || ends[1] < 0) {
        int failure = errno;

        (void)close(ends[0]);
        (void)close(ends[1]);
        errno = failure;
        return -1;
    }
    return 0;
}

/* The child's errno, 0 when it runs. */
static int read_report(int fd)
{
    int failure = 0;
    ssize_t got;

    do {
        got = read(fd, &failure, sizeof(failure));
    } while (got < 0 && errno == EINTR);
    return got == (ssize_t)sizeof(failure) ? failure : 0;
}

/* 0, or -1 with err: no process. */
static int
start_unawaited(const struct ck_child *child, pid_t *pid, struct ck_err *err)
{
    pid_t parent = getpid();
    pid_t started = fork();

    if (started == 0) {
        run_child(child, parent, -1);
    }
    if (started < 0) {
        return ck_err_set(err, "cannot start %s: %s", child->path,
                          strerror(errno));
    }
    *pid = started;
    return 0;
}

int ck_child_start(const struct ck_child *child, pid_t *pid, struct ck_err *err)
{
    int ends[2];
    int failure;
    pid_t parent = getpid();
    pid_t started;

    if (child->is_unawaited) {
        return start_unawaited(child, pid, err);
    }
    if (open_report(ends) != 0) {
        return ck_err_set(err, "cannot start %s: no pipe: %s", child->path,
                          strerror(errno));
    }
    started = vfork();
    if (started == 0) {
        run_child(child, parent, ends[1]);
    }
    failure = started < 0 ? errno : 0;
    (void)close(ends[1]);
    if (started > 0) {
        failure = read_report(ends[0]);
    }
    (void)close(ends[0]);
    if (failure != 0) {
        while (started > 0 && waitpid(started, NULL, 0) < 0 && errno == EINTR) {
        }
        errno = failure;
        return ck_err_set(err, "cannot start %s: %s", child->path,
                          strerror(failure));
    }
    *pid = started;
    return 0;
}

static int64_t now_ns(void)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* Sleep until the process may have ended or the time is up. Kernels without
 * pidfd: look every 5 ms. */
static void wait_for_change(int pidfd, int64_t left_ns)
{
    struct pollfd ended = {.fd = pidfd, .events = POLLIN};
    int64_t left_ms = (left_ns + 999999) / 1000000;

    if (pidfd < 0 && left_ms > 5) {
        left_ms = 5;
    }
    (void)poll(&ended, pidfd < 0 ? 0 : 1,
               left_ms > INT_MAX ? INT_MAX : (int)left_ms);
}

int ck_child_wait(pid_t pid, int64_t limit_ns, int *status)
{
    int64_t deadline = limit_ns < 0 ? -1 : now_ns() + limit_ns;
    int pidfd = limit_ns < 0 ? -1 : (int)syscall(SYS_pidfd_open, pid, 0);
    pid_t ended;

    for (;;) {
        int64_t left;

        ended = waitpid(pid, status, limit_ns < 0 ? 0 : WNOHANG);
        if (ended < 0 && errno == EINTR) {
            continue;
        }
        if (ended != 0) {
            break;
        }
        left = deadline - now_ns();
        if (left <= 0) {
            break;
        }
        wait_for_change(pidfd, left);
    }
    if (pidfd >= 0) {
        int saved = errno;

        (void)close(pidfd);
        errno = saved;
    }
    return ended > 0 ? 1 : (int)ended;
}

void ck_child_ended(int status, char *text, size_t room)
{
    if (WIFSIGNALED(status)) {
        (void)snprintf(text, room, "signal %d (%s)", WTERMSIG(status),
                       strsignal(WTERMSIG(status)));
    } else {
        (void)snprintf(text, room, "status %d", WEXITSTATUS(status));
    }
}
