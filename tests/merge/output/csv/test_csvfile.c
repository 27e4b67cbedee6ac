/* test_csvfile.c - fields of a table: quoted, no formula, valid UTF-8
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "merge/output/csv/csvfile.h"

static void hostile_texts_stay_in_their_field(void **state)
{
    static const char *const texts[] = {"a,b",     "say \"no\"", "two\nlines",
                                        "=1+1",    "-x,y",       "@sum",
                                        "\xff ok", "",           "plain"};
    static const char expected[] = "text number\r\n"
                                   "\"a,b\",0\r\n"
                                   "\"say \"\"no\"\"\",1\r\n"
                                   "\"two\nlines\",2\r\n"
                                   "'=1+1,3\r\n"
                                   "\"'-x,y\",4\r\n"
                                   "'@sum,5\r\n"
                                   "\xef\xbf\xbd ok,6\r\n"
                                   ",7\r\n"
                                   "plain,8\r\n";
    char dir[] = "/tmp/ck-csv.XXXXXX", path[64], have[512] = "";
    struct csvfile csv;
    struct ck_err err;
    FILE *file;
    size_t length;

    (void)state;
    assert_non_null(mkdtemp(dir));
    (void)snprintf(path, sizeof(path), "%s/t.csv", dir);
    assert_int_equal(csvfile_open(&csv, dir, "t", "text number", &err), 0);
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        csvfile_text(&csv, texts[i]);
        csvfile_int(&csv, (int64_t)i);
        csvfile_row(&csv);
    }
    assert_int_equal(csvfile_close(&csv, &err), 0);
    file = fopen(path, "r");
    assert_non_null(file);
    length = fread(have, 1, sizeof(have) - 1, file);
    (void)fclose(file);
    have[length] = '\0';
    assert_string_equal(strchr(have, '\r'), strchr(expected, '\r'));
    assert_memory_equal(have, "text,number", 11);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(rmdir(dir), 0);
}

static void a_folder_that_is_not_there_is_an_error(void **state)
{
    struct csvfile csv;
    struct ck_err err = {""};

    (void)state;
    assert_int_equal(csvfile_open(&csv, "/nowhere/at/all", "t", "a", &err), -1);
    assert_non_null(strstr(err.text, "/nowhere/at/all/t.csv"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hostile_texts_stay_in_their_field),
        cmocka_unit_test(a_folder_that_is_not_there_is_an_error),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
