/* target.c - the program to record: its environment, its start
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "agent/front/target.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/process/inherited.h"
#include "agent/process/program.h"
#include "launch/log.h"

static const char *env_find(char *const *env, const char *name, size_t *at)
{
    size_t length = strlen(name);

    for (*at = 0; env[*at] != NULL; ++*at) {
        if (strncmp(env[*at], name, length) == 0 && env[*at][length] == '=') {
            return env[*at] + length + 1;
        }
    }
    return NULL;
}

/* Set one variable in `env`, which has room for one more. 0 or -1. */
static int env_join(char **env, const struct target_variable *ours)
{
    size_t at;
    const char *theirs = env_find(env, ours->name, &at);
    const char *value = ours->value;
    char *text = NULL;
    int n;

    if (value == NULL || (ours->how == TARGET_UNSET && theirs != NULL)) {
        return 0;
    }
    if (theirs == NULL || theirs[0] == '\0' || ours->how == TARGET_REPLACE ||
        ours->how == TARGET_UNSET) {
        n = asprintf(&text, "%s=%s", ours->name, value);
    } else if (ours->how == TARGET_AFTER) {
        n = asprintf(&text, "%s=%s:%s", ours->name, theirs, value);
    } else {
        n = asprintf(&text, "%s=%s:%s", ours->name, value, theirs);
    }
    if (n < 0) {
        return -1;
    }
    if (theirs == NULL) {
        env[at + 1] = NULL;
    } else {
        free(env[at]);
    }
    env[at] = text;
    return 0;
}

void target_environment_free(char **env)
{
    for (size_t i = 0; env != NULL && env[i] != NULL; i++) {
        free(env[i]);
    }
    free(env);
}

/* A copy of `env` with room for so many variables more. NULL with ENOMEM. */
static char **env_copy(char *const *env, size_t more)
{
    size_t count = 0;
    char **made;

    while (env[count] != NULL) {
        count++;
    }
    made = calloc(count + more + 1, sizeof(*made));
    for (size_t i = 0; made != NULL && i < count; i++) {
        made[i] = strdup(env[i]);
        if (made[i] == NULL) {
            target_environment_free(made);
            return NULL;
        }
    }
    return made;
}

char **target_environment(char *const *env,
                          const struct target_injection *injection)
{
    const struct target_variable always[] = {
        {"CKAGENT_RING", injection->ring, TARGET_REPLACE},
        {"LD_PRELOAD", injection->preload, TARGET_AFTER},
    };
    const size_t always_count = sizeof(always) / sizeof(always[0]);
    char **made = env_copy(env, always_count + injection->named_count);

    for (size_t i = 0;
         made != NULL && i < always_count + injection->named_count; i++) {
        const struct target_variable *ours =
            i < always_count ? &always[i] : &injection->named[i - always_count];

        if (env_join(made, ours) != 0) {
            target_environment_free(made);
            return NULL;
        }
    }
    return made;
}

void target_exec(char *const *argv, char *const *env)
{
    (void)execvpe(argv[0], argv, env);
}

/* In the child: wait for the byte, then run. Never returns. */
static void child_run(int go, int result, char *const *argv, char *const *env)
{
    char byte;
    int failed;

    /* End of file: the agent died before the start; so do we. */
    while (read(go, &byte, 1) != 1) {
        if (errno != EINTR) {
            _exit(125);
        }
    }
    target_exec(argv, env);
    failed = errno;
    if (failed == E2BIG) {
        ck_warn("arguments and environment leave no room for ours: the program "
                "runs without recording");
        target_exec(argv, environ);
        failed = errno;
    }
    (void)!write(result, &failed, sizeof(failed));
    _exit(failed == ENOENT ? 127 : 126);
}

int target_fork(struct target *target, char *const *argv, char *const *env)
{
    int go[2];
    int result[2];
    pid_t pid;

    if (pipe2(go, O_CLOEXEC) != 0) {
        return -1;
    }
    if (pipe2(result, O_CLOEXEC) != 0) {
        goto error_go;
    }
    pid = fork();
    if (pid < 0) {
        goto error_result;
    }
    if (pid == 0) {
        (void)close(go[1]);
        (void)close(result[0]);
        inherited_restore();
        child_run(go[0], result[1], argv, env);
    }
    (void)close(go[0]);
    (void)close(result[1]);
    target->pid = pid;
    target->go = go[1];
    target->result = result[0];
    return 0;

error_result:
    (void)close(result[0]);
    (void)close(result[1]);
error_go:
    (void)close(go[0]);
    (void)close(go[1]);
    return -1;
}

int target_go(struct target *target)
{
    int failed = 0;
    ssize_t n;

    (void)!write(target->go, "g", 1);
    do {
        n = read(target->result, &failed, sizeof(failed));
    } while (n < 0 && errno == EINTR);
    (void)close(target->go);
    (void)close(target->result);
    target->go = -1;
    target->result = -1;
    return n == (ssize_t)sizeof(failed) ? failed : 0;
}

void target_drop(struct target *target)
{
    (void)close(target->go);
    (void)close(target->result);
    target->go = -1;
    target->result = -1;
}

/* Path of the program as exec would find it. 0 or -1. */
static int program_find(const char *program, char path[PATH_MAX])
{
    const char *dirs = getenv("PATH");

    if (strchr(program, '/') != NULL) {
        return snprintf(path, PATH_MAX, "%s", program) < PATH_MAX ? 0 : -1;
    }
    while (dirs != NULL && *dirs != '\0') {
        size_t length = strcspn(dirs, ":");
        int n = snprintf(path, PATH_MAX, "%.*s/%s", (int)length, dirs, program);

        if (n > 0 && n < PATH_MAX && access(path, X_OK) == 0) {
            return 0;
        }
        dirs += length + (dirs[length] == ':');
    }
    return -1;
}

int target_missing(const char *program)
{
    char path[PATH_MAX];

    if (program_find(program, path) != 0) {
        return ENOENT;
    }
    return access(path, X_OK) == 0 ? 0 : errno;
}

const char *target_obstacle(const char *program)
{
    const char *obstacle;
    char path[PATH_MAX];
    int fd;

    if (program_find(program, path) != 0) {
        return NULL;
    }
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return NULL;
    }
    obstacle = program_obstacle(fd);
    (void)close(fd);
    return obstacle;
}

int target_end_as(int status)
{
    struct rlimit none = {0, 0};
    uint64_t only;
    int number;

    if (!WIFSIGNALED(status)) {
        return WEXITSTATUS(status);
    }
    number = WTERMSIG(status);
    (void)setrlimit(RLIMIT_CORE, &none);
    (void)signal(number, SIG_DFL);
    /* By system call: the C library refuses its own two signals. */
    only = INHERITED_BIT(number);
    (void)kill(getpid(), number);
    (void)syscall(SYS_rt_sigprocmask, SIG_UNBLOCK, &only, NULL, sizeof(only));
    return 128 + number;
}
