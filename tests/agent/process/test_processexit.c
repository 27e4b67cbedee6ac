/* test_processexit.c - has a process ended?
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "agent/process/processexit.h"

static void a_process_is_over_before_its_parent_waits_for_it(void **state)
{
    siginfo_t info;
    pid_t pid = fork();

    (void)state;
    if (pid == 0) {
        for (;;) {
            (void)pause();
        }
    }
    assert_true(pid > 0);
    assert_false(process_is_over((uint32_t)pid));
    assert_int_equal(kill(pid, SIGKILL), 0);
    assert_int_equal(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
    assert_true(process_is_over((uint32_t)pid));
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    assert_true(process_is_over((uint32_t)pid));
}

static void who_asks_is_not_over(void **state)
{
    (void)state;
    assert_false(process_is_over((uint32_t)getpid()));
    assert_false(process_is_over(1));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_process_is_over_before_its_parent_waits_for_it),
        cmocka_unit_test(who_asks_is_not_over),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
