/* test_endpoint.c - what ckagg listens on
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "aggregator/endpoint.h"

static void a_wildcard_becomes_addresses(void **state)
{
    struct ck_endpoint endpoint = {.count = 0};

    (void)state;
    endpoint_add(&endpoint, "tcp://0.0.0.0:1234");
    assert_true(endpoint.count > 0);
    assert_string_equal(endpoint.urls[endpoint.count - 1],
                        "tcp://127.0.0.1:1234");
    for (size_t i = 0; i < endpoint.count; i++) {
        assert_null(strstr(endpoint.urls[i], "0.0.0.0"));
        assert_null(strstr(endpoint.urls[i], "["));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_wildcard_becomes_addresses),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
