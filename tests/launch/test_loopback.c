/* test_loopback.c - addresses of this machine alone
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "launch/loopback.h"

static void loopback_is_taken(void **state)
{
    static const char *const good[] = {"127.0.0.1:0", "127.0.0.1:8080",
                                       "127.0.0.2:80", "localhost:7701",
                                       "[::1]:7701"};
    struct ck_err err;

    (void)state;
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        assert_int_equal(ck_loopback_check(good[i], &err), 0);
    }
}

static void anything_else_is_refused(void **state)
{
    static const char *const bad[] = {
        "",          "127.0.0.1", "127.0.0.1:x",   "0.0.0.0:0",
        "*:0",       "[::]:80",   "192.0.2.1:80",  "example.org:80",
        "[::1:7701", "::1:7701]", "127.0.0.1:80x", "127.0.0.1.example.org:80"};
    struct ck_err err;

    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        assert_int_equal(ck_loopback_check(bad[i], &err), -1);
        assert_non_null(strstr(err.text, "give 127.0.0.1:PORT"));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(loopback_is_taken),
        cmocka_unit_test(anything_else_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
