/* test_perfcall.c - perf_event_open() under a filter that ends who calls it
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <errno.h>
#include <grp.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "agent/perf/perfcall.h"

/* Their line in /proc/self/status is longer than what is read of it. */
#define GROUPS 2000
#define GROUP_FIRST 1000000000u

enum end { END_REFUSED, END_OTHER, END_NO_FILTER, END_NO_GROUPS };

static int filter_set(void)
{
    struct sock_filter rules[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_perf_event_open, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    const struct sock_fprog program = {sizeof(rules) / sizeof(rules[0]), rules};

    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0
               ? -1
               : prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0);
}

static enum end child_main(size_t count)
{
    struct perf_event_attr attr = {.size = sizeof(attr)};
    gid_t groups[GROUPS];

    for (size_t i = 0; i < count; i++) {
        groups[i] = (gid_t)(GROUP_FIRST + i);
    }
    if (count > 0 && setgroups(count, groups) != 0) {
        return END_NO_GROUPS;
    }
    if (filter_set() != 0) {
        return END_NO_FILTER;
    }
    return perfcall_open(&attr, 0, -1, -1) == -1 && errno == ENOSYS
               ? END_REFUSED
               : END_OTHER;
}

/* Of a child that has so many groups. */
static void refusal_expect(size_t groups)
{
    pid_t pid = fork();
    int status;

    if (pid == 0) {
        _exit(child_main(groups));
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    if (WEXITSTATUS(status) >= END_NO_FILTER) {
        print_message("skipped: no filter, or no groups, may be set here\n");
        skip();
    }
    assert_int_equal(WEXITSTATUS(status), END_REFUSED);
}

static void a_filter_that_kills_is_a_refusal(void **state)
{
    (void)state;
    refusal_expect(0);
}

static void so_it_is_for_one_of_many_groups(void **state)
{
    (void)state;
    refusal_expect(GROUPS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_filter_that_kills_is_a_refusal),
        cmocka_unit_test(so_it_is_for_one_of_many_groups),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
