/* test_detach.c - where a collector runs
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "agent/process/detach.h"

#define FIRST_AWAY 10

/* Two CPUs that we may use. 0 or -1. */
static int cpus_find(int found[2])
{
    cpu_set_t ours;
    int count = 0;

    if (sched_getaffinity(0, sizeof(ours), &ours) != 0) {
        return -1;
    }
    for (int cpu = 0; cpu < CPU_SETSIZE && count < 2; cpu++) {
        if (CPU_ISSET(cpu, &ours)) {
            found[count++] = cpu;
        }
    }
    return count == 2 ? 0 : -1;
}

static int bind_to(int cpu)
{
    cpu_set_t one;

    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    return sched_setaffinity(0, sizeof(one), &one);
}

static int cpus_allowed(void)
{
    cpu_set_t now;

    return sched_getaffinity(0, sizeof(now), &now) == 0 ? CPU_COUNT(&now) : 0;
}

/* A collector of a rank bound to `home` that was drawn to `away`. Exit status:
 * 0, or the number of the step that went wrong. */
static int collector_of(int home, int away)
{
    struct detach_cpus cpus;

    if (bind_to(home) != 0) {
        return 1;
    }
    detach_go(true, &cpus);
    if (cpus_allowed() < 2) {
        return 2; /* bound as the rank is */
    }
    if (bind_to(away) != 0 || sched_getcpu() != away) {
        return 3;
    }
    detach_home(&cpus);
    if (sched_getcpu() != home) {
        return FIRST_AWAY; /* an idle CPU may have drawn us away again */
    }
    return cpus_allowed() < 2 ? 4 : 0;
}

static void it_goes_home_and_stays_free(void **state)
{
    int cpus[2];
    int status = FIRST_AWAY;

    (void)state;
    if (cpus_find(cpus) != 0) {
        skip();
    }
    for (int try = 0; try < 20 && status == FIRST_AWAY; try++) {
        pid_t pid = fork();

        if (pid == 0) {
            _exit(collector_of(cpus[try % 2], cpus[(try + 1) % 2]));
        }
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_true(WIFEXITED(status));
        status = WEXITSTATUS(status);
    }
    assert_int_equal(status, 0);
}

/* In a session of its own it would have to wait for its share of the cores; a
 * signal to the front's group does not reach it. */
static int apart_of(pid_t session, pid_t group)
{
    struct detach_cpus cpus;

    detach_go(true, &cpus);
    if (getsid(0) != session || getpgid(0) == group) {
        return 1;
    }
    return raise(SIGHUP) == 0 && raise(SIGTTOU) == 0 ? 0 : 2;
}

static void it_has_a_group_of_its_own_in_our_session(void **state)
{
    pid_t session = getsid(0);
    pid_t group = getpgid(0);
    int status = -1;
    pid_t pid = fork();

    (void)state;
    if (pid == 0) {
        _exit(apart_of(session, group));
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_goes_home_and_stays_free),
        cmocka_unit_test(it_has_a_group_of_its_own_in_our_session),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
