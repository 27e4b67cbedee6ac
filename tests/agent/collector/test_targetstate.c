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
#include <stdio.h>
#include <string.h>
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

static bool is_in_state(pid_t pid, char state)
{
    char path[64], line[512] = "";
    FILE *file;
    const char *rest;

    (void)snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
    file = fopen(path, "re");
    assert_non_null(file);
    assert_non_null(fgets(line, sizeof(line), file));
    assert_int_equal(fclose(file), 0);
    rest = strrchr(line, ')');
    assert_non_null(rest);
    return rest[2] == state;
}

static void front_sends(int channel, enum frontpipe_type type, int32_t pid)
{
    assert_int_equal(frontpipe_send(channel, type, &pid,
                                    type == FRONTPIPE_STOPS ? sizeof(pid) : 0),
                     0);
}

/* A signal stops it, and another one wakes it. */
static void the_time_that_a_target_was_stopped_is_known(void **state)
{
    struct family family = family_begin(0);
    struct targetstate targetstate;
    ck_time_t at;
    int ends[2];

    (void)state;
    assert_int_equal(frontpipe_open(ends), 0);
    targetstate_init(&targetstate, ends[1], family.child, true);
    assert_int_equal(kill(family.child, SIGSTOP), 0);
    while (!is_in_state(family.child, 'T')) {
        (void)usleep(1000);
    }
    front_sends(ends[0], FRONTPIPE_STOPS, (int32_t)family.parent);
    targetstate_step(&targetstate);
    at = targetstate.stopped_at;
    assert_true(at != 0);
    targetstate_follow(&targetstate, at + CK_TIME_S);
    assert_int_equal(targetstate.stopped_ns, 0);
    assert_int_equal(kill(family.child, SIGCONT), 0);
    while (is_in_state(family.child, 'T')) {
        (void)usleep(1000);
    }
    targetstate_follow(&targetstate, at + 2 * CK_TIME_S);
    targetstate_follow(&targetstate, at + 3 * CK_TIME_S);
    front_sends(ends[0], FRONTPIPE_WOKEN, 0);
    targetstate_step(&targetstate);
    assert_int_equal(targetstate.stopped_ns, 2 * CK_TIME_S);
    assert_int_equal(targetstate.stops, 1);
    front_sends(ends[0], FRONTPIPE_STOPS, (int32_t)family.parent);
    front_sends(ends[0], FRONTPIPE_WOKEN, 0);
    targetstate_step(&targetstate);
    assert_int_equal(targetstate.stops, 2);
    assert_int_equal(targetstate.stopped_at, 0);
    (void)close(family.go);
    (void)close(family.hold);
    assert_int_equal(waitpid(family.parent, NULL, 0), family.parent);
    targetstate_fini(&targetstate);
    (void)close(ends[0]);
    (void)close(ends[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_end_that_no_parent_has_noted_yet_is_read),
        cmocka_unit_test(a_target_is_killed_only_for_a_front_that_was),
        cmocka_unit_test(the_time_that_a_target_was_stopped_is_known),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
