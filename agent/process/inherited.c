/* inherited.c - what ckagent was started with and changes for itself
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "agent/process/inherited.h"

#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* More than are needed here. */
#define FILES_MOST 4096

#define SIGNALS 64

static struct {
    uint64_t blocked;
    uint64_t ignored;
    struct rlimit files;
    struct rlimit stack;
    mode_t mask;
    bool is_taken;
} first;

static bool has_files;
static bool has_stack;

/* By system call: the C library leaves its own two signals out. */
static int mask_set(int how, const uint64_t *mask, uint64_t *before)
{
    return (int)syscall(SYS_rt_sigprocmask, how, mask, before, sizeof(*mask));
}

/* `most` of it, or as much as is permitted; who may raise the bound does where
 * it is below `least`. True: that is there. */
static bool
widen(int which, const struct rlimit *given, rlim_t most, rlim_t least)
{
    struct rlimit wide = *given;

    if (wide.rlim_cur >= most) {
        return true;
    }
    wide.rlim_cur = wide.rlim_max < most ? wide.rlim_max : most;
    if (wide.rlim_max < least) {
        struct rlimit more = {most, most};

        if (setrlimit(which, &more) == 0) {
            return true;
        }
    }
    return setrlimit(which, &wide) == 0 ? wide.rlim_cur >= least
                                        : given->rlim_cur >= least;
}

/* The limit at the start. */
static void limit_take(int which, struct rlimit *given)
{
    if (getrlimit(which, given) != 0) {
        *given = (struct rlimit){RLIM_INFINITY, RLIM_INFINITY};
    }
}

static void limit_restore(int which, const struct rlimit *given)
{
    if (given->rlim_cur != RLIM_INFINITY) {
        (void)setrlimit(which, given);
    }
}

void inherited_take(void)
{
    (void)mask_set(SIG_BLOCK, NULL, &first.blocked);
    for (int i = 1; i <= SIGNALS; i++) {
        struct sigaction action;

        if (sigaction(i, NULL, &action) == 0 && action.sa_handler == SIG_IGN) {
            first.ignored |= INHERITED_BIT(i);
        }
    }
    /* Ignored, the kernel would keep no child for wait(). */
    (void)signal(SIGCHLD, SIG_DFL);
    (void)signal(SIGPIPE, SIG_IGN);
    (void)signal(SIGXFSZ, SIG_IGN);
    first.mask = umask(0);
    (void)umask(first.mask & ~(mode_t)S_IRWXU);
    limit_take(RLIMIT_NOFILE, &first.files);
    limit_take(RLIMIT_STACK, &first.stack);
    first.is_taken = true;
    has_files =
        widen(RLIMIT_NOFILE, &first.files, FILES_MOST, INHERITED_FILES_LEAST);
    /* No more than is needed: the kernel lets a stack grow to it. */
    has_stack = widen(RLIMIT_STACK, &first.stack, INHERITED_STACK_LEAST,
                      INHERITED_STACK_LEAST);
}

bool inherited_has_files(void)
{
    return has_files;
}

bool inherited_has_stack(void)
{
    return has_stack;
}

int inherited_block(uint64_t signals)
{
    return mask_set(SIG_BLOCK, &signals, NULL);
}

uint64_t inherited_ignored(void)
{
    return first.ignored;
}

static void disposition_restore(int number)
{
    bool is_ignored = (first.ignored & INHERITED_BIT(number)) != 0;

    (void)signal(number, is_ignored ? SIG_IGN : SIG_DFL);
}

void inherited_restore(void)
{
    int saved = errno;

    if (!first.is_taken) {
        return;
    }
    disposition_restore(SIGCHLD);
    disposition_restore(SIGPIPE);
    disposition_restore(SIGXFSZ);
    (void)umask(first.mask);
    limit_restore(RLIMIT_NOFILE, &first.files);
    limit_restore(RLIMIT_STACK, &first.stack);
    (void)mask_set(SIG_SETMASK, &first.blocked, NULL);
    errno = saved;
}
