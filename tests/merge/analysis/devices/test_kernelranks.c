/* test_kernelranks.c - a kernel that takes longer on one rank
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "merge/analysis/devices/kernelranks.h"

#define RANKS 4

static struct defs_rank numbers[KERNELRANKS_MAX + 1];
static struct defs defs;
static struct kernelranks *ranks;
static struct report_uneven_kernel row;

static int setup(void **state)
{
    (void)state;
    for (int i = 0; i <= KERNELRANKS_MAX; i++) {
        numbers[i].number = i + 10;
    }
    defs.ranks = numbers;
    defs.ranks_count = RANKS;
    ranks = kernelranks_create(&defs);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    kernelranks_destroy(ranks);
    return 0;
}

static void run(size_t kernel, uint32_t rank, unsigned calls, ck_time_t each)
{
    for (unsigned i = 0; i < calls; i++) {
        kernelranks_add(ranks, kernel, rank, each, 1);
    }
}

/* As many calls on each. */
static void run_all(size_t kernel, const ck_time_t each[RANKS])
{
    for (uint32_t i = 0; i < RANKS; i++) {
        run(kernel, i, 10, each[i]);
    }
}

static void the_slow_rank_is_found_with_what_it_cost(void **state)
{
    (void)state;
    run_all(0, (const ck_time_t[]){100, 100, 100, 100});
    run_all(1, (const ck_time_t[]){80, 120, 200, 100});
    assert_int_equal(kernelranks_worst(ranks, &row), 1);
    assert_int_equal(row.rank, 12);
    assert_int_equal(row.calls, 10);
    assert_int_equal(row.mean, 200);
    assert_int_equal(row.others_mean, 100); /* of 80, 100 and 120 */
    assert_int_equal(row.excess, 1000);
    assert_int_equal(row.rank_total, 3000);
    assert_int_equal(row.ranks, RANKS);
}

static void of_several_the_one_that_cost_most_counts(void **state)
{
    (void)state;
    run_all(0, (const ck_time_t[]){100, 400, 100, 100});
    run_all(1, (const ck_time_t[]){5000, 1000, 1000, 1000});
    run_all(2, (const ck_time_t[]){10, 10, 30, 10});
    assert_int_equal(kernelranks_worst(ranks, &row), 1);
    assert_int_equal(row.rank, 10);
}

/* Who recorded for longer has more calls, and who works more. */
static void more_calls_are_no_longer_ones(void **state)
{
    (void)state;
    run(0, 0, 100, 50);
    run(0, 1, 10, 50);
    assert_int_equal(kernelranks_worst(ranks, &row), -1);
}

static void parts_of_a_call_are_one(void **state)
{
    (void)state;
    run(0, 0, 4, 100);
    run(0, 1, 4, 60);
    for (int i = 0; i < 4; i++) {
        kernelranks_add(ranks, 0, 1, 40, 0);
    }
    assert_int_equal(kernelranks_worst(ranks, &row), -1);
}

static void little_is_not_worth_a_word(void **state)
{
    (void)state;
    /* Less than a tenth. */
    run_all(0, (const ck_time_t[]){1000, 1000, 1090, 1000});
    /* Twice as long, and a hundredth of all. */
    run_all(1, (const ck_time_t[]){10, 20, 10, 10});
    assert_int_equal(kernelranks_worst(ranks, &row), -1);
}

static void two_ranks_are_compared_with_each_other(void **state)
{
    (void)state;
    run(0, 1, 1, 100);
    run(0, 3, 1, 300);
    assert_int_equal(kernelranks_worst(ranks, &row), 0);
    assert_int_equal(row.rank, 13);
    assert_int_equal(row.others_mean, 100);
    assert_int_equal(row.ranks, 2);
}

static void a_kernel_of_one_rank_is_not_compared(void **state)
{
    (void)state;
    run(0, 1, 10, 100);
    run(1, 2, 10, 900);
    assert_int_equal(kernelranks_worst(ranks, &row), -1);
}

static void beyond_the_limit_nothing_is_compared(void **state)
{
    (void)state;
    defs.ranks_count = KERNELRANKS_MAX + 1;
    run(0, 0, 1, 100);
    run(0, 1, 1, 900);
    assert_int_equal(kernelranks_worst(ranks, &row), -1);
}

/* Any number of names takes some memory only. */
static void of_late_kernels_nothing_is_kept(void **state)
{
    (void)state;
    run_all(KERNELRANKS_SUMS / RANKS - 1, (const ck_time_t[]){1, 1, 9, 1});
    run_all(KERNELRANKS_SUMS / RANKS, (const ck_time_t[]){1, 1, 1, 900});
    run_all(SIZE_MAX / 2, (const ck_time_t[]){1, 1, 1, 900});
    assert_int_equal(kernelranks_worst(ranks, &row),
                     KERNELRANKS_SUMS / RANKS - 1);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(the_slow_rank_is_found_with_what_it_cost),
        CASE(of_several_the_one_that_cost_most_counts),
        CASE(more_calls_are_no_longer_ones),
        CASE(parts_of_a_call_are_one),
        CASE(little_is_not_worth_a_word),
        CASE(two_ranks_are_compared_with_each_other),
        CASE(a_kernel_of_one_rank_is_not_compared),
        CASE(beyond_the_limit_nothing_is_compared),
        CASE(of_late_kernels_nothing_is_kept),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
