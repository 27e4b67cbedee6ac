/* detach.c - set a collector apart from the front that forked it
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Our own descriptors are close-on-exec, those that the launcher gave us are
 * not: that is how they are known. A launcher waits for the end of the pipes it
 * gave out, so none may stay open here.
 */
#include "agent/process/detach.h"

#include <dirent.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

/* All collectors of a host wake at the same time (pace_until()). */
#define TIMER_SLACK_NS 1000ul
/* So long the collector computes at a stretch. The kernel (6.12 and later)
 * runs who asks for less sooner after a wake-up: a slot waits, the program's
 * own threads do not. */
#define SLICE_NS 300000u

int detach_stderr(const struct identity *identity, bool is_wanted)
{
    char path[64];

    if (!is_wanted) {
        return -1;
    }
    if (!identity->place.is_ranked) {
        return fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 10);
    }
    (void)snprintf(path, sizeof(path), "/proc/%d/fd/2",
                   (int)identity->launcher_pid);
    return open(path, O_WRONLY | O_APPEND | O_CLOEXEC | O_NOCTTY);
}

static void inherited_close(void)
{
    DIR *stream = opendir("/proc/self/fd");
    struct dirent *entry;

    while (stream != NULL && (entry = readdir(stream)) != NULL) {
        int fd = atoi(entry->d_name);
        int flags = fd > STDERR_FILENO ? fcntl(fd, F_GETFD) : -1;

        if (flags >= 0 && (flags & FD_CLOEXEC) == 0) {
            (void)close(fd);
        }
    }
    if (stream != NULL) {
        (void)closedir(stream);
    }
}

static void stdio_null(bool keeps_stderr)
{
    int fd = open("/dev/null", O_RDWR | O_CLOEXEC);

    for (int i = 0; fd >= 0 && i < (keeps_stderr ? 2 : 3); i++) {
        (void)dup2(fd, i);
    }
    if (fd > STDERR_FILENO) {
        (void)close(fd);
    }
}

/* The kernel cuts the mask to what the cpuset allows. */
static void affinity_widen(void)
{
    struct detach_cpus all;

    memset(&all, 0xff, sizeof(all));
    (void)sched_setaffinity(0, sizeof(all), all.sets);
}

void detach_home(const struct detach_cpus *home)
{
    int cpu = sched_getcpu();

    if (cpu >= 0 && !CPU_ISSET_S((size_t)cpu, sizeof(*home), home->sets)) {
        (void)sched_setaffinity(0, sizeof(*home), home->sets);
        affinity_widen();
    }
}

/* As the kernel has it; headers of this age lack it. */
struct slice {
    uint32_t bytes;
    uint32_t policy;
    uint64_t flags;
    int32_t nice;
    uint32_t priority;
    uint64_t runtime;
    uint64_t deadline;
    uint64_t period;
};
_Static_assert(sizeof(struct slice) == 48, "sched_attr, first version");

/* A kernel that knows no slices takes it without effect. */
static void slice_shorten(void)
{
    struct slice slice = {.bytes = sizeof(slice)};

    if (syscall(SYS_sched_getattr, 0, &slice, sizeof(slice), 0) == 0 &&
        slice.policy == SCHED_OTHER) {
        slice.runtime = SLICE_NS;
        (void)syscall(SYS_sched_setattr, 0, &slice, 0);
    }
}

/* What a terminal sends to processes in its background is not for us, nor what
 * a scheduler sends to each process of a step: the target's end is ours. */
static const int unheard[] = {SIGPIPE, SIGXFSZ, SIGHUP, SIGTERM,
                              SIGTSTP, SIGTTIN, SIGTTOU};

void detach_go(bool keeps_stderr, struct detach_cpus *home)
{
    sigset_t none;

    (void)setpgid(0, 0);
    /* What came to the group until now was not for us: ignoring drops it. */
    for (int i = 1; i < NSIG; i++) {
        (void)signal(i, SIG_IGN);
        (void)signal(i, SIG_DFL);
    }
    for (size_t i = 0; i < sizeof(unheard) / sizeof(unheard[0]); i++) {
        (void)signal(unheard[i], SIG_IGN);
    }
    (void)sigemptyset(&none);
    (void)sigprocmask(SIG_SETMASK, &none, NULL);
    inherited_close();
    stdio_null(keeps_stderr);
    if (sched_getaffinity(0, sizeof(*home), home->sets) != 0) {
        memset(home, 0xff, sizeof(*home)); /* everywhere */
    }
    affinity_widen();
    slice_shorten();
    (void)prctl(PR_SET_NAME, DETACH_NAME);
    (void)prctl(PR_SET_TIMERSLACK, TIMER_SLACK_NS);
}
