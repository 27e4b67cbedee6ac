/* images.c - what programs do to the process that a tracer lives in
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 *     images SCENARIO
 *
 * Each scenario records numbered marks, from 0 on, in all its processes and
 * threads together, prints how many, and exits with 0 where all went as it
 * does without a tracer. Without an argument: the names of the scenarios.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/inject/ck.h"

#define NOBODY 65534

extern char **environ;

static const char *self;

static void marks(int first, int count)
{
    for (int i = first; i < first + count; i++) {
        ck_mark("image", i);
    }
}

/* Wait for a child that must end with 0. */
static int child_wait(pid_t pid)
{
    int status;

    return pid > 0 && waitpid(pid, &status, 0) == pid && status == 0 ? 0 : 1;
}

static int forked(void)
{
    pid_t pid;

    marks(0, 10);
    pid = fork();
    if (pid == 0) {
        marks(10, 10);
        _exit(0);
    }
    marks(20, 10);
    printf("30\n");
    return child_wait(pid);
}

/* More children than the ring's table of processes has entries, one after the
 * other, some marks each. */
static int many_forks(void)
{
    int rc = 0;

    for (int i = 0; i < 2500; i++) {
        pid_t pid = fork();

        if (pid == 0) {
            marks(2 * i, 2);
            _exit(0);
        }
        rc |= child_wait(pid);
    }
    printf("5000\n");
    return rc;
}

static int execed(void)
{
    marks(0, 10);
    printf("20\n");
    (void)fflush(stdout);
    (void)execl(self, self, "after-exec", (char *)NULL);
    return 1;
}

static int after_exec(void)
{
    marks(10, 10);
    return 0;
}

static int spawned(void)
{
    char *argv[] = {(char *)self, "after-exec", NULL};
    pid_t pid;

    marks(0, 5);
    if (posix_spawn(&pid, self, NULL, NULL, argv, environ) != 0) {
        return 1;
    }
    marks(5, 5);
    printf("20\n");
    return child_wait(pid);
}

static int vforked(void)
{
    pid_t pid;

    marks(0, 10);
    pid = vfork();
    if (pid == 0) {
        (void)execl(self, self, "after-exec", (char *)NULL);
        _exit(1);
    }
    printf("20\n");
    return child_wait(pid);
}

static void *ten_more(void *first)
{
    marks((int)(intptr_t)first, 10);
    return NULL;
}

/* A thread that begins now must map a slot of its own. */
static int thread_after(void)
{
    pthread_t thread;

    return pthread_create(&thread, NULL, ten_more, (void *)10) == 0 &&
                   pthread_join(thread, NULL) == 0
               ? 0
               : 1;
}

static int closes_all(void)
{
    int out = fcntl(STDOUT_FILENO, F_DUPFD, 1000);

    marks(0, 10);
    for (int fd = 3; fd < 1000; fd++) {
        (void)close(fd);
    }
    (void)dprintf(out, "20\n");
    return thread_after();
}

static int changes_directory(void)
{
    marks(0, 10);
    printf("20\n");
    return chdir("/") == 0 ? thread_after() : 1;
}

static int changes_user(void)
{
    marks(0, 10);
    if (setgroups(0, NULL) != 0 || setgid(NOBODY) != 0 || setuid(NOBODY) != 0) {
        return 77;
    }
    printf("20\n");
    return thread_after();
}

static int changes_root(void)
{
    marks(0, 10);
    if (chroot("/proc") != 0) {
        return 77;
    }
    printf("20\n");
    return thread_after();
}

/* A child with an empty environment knows of no agent: it is left out. */
static int clears_environment(void)
{
    char *argv[] = {(char *)self, "after-exec", NULL};
    char *nothing[] = {NULL};
    pid_t pid;

    marks(0, 10);
    (void)clearenv();
    if (posix_spawn(&pid, self, NULL, NULL, argv, nothing) != 0) {
        return 1;
    }
    marks(10, 10);
    printf("20\n");
    return child_wait(pid);
}

/* Its parent ends at once; the program waits for it by a pipe. */
static int daemonised(void)
{
    int ends[2];
    char byte;
    pid_t pid;

    if (pipe(ends) != 0) {
        return 1;
    }
    marks(0, 10);
    pid = fork();
    if (pid == 0) {
        if (setsid() < 0 || fork() != 0) {
            _exit(0);
        }
        (void)close(ends[0]);
        marks(10, 10);
        _exit(0);
    }
    (void)close(ends[1]);
    printf("20\n");
    return child_wait(pid) | (read(ends[0], &byte, 1) != 0);
}

static volatile sig_atomic_t handled;

static void handler(int number)
{
    (void)number;
    ck_mark("handler", 1000000 + handled);
    handled = handled + 1;
}

/* Marks by a handler that interrupts marks: each is there or counted. */
static int interrupted(void)
{
    struct itimerval timer = {{0, 200}, {0, 200}};

    (void)signal(SIGALRM, handler);
    (void)setitimer(ITIMER_REAL, &timer, NULL);
    marks(0, 200000);
    memset(&timer, 0, sizeof(timer));
    (void)setitimer(ITIMER_REAL, &timer, NULL);
    printf("%d\n", 200000 + (int)handled);
    return 0;
}

static void *exits_inside(void *unused)
{
    ck_range_push("never left");
    marks(10, 10);
    pthread_exit(unused);
}

static void *is_cancelled(void *unused)
{
    marks(20, 10);
    for (;;) {
        (void)pause();
    }
    return unused;
}

static int threads_end(void)
{
    pthread_t threads[2];
    int rc;

    marks(0, 10);
    rc = pthread_create(&threads[0], NULL, exits_inside, NULL) |
         pthread_create(&threads[1], NULL, is_cancelled, NULL) |
         pthread_join(threads[0], NULL);
    (void)usleep(20000);
    rc |= pthread_cancel(threads[1]) | pthread_join(threads[1], NULL);
    printf("30\n");
    return rc;
}

/* Code that is loaded and unloaded again; its call sites are gone at the end.
 */
static int loads_and_unloads(void)
{
    void (*say)(int, int);
    void *module = dlopen(getenv("CK_TEST_MODULE"), RTLD_NOW);

    if (module == NULL) {
        fprintf(stderr, "%s\n", dlerror());
        return 1;
    }
    *(void **)&say = dlsym(module, "module_marks");
    say(0, 10);
    if (dlclose(module) != 0) {
        return 1;
    }
    marks(10, 10);
    printf("20\n");
    return 0;
}

static const struct {
    const char *name;
    int (*run)(void);
    int is_helper;
} scenarios[] = {
    {"forked", forked, 0},
    {"many-forks", many_forks, 0},
    {"execed", execed, 0},
    {"after-exec", after_exec, 1},
    {"spawned", spawned, 0},
    {"vforked", vforked, 0},
    {"closes-all", closes_all, 0},
    {"changes-directory", changes_directory, 0},
    {"changes-user", changes_user, 0},
    {"changes-root", changes_root, 0},
    {"clears-environment", clears_environment, 0},
    {"daemonised", daemonised, 0},
    {"interrupted", interrupted, 0},
    {"threads-end", threads_end, 0},
    {"loads-and-unloads", loads_and_unloads, 0},
};

int main(int argc, char **argv)
{
    size_t count = sizeof(scenarios) / sizeof(*scenarios);

    self = argv[0];
    for (size_t i = 0; i < count; i++) {
        if (argc < 2 && !scenarios[i].is_helper) {
            printf("%s\n", scenarios[i].name);
        } else if (argc == 2 && strcmp(argv[1], scenarios[i].name) == 0) {
            return scenarios[i].run();
        }
    }
    return argc < 2 ? 0 : 2;
}
