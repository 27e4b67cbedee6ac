/* test_kernelask.c - variables without the C library
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "schema/kernelask.h"

static void a_variable_is_found_by_its_whole_name(void **state)
{
    char *env[] = {"AB=1", "A=2", "ABC", "A=3", "EMPTY=", NULL};

    (void)state;
    assert_string_equal(ck_start_env(env, "A"), "2");
    assert_string_equal(ck_start_env(env, "AB"), "1");
    assert_string_equal(ck_start_env(env, "EMPTY"), "");
    assert_null(ck_start_env(env, "ABC"));
    assert_null(ck_start_env(env, "B"));
}

/* A library that is opened behind clearenv() is given none. */
static void no_variables_are_none(void **state)
{
    char *env[] = {NULL};

    (void)state;
    assert_null(ck_start_env(env, "A"));
    assert_null(ck_start_env(NULL, "A"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_variable_is_found_by_its_whole_name),
        cmocka_unit_test(no_variables_are_none),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
