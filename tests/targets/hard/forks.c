/* forks.c - children that are born and die, each with some marks
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 *     forks CHILDREN AT_ONCE MARKS [keep]
 *
 * Forks CHILDREN children in all, AT_ONCE of them before it waits for these;
 * with "keep" all that have ended stay zombies until the last has.
 * Mark i of child c has the value c * MARKS + i; a child leaves by _exit()
 * right behind its last. Prints the number of marks, and on stderr what a
 * child took.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/inject/ck.h"

#define CHILDREN_MAX 4096

static void child(long number, long marks)
{
    for (long i = 0; i < marks; i++) {
        ck_mark("fork", number * marks + i);
    }
    _exit(0);
}

/* A child must end with 0; `how` is 0, or WNOWAIT: it stays as a zombie. */
static int child_wait(pid_t pid, int how)
{
    siginfo_t info;

    return waitid(P_PID, (id_t)pid, &info, WEXITED | how) != 0 ||
           info.si_code != CLD_EXITED || info.si_status != 0;
}

static double us_of(struct timeval time)
{
    return (double)time.tv_sec * 1e6 + (double)time.tv_usec;
}

static double cpu_us(int who)
{
    struct rusage usage = {0};

    (void)getrusage(who, &usage);
    return us_of(usage.ru_utime) + us_of(usage.ru_stime);
}

/* Fork children in waves; with `how` as above. 0, or 1. */
static int
waves_run(pid_t *pids, long children, long at_once, long marks, int how)
{
    int rc = 0;

    for (long first = 0; first < children; first += at_once) {
        long end = first + at_once < children ? first + at_once : children;

        for (long i = first; i < end; i++) {
            pids[i] = fork();
            if (pids[i] == 0) {
                child(i, marks);
            }
            if (pids[i] < 0) {
                perror("forks: fork");
                return 1;
            }
        }
        for (long i = first; i < end; i++) {
            rc |= child_wait(pids[i], how);
        }
    }
    for (long i = 0; i < children && how != 0; i++) {
        rc |= child_wait(pids[i], 0);
    }
    return rc;
}

int main(int argc, char **argv)
{
    static pid_t pids[CHILDREN_MAX];
    long children = argc >= 4 ? atol(argv[1]) : 0;
    long at_once = argc >= 4 ? atol(argv[2]) : 0;
    long marks = argc >= 4 ? atol(argv[3]) : 0;
    int how = argc == 5 && strcmp(argv[4], "keep") == 0 ? WNOWAIT : 0;
    struct timeval from, to;
    int rc;

    if (children < 1 || children > CHILDREN_MAX || at_once < 1 || marks < 1) {
        fprintf(stderr, "usage: forks CHILDREN AT_ONCE MARKS [keep]\n");
        return 2;
    }
    (void)gettimeofday(&from, NULL);
    rc = waves_run(pids, children, at_once, marks, how);
    (void)gettimeofday(&to, NULL);
    fprintf(stderr, "%.0f us a child, CPU %.0f us\n",
            (us_of(to) - us_of(from)) / (double)children,
            (cpu_us(RUSAGE_SELF) + cpu_us(RUSAGE_CHILDREN)) / (double)children);
    printf("%ld\n", children * marks);
    return rc;
}
