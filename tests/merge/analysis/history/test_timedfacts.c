/* test_timedfacts.c - timed facts about threads, as far back as a client asks
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "merge/analysis/history/timedfacts.h"

static void add(struct timedfacts *timedfacts, ck_time_t start, ck_time_t end)
{
    struct timedfacts_fact fact = {start, end, (uint64_t)start};

    timedfacts_add(timedfacts, 0, &fact, INT64_MIN);
}

static ck_time_t first_from(const struct timedfacts *timedfacts, ck_time_t time)
{
    size_t count;
    const struct timedfacts_fact *fact =
        timedfacts_from(timedfacts, 0, time, &count);

    return count == 0 ? -1 : fact->start;
}

static void the_fact_that_covers_a_time_comes_first(void **state)
{
    struct timedfacts *timedfacts = timedfacts_create(2);

    (void)state;
    assert_int_equal(first_from(timedfacts, 0), -1);
    add(timedfacts, 10, 20);
    add(timedfacts, 20, 30);
    add(timedfacts, 40, 50);
    assert_int_equal(first_from(timedfacts, 0), 10);
    assert_int_equal(first_from(timedfacts, 10), 10);
    assert_int_equal(first_from(timedfacts, 19), 10);
    assert_int_equal(first_from(timedfacts, 20), 20);
    assert_int_equal(first_from(timedfacts, 30), 40);
    assert_int_equal(first_from(timedfacts, 49), 40);
    assert_int_equal(first_from(timedfacts, 50), -1);
    timedfacts_destroy(timedfacts);
}

static void points_at_a_time_are_all_found(void **state)
{
    struct timedfacts *timedfacts = timedfacts_create(1);
    size_t count;

    (void)state;
    add(timedfacts, 5, 5);
    add(timedfacts, 7, 7);
    add(timedfacts, 7, 7);
    add(timedfacts, 9, 9);
    assert_int_equal(timedfacts_from(timedfacts, 0, 7, &count)->start, 7);
    assert_int_equal(count, 3);
    assert_int_equal(first_from(timedfacts, 6), 7);
    timedfacts_destroy(timedfacts);
}

static void what_ended_before_the_horizon_goes_and_the_rest_stays(void **state)
{
    struct timedfacts *timedfacts = timedfacts_create(1);
    size_t count;

    (void)state;
    for (ck_time_t i = 0; i < 100000; i++) {
        struct timedfacts_fact fact = {i * 10, i * 10 + 5, 1};

        /* A client still asks about the last 100 facts. */
        timedfacts_add(timedfacts, 0, &fact, i * 10 - 1000);
    }
    (void)timedfacts_from(timedfacts, 0, 999990 - 1000, &count);
    assert_int_equal(count, 101);
    (void)timedfacts_from(timedfacts, 0, INT64_MIN, &count);
    assert_true(count < 2 * TIMEDFACTS_MAX);
    timedfacts_destroy(timedfacts);
}

static void a_bound_holds_even_when_no_client_lets_go(void **state)
{
    struct timedfacts *timedfacts = timedfacts_create(1);
    size_t count;

    (void)state;
    for (ck_time_t i = 0; i < 100000; i++) {
        add(timedfacts, i, i + 1);
    }
    (void)timedfacts_from(timedfacts, 0, INT64_MIN, &count);
    assert_in_range(count, TIMEDFACTS_MAX / 2, 2 * TIMEDFACTS_MAX);
    assert_int_equal(first_from(timedfacts, 99999), 99999);
    timedfacts_destroy(timedfacts);
}

static void many_threads_share_the_memory(void **state)
{
    struct timedfacts *timedfacts = timedfacts_create(10000);
    size_t count;

    (void)state;
    for (ck_time_t i = 0; i < 10000; i++) {
        add(timedfacts, i, i + 1);
    }
    (void)timedfacts_from(timedfacts, 0, INT64_MIN, &count);
    assert_in_range(count, TIMEDFACTS_MIN / 2, 2 * TIMEDFACTS_MIN);
    timedfacts_destroy(timedfacts);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_fact_that_covers_a_time_comes_first),
        cmocka_unit_test(points_at_a_time_are_all_found),
        cmocka_unit_test(what_ended_before_the_horizon_goes_and_the_rest_stays),
        cmocka_unit_test(a_bound_holds_even_when_no_client_lets_go),
        cmocka_unit_test(many_threads_share_the_memory),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
