/* test_groupwatch.c - signals to a group are not taken for signals to a process
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "agent/process/groupwatch.h"
#include "tests/emulator.h"

static void taken(int number)
{
    (void)number;
}

/* Each case runs in a process group of its own; a case returns 0 or the
 * number of its failed step. */
static int in_a_group(int (*steps)(void))
{
    int status;
    pid_t pid = fork();

    if (pid == 0) {
        (void)setpgid(0, 0);
        (void)signal(SIGTERM, taken);
        (void)signal(SIGUSR1, taken);
        _exit(steps());
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static int alone_steps(void)
{
    struct groupwatch watch;

    groupwatch_start(&watch);
    (void)kill(getpid(), SIGTERM);
    if (groupwatch_has(&watch, SIGTERM)) {
        return 1;
    }
    groupwatch_stop(&watch);
    return 0;
}

/* The group has SIGCONT, then a signal that stops, before we ask about the
 * first: the watcher has the second alone. And the other way round. */
static int replaced_steps(void)
{
    struct groupwatch watch;

    (void)signal(SIGCONT, taken);
    (void)signal(SIGTSTP, taken);
    groupwatch_start(&watch);
    (void)kill(0, SIGCONT);
    (void)kill(0, SIGTSTP);
    if (!groupwatch_has(&watch, SIGCONT)) {
        return 1;
    }
    if (!groupwatch_has(&watch, SIGTSTP)) {
        return 2;
    }
    (void)kill(0, SIGTSTP);
    (void)kill(0, SIGCONT);
    if (!groupwatch_has(&watch, SIGTSTP)) {
        return 3;
    }
    if (!groupwatch_has(&watch, SIGCONT)) {
        return 4;
    }
    (void)kill(getpid(), SIGCONT);
    if (groupwatch_has(&watch, SIGCONT)) {
        return 5;
    }
    (void)kill(getpid(), SIGTSTP);
    if (groupwatch_has(&watch, SIGTSTP)) {
        return 6;
    }
    groupwatch_stop(&watch);
    return 0;
}

static int group_steps(void)
{
    struct groupwatch watch;

    groupwatch_start(&watch);
    for (int i = 0; i < 3; i++) {
        (void)kill(0, SIGTERM);
        if (!groupwatch_has(&watch, SIGTERM)) {
            return 1;
        }
        /* Once is once: the next one is reported anew. */
        (void)kill(getpid(), SIGTERM);
        if (groupwatch_has(&watch, SIGTERM)) {
            return 2;
        }
        if (groupwatch_has(&watch, SIGUSR1)) {
            return 3;
        }
    }
    groupwatch_stop(&watch);
    return 0;
}

/* Real-time signals queue up: each is reported. */
static int burst_steps(void)
{
    struct groupwatch watch;

    (void)signal(SIGRTMIN, taken);
    groupwatch_start(&watch);
    for (int i = 0; i < 5; i++) {
        (void)kill(0, SIGRTMIN);
    }
    for (int i = 0; i < 5; i++) {
        if (!groupwatch_has(&watch, SIGRTMIN)) {
            return 1;
        }
    }
    if (groupwatch_has(&watch, SIGRTMIN)) {
        return 2;
    }
    /* Two of the group that were one to us leave nothing behind. */
    (void)kill(0, SIGTERM);
    if (groupwatch_has(&watch, SIGUSR1)) {
        return 3;
    }
    (void)kill(0, SIGTERM);
    if (!groupwatch_has(&watch, SIGTERM) || groupwatch_has(&watch, SIGTERM)) {
        return 4;
    }
    groupwatch_stop(&watch);
    return 0;
}

static int dead_steps(void)
{
    struct groupwatch watch;
    pid_t pid;
    int status;

    groupwatch_start(&watch);
    pid = watch.pid;
    (void)kill(pid, SIGKILL);
    if (waitpid(pid, &status, 0) != pid || !groupwatch_reaped(&watch, pid) ||
        watch.pid == pid) {
        return 1;
    }
    (void)kill(0, SIGUSR1);
    if (!groupwatch_has(&watch, SIGUSR1)) {
        return 2;
    }
    groupwatch_stop(&watch);
    return 0;
}

/* From here on the kernel closes no range of descriptors: one before 5.9. */
static int without_close_range(void)
{
    struct sock_filter steps[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 436, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog filter = {sizeof(steps) / sizeof(*steps), steps};

    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
                   prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0
               ? 0
               : -1;
}

static int pipe_steps(void)
{
    struct groupwatch watch;
    struct pollfd end = {.events = POLLIN};
    int ends[2];

    if (pipe(ends) != 0 || without_close_range() != 0) {
        return 1;
    }
    groupwatch_start(&watch);
    (void)close(ends[1]);
    end.fd = ends[0];
    if (poll(&end, 1, 60000) != 1 || (end.revents & POLLHUP) == 0) {
        return 2;
    }
    (void)kill(0, SIGTERM);
    if (!groupwatch_has(&watch, SIGTERM)) {
        return 3;
    }
    groupwatch_stop(&watch);
    return 0;
}

static void a_signal_to_us_alone_is_not_the_groups(void **state)
{
    (void)state;
    assert_int_equal(in_a_group(alone_steps), 0);
}

static void a_signal_to_the_group_is_reported_each_time(void **state)
{
    (void)state;
    assert_int_equal(in_a_group(group_steps), 0);
}

static void one_that_another_took_away_is_the_groups(void **state)
{
    (void)state;
    assert_int_equal(in_a_group(replaced_steps), 0);
}

static void each_of_a_burst_to_the_group_is_reported(void **state)
{
    (void)state;
    assert_int_equal(in_a_group(burst_steps), 0);
}

static void the_watcher_holds_no_pipe_of_ours_on_an_old_kernel(void **state)
{
    (void)state;
    EMULATOR_SKIP("no seccomp");
    assert_int_equal(in_a_group(pipe_steps), 0);
}

static void a_watcher_that_died_is_replaced(void **state)
{
    (void)state;
    assert_int_equal(in_a_group(dead_steps), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_signal_to_us_alone_is_not_the_groups),
        cmocka_unit_test(a_signal_to_the_group_is_reported_each_time),
        cmocka_unit_test(one_that_another_took_away_is_the_groups),
        cmocka_unit_test(each_of_a_burst_to_the_group_is_reported),
        cmocka_unit_test(a_watcher_that_died_is_replaced),
        cmocka_unit_test(the_watcher_holds_no_pipe_of_ours_on_an_old_kernel),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
