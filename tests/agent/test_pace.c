/* test_pace.c - how long a collector may sleep between two turns
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "agent/pace.h"

#define MS CK_TIME_MS
#define SIZE 65536 /* 2 MiB of units */

/* Turns with this flow from `from` on for `length`. The last answer. */
static ck_time_t
flow(struct pace *pace, uint64_t rate, ck_time_t from, ck_time_t length)
{
    ck_time_t period = 0;

    for (ck_time_t at = from; at <= from + length; at += 4 * MS) {
        period = pace_look(pace, rate, SIZE, at);
    }
    return period;
}

static void a_program_that_records_nothing_may_begin_at_any_time(void **state)
{
    struct pace pace = {0};

    (void)state;
    assert_int_equal(flow(&pace, 0, 1000 * MS, 5000 * MS), PACE_QUIET);
}

static void a_steady_low_flow_is_looked_at_rarely(void **state)
{
    struct pace pace = {0};

    (void)state;
    assert_int_equal(flow(&pace, 300000, 1000 * MS, 28 * MS), PACE_QUIET);
    assert_int_equal(flow(&pace, 300000, 1032 * MS, 28 * MS), 2 * PACE_QUIET);
    assert_int_equal(flow(&pace, 300000, 1064 * MS, 64 * MS), PACE_MAX);
}

static void a_flow_that_is_young_is_looked_at_often(void **state)
{
    (void)state;
    for (ck_time_t age = 0; age <= 300 * MS; age += 4 * MS) {
        struct pace pace = {0};
        ck_time_t period = flow(&pace, 1000, 1000 * MS, age);

        assert_true(period == PACE_QUIET || period * PACE_CALM <= age);
        assert_true(period == PACE_MAX || 2 * period * PACE_CALM > age);
    }
}

static void four_times_the_highest_flow_fits_a_slot(void **state)
{
    static const uint64_t rates[] = {1000,   500000,  600000,
                                     900000, 2000000, 10000000};

    (void)state;
    for (size_t i = 0; i < sizeof(rates) / sizeof(rates[0]); i++) {
        struct pace pace = {0};
        ck_time_t period = flow(&pace, rates[i], 1000 * MS, 2000 * MS);

        assert_true(period == PACE_QUIET || 4 * rates[i] * (uint64_t)period <=
                                                SIZE * (uint64_t)CK_TIME_S);
        assert_true(period == PACE_MAX || 8 * rates[i] * (uint64_t)period >
                                              SIZE * (uint64_t)CK_TIME_S);
    }
}

static void what_was_once_fast_stays_watched(void **state)
{
    struct pace pace = {0};

    (void)state;
    (void)flow(&pace, 10000000, 1000 * MS, 4 * MS);
    assert_int_equal(flow(&pace, 1000, 1004 * MS, 9000 * MS), PACE_QUIET);
}

static void a_pause_or_a_new_thread_ends_what_was_steady(void **state)
{
    struct pace pace = {0};

    (void)state;
    assert_int_equal(flow(&pace, 1000, 1000 * MS, 2000 * MS), PACE_MAX);
    assert_int_equal(flow(&pace, 0, 3004 * MS, 200 * MS), PACE_MAX);
    assert_int_equal(flow(&pace, 0, 3204 * MS, 100 * MS), PACE_QUIET);
    assert_int_equal(flow(&pace, 1000, 3400 * MS, 28 * MS), PACE_QUIET);
    assert_int_equal(flow(&pace, 1000, 3432 * MS, 600 * MS), PACE_MAX);
    pace_upset(&pace);
    assert_int_equal(flow(&pace, 1000, 4036 * MS, 28 * MS), PACE_QUIET);
}

static void with_a_bell_a_look_is_due_before_half_of_a_slot(void **state)
{
    static const uint64_t rates[] = {0, 1000, 300000, 900000, 2000000, 6000000};

    (void)state;
    for (size_t i = 0; i < sizeof(rates) / sizeof(rates[0]); i++) {
        struct pace pace = {.has_bell = true};
        ck_time_t period = pace_look(&pace, rates[i], SIZE, 1000 * MS);

        assert_true(rates[i] * (uint64_t)period <= SIZE / 8 * 3 * CK_TIME_S);
        assert_true(period == PACE_BELL_MAX ||
                    2 * rates[i] * (uint64_t)period > SIZE / 8 * 3 * CK_TIME_S);
    }
}

static void with_a_bell_who_comes_is_seen_to_soon(void **state)
{
    struct pace pace = {.has_bell = true};

    (void)state;
    assert_int_equal(pace_look(&pace, 1000, SIZE, 1000 * MS), PACE_BELL_MAX);
    pace_upset(&pace);
    assert_int_equal(pace_look(&pace, 1000, SIZE, 1004 * MS), PACE_QUIET);
    assert_int_equal(pace_look(&pace, 1000, SIZE, 1064 * MS), PACE_QUIET);
    assert_int_equal(pace_look(&pace, 1000, SIZE, 1068 * MS), PACE_BELL_MAX);
}

static void with_a_bell_what_was_once_fast_is_forgotten(void **state)
{
    struct pace pace = {.has_bell = true};
    ck_time_t at = 1000 * MS;

    (void)state;
    assert_int_equal(pace_look(&pace, 10000000, SIZE, at), PACE_QUIET);
    while (at < 1300 * MS) {
        at += 4 * MS;
        assert_int_equal(pace_look(&pace, 1000, SIZE, at), PACE_QUIET);
    }
    while (at < 6000 * MS) {
        at += pace_look(&pace, 1000, SIZE, at);
    }
    assert_int_equal(pace_look(&pace, 1000, SIZE, at), PACE_BELL_MAX);
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
        cmocka_unit_test(a_program_that_records_nothing_may_begin_at_any_time),
        cmocka_unit_test(a_steady_low_flow_is_looked_at_rarely),
        cmocka_unit_test(a_flow_that_is_young_is_looked_at_often),
        cmocka_unit_test(four_times_the_highest_flow_fits_a_slot),
        cmocka_unit_test(what_was_once_fast_stays_watched),
        cmocka_unit_test(a_pause_or_a_new_thread_ends_what_was_steady),
        cmocka_unit_test(with_a_bell_a_look_is_due_before_half_of_a_slot),
        cmocka_unit_test(with_a_bell_who_comes_is_seen_to_soon),
        cmocka_unit_test(with_a_bell_what_was_once_fast_is_forgotten),
        cmocka_unit_test(turns_of_all_collectors_meet),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
