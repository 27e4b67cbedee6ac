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

#include "agent/clock/clocksync.h"

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

/* From the fifth second on it counts that much faster; or it was the first
 * reading that was late, by as much. */
static void rate_follow(double faster)
{
    struct clocksync sync = {.clock = CK_CLOCK_TSC};
    int64_t ticks = 0;

    for (int64_t second = 1; second <= 10; second++) {
        ticks += (int64_t)(2e9 * (second < 5 ? 1 : 1 + faster));
        clocksync_learn(&sync, ticks, second * CK_TIME_S);
    }
    assert_near(clocksync_raw(&sync, ticks + (int64_t)(2e9 * (1 + faster))),
                11 * CK_TIME_S);
}

static void a_rate_that_lasts_is_learnt(void **state)
{
    struct clocksync sync = {.clock = CK_CLOCK_TSC};

    (void)state;
    rate_follow(0.0005);
    rate_follow(0.002);
    rate_follow(-0.3);
    /* Stopped for 5 ms between its first two readings. */
    clocksync_learn(&sync, 2 * CK_TIME_MS, 6 * CK_TIME_MS);
    for (int64_t second = 1; second <= 4; second++) {
        clocksync_learn(&sync, 2 * second * CK_TIME_S, second * CK_TIME_S);
    }
    assert_near(clocksync_raw(&sync, 10 * CK_TIME_S), 5 * CK_TIME_S);
}

static void pairs_that_are_too_near_have_no_rate(void **state)
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
        cmocka_unit_test(a_rate_that_lasts_is_learnt),
        cmocka_unit_test(pairs_that_are_too_near_have_no_rate),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
