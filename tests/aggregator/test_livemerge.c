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

#include "aggregator/livemerge.h"

static void the_cost_grows_with_the_run(void **state)
{
    (void)state;
    assert_int_equal(livemerge_expect(CK_TIME_S, 1000, 1000), CK_TIME_S);
    assert_int_equal(livemerge_expect(CK_TIME_S, 1000, 3000), 3 * CK_TIME_S);
}

static void a_run_whose_beginning_was_discarded_costs_no_less(void **state)
{
    (void)state;
    assert_int_equal(livemerge_expect(CK_TIME_S, 1000, 10), CK_TIME_S);
}

static void the_first_merge_is_expected_to_cost_something(void **state)
{
    ck_time_t small = livemerge_expect(0, 0, 1);

    (void)state;
    assert_true(small > 0);
    assert_true(livemerge_expect(0, 0, (uint64_t)1 << 30) > 10 * CK_TIME_S);
}

/* No merge is begun of a run that nobody looks at, of one without data, before
 * its cost is paid, or where it may not: each would make the directory. */
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

    (void)state;
    assert_non_null(mkdtemp(run));
    (void)snprintf(path, sizeof(path), "%s/" LIVEMERGE_DIR, run);
    assert_int_equal(symlink("/tmp", path), 0);
    merge = livemerge_create(run, CK_TIME_S);
    assert_non_null(merge);
    livemerge_want(merge, 3600 * CK_TIME_S);
    assert_int_equal(livemerge_look(merge, 1000, true, 3600 * CK_TIME_S, &err),
                     -1);
    assert_non_null(strstr(err.text, path));
    assert_int_equal(livemerge_facts(merge).failed, 1);
    livemerge_destroy(merge);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(rmdir(run), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_cost_grows_with_the_run),
        cmocka_unit_test(a_run_whose_beginning_was_discarded_costs_no_less),
        cmocka_unit_test(the_first_merge_is_expected_to_cost_something),
        cmocka_unit_test(nothing_is_merged_that_is_not_due),
        cmocka_unit_test(a_link_in_place_of_its_directory_is_not_followed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
