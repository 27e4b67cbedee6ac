/* odd.c - processes that begin, go on and hide in unusual ways
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * The argument chooses one; what it prints and how it ends is the same each
 * time.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define CHILDREN 1000
#define STACK_BYTES 65536

static char *const said[] = {"sh", "-c", "echo in; exit 3", NULL};

static int status_of(pid_t child)
{
    int status = -1;

    (void)waitpid(child, &status, __WALL);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void *exec_run(void *unused)
{
    (void)execv("/bin/sh", said);
    return unused;
}

/* The process becomes another program, called from a thread that is not its
 * first, while others run. */
static int thread_exec(void)
{
    pthread_t thread;

    (void)pthread_create(&thread, NULL, exec_run, NULL);
    while (pause() != 0) {
    }
    return 1;
}

static int vfork_exec(void)
{
    int sum = 0;

    for (int i = 0; i < 50; i++) {
        pid_t child = vfork();

        if (child == 0) {
            (void)execv("/bin/true", said);
            _exit(9);
        }
        sum += status_of(child);
    }
    return sum;
}

static int child_writes(void *text)
{
    return write(1, text, strlen(text)) > 0 ? 4 : 5;
}

/* Memory shared, but no thread of libc; and other odd ways. */
static int clones(void)
{
    static const int flags[] = {CLONE_VM | CLONE_FILES | CLONE_FS,
                                CLONE_VM | CLONE_VFORK, CLONE_PARENT_SETTID, 0};
    char *stack = malloc(STACK_BYTES);
    pid_t child, number;
    int sum = 0;

    for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++) {
        child = clone(child_writes, stack + STACK_BYTES, flags[i] | SIGCHLD,
                      (void *)"cloned\n", &number);
        sum += status_of(child);
    }
    /* No signal at its end, so that only __WALL sees it. */
    child = (pid_t)syscall(SYS_clone, 0, NULL, NULL, NULL, NULL);
    if (child == 0) {
        _exit(child_writes((void *)"raw\n"));
    }
    sum += status_of(child);
    free(stack);
    return sum;
}

static int many_forks(void)
{
    int sum = 0;

    for (int i = 0; i < CHILDREN; i++) {
        if (fork() == 0) {
            _exit(i % 3);
        }
    }
    for (int i = 0; i < CHILDREN; i++) {
        int status = 0;

        (void)wait(&status);
        sum += WEXITSTATUS(status);
    }
    return printf("%d\n", sum) > 0 ? 2 : 1;
}

static int hidden(void)
{
    (void)prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
    (void)usleep(150000);
    return printf("%d\n", prctl(PR_GET_DUMPABLE, 0, 0, 0, 0)) > 0 ? 6 : 1;
}

static int twice_forked(void)
{
    int ends[2];
    char text[8] = "";

    (void)!pipe(ends);
    if (fork() == 0) {
        (void)setsid();
        if (fork() == 0) {
            (void)!chdir("/");
            (void)usleep(50000);
            (void)!write(ends[1], "daemon", 6);
            _exit(0);
        }
        _exit(0);
    }
    (void)wait(NULL);
    (void)!read(ends[0], text, 6);
    return puts(text) > 0 ? 5 : 1;
}

/* Every number is free for the program: also those above 2. */
static int all_closed(void)
{
    for (int i = 3; i < 1024; i++) {
        (void)close(i);
    }
    return printf("%d\n", open("/dev/null", O_RDONLY)) > 0 ? 7 : 1;
}

/* Limits that leave room for nothing. */
static int limited(void)
{
    static const int which[] = {RLIMIT_FSIZE, RLIMIT_NPROC, RLIMIT_MEMLOCK,
                                RLIMIT_NOFILE, RLIMIT_STACK};
    struct rlimit none = {.rlim_cur = 0};

    for (size_t i = 0; i < sizeof(which) / sizeof(which[0]); i++) {
        (void)getrlimit((__rlimit_resource_t)which[i], &none);
        none.rlim_cur = which[i] == RLIMIT_STACK ? 65536 : 0;
        (void)setrlimit((__rlimit_resource_t)which[i], &none);
    }
    (void)usleep(150000);
    (void)signal(SIGXFSZ, SIG_IGN);
    return open("file", O_RDWR | O_CREAT, 0600) < 0 ? 8 : 1;
}

static void *small_work(void *unused)
{
    (void)usleep(30000);
    (void)!write(1, "small\n", 6);
    return unused;
}

/* Threads that have hardly any stack, and one that had none of ck's yet. */
static int small_stacks(void)
{
    pthread_attr_t attributes;
    pthread_t thread;

    (void)pthread_attr_init(&attributes);
    (void)pthread_attr_setstacksize(&attributes, (size_t)PTHREAD_STACK_MIN);
    for (int i = 0; i < 4; i++) {
        (void)usleep(40000);
        (void)pthread_create(&thread, &attributes, small_work, NULL);
        (void)pthread_join(thread, NULL);
    }
    return 4;
}

/* A root of its own, without /proc and /dev. */
static int other_root(void)
{
    (void)!mkdtemp(strdup("root.XXXXXX"));
    (void)!chroot(".");
    (void)usleep(150000);
    (void)!write(1, "in\n", 3);
    return access("/proc", F_OK) == 0 ? 1 : 9;
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        int (*run)(void);
    } kinds[] = {
        {"thread-exec", thread_exec},
        {"vfork", vfork_exec},
        {"clone", clones},
        {"forks", many_forks},
        {"hidden", hidden},
        {"daemon", twice_forked},
        {"closed", all_closed},
        {"limits", limited},
        {"chroot", other_root},
        {"stacks", small_stacks},
    };

    for (size_t i = 0; argc > 1 && i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        if (strcmp(argv[1], kinds[i].name) == 0) {
            return kinds[i].run();
        }
    }
    return 99;
}
