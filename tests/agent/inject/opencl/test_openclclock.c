/* test_openclclock.c - offset of a device clock by causality
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "agent/inject/opencl/openclclock.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#define OFFSET ((ck_time_t)987654321)

/* A sample whose truth is OFFSET, seen between two host stamps. */
static void sample(struct device_clock *clock,
                   ck_time_t at,
                   ck_time_t early,
                   ck_time_t late)
{
    (void)device_clock_bound(clock, at - early, at - OFFSET, at + late);
}

static void a_raw_device_is_believed(void **state)
{
    struct device_clock clock = {.method = CLOCK_METHOD_RAW};
    ck_time_t event = 0;

    (void)state;
    assert_true(device_clock_bound(&clock, 1000000, 1000100, 1000200));
    assert_true(device_clock_event(&clock, 42, &event));
    assert_int_equal(event, 42);
    assert_int_equal(device_clock_error(&clock), 0);
    assert_string_equal(device_clock_name(&clock), "raw");
}

static void one_contradiction_ends_that(void **state)
{
    struct device_clock clock = {.method = CLOCK_METHOD_RAW};
    ck_time_t event = 0;

    (void)state;
    assert_false(device_clock_bound(&clock, 1000000, 5000000, 1000200));
    assert_string_equal(device_clock_name(&clock), "causal");
    assert_true(device_clock_event(&clock, 5000000, &event));
    assert_int_equal(event, 1000100);
    assert_int_equal(device_clock_error(&clock), 100);
}

static void without_a_sample_there_is_no_time(void **state)
{
    struct device_clock clock = {0};
    ck_time_t event = 7;

    (void)state;
    assert_false(device_clock_event(&clock, 1, &event));
    assert_int_equal(event, 7);
    assert_int_equal(device_clock_error(&clock), -1);
}

static void the_tightest_bounds_are_kept(void **state)
{
    struct device_clock clock = {0};
    ck_time_t event = 0;

    (void)state;
    sample(&clock, CK_TIME_S, 20000, 100);
    sample(&clock, CK_TIME_S + 1000, 100, 30000);
    assert_true(device_clock_error(&clock) <= 101);
    assert_true(device_clock_event(&clock, CK_TIME_S - OFFSET, &event));
    assert_in_range(event, CK_TIME_S - 101, CK_TIME_S + 101);
}

static void old_bounds_widen_with_drift(void **state)
{
    struct device_clock clock = {0};

    (void)state;
    sample(&clock, CK_TIME_S, 100, 100);
    sample(&clock, 11 * CK_TIME_S, 10 * CK_TIME_MS, 10 * CK_TIME_MS);
    /* 50 ppm of the 10.01 s between the ends of the samples, and 100 ns */
    assert_in_range(device_clock_error(&clock), 500590, 500610);
}

/* The true offset stays inside the bounds, whatever the jitter; CK_SEED
 * repeats a run. */
static void the_truth_stays_within_the_bounds(void **state)
{
    const char *text = getenv("CK_SEED");
    unsigned seed = text == NULL ? 1 : (unsigned)strtoul(text, NULL, 10);
    struct device_clock clock = {0};
    ck_time_t now = CK_TIME_S;

    (void)state;
    print_message("seed %u\n", seed);
    for (int i = 0; i < 10000; i++) {
        ck_time_t truth = OFFSET + (now - CK_TIME_S) / 1000000 * 20;
        ck_time_t early = 1 + rand_r(&seed) % 50000;
        ck_time_t late = 1 + rand_r(&seed) % 50000;
        ck_time_t event = 0;

        (void)device_clock_bound(&clock, now - early, now - truth, now + late);
        assert_true(device_clock_event(&clock, now - truth, &event));
        assert_true(llabs(event - now) <= device_clock_error(&clock) + 1);
        now += rand_r(&seed) % 2000000;
    }
}

static void a_step_starts_anew(void **state)
{
    struct device_clock clock = {0};
    ck_time_t event = 0;

    (void)state;
    sample(&clock, CK_TIME_S, 100, 100);
    (void)device_clock_bound(&clock, 2 * CK_TIME_S, 5, 2 * CK_TIME_S + 10);
    assert_true(device_clock_event(&clock, 5, &event));
    assert_int_equal(event, 2 * CK_TIME_S + 5);
}

static void a_raw_device_is_sampled_rarely(void **state)
{
    struct device_clock clock = {.method = CLOCK_METHOD_RAW};
    int wanted = 0;

    (void)state;
    for (int i = 0; i < 6400; i++) {
        wanted += device_clock_wants(&clock);
    }
    assert_in_range(wanted, 100, 130);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_raw_device_is_believed),
        cmocka_unit_test(one_contradiction_ends_that),
        cmocka_unit_test(without_a_sample_there_is_no_time),
        cmocka_unit_test(the_tightest_bounds_are_kept),
        cmocka_unit_test(old_bounds_widen_with_drift),
        cmocka_unit_test(the_truth_stays_within_the_bounds),
        cmocka_unit_test(a_step_starts_anew),
        cmocka_unit_test(a_raw_device_is_sampled_rarely),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
