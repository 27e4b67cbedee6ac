/* test_clocksync.c - stamps of a counter that jumps, as the collector has them
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>

#include "agent/clocksync.h"

static void assert_near(ck_time_t time, ck_time_t truth)
{
    assert_true(llabs(time - truth) < CK_TIME_US);
}

/* Two ticks a ns; from the fifth second on ahead or back by `jump`. */
static void jump_follow(int64_t jump)
{
    struct clocksync sync = {.clock = CK_CLOCK_TSC, .ticks0 = 1000, .raw0 = 0};

    for (int64_t second = 1; second <= 10; second++) {
        int64_t ahead = 1000 + (second < 5 ? 0 : jump);

        clocksync_learn(&sync, 2 * second * CK_TIME_S + ahead,
                        second * CK_TIME_S);
        assert_near(
            clocksync_raw(&sync, 2 * second * CK_TIME_S + ahead + CK_TIME_S),
            second * CK_TIME_S + CK_TIME_S / 2);
    }
}

static void a_counter_that_jumps_is_followed(void **state)
{
    (void)state;
    jump_follow(0);
    jump_follow(5600000);
    jump_follow(-5600000);
    jump_follow(3600 * CK_TIME_S);
    jump_follow(-3600 * CK_TIME_S);
}

static void pairs_that_are_too_near_say_no_rate(void **state)
{
    struct clocksync sync = {.clock = CK_CLOCK_TSC};

    (void)state;
    clocksync_learn(&sync, 2000, 10);
    assert_near(clocksync_raw(&sync, 0), 0);
    clocksync_learn(&sync, 2 * CK_TIME_S, CK_TIME_S);
    assert_near(clocksync_raw(&sync, 3 * CK_TIME_S), 3 * CK_TIME_S / 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_counter_that_jumps_is_followed),
        cmocka_unit_test(pairs_that_are_too_near_say_no_rate),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
