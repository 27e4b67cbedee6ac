/* test_format.c - names of ckmerge's formats, with and without a file
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "launch/format.h"

static void a_format_is_alone_or_before_its_file(void **state)
{
    const char *file = "untouched";
    struct ck_err err;

    (void)state;
    assert_int_equal(ck_format_parse("text", &file, &err), CK_FORMAT_TEXT);
    assert_null(file);
    assert_int_equal(ck_format_parse("json=a=b", &file, &err), CK_FORMAT_JSON);
    assert_string_equal(file, "a=b");
    assert_int_equal(ck_format_parse("chrome=t.json.gz", &file, NULL),
                     CK_FORMAT_CHROME);
    assert_string_equal(file, "t.json.gz");
}

static void what_is_no_format_is_named_and_leaves_the_file(void **state)
{
    static const char *const wrong[] = {"",      "xml",   "jso",  "jsonx",
                                        "json=", "=file", "JSON", "text "};

    (void)state;
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        const char *file = "untouched";
        struct ck_err err = {.text = ""};

        assert_int_equal(ck_format_parse(wrong[i], &file, &err), -1);
        assert_non_null(strstr(err.text, wrong[i]));
        assert_non_null(strstr(err.text, CK_FORMAT_LIST));
        assert_string_equal(file, "untouched");
    }
}

static void stdout_is_for_one_of_them(void **state)
{
    static const char *const two[] = {"json=-", "svg-ledger"};
    static const char *const files[] = {"json",   "chrome", "html",   "sqlite",
                                        "folded", "text=a", "where=b"};
    struct ck_err err = {.text = ""};

    (void)state;
    assert_int_equal(ck_formats_check(two, 2, NULL, &err), -1);
    assert_non_null(
        strstr(err.text, "--output json=- and --output svg-ledger"));
    assert_null(strchr(err.text, '\n'));
    assert_int_equal(ck_formats_check(two, 1, NULL, &err), 0);
    assert_int_equal(ck_formats_check(files, 7, NULL, &err), 0);
    assert_int_equal(ck_formats_check(files, 7, "the profile", &err), -1);
    assert_non_null(strstr(err.text, "the profile and --output json"));
    assert_int_equal(ck_formats_check(NULL, 0, "the profile", &err), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stdout_is_for_one_of_them),
        cmocka_unit_test(a_format_is_alone_or_before_its_file),
        cmocka_unit_test(what_is_no_format_is_named_and_leaves_the_file),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
