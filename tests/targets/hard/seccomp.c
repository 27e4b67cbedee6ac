/* seccomp.c - a program that forbids itself system calls, and works on
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * strict            the strict mode: read, write, exit and rt_sigreturn
 * filter, syscall   a filter that kills, set by prctl() or by syscall(): those,
 *                   and what sleeps, waits for a thread and ends
 * early             the same before the process is 100 ms old
 * start COMMAND...  a program under a filter that kills for perf_event_open(),
 * as a unit with SystemCallFilter=@system-service has it
 */
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define ALLOW(number)                                                          \
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1),                         \
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)

static const struct sock_filter rules[] = {
    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
    ALLOW(SYS_read),
    ALLOW(SYS_write),
    ALLOW(SYS_exit),
    ALLOW(SYS_exit_group),
    ALLOW(SYS_rt_sigreturn),
    ALLOW(SYS_futex),
    ALLOW(SYS_clock_nanosleep),
    ALLOW(SYS_nanosleep),
    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
};

static const struct sock_filter start_rules[] = {
    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_perf_event_open, 0, 1),
    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int ends[2];
static atomic_int is_there, is_done;

static void work(void)
{
    static const struct timespec nap = {.tv_nsec = 2000000};
    char byte = 'x';

    for (int i = 0; i < 100; i++) {
        (void)pthread_mutex_lock(&lock);
        (void)!write(ends[0], &byte, 1);
        (void)pthread_mutex_unlock(&lock);
        (void)!read(ends[1], &byte, 1);
        (void)nanosleep(&nap, NULL);
    }
    (void)!write(1, "worked\n", 7);
}

/* It must not end: libc gives its stack back then. */
static void *filtered_later(void *unused)
{
    static const struct timespec nap = {.tv_nsec = 50000000};

    atomic_store(&is_there, 1);
    (void)nanosleep(&nap, NULL); /* until the filter is there */
    work();
    atomic_store(&is_done, 1);
    for (;;) {
        (void)nanosleep(&nap, NULL);
    }
    return unused;
}

static int filter_set(int by_syscall)
{
    const struct sock_fprog program = {
        .len = sizeof(rules) / sizeof(rules[0]),
        .filter = (struct sock_filter *)rules,
    };

    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) {
        return -1;
    }
    return by_syscall
               ? (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER,
                              SECCOMP_FILTER_FLAG_TSYNC, &program)
               : prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0);
}

static int start(char **command)
{
    const struct sock_fprog program = {
        .len = sizeof(start_rules) / sizeof(start_rules[0]),
        .filter = (struct sock_filter *)start_rules,
    };

    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) != 0) {
        (void)puts("no filter here");
        return 77;
    }
    (void)execvp(command[0], command);
    return 127;
}

static void strict(void)
{
    char byte = 'x';

    for (int i = 0; i < 1000; i++) {
        (void)pthread_mutex_lock(&lock);
        (void)!write(ends[0], &byte, 1);
        (void)pthread_mutex_unlock(&lock);
        (void)!read(ends[1], &byte, 1);
    }
    (void)!write(1, "worked strictly\n", 16);
    (void)syscall(SYS_exit, 5);
}

int main(int argc, char **argv)
{
    static const struct timespec nap = {.tv_nsec = 2000000};
    const char *mode = argc > 1 ? argv[1] : "";
    pthread_t other;

    if (strcmp(mode, "start") == 0 && argc > 2) {
        return start(argv + 2);
    }
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0) {
        return 1;
    }
    if (strcmp(mode, "early") != 0) {
        (void)usleep(150000);
    }
    if (strcmp(mode, "strict") == 0) {
        (void)prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT, 0, 0, 0);
        strict();
    }
    (void)pthread_create(&other, NULL, filtered_later, NULL);
    while (!atomic_load(&is_there)) {
        (void)nanosleep(&nap, NULL);
    }
    if (filter_set(strcmp(mode, "syscall") == 0) != 0) {
        (void)puts("no filter here");
        return 77;
    }
    work();
    while (!atomic_load(&is_done)) {
        (void)nanosleep(&nap, NULL);
    }
    _exit(6);
}
