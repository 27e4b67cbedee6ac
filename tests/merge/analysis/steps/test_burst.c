/* test_burst.c - what happened at once, and what comes again
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "merge/analysis/steps/burst.h"

static struct burst burst;

static int setup(void **state)
{
    (void)state;
    burst = (struct burst){.all = 0};
    return 0;
}

static void add(uint32_t rank, ck_time_t start, ck_time_t end)
{
    burst_add(&burst, rank, (struct region){start, end});
}

/* Two ranks wait a little in each of `count` steps of 100 from there on. */
static void usual(ck_time_t from, int count)
{
    for (int i = 0; i < count; i++) {
        add(0, from + 100 * i, from + 100 * i + 2);
        add(1, from + 100 * i + 1, from + 100 * i + 2);
    }
}

static void one_long_wait_of_several_ranks_is_one_event(void **state)
{
    (void)state;
    usual(0, 100);
    add(0, 10000, 12000);
    add(1, 10010, 12000);
    usual(12100, 100);
    assert_true(burst_is_single(&burst));
    assert_int_equal(burst.most.part.start, 10000);
    assert_int_equal(burst.most.part.end, 12000);
    assert_int_equal(burst.most.rank, 0);
    assert_int_equal(burst.most.ns, 2000 + 1990);
    assert_int_equal(burst.all, 2000 + 1990 + 200 * 3);
}

static void also_where_it_is_reported_late(void **state)
{
    (void)state;
    usual(0, 100);
    add(0, 10000, 12000);
    usual(12100, 5);
    add(1, 10010, 12000);
    usual(12600, 100);
    assert_true(burst_is_single(&burst));
    assert_int_equal(burst.most.ns, 2000 + 1990);
}

static void what_comes_in_each_step_is_none(void **state)
{
    (void)state;
    usual(0, 200);
    assert_false(burst_is_single(&burst));
}

static void two_of_the_same_size_are_none(void **state)
{
    (void)state;
    add(0, 0, 2000);
    usual(2100, 10);
    add(0, 5000, 7000);
    assert_false(burst_is_single(&burst));
}

static void less_than_half_of_all_is_none(void **state)
{
    (void)state;
    usual(0, 300);
    add(0, 40000, 40700);
    assert_false(burst_is_single(&burst));
    add(1, 40000, 40250);
    assert_true(burst_is_single(&burst));
}

/* Waits of ranks in turn, one behind the other without a gap. */
static void a_chain_of_waits_is_none(void **state)
{
    (void)state;
    for (int i = 0; i < 100; i++) {
        add((uint32_t)i % 4, 10 * i, 10 * i + 11);
    }
    assert_false(burst_is_single(&burst));
}

static void things_are_looked_at_together(void **state)
{
    struct burst other = {.all = 0};

    (void)state;
    usual(0, 10);
    add(0, 10000, 12000);
    burst_add(&other, 3, (struct region){10500, 12500});
    burst_add(&other, 3, (struct region){20000, 20010});
    burst_join(&other, &burst);
    assert_true(burst_is_single(&other));
    assert_int_equal(other.most.part.start, 10000);
    assert_int_equal(other.most.part.end, 12500);
    assert_int_equal(other.most.ns, 4000);
    assert_int_equal(other.all, 4000 + 10 + 30);
}

static void nothing_is_none(void **state)
{
    (void)state;
    assert_false(burst_is_single(&burst));
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup(name, setup)
    const struct CMUnitTest tests[] = {
        CASE(one_long_wait_of_several_ranks_is_one_event),
        CASE(also_where_it_is_reported_late),
        CASE(what_comes_in_each_step_is_none),
        CASE(two_of_the_same_size_are_none),
        CASE(less_than_half_of_all_is_none),
        CASE(a_chain_of_waits_is_none),
        CASE(things_are_looked_at_together),
        CASE(nothing_is_none),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
