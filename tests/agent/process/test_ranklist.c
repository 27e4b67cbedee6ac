/* test_ranklist.c - lists of ranks
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "agent/process/ranklist.h"

static void numbers_and_ranges_are_in_the_list(void **state)
{
    struct ck_err err;

    (void)state;
    assert_int_equal(ranklist_check("3,0,5-7", &err), 0);
    assert_true(ranklist_has("3,0,5-7", 0));
    assert_true(ranklist_has("3,0,5-7", 6));
    assert_false(ranklist_has("3,0,5-7", 4));
    assert_int_equal(ranklist_first("3,2,5-7"), 2);
    assert_int_equal(ranklist_count("3,0,5-7", 6), 3);
    assert_int_equal(ranklist_count("3,0,5-7", 0), 0);
}

static void no_list_is_all_ranks(void **state)
{
    (void)state;
    assert_true(ranklist_has(NULL, 99));
    assert_int_equal(ranklist_first(NULL), 0);
    assert_int_equal(ranklist_count(NULL, 4), 4);
}

static void
ranks_that_a_job_does_not_have_are_not_taken_for_its_own(void **state)
{
    (void)state;
    assert_false(ranklist_is_beyond("0-3", 4));
    assert_true(ranklist_is_beyond("0-4", 4));
    assert_true(ranklist_is_beyond("63,0", 4));
    assert_false(ranklist_is_beyond("63,0", 0));
    assert_false(ranklist_is_beyond(NULL, 4));
}

static void what_is_no_list_is_refused_with_the_text(void **state)
{
    static const char *const wrong[] = {"",    "a",    "1-",         "-1",
                                        "2-1", "1,,2", "1 2",        "1,",
                                        "1;2", "0x1",  "99999999999"};

    (void)state;
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        struct ck_err err = {.text = ""};

        assert_int_equal(ranklist_check(wrong[i], &err), -1);
        assert_non_null(strstr(err.text, "--ranks"));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_and_ranges_are_in_the_list),
        cmocka_unit_test(no_list_is_all_ranks),
        cmocka_unit_test(
            ranks_that_a_job_does_not_have_are_not_taken_for_its_own),
        cmocka_unit_test(what_is_no_list_is_refused_with_the_text),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
