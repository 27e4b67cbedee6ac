/* test_aggregatortimeout.c - how long an aggregator may be silent
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "agent/link/aggregatortimeout.h"

#define S CK_TIME_S

static void one_that_never_answers_is_silent_once(void **state)
{
    struct aggregatortimeout given = {.started = 100 * S, .is_given = true};
    struct aggregatortimeout selfstream = {.started = 100 * S};

    (void)state;
    assert_int_equal(aggregatortimeout_look(&given, 0, 101 * S),
                     AGGREGATORTIMEOUT_SAME);
    assert_int_equal(aggregatortimeout_look(&given, 0, 102 * S),
                     AGGREGATORTIMEOUT_FELL);
    assert_int_equal(aggregatortimeout_look(&given, 0, 109 * S),
                     AGGREGATORTIMEOUT_SAME);
    assert_int_equal(aggregatortimeout_look(&selfstream, 0, 103 * S),
                     AGGREGATORTIMEOUT_SAME);
    assert_int_equal(aggregatortimeout_look(&selfstream, 0, 104 * S),
                     AGGREGATORTIMEOUT_FELL);
}

static void one_that_answers_again_is_not_silent(void **state)
{
    struct aggregatortimeout aggregatortimeout = {.started = 100 * S};

    (void)state;
    assert_int_equal(
        aggregatortimeout_look(&aggregatortimeout, 101 * S, 105 * S),
        AGGREGATORTIMEOUT_SAME);
    assert_int_equal(
        aggregatortimeout_look(&aggregatortimeout, 101 * S, 106 * S),
        AGGREGATORTIMEOUT_FELL);
    assert_int_equal(
        aggregatortimeout_look(&aggregatortimeout, 107 * S, 107 * S),
        AGGREGATORTIMEOUT_BROKEN);
    assert_int_equal(
        aggregatortimeout_look(&aggregatortimeout, 107 * S, 108 * S),
        AGGREGATORTIMEOUT_SAME);
}

static void the_end_does_not_wait_for_who_had_time(void **state)
{
    struct aggregatortimeout given = {.started = 100 * S, .is_given = true};
    struct aggregatortimeout selfstream = {.started = 100 * S};

    (void)state;
    /* No message yet: from the start on, a second at least. */
    assert_int_equal(aggregatortimeout_until(&given, 0, 101 * S), 105 * S);
    assert_int_equal(aggregatortimeout_until(&selfstream, 0, 101 * S), 108 * S);
    assert_int_equal(aggregatortimeout_until(&given, 0, 300 * S), 301 * S);
    assert_int_equal(aggregatortimeout_until(&selfstream, 0, 300 * S), 301 * S);
    /* With messages: after the last one, or the end. */
    assert_int_equal(aggregatortimeout_until(&selfstream, 110 * S, 200 * S),
                     205 * S);
    assert_int_equal(aggregatortimeout_until(&selfstream, 210 * S, 200 * S),
                     215 * S);
}

static void none_is_silent_while_we_do_not_listen(void **state)
{
    struct aggregatortimeout aggregatortimeout = {.started = 100 * S};

    (void)state;
    assert_int_equal(aggregatortimeout_away(&aggregatortimeout, 100 * S), 0);
    assert_int_equal(aggregatortimeout_away(&aggregatortimeout, 101 * S - 1),
                     0);
    /* Stopped for a minute. */
    assert_int_equal(aggregatortimeout_away(&aggregatortimeout, 161 * S - 1),
                     60 * S);
    assert_int_equal(aggregatortimeout_away(&aggregatortimeout, 161 * S), 0);
    assert_int_equal(aggregatortimeout_look(&aggregatortimeout, 0, 162 * S),
                     AGGREGATORTIMEOUT_SAME);
    assert_int_equal(aggregatortimeout_until(&aggregatortimeout, 0, 162 * S),
                     168 * S);
    assert_int_equal(aggregatortimeout_look(&aggregatortimeout, 0, 164 * S),
                     AGGREGATORTIMEOUT_FELL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_that_never_answers_is_silent_once),
        cmocka_unit_test(one_that_answers_again_is_not_silent),
        cmocka_unit_test(none_is_silent_while_we_do_not_listen),
        cmocka_unit_test(the_end_does_not_wait_for_who_had_time),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
