/* test_livemerge.c - what a merge of a running job will cost
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "aggregator/live/livedir.h"
#include "aggregator/live/livemerge.h"

static const struct livemerge_cost none;

static void the_cost_grows_with_the_run(void **state)
{
    const struct livemerge_cost half = {CK_TIME_S / 2, 500};
    const struct livemerge_cost one = {CK_TIME_S, 1000};

    (void)state;
    assert_int_equal(livemerge_expect(&one, &half, 1000), CK_TIME_S);
    assert_int_equal(livemerge_expect(&one, &half, 3000), 3 * CK_TIME_S);
}

/* What a merge costs without any data: a first one of a few bytes does not put
 * the next one off by minutes. */
static void the_cost_of_a_merge_without_data_does_not_grow(void **state)
{
    const struct livemerge_cost first = {200 * CK_TIME_MS, 10000};
    const struct livemerge_cost second = {210 * CK_TIME_MS, 110000};

    (void)state;
    assert_in_range(livemerge_expect(&first, &none, 1000000), 200 * CK_TIME_MS,
                    300 * CK_TIME_MS);
    assert_int_equal(livemerge_expect(&second, &first, 1110000),
                     310 * CK_TIME_MS);
}

/* By two merges whose costs differ by chance it is no more than in proportion.
 */
static void the_cost_grows_no_faster_than_the_run(void **state)
{
    const struct livemerge_cost first = {100 * CK_TIME_MS, 1000000};
    const struct livemerge_cost second = {200 * CK_TIME_MS, 1000001};

    (void)state;
    assert_in_range(livemerge_expect(&second, &first, 3000003),
                    600 * CK_TIME_MS - 1, 600 * CK_TIME_MS);
}

static void a_run_whose_beginning_was_discarded_costs_no_less(void **state)
{
    const struct livemerge_cost one = {CK_TIME_S, 1000};

    (void)state;
    assert_int_equal(livemerge_expect(&one, &none, 10), CK_TIME_S);
}

static void the_first_merge_is_expected_to_cost_something(void **state)
{
    ck_time_t small = livemerge_expect(&none, &none, 1);

    (void)state;
    assert_true(small > 0);
    assert_true(livemerge_expect(&none, &none, (uint64_t)1 << 30) >
                10 * CK_TIME_S);
}

/* On a machine whose CPUs all have work it gets a tenth of one. */
static void
the_wall_time_is_enough_for_the_cpu_time_at_a_low_priority(void **state)
{
    (void)state;
    assert_true(livemerge_wall(0) >= 20 * CK_TIME_S);
    assert_true(livemerge_wall(10 * CK_TIME_S) >= 2 * 10 * 10 * CK_TIME_S);
    assert_true(livemerge_wall(10 * CK_TIME_S) < 3600 * CK_TIME_S);
}

/* No merge is begun of a run whose page is not asked for, of one without data,
 * before its cost is paid, or where it may not: each would make the directory.
 */
static void nothing_is_merged_that_is_not_due(void **state)
{
    char run[] = "/tmp/ck-live.XXXXXX";
    struct livemerge *merge;
    struct ck_err err;

    (void)state;
    assert_non_null(mkdtemp(run));
    merge = livemerge_create(run, CK_TIME_S);
    assert_non_null(merge);
    assert_int_equal(livemerge_look(merge, 1000, true, 3600 * CK_TIME_S, &err),
                     0);
    livemerge_want(merge, 3600 * CK_TIME_S);
    assert_int_equal(livemerge_look(merge, 0, true, 3601 * CK_TIME_S, &err), 0);
    assert_int_equal(livemerge_look(merge, 1000, false, 3601 * CK_TIME_S, &err),
                     0);
    assert_int_equal(
        livemerge_look(merge, (uint64_t)1 << 40, true, 3601 * CK_TIME_S, &err),
        0);
    assert_int_equal(livemerge_look(merge, 1000, true,
                                    3600 * CK_TIME_S + LIVEMERGE_WANTED, &err),
                     0);
    assert_false(livemerge_facts(merge).is_at_work);
    assert_int_equal(livemerge_facts(merge).number, 0);
    assert_string_equal(livemerge_metrics(merge), "");
    livemerge_destroy(merge);
    assert_int_equal(rmdir(run), 0); /* it is empty */
}

static void a_link_in_place_of_its_directory_is_not_followed(void **state)
{
    char run[] = "/tmp/ck-live.XXXXXX", path[64];
    struct livemerge *merge;
    struct ck_err err;
    ck_time_t now;

    (void)state;
    assert_non_null(mkdtemp(run));
    (void)snprintf(path, sizeof(path), "%s/" LIVEDIR_NAME, run);
    assert_int_equal(symlink("/tmp", path), 0);
    now = ck_time_raw();
    merge = livemerge_create(run, now);
    assert_non_null(merge);
    livemerge_want(merge, now + 60 * CK_TIME_S);
    now += 60 * CK_TIME_S;
    assert_int_equal(livemerge_look(merge, 1000, true, now, &err), -1);
    assert_non_null(strstr(err.text, path));
    assert_int_equal(livemerge_facts(merge).failed, 1);
    /* It is tried again, and reported no more. */
    now += 60 * CK_TIME_S;
    assert_int_equal(livemerge_look(merge, 2000, true, now, &err), 0);
    assert_int_equal(livemerge_facts(merge).failed, 2);
    livemerge_destroy(merge);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(rmdir(run), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_cost_grows_with_the_run),
        cmocka_unit_test(the_cost_of_a_merge_without_data_does_not_grow),
        cmocka_unit_test(the_cost_grows_no_faster_than_the_run),
        cmocka_unit_test(a_run_whose_beginning_was_discarded_costs_no_less),
        cmocka_unit_test(the_first_merge_is_expected_to_cost_something),
        cmocka_unit_test(
            the_wall_time_is_enough_for_the_cpu_time_at_a_low_priority),
        cmocka_unit_test(nothing_is_merged_that_is_not_due),
        cmocka_unit_test(a_link_in_place_of_its_directory_is_not_followed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
