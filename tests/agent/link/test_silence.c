/* test_silence.c - how long an aggregator may be silent
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "agent/link/silence.h"

#define S CK_TIME_S

static void one_that_never_answers_is_silent_once(void **state)
{
    struct silence given = {.started = 100 * S, .is_given = true};
    struct silence own = {.started = 100 * S};

    (void)state;
    assert_int_equal(silence_look(&given, 0, 101 * S), SILENCE_SAME);
    assert_int_equal(silence_look(&given, 0, 102 * S), SILENCE_FELL);
    assert_int_equal(silence_look(&given, 0, 109 * S), SILENCE_SAME);
    assert_int_equal(silence_look(&own, 0, 103 * S), SILENCE_SAME);
    assert_int_equal(silence_look(&own, 0, 104 * S), SILENCE_FELL);
}

static void one_that_answers_again_is_not_silent(void **state)
{
    struct silence silence = {.started = 100 * S};

    (void)state;
    assert_int_equal(silence_look(&silence, 101 * S, 105 * S), SILENCE_SAME);
    assert_int_equal(silence_look(&silence, 101 * S, 106 * S), SILENCE_FELL);
    assert_int_equal(silence_look(&silence, 107 * S, 107 * S), SILENCE_BROKEN);
    assert_int_equal(silence_look(&silence, 107 * S, 108 * S), SILENCE_SAME);
}

static void the_end_does_not_wait_for_who_had_time(void **state)
{
    struct silence given = {.started = 100 * S, .is_given = true};
    struct silence own = {.started = 100 * S};

    (void)state;
    /* Never heard: from the start on, a second at least. */
    assert_int_equal(silence_until(&given, 0, 101 * S), 105 * S);
    assert_int_equal(silence_until(&own, 0, 101 * S), 108 * S);
    assert_int_equal(silence_until(&given, 0, 300 * S), 301 * S);
    assert_int_equal(silence_until(&own, 0, 300 * S), 301 * S);
    /* Heard: after its last word, or the end. */
    assert_int_equal(silence_until(&own, 110 * S, 200 * S), 205 * S);
    assert_int_equal(silence_until(&own, 210 * S, 200 * S), 215 * S);
}

static void nobody_is_silent_while_we_do_not_listen(void **state)
{
    struct silence silence = {.started = 100 * S};

    (void)state;
    assert_int_equal(silence_away(&silence, 100 * S), 0);
    assert_int_equal(silence_away(&silence, 101 * S - 1), 0);
    /* Stopped for a minute. */
    assert_int_equal(silence_away(&silence, 161 * S - 1), 60 * S);
    assert_int_equal(silence_away(&silence, 161 * S), 0);
    assert_int_equal(silence_look(&silence, 0, 162 * S), SILENCE_SAME);
    assert_int_equal(silence_until(&silence, 0, 162 * S), 168 * S);
    assert_int_equal(silence_look(&silence, 0, 164 * S), SILENCE_FELL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_that_never_answers_is_silent_once),
        cmocka_unit_test(one_that_answers_again_is_not_silent),
        cmocka_unit_test(nobody_is_silent_while_we_do_not_listen),
        cmocka_unit_test(the_end_does_not_wait_for_who_had_time),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
