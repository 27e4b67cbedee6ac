/* test_endpoint.c - the text by which a ckagg is found, taken apart
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

#include "schema/endpoint.h"

#define CURVE "0123456789.-:+=^!/*?&<>()[]{}@%$#abcdefg"
#define TOKEN64                                                                \
    "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define U4 "tcp://h:1,tcp://h:2,tcp://h:3,tcp://h:4"
#define U16 U4 "," U4 "," U4 "," U4

static void urls_key_and_token_are_found(void **state)
{
    struct ck_endpoint endpoint;

    (void)state;
    assert_int_equal(
        ck_endpoint_parse("tcp://10.0.0.1:7,ipc:///a/b  curve=" CURVE
                          "\ttoken=bEEf\n",
                          &endpoint, NULL),
        0);
    assert_int_equal(endpoint.count, 2);
    assert_string_equal(endpoint.urls[0], "tcp://10.0.0.1:7");
    assert_string_equal(endpoint.urls[1], "ipc:///a/b");
    assert_string_equal(endpoint.curve, CURVE);
    assert_string_equal(endpoint.token, "bEEf");
}

static void a_text_is_taken_apart_and_put_together(void **state)
{
    static const char *const texts[] = {
        "tcp://10.0.0.1:7700",
        "tcp://[::1]:7,ipc:///tmp/x.sock",
        "tcp://h:1,tcp://h:65535 curve=" CURVE " token=abc",
        "ipc:///a token=" TOKEN64,
        U16,
    };
    char text[CK_ENDPOINT_TEXT_BYTES];
    struct ck_endpoint endpoint;

    (void)state;
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        assert_int_equal(ck_endpoint_parse(texts[i], &endpoint, NULL), 0);
        ck_endpoint_text(&endpoint, text, sizeof(text));
        assert_string_equal(text, texts[i]);
    }
}

/* Each with a word that its message has. */
static void what_is_no_endpoint_is_refused_with_its_word(void **state)
{
    static const struct {
        const char *text;
        const char *said;
    } rows[] = {
        {"", "no endpoint"},
        {"   ", "no endpoint"},
        {"token=ab", "no endpoint"},
        {"7700", "'7700'"},
        {"host:7700", "'host:7700'"},
        {"udp://h:1", "udp://h:1"},
        {"inproc://x", "inproc"},
        {"tcp://", "tcp://HOST:PORT"},
        {"tcp://:1", "tcp://HOST:PORT"},
        {"tcp://host", "tcp://HOST:PORT"},
        {"tcp://host:", "port"},
        {"tcp://host:http", "port"},
        {"tcp://host:0", "port"},
        {"tcp://host:*", "port"},
        {"tcp://host:65536", "65535"},
        {"tcp://host:99999999999999999999", "65535"},
        {"tcp://*:7700", "the host on which"},
        {"ipc://", "1 to 107"},
        {"tcp://a:1,,tcp://b:1", "''"},
        {"tcp://a:1,", "''"},
        {U16 ",tcp://h:5", "more than 16"},
        {"ipc:///a tcp://h:1", "second word"},
        {"tcp://h:1 what", "'what'"},
        {"tcp://h:1 curve=short", "curve="},
        {"tcp://h:1 curve=" CURVE "0", "curve="},
        {"tcp://h:1 curve=" CURVE " curve=" CURVE, "curve="},
        {"tcp://h:1 curve=~123456789012345678901234567890123456789", "curve="},
        {"tcp://h:1 token=", "token="},
        {"tcp://h:1 token=xyz", "token="},
        {"tcp://h:1 token=" TOKEN64 "0", "token="},
        {"tcp://h:1 token=a token=b", "token="},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct ck_endpoint endpoint = {.count = 77};
        struct ck_err err = {.text = ""};

        if (ck_endpoint_parse(rows[i].text, &endpoint, &err) == 0) {
            fail_msg("'%s' was taken", rows[i].text);
        }
        if (!strstr(err.text, rows[i].said)) {
            fail_msg("'%s': %s", rows[i].text, err.text);
        }
        assert_int_equal(endpoint.count, 77);
    }
}

static void the_whole_ready_line_is_an_endpoint(void **state)
{
    static const char *const lines[] = {
        "ckagg ready tcp://10.0.0.1:7700,ipc:///run/x token=0a run=/runs/a",
        ("  ckagg ready tcp://10.0.0.1:7700,ipc:///run/x token=0a run=/a b "
         "run=c\n"),
        "ckagg ready tcp://10.0.0.1:7700,ipc:///run/x token=0a",
        "tcp://10.0.0.1:7700,ipc:///run/x token=0a\n",
    };
    char text[CK_ENDPOINT_TEXT_BYTES];
    struct ck_endpoint endpoint;
    struct ck_err err;

    (void)state;
    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
        assert_int_equal(ck_endpoint_parse(lines[i], &endpoint, &err), 0);
        ck_endpoint_text(&endpoint, text, sizeof(text));
        assert_string_equal(text, "tcp://10.0.0.1:7700,ipc:///run/x token=0a");
    }
    assert_int_equal(ck_endpoint_parse("ckagg ready  run=/a", &endpoint, &err),
                     -1);
}

static void a_text_of_any_length_is_safe(void **state)
{
    char text[CK_ENDPOINT_TEXT_BYTES + 100];
    char url[300] = "tcp://";
    struct ck_endpoint endpoint;

    (void)state;
    memset(text, 'x', sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';
    assert_int_equal(ck_endpoint_parse(text, &endpoint, NULL), -1);
    memset(url + 6, 'h', sizeof(url) - 9);
    strcpy(url + sizeof(url) - 3, ":1");
    assert_int_equal(ck_endpoint_parse(url, &endpoint, NULL), -1);
}

static void a_socket_path_that_is_too_long_is_reported(void **state)
{
    char url[200] = "ipc:///";
    struct ck_err err;

    (void)state;
    memset(url + 7, 'x', 106);
    assert_int_equal(ck_endpoint_check_url(url, &err), 0);
    memset(url + 7, 'x', 107);
    assert_int_equal(ck_endpoint_check_url(url, &err), -1);
    assert_non_null(strstr(err.text, "1 to 107"));
}

static void to_listen_a_port_and_a_host_may_be_left_open(void **state)
{
    static const char *const good[] = {"tcp://*:*", "tcp://0.0.0.0:0",
                                       "tcp://127.0.0.1:7700", "ipc:///a"};
    static const char *const wrong[] = {"tcp://*:", "tcp://h:65536", "*",
                                        "tcp://h:1,tcp://h:2", "tcp://h:1 x"};

    (void)state;
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        assert_int_equal(ck_endpoint_check_listen(good[i], NULL), 0);
    }
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        assert_int_equal(ck_endpoint_check_listen(wrong[i], NULL), -1);
    }
}

static void loopback_is_known(void **state)
{
    (void)state;
    assert_true(ck_endpoint_is_loopback("tcp://127.0.0.1:1"));
    assert_true(ck_endpoint_is_loopback("tcp://127.8.8.8:1"));
    assert_true(ck_endpoint_is_loopback("tcp://[::1]:1"));
    assert_false(ck_endpoint_is_loopback("tcp://0.0.0.0:1"));
    assert_false(ck_endpoint_is_loopback("tcp://*:1"));
    assert_false(ck_endpoint_is_loopback("tcp://[::]:1"));
    assert_false(ck_endpoint_is_loopback("tcp://10.1.2.3:1"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(urls_key_and_token_are_found),
        cmocka_unit_test(a_text_is_taken_apart_and_put_together),
        cmocka_unit_test(what_is_no_endpoint_is_refused_with_its_word),
        cmocka_unit_test(the_whole_ready_line_is_an_endpoint),
        cmocka_unit_test(a_text_of_any_length_is_safe),
        cmocka_unit_test(a_socket_path_that_is_too_long_is_reported),
        cmocka_unit_test(to_listen_a_port_and_a_host_may_be_left_open),
        cmocka_unit_test(loopback_is_known),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
