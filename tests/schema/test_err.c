/* test_err.c - the text of an error
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <errno.h>
#include <string.h>

#include <cmocka.h>

#include "schema/err.h"

static void it_returns_minus_one_and_keeps_errno(void **state)
{
    struct ck_err err;

    (void)state;
    errno = ENOSPC;
    assert_int_equal(ck_err_set(&err, "disk %s: %d", "full", 7), -1);
    assert_int_equal(errno, ENOSPC);
    assert_string_equal(err.text, "disk full: 7");
    assert_int_equal(ck_err_set(NULL, "nobody reads this"), -1);
}

static void a_long_text_is_cut(void **state)
{
    struct ck_err err;

    (void)state;
    (void)ck_err_set(&err, "%2000s", "x");
    assert_int_equal(strlen(err.text), CK_ERR_BYTES - 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_returns_minus_one_and_keeps_errno),
        cmocka_unit_test(a_long_text_is_cut),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
