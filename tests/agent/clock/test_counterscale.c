/* test_counterscale.c - whose counter programs may use for RAW
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <unistd.h>

#include "agent/clock/counterscale.h"

#define HALF COUNTERSCALE_HALF

static struct ck_ring_header header;

/* Two ticks a ns; brackets of 30 ns. */
static struct clocksync_pair at(ck_time_t raw, double ns_per_tick)
{
    return (struct clocksync_pair){
        .other = (int64_t)((double)raw / ns_per_tick), .raw = raw, .width = 15};
}

static struct counterscale begun(void)
{
    header = (struct ck_ring_header){.clock = CK_CLOCK_RAW};
    return (struct counterscale){
        .header = &header, .first = at(0, 0.5), .last = at(0, 0.5)};
}

static void learn(struct counterscale *scale, ck_time_t raw, double ns_per_tick)
{
    struct clocksync_pair pair = at(raw, ns_per_tick);

    counterscale_learn(scale, &pair);
}

static double published(void)
{
    return (double)header.counter_scale / 4294967296.0;
}

static void an_even_counter_is_published(void **state)
{
    struct counterscale scale = begun();

    (void)state;
    learn(&scale, HALF, 0.5);
    assert_int_equal(header.counter_scale, 0);
    assert_int_equal(scale.next_at, 2 * HALF);
    learn(&scale, 2 * HALF, 0.5);
    assert_true(fabs(published() / 0.5 - 1) < 1e-6);
    assert_int_equal(scale.next_at, 2 * HALF + COUNTERSCALE_PERIOD);
    counterscale_fini(&scale);
}

static void an_uneven_one_is_not(void **state)
{
    struct counterscale scale = begun();
    struct clocksync_pair pair = at(2 * HALF, 0.5);

    (void)state;
    learn(&scale, HALF, 0.5);
    pair.other += 2000; /* 1 us more in 50 ms */
    counterscale_learn(&scale, &pair);
    assert_int_equal(header.counter_scale, 0);
    assert_int_equal(scale.next_at, INT64_MAX);
}

static void one_that_went_back_is_not(void **state)
{
    struct counterscale scale = begun();
    struct clocksync_pair pair = at(HALF, 0.5);

    (void)state;
    pair.other = -5;
    counterscale_learn(&scale, &pair);
    assert_int_equal(header.counter_scale, 0);
    assert_int_equal(scale.next_at, INT64_MAX);
}

/* 100 MHz: a stamp would be off by 10 ns for that alone. */
static void a_coarse_one_is_not(void **state)
{
    struct counterscale scale = begun();

    (void)state;
    learn(&scale, HALF, 10);
    learn(&scale, 2 * HALF, 10);
    assert_int_equal(header.counter_scale, 0);
    assert_int_equal(scale.next_at, INT64_MAX);
}

/* A clock that takes a microsecond to read leaves each stamp open by that. */
static void one_beside_a_slow_clock_is_not(void **state)
{
    struct counterscale scale = begun();
    struct clocksync_pair pair = at(2 * HALF, 0.5);

    (void)state;
    learn(&scale, HALF, 0.5);
    pair.width = 500;
    counterscale_learn(&scale, &pair);
    assert_int_equal(header.counter_scale, 0);
}

static void another_rate_withdraws_it(void **state)
{
    struct counterscale scale = begun();
    struct clocksync_pair pair;

    (void)state;
    learn(&scale, HALF, 0.5);
    learn(&scale, 2 * HALF, 0.5);
    learn(&scale, 2 * HALF + CK_TIME_S, 0.5);
    assert_true(header.counter_scale != 0);
    pair = at(2 * HALF + 2 * CK_TIME_S, 0.5);
    pair.other += 200000; /* 100 us in a second */
    counterscale_learn(&scale, &pair);
    assert_int_equal(header.counter_scale, 0);
    assert_int_equal(scale.next_at, INT64_MAX);
    counterscale_fini(&scale);
}

static void what_a_program_overwrote_is_put_back(void **state)
{
    struct counterscale scale = begun();
    uint64_t published;

    (void)state;
    learn(&scale, HALF, 0.5);
    learn(&scale, 2 * HALF, 0.5);
    published = header.counter_scale;
    header.counter_scale = 1;
    learn(&scale, 2 * HALF + CK_TIME_S, 0.5);
    assert_true(header.counter_scale == published);
    counterscale_fini(&scale);
}

/* A collector that was started again: lines are by the rate of the first. */
static void a_later_collector_leaves_the_rate(void **state)
{
    struct counterscale scale = begun();
    uint64_t before = (uint64_t)(0.5 * (1 + 1e-6) * 4294967296.0);

    (void)state;
    header.counter_scale = before;
    learn(&scale, HALF, 0.5);
    learn(&scale, 2 * HALF, 0.5);
    assert_true(header.counter_scale == before);
    counterscale_fini(&scale);
}

/* This machine's, whatever it is: if it is published, it is right. */
static void this_machine_agrees(void **state)
{
    struct clocksync_pair first = clocksync_pair(CK_CLOCK_TSC);
    struct counterscale scale;

    (void)state;
    header = (struct ck_ring_header){.clock = CK_CLOCK_RAW};
    counterscale_init(&scale, &header, getpid());
    while (scale.next_at != INT64_MAX && header.counter_scale == 0) {
        counterscale_step(&scale, ck_time_raw());
    }
    if (header.counter_scale != 0) {
        struct clocksync_pair last;

        while (scale.spread != NULL) {
            counterscale_step(&scale, ck_time_raw());
        }
        last = clocksync_pair(CK_CLOCK_TSC);
        assert_true(fabs((double)(last.other - first.other) * published() -
                         (double)(last.raw - first.raw)) < 500);
    }
    counterscale_fini(&scale);
}

static void who_does_not_want_it_has_none(void **state)
{
    struct counterscale scale;

    (void)state;
    header = (struct ck_ring_header){.clock = CK_CLOCK_RAW};
    counterscale_init(&scale, &header, 0);
    assert_int_equal(scale.next_at, INT64_MAX);
    header.clock = CK_CLOCK_TSC;
    counterscale_init(&scale, &header, getpid());
    assert_int_equal(scale.next_at, INT64_MAX);
}

static void cpus_on_one_line_fit(void **state)
{
    struct clocksync_pair here = at(CK_TIME_S, 0.5);
    struct clocksync_pair there = at(CK_TIME_S + CK_TIME_MS, 0.5);

    (void)state;
    assert_true(counterspread_fits(&here, &there, 0.5));
    there.other += 2 * 45;
    assert_true(counterspread_fits(&here, &there, 0.5));
    there.other += 2 * 20;
    assert_false(counterspread_fits(&here, &there, 0.5));
    there = at(CK_TIME_S + CK_TIME_MS, 0.5);
    there.other -= 2 * 60;
    assert_false(counterspread_fits(&here, &there, 0.5));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_even_counter_is_published),
        cmocka_unit_test(an_uneven_one_is_not),
        cmocka_unit_test(one_that_went_back_is_not),
        cmocka_unit_test(a_coarse_one_is_not),
        cmocka_unit_test(one_beside_a_slow_clock_is_not),
        cmocka_unit_test(another_rate_withdraws_it),
        cmocka_unit_test(what_a_program_overwrote_is_put_back),
        cmocka_unit_test(a_later_collector_leaves_the_rate),
        cmocka_unit_test(this_machine_agrees),
        cmocka_unit_test(who_does_not_want_it_has_none),
        cmocka_unit_test(cpus_on_one_line_fit),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
