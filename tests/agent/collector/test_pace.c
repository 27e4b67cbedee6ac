/* test_pace.c - how long a collector may sleep between two turns
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "agent/collector/pace.h"

#define MS CK_TIME_MS
#define SIZE 131072 /* 4 MiB of units, the default */

static void a_turn_is_due_when_a_part_of_a_slot_is_filled(void **state)
{
    static const uint64_t rates[] = {0, 1000, 300000, 900000, 2000000, 4000000};

    (void)state;
    for (size_t i = 0; i < sizeof(rates) / sizeof(rates[0]); i++) {
        struct pace pace = {0};
        ck_time_t period = pace_look(&pace, rates[i], SIZE, 1000 * MS);
        uint64_t part = PACE_PART(SIZE) * CK_TIME_S;

        assert_true(rates[i] * (uint64_t)period <= part);
        assert_true(period == PACE_MAX ||
                    2 * rates[i] * (uint64_t)period > part);
    }
}

static void who_comes_is_seen_to_soon(void **state)
{
    struct pace pace = {0};

    (void)state;
    assert_int_equal(pace_look(&pace, 1000, SIZE, 1000 * MS), PACE_MAX);
    pace_upset(&pace);
    assert_int_equal(pace_look(&pace, 1000, SIZE, 1004 * MS), PACE_STEP);
    assert_int_equal(pace_look(&pace, 1000, SIZE, 1064 * MS), PACE_STEP);
    assert_int_equal(pace_look(&pace, 1000, SIZE, 1068 * MS), PACE_MAX);
}

static void what_was_once_fast_is_forgotten(void **state)
{
    struct pace pace = {0};
    ck_time_t at = 1000 * MS;

    (void)state;
    assert_int_equal(pace_look(&pace, 10000000, SIZE, at), PACE_STEP);
    while (at < 1300 * MS) {
        at += 4 * MS;
        assert_int_equal(pace_look(&pace, 1000, SIZE, at), PACE_STEP);
    }
    while (at < 6000 * MS) {
        at += pace_look(&pace, 1000, SIZE, at);
    }
    assert_int_equal(pace_look(&pace, 1000, SIZE, at), PACE_MAX);
}

static void
the_fastest_thread_never_fills_a_slot_between_two_looks(void **state)
{
    (void)state;
    assert_int_equal(pace_glance(2 * SIZE), 16 * MS);
    assert_int_equal(pace_glance(SIZE), 8 * MS);
    assert_int_equal(pace_glance(SIZE / 2), 4 * MS);
    assert_int_equal(pace_glance(SIZE / 64), PACE_STEP);
    assert_int_equal(pace_glance(UINT64_MAX / 8), PACE_MAX);
}

static void turns_of_all_collectors_meet(void **state)
{
    (void)state;
    assert_int_equal(pace_until(1001 * MS, 4 * MS), 1004 * MS);
    assert_int_equal(pace_until(1001 * MS, 32 * MS), 1024 * MS);
    assert_int_equal(pace_until(1024 * MS, 32 * MS), 1056 * MS);
    /* Too near to be worth a turn. */
    assert_int_equal(pace_until(1022 * MS, 32 * MS), 1056 * MS);
    /* When a slot has enough in it is never a whole multiple. */
    assert_int_equal(pace_until(1001 * MS, 9 * MS), 1008 * MS);
    assert_int_equal(pace_until(1008 * MS, 9 * MS), 1016 * MS);
    /* Short ones do not wait for others. */
    assert_int_equal(pace_until(1001 * MS, 1 * MS), 1002 * MS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_turn_is_due_when_a_part_of_a_slot_is_filled),
        cmocka_unit_test(who_comes_is_seen_to_soon),
        cmocka_unit_test(what_was_once_fast_is_forgotten),
        cmocka_unit_test(
            the_fastest_thread_never_fills_a_slot_between_two_looks),
        cmocka_unit_test(turns_of_all_collectors_meet),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
