/* child.h - start a program and find our own files
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CK_LAUNCH_CHILD_H
#define CK_LAUNCH_CHILD_H

#include <limits.h>
#include <stdint.h>
#include <sys/types.h>

#include "schema/err.h"

/* Path of another program of ck ("ckagg") or an injected library
 * ("libckmpi.so"): the program beside this one, that and what only other
 * programs start in ../lib/ck.
 * 0, or -1 with err (names the places). */
int ck_child_find(const char *name, char path[PATH_MAX], struct ck_err *err);

struct ck_child {
    const char *path;  /* with a slash, or looked up in PATH */
    char *const *argv; /* ends with NULL */
    int fds[3];        /* stdin, stdout, stderr; -1 = /dev/null, -2 keep */
    int is_detached;   /* survives this process and its group */
    int is_tied;       /* is killed when this process ends, however */
    /* Do not wait until the program runs, which takes milliseconds, and more
     * where cores are busy: an exec error is the status 126 or 127. */
    int is_unawaited;
};

/* Start it. *pid is the caller's to wait for. 0, or -1 with errno (the exec
 * error of an awaited child included: ENOENT, EACCES ...) and err. */
int ck_child_start(const struct ck_child *child,
                   pid_t *pid,
                   struct ck_err *err);
/* Wait until it ends or the time is up (ns, -1 = for ever). 1 ended (status
 * set), 0 still running, -1 error. */
int ck_child_wait(pid_t pid, int64_t limit_ns, int *status);

/* How a child ended, for a person: "status 3", "signal 9 (Killed)". */
#define CK_CHILD_ENDED 64
void ck_child_ended(int status, char *text, size_t room);

#endif
