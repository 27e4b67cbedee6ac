/* test_targetstate.c - how a target ended whose front was killed
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/collector/targetstate.h"

/* A parent whose child waits for a byte and then ends by itself, or by SIGKILL;
 * it takes note of that at the end of `hold`. */
struct family {
    pid_t parent;
    pid_t child;
    int go;
    int hold;
};

static void child_run(int go, int status)
{
    char byte;

    (void)!read(go, &byte, 1);
    if (status < 0) {
        (void)raise(SIGKILL);
    }
    _exit(status);
}

static void parent_run(int told, const int go[2], const int hold[2], int status)
{
    char byte;
    pid_t child;

    (void)close(go[1]);
    (void)close(hold[1]);
    child = fork();
    if (child == 0) {
        (void)close(hold[0]);
        child_run(go[0], status);
    }
    (void)!write(told, &child, sizeof(child));
    (void)!read(hold[0], &byte, 1);
    _exit(0);
}

static struct family family_begin(int status)
{
    struct family family;
    int go[2], hold[2], told[2];

    assert_int_equal(pipe(go) + pipe(hold) + pipe(told), 0);
    family.parent = fork();
    if (family.parent == 0) {
        parent_run(told[1], go, hold, status);
    }
    assert_int_equal(read(told[0], &family.child, sizeof(family.child)),
                     sizeof(family.child));
    (void)close(told[0]);
    (void)close(told[1]);
    (void)close(go[0]);
    (void)close(hold[0]);
    family.go = go[1];
    family.hold = hold[1];
    return family;
}

static void expect_status(int given, int status)
{
    struct family family = family_begin(given);
    struct targetstate targetstate;

    targetstate_init(&targetstate, -1, family.child, true);
    targetstate.is_front_gone = true;
    assert_false(targetstate_is_over(&targetstate));
    (void)close(family.go);
    while (!targetstate_is_over(&targetstate)) {
        (void)usleep(1000);
    }
    assert_true(targetstate.is_status_known);
    assert_int_equal(targetstate.end.status, status);
    targetstate_fini(&targetstate);
    (void)close(family.hold);
    assert_int_equal(waitpid(family.parent, NULL, 0), family.parent);
}

static void an_end_that_no_parent_has_noted_yet_is_read(void **state)
{
    (void)state;
    expect_status(7, 7 << 8);
    expect_status(0, 0);
    expect_status(-1, SIGKILL);
}

/* What the front's end does to a target that waits. */
static void expect_kill(struct targetstate facts, bool is_killed)
{
    struct family family = family_begin(0);
    struct targetstate targetstate;

    targetstate_init(&targetstate, -1, family.child, facts.is_begun);
    targetstate.is_front_gone = facts.is_front_gone;
    targetstate.is_end_known = facts.is_end_known;
    targetstate.front = facts.front;
    targetstate_follow(&targetstate, 1);
    assert_int_equal(targetstate.is_killed, is_killed);
    (void)close(family.go);
    targetstate.is_front_gone = true;
    targetstate.is_end_known = false;
    while (!targetstate_is_over(&targetstate)) {
        (void)usleep(1000);
    }
    assert_int_equal(targetstate.end.status, is_killed ? SIGKILL : 0);
    targetstate_fini(&targetstate);
    (void)close(family.hold);
    assert_int_equal(waitpid(family.parent, NULL, 0), family.parent);
}

static void a_target_is_killed_only_for_a_front_that_was(void **state)
{
    (void)state;
    expect_kill((struct targetstate){.is_front_gone = true, .is_begun = true},
                true);
    expect_kill((struct targetstate){.is_begun = true}, false);
    expect_kill((struct targetstate){.is_front_gone = true}, false);
    expect_kill((struct targetstate){.is_front_gone = true,
                                     .is_begun = true,
                                     .is_end_known = true},
                false);
    /* It closed its end of the channel, and lives. */
    expect_kill((struct targetstate){.is_front_gone = true,
                                     .is_begun = true,
                                     .front = getppid()},
                false);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_end_that_no_parent_has_noted_yet_is_read),
        cmocka_unit_test(a_target_is_killed_only_for_a_front_that_was),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
