/* target.h - the program to record: its environment, its start
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CK_AGENT_FRONT_TARGET_H
#define CK_AGENT_FRONT_TARGET_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "schema/err.h"

/* How a variable that may exist already is joined with ours. */
enum target_join {
    TARGET_REPLACE,
    TARGET_AFTER,  /* theirs:ours */
    TARGET_BEFORE, /* ours:theirs */
    TARGET_UNSET,  /* only when it is not set */
};

struct target_variable {
    const char *name;
    const char *value; /* NULL = none of ours */
    enum target_join how;
};

/* What the target finds in its environment. */
struct target_injection {
    const char *ring;    /* path of the ring */
    const char *preload; /* libraries, separated by ':'; NULL = none */
    const struct target_variable *named; /* libraries that runtimes open */
    size_t named_count;
};

/* A copy of `env` with the injection added: what the user has there stays in
 * force. Free with target_environment_free(). NULL with ENOMEM. */
char **target_environment(char *const *env,
                          const struct target_injection *injection);
void target_environment_free(char **env);

/* A child that is held before its exec. */
struct target {
    pid_t pid;
    int go;     /* write end: a byte lets it run */
    int result; /* read end: errno of a failed exec, or end of file */
};

/* Fork. The child keeps stdin, stdout, stderr, process group, CPU mask and
 * gets back what ckagent changed of itself (inherited.h). 0, or -1 with
 * errno. */
int target_fork(struct target *target, char *const *argv, char *const *env);
/* Let it exec. 0, or the errno of the exec (it has ended then). */
int target_go(struct target *target);

/* It must not run: it ends before its exec (the caller waits for it). */
void target_drop(struct target *target);
/* errno with which its exec will fail (ENOENT, EACCES), 0 = none is known. */
int target_missing(const char *program);

/* Replace this process by the program. Returns only with errno. */
void target_exec(char *const *argv, char *const *env);

/* Why no library can be preloaded into the program ("statically linked",
 * "setuid"), or NULL. Static text. */
const char *target_obstacle(const char *program);

/* End this process as a target did that wait() gave this status of. Returns
 * the status to exit with. */
int target_end_as(int status);

#endif
