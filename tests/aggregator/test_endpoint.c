/* test_endpoint.c - the text by which ckagg is found
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "aggregator/endpoint.h"

#define CURVE "0123456789012345678901234567890123456789"

static void a_text_is_taken_apart_and_put_together(void **state)
{
    static const char *const texts[] = {
        "tcp://10.0.0.1:7700",
        "tcp://[::1]:7,ipc:///tmp/x.sock",
        "tcp://h:1,tcp://h:2 curve=" CURVE " token=abc",
        "ipc:///a token=t",
    };
    char text[ENDPOINT_TEXT_BYTES];
    struct endpoint endpoint;

    (void)state;
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        assert_int_equal(endpoint_parse(texts[i], &endpoint, NULL), 0);
        endpoint_text(&endpoint, text, sizeof(text));
        assert_string_equal(text, texts[i]);
    }
}

static void what_is_no_endpoint_is_refused(void **state)
{
    static const char *const texts[] = {
        "",
        "   ",
        "curve=x",
        "foo",
        "tcp://",
        "tcp://host",
        "tcp://host:",
        "tcp://host:http",
        "ipc://",
        "inproc://x",
        "tcp://a:1,,tcp://b:1",
        "tcp://h:1 curve=" CURVE "0",
    };
    struct endpoint endpoint = {.urls_count = 77};
    struct ck_err err;

    (void)state;
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        if (endpoint_parse(texts[i], &endpoint, &err) == 0) {
            fail_msg("'%s' was taken", texts[i]);
        }
        assert_int_equal(endpoint.urls_count, 77);
    }
}

static void a_socket_path_that_is_too_long_is_said(void **state)
{
    char url[200] = "ipc:///";
    struct ck_err err;

    (void)state;
    memset(url + 7, 'x', 106);
    assert_int_equal(endpoint_check_url(url, &err), 0);
    memset(url + 7, 'x', 107);
    assert_int_equal(endpoint_check_url(url, &err), -1);
    assert_non_null(strstr(err.text, "1 to 107"));
}

static void loopback_is_known(void **state)
{
    (void)state;
    assert_true(endpoint_is_loopback("tcp://127.0.0.1:1"));
    assert_true(endpoint_is_loopback("tcp://127.8.8.8:1"));
    assert_true(endpoint_is_loopback("tcp://[::1]:1"));
    assert_false(endpoint_is_loopback("tcp://0.0.0.0:1"));
    assert_false(endpoint_is_loopback("tcp://*:1"));
    assert_false(endpoint_is_loopback("tcp://[::]:1"));
    assert_false(endpoint_is_loopback("tcp://10.1.2.3:1"));
}

static void a_wildcard_becomes_addresses(void **state)
{
    struct endpoint endpoint = {.urls_count = 0};

    (void)state;
    endpoint_add(&endpoint, "tcp://0.0.0.0:1234");
    assert_true(endpoint.urls_count > 0);
    assert_string_equal(endpoint.urls[endpoint.urls_count - 1],
                        "tcp://127.0.0.1:1234");
    for (size_t i = 0; i < endpoint.urls_count; i++) {
        assert_null(strstr(endpoint.urls[i], "0.0.0.0"));
        assert_null(strstr(endpoint.urls[i], "["));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_text_is_taken_apart_and_put_together),
        cmocka_unit_test(what_is_no_endpoint_is_refused),
        cmocka_unit_test(a_socket_path_that_is_too_long_is_said),
        cmocka_unit_test(loopback_is_known),
        cmocka_unit_test(a_wildcard_becomes_addresses),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
