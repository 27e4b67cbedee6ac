/* inherited.c - what ckagent was started with and changes for itself
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "agent/inherited.h"

#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

/* As many as nobody here needs. */
#define FILES_MOST 4096

#define SIGNALS 64

static struct {
    uint64_t blocked;
    uint64_t ignored;
    struct rlimit files;
    bool is_taken;
} first;

static bool has_files;

/* By system call: the C library leaves its own two signals out. */
static int mask_set(int how, const uint64_t *mask, uint64_t *before)
{
    return (int)syscall(SYS_rt_sigprocmask, how, mask, before, sizeof(*mask));
}

/* As many as are permitted; who may raise the bound does where it is below what
 * recording needs. */
static bool files_widen(void)
{
    struct rlimit wide = first.files;

    if (wide.rlim_cur >= FILES_MOST) {
        return true;
    }
    wide.rlim_cur = wide.rlim_max < FILES_MOST ? wide.rlim_max : FILES_MOST;
    if (wide.rlim_max < INHERITED_FILES_LEAST) {
        struct rlimit more = {FILES_MOST, FILES_MOST};

        if (setrlimit(RLIMIT_NOFILE, &more) == 0) {
            return true;
        }
    }
    return setrlimit(RLIMIT_NOFILE, &wide) == 0
               ? wide.rlim_cur >= INHERITED_FILES_LEAST
               : first.files.rlim_cur >= INHERITED_FILES_LEAST;
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
    if (getrlimit(RLIMIT_NOFILE, &first.files) != 0) {
        first.files = (struct rlimit){RLIM_INFINITY, RLIM_INFINITY};
    }
    first.is_taken = true;
    has_files = files_widen();
}

bool inherited_has_files(void)
{
    return has_files;
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
    if (first.files.rlim_cur != RLIM_INFINITY) {
        (void)setrlimit(RLIMIT_NOFILE, &first.files);
    }
    (void)mask_set(SIG_SETMASK, &first.blocked, NULL);
    errno = saved;
}
