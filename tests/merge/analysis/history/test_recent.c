/* test_recent.c - timed facts about threads, as far back as somebody asks
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "merge/analysis/history/recent.h"

static void add(struct recent *recent, ck_time_t start, ck_time_t end)
{
    struct recent_fact fact = {start, end, (uint64_t)start};

    assert_int_equal(recent_add(recent, 0, &fact, INT64_MIN), 0);
}

static ck_time_t first_from(const struct recent *recent, ck_time_t time)
{
    size_t count;
    const struct recent_fact *fact = recent_from(recent, 0, time, &count);

    return count == 0 ? -1 : fact->start;
}

static void the_fact_that_covers_a_time_comes_first(void **state)
{
    struct recent *recent = recent_create(2);

    (void)state;
    assert_int_equal(first_from(recent, 0), -1);
    add(recent, 10, 20);
    add(recent, 20, 30);
    add(recent, 40, 50);
    assert_int_equal(first_from(recent, 0), 10);
    assert_int_equal(first_from(recent, 10), 10);
    assert_int_equal(first_from(recent, 19), 10);
    assert_int_equal(first_from(recent, 20), 20);
    assert_int_equal(first_from(recent, 30), 40);
    assert_int_equal(first_from(recent, 49), 40);
    assert_int_equal(first_from(recent, 50), -1);
    recent_destroy(recent);
}

static void points_at_a_time_are_all_found(void **state)
{
    struct recent *recent = recent_create(1);
    size_t count;

    (void)state;
    add(recent, 5, 5);
    add(recent, 7, 7);
    add(recent, 7, 7);
    add(recent, 9, 9);
    assert_int_equal(recent_from(recent, 0, 7, &count)->start, 7);
    assert_int_equal(count, 3);
    assert_int_equal(first_from(recent, 6), 7);
    recent_destroy(recent);
}

static void what_ended_before_the_horizon_goes_and_the_rest_stays(void **state)
{
    struct recent *recent = recent_create(1);
    size_t count;

    (void)state;
    for (ck_time_t i = 0; i < 100000; i++) {
        struct recent_fact fact = {i * 10, i * 10 + 5, 1};

        /* Somebody still asks about the last 100 facts. */
        assert_int_equal(recent_add(recent, 0, &fact, i * 10 - 1000), 0);
    }
    (void)recent_from(recent, 0, 999990 - 1000, &count);
    assert_int_equal(count, 101);
    (void)recent_from(recent, 0, INT64_MIN, &count);
    assert_true(count < 2 * RECENT_MAX);
    recent_destroy(recent);
}

static void a_bound_holds_even_when_nobody_lets_go(void **state)
{
    struct recent *recent = recent_create(1);
    size_t count;

    (void)state;
    for (ck_time_t i = 0; i < 100000; i++) {
        add(recent, i, i + 1);
    }
    (void)recent_from(recent, 0, INT64_MIN, &count);
    assert_in_range(count, RECENT_MAX / 2, 2 * RECENT_MAX);
    assert_int_equal(first_from(recent, 99999), 99999);
    recent_destroy(recent);
}

static void many_threads_share_the_memory(void **state)
{
    struct recent *recent = recent_create(10000);
    size_t count;

    (void)state;
    for (ck_time_t i = 0; i < 10000; i++) {
        add(recent, i, i + 1);
    }
    (void)recent_from(recent, 0, INT64_MIN, &count);
    assert_in_range(count, RECENT_MIN / 2, 2 * RECENT_MIN);
    recent_destroy(recent);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_fact_that_covers_a_time_comes_first),
        cmocka_unit_test(points_at_a_time_are_all_found),
        cmocka_unit_test(what_ended_before_the_horizon_goes_and_the_rest_stays),
        cmocka_unit_test(a_bound_holds_even_when_nobody_lets_go),
        cmocka_unit_test(many_threads_share_the_memory),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
