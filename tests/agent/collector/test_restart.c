/* test_restart.c - when a dead collector is followed by another
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "agent/collector/restart.h"

#define MS CK_TIME_MS

/* One begins at `now` and lives so long. When it died. */
static ck_time_t live(struct restart *restart, ck_time_t now, ck_time_t length)
{
    restart_born(restart, now);
    restart_died(restart, now + length);
    return now + length;
}

static void one_that_lived_is_followed_at_once_without_end(void **state)
{
    struct restart restart = {0};
    ck_time_t now = 5 * CK_TIME_S;

    (void)state;
    for (int i = 0; i < 1000; i++) {
        now = live(&restart, now, RESTART_EACH);
        assert_int_equal(restart.due, now);
        assert_false(restart_is_vain(&restart));
    }
}

static void those_that_die_at_once_begin_each_second(void **state)
{
    struct restart restart = {0};
    ck_time_t now = 5 * CK_TIME_S;

    (void)state;
    for (int i = 0; i < RESTART_QUICK; i++) {
        now = live(&restart, now, 10 * MS);
        assert_int_equal(restart.due, now);
    }
    for (int i = 0; i < 100; i++) {
        ck_time_t begun = now;

        now = live(&restart, now, 10 * MS);
        assert_true(restart_is_vain(&restart));
        assert_int_equal(restart.due, begun + RESTART_EACH);
        now = restart.due;
    }
    now = live(&restart, now, RESTART_EACH);
    assert_int_equal(restart.due, now);
}

static void what_is_waited_for_comes_no_later_than_the_next(void **state)
{
    struct restart restart = {.born = 1, .due = 0};

    (void)state;
    assert_int_equal(restart_wait(&restart, 7, -1), -1);
    assert_int_equal(restart_wait(&restart, 7, 20), 20);
    restart_failed(&restart, 7);
    assert_int_equal(restart_wait(&restart, 7, -1), 1001);
    assert_int_equal(restart_wait(&restart, 7, 20), 20);
    assert_int_equal(restart_wait(&restart, 7 + 990 * MS, 20), 11);
    assert_int_equal(restart_wait(&restart, 7 + 2000 * MS, 20), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_that_lived_is_followed_at_once_without_end),
        cmocka_unit_test(those_that_die_at_once_begin_each_second),
        cmocka_unit_test(what_is_waited_for_comes_no_later_than_the_next),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
