/* test_json.c - the JSON writer
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <errno.h>
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "schema/json.h"

static void assert_text(struct ck_json *json, const char *expected)
{
    size_t length;

    assert_int_equal(ck_json_finish(json), 0);
    assert_string_equal(ck_json_text(json, &length), expected);
    assert_int_equal(length, strlen(expected));
    ck_json_destroy(json);
}

static void nested_values_are_written_compact(void **state)
{
    struct ck_json *j = ck_json_create(NULL, false);

    (void)state;
    ck_json_object(j, NULL);
    ck_json_string(j, "name", "train");
    ck_json_array(j, "ranks");
    ck_json_int(j, NULL, 0);
    ck_json_int(j, NULL, INT64_MIN);
    ck_json_uint(j, NULL, UINT64_MAX);
    ck_json_end(j);
    ck_json_bool(j, "ok", true);
    ck_json_bool(j, "bad", false);
    ck_json_null(j, "none");
    ck_json_array(j, "empty");
    assert_text(j, "{\"name\":\"train\",\"ranks\":[0,-9223372036854775808,"
                   "18446744073709551615],\"ok\":true,\"bad\":false,"
                   "\"none\":null,\"empty\":[]}");
}

static void pretty_is_a_line_a_value(void **state)
{
    struct ck_json *j = ck_json_create(NULL, true);

    (void)state;
    ck_json_object(j, NULL);
    ck_json_int(j, "a", 1);
    ck_json_array(j, "b");
    ck_json_int(j, NULL, 2);
    ck_json_end(j);
    ck_json_object(j, "c");
    ck_json_end(j);
    assert_text(j, "{\n  \"a\": 1,\n  \"b\": [\n    2\n  ],\n  \"c\": {}\n}\n");
}

static void strings_are_escaped(void **state)
{
    static const char *const cases[][2] = {
        {"plain", "\"plain\""},
        {"", "\"\""},
        {"q\"b\\", "\"q\\\"b\\\\\""},
        {"\b\f\n\r\t", "\"\\b\\f\\n\\r\\t\""},
        {"\x01\x1f\x7f", "\"\\u0001\\u001f\\u007f\""},
        {"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80",
         "\"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\""},
        {"a\xff"
         "b",
         "\"a\xef\xbf\xbd"
         "b\""},
        {"\xc3", "\"\xef\xbf\xbd\""},
        {"\xe2\x82", "\"\xef\xbf\xbd\xef\xbf\xbd\""},
        {"\xc0\x80", "\"\xef\xbf\xbd\xef\xbf\xbd\""},
        {"\xed\xa0\x80", "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\""},
        {"\xf4\x90\x80\x80",
         "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\""},
        {"\xe0\x80\x80", "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\""},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct ck_json *j = ck_json_create(NULL, false);

        ck_json_string(j, NULL, cases[i][0]);
        assert_text(j, cases[i][1]);
    }
}

static void doubles_are_the_shortest_that_read_back(void **state)
{
    static const struct {
        double value;
        const char *text;
    } cases[] = {
        {0.1, "0.1"},
        {0, "0"},
        {1e300, "1e+300"},
        {1.0 / 3, "0.3333333333333333"},
        {5e-324, "5e-324"},
        {NAN, "null"},
        {INFINITY, "null"},
        {0.1 + 0.2, "0.30000000000000004"},
        {DBL_MAX, "1.7976931348623157e+308"},
        {-2.5, "-2.5"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct ck_json *j = ck_json_create(NULL, false);

        ck_json_double(j, NULL, cases[i].value);
        assert_text(j, cases[i].text);
    }
}

static void a_text_is_taken_whole_and_a_failure_gives_none(void **state)
{
    struct ck_json *json = ck_json_create(NULL, false);
    char *text;

    (void)state;
    ck_json_object(json, NULL);
    ck_json_int(json, "a", 1); /* left open */
    text = ck_json_take(json);
    assert_string_equal(text, "{\"a\":1}");
    free(text);
    json = ck_json_create(NULL, false);
    ck_json_end(json);
    errno = 0;
    assert_null(ck_json_take(json));
    assert_int_not_equal(errno, 0);
}

static void a_file_gets_everything(void **state)
{
    FILE *file = tmpfile();
    struct ck_json *j = ck_json_create(file, false);

    (void)state;
    ck_json_array(j, NULL);
    for (int i = 0; i < 100000; i++) {
        ck_json_int(j, NULL, 7);
    }
    assert_int_equal(ck_json_finish(j), 0);
    assert_int_equal(ftell(file), 2 * 100000 + 1);
    ck_json_destroy(j);
    (void)fclose(file);
}

static void a_full_device_is_reported(void **state)
{
    FILE *file = fopen("/dev/full", "w");
    struct ck_json *j;

    (void)state;
    if (file == NULL) {
        print_message("skipped: no /dev/full\n");
        skip();
    }
    j = ck_json_create(file, false);
    ck_json_int(j, NULL, 7);
    assert_int_equal(ck_json_finish(j), -1);
    assert_int_equal(errno, ENOSPC);
    ck_json_destroy(j);
    (void)fclose(file);
}

static void too_deep_or_unbalanced_is_reported(void **state)
{
    struct ck_json *j = ck_json_create(NULL, false);

    (void)state;
    for (int i = 0; i < 65; i++) {
        ck_json_array(j, NULL);
    }
    assert_int_equal(ck_json_finish(j), -1);
    ck_json_destroy(j);
    j = ck_json_create(NULL, false);
    ck_json_end(j);
    assert_int_equal(ck_json_finish(j), -1);
    ck_json_destroy(j);
    ck_json_destroy(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nested_values_are_written_compact),
        cmocka_unit_test(pretty_is_a_line_a_value),
        cmocka_unit_test(strings_are_escaped),
        cmocka_unit_test(doubles_are_the_shortest_that_read_back),
        cmocka_unit_test(a_text_is_taken_whole_and_a_failure_gives_none),
        cmocka_unit_test(a_file_gets_everything),
        cmocka_unit_test(a_full_device_is_reported),
        cmocka_unit_test(too_deep_or_unbalanced_is_reported),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
