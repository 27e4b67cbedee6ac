/* test_endpoint.c - endpoint text, taken apart
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "agent/endpoint.h"

#define KEY "abcdefghijabcdefghijabcdefghijabcdefghij"

static void urls_key_and_token_are_found(void **state)
{
    struct endpoint endpoint;
    struct ck_err err;

    (void)state;
    assert_int_equal(endpoint_parse("tcp://10.0.0.1:7,ipc:///a/b curve=" KEY
                                    " token=beef",
                                    &endpoint, &err),
                     0);
    assert_int_equal(endpoint.count, 2);
    assert_string_equal(endpoint.urls[0], "tcp://10.0.0.1:7");
    assert_string_equal(endpoint.urls[1], "ipc:///a/b");
    assert_string_equal(endpoint.curve, KEY);
    assert_string_equal(endpoint.token, "beef");
}

static void words_may_be_separated_by_blanks_too(void **state)
{
    struct endpoint endpoint;

    (void)state;
    assert_int_equal(endpoint_parse("ipc:///a tcp://h:1\n", &endpoint, NULL),
                     0);
    assert_int_equal(endpoint.count, 2);
    assert_string_equal(endpoint.curve, "");
    assert_string_equal(endpoint.token, "");
}

static void what_names_no_aggregator_is_refused(void **state)
{
    static const char *const wrong[] = {"",
                                        "7700",
                                        "host:7700",
                                        "udp://h:1",
                                        "tcp://",
                                        ("curve=" KEY),
                                        "tcp://h:1 curve=short",
                                        "tcp://h:1 what"};

    (void)state;
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        struct endpoint endpoint = {.count = 77};
        struct ck_err err = {.text = ""};

        assert_int_equal(endpoint_parse(wrong[i], &endpoint, &err), -1);
        assert_non_null(strstr(err.text, "aggregator"));
        assert_int_equal(endpoint.count, 77);
    }
}

static void urls_beyond_the_bound_are_left_out(void **state)
{
    char text[ENDPOINT_URLS * 2 * 16] = "tcp://h:1";
    struct endpoint endpoint;

    (void)state;
    for (int i = 1; i < ENDPOINT_URLS * 2; i++) {
        strcat(text, ",tcp://h:1");
    }
    assert_int_equal(endpoint_parse(text, &endpoint, NULL), 0);
    assert_int_equal(endpoint.count, ENDPOINT_URLS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(urls_key_and_token_are_found),
        cmocka_unit_test(words_may_be_separated_by_blanks_too),
        cmocka_unit_test(what_names_no_aggregator_is_refused),
        cmocka_unit_test(urls_beyond_the_bound_are_left_out),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
