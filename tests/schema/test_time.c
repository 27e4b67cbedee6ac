/* test_time.c - RAW in a process with a time namespace
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "schema/time.h"

#define NEWTIME 0x80 /* CLONE_NEWTIME, which older headers lack */
#define AWAY (1000 * CK_TIME_S)
#define NOT_PERMITTED 7

/* What its children have then is 1000 s off; its own clock stays. */
static bool space_ask(void)
{
    static const char line[] = "monotonic 1000 0\nboottime 1000 0\n";
    int fd = unshare(NEWTIME) != 0
                 ? -1
                 : open("/proc/self/timens_offsets", O_WRONLY | O_CLOEXEC);
    bool is_done = fd >= 0 && write(fd, line, strlen(line)) > 0;

    if (fd >= 0) {
        (void)close(fd);
    }
    return is_done;
}

/* The agent's clock was last seen long ago: its collector gets no CPU. */
static ck_time_t away_after_a_look(ck_time_t agent)
{
    (void)ck_time_space_look(agent - 5 * CK_TIME_S, 0);
    return ck_time_raw_asked() - agent;
}

static bool is_off(ck_time_t away)
{
    return away > 100 * CK_TIME_S || away < -100 * CK_TIME_S;
}

static int exit_status(int (*play)(void))
{
    int status;
    pid_t pid = fork();

    if (pid == 0) {
        _exit(play());
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static int own_clock(void)
{
    ck_time_t agent = ck_time_raw();

    return !space_ask() ? NOT_PERMITTED : is_off(away_after_a_look(agent));
}

static void a_namespace_for_children_leaves_the_own_clock(void **state)
{
    int status = exit_status(own_clock);

    (void)state;
    if (status == NOT_PERMITTED) {
        skip();
    }
    assert_int_equal(status, 0);
}

static int childs_clock(void)
{
    ck_time_t agent = ck_time_raw();
    int status;
    pid_t pid;

    if (!space_ask()) {
        return NOT_PERMITTED;
    }
    pid = fork();
    if (pid == 0) {
        _exit(ck_time_raw() - agent < AWAY || is_off(away_after_a_look(agent)));
    }
    return waitpid(pid, &status, 0) != pid || status != 0;
}

static void a_child_in_a_namespace_has_its_agents_clock(void **state)
{
    int status = exit_status(childs_clock);

    (void)state;
    if (status == NOT_PERMITTED) {
        skip();
    }
    assert_int_equal(status, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_namespace_for_children_leaves_the_own_clock),
        cmocka_unit_test(a_child_in_a_namespace_has_its_agents_clock),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
