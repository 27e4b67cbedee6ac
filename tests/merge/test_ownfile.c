/* test_ownfile.c - which files are ckmerge's
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>
#include <zlib.h>

#include "merge/ownfile.h"
#include "tests/workdir.h"

#define LONG 200000

static char path[160];

static int setup(void **state)
{
    if (workdir_setup(state) != 0) {
        return -1;
    }
    (void)snprintf(path, sizeof(path), "%s/file", work);
    return 0;
}

static bool is_own(const char *text, const char *columns)
{
    FILE *file = fopen(path, "we");

    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
    return ownfile_is(path, columns);
}

static void beginnings_of_formats_are_ours(void **state)
{
    static const char *const own[] = {
        "",
        "ck  train . 2 of 2 ranks\n",
        "{\"format\":\"ck.report\",\"version\":1}",
        "<!DOCTYPE html>\n<html><meta name=\"generator\" content=\"ck 0.1.0\">",
        "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n{}]}",
        "{\"ck\":{\"version\":\"0.1.0\"},\"lines\":[]}",
        "rank 0;thread main 7;main;f 12\nrank 1;thread main 8;g 3\n",
        "no rank;thread t;main 4",
        "rank 0;thread main 7;main;f 12 13\n",
        "rank3 11/12 [000] 1700000000.000000:          1 cpu-clock:\n\t0 f\n",
        "# TYPE ck_steps counter\n",
    };

    (void)state;
    for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++) {
        assert_true(is_own(own[i], NULL));
    }
}

static void what_is_like_them_is_not(void **state)
{
    static const char *const foreign[] = {
        "\n",
        "ck\n",
        "{}",
        "{\"traceEvents\":[]}",
        "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[{}]}",
        "{\"format\":\"other\"}",
        "<!DOCTYPE html>\n<html><title>ck 0.1.0</title>",
        "main;f 12\n",
        "rank;main 12\n",
        "rank 0 has failed 12\n",
        "rank 0;thread main 7;main;f\n",
        "rank 12",
        "rank3 11/12 [000] 1700000000.000000:          1 cycles:\n",
        "# TYPE up gauge\n",
        "<svg xmlns=\"http://www.w3.org/2000/svg\"></svg>",
        "SQLite format 3",
    };

    (void)state;
    for (size_t i = 0; i < sizeof(foreign) / sizeof(foreign[0]); i++) {
        assert_false(is_own(foreign[i], NULL));
    }
    assert_int_equal(unlink(path), 0);
    assert_false(ownfile_is(path, NULL));
}

static void a_table_has_its_columns(void **state)
{
    (void)state;
    assert_true(is_own("name,calls\r\n\"f\",3\r\n", "name calls"));
    assert_false(is_own("name,calls,more\r\n", "name calls"));
    assert_false(is_own("name,calls\n", "name calls"));
    assert_false(is_own("name", "name calls"));
    assert_false(is_own("ck  train\n", "name calls"));
}

static void the_first_line_of_stacks_may_be_long(void **state)
{
    static char line[LONG + 64];
    size_t used = (size_t)snprintf(line, sizeof(line), "rank 0;thread main 7");

    (void)state;
    while (used < LONG) {
        used += (size_t)snprintf(line + used, 64, ";a_function_%zu", used);
    }
    strcpy(line + used, " 12\n");
    assert_true(is_own(line, NULL));
    strcpy(line + used, "\n");
    assert_false(is_own(line, NULL));
}

static void gzip_is_looked_into(void **state)
{
    gzFile file = gzopen(path, "wb");

    (void)state;
    assert_non_null(file);
    assert_true(gzputs(file, "rank 0;thread main 7;main 12\n") > 0);
    assert_int_equal(gzclose(file), Z_OK);
    assert_true(ownfile_is(path, NULL));
    file = gzopen(path, "wb");
    assert_non_null(file);
    assert_true(gzputs(file, "main 12\n") > 0);
    assert_int_equal(gzclose(file), Z_OK);
    assert_false(ownfile_is(path, NULL));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WORKDIR_CASE(beginnings_of_formats_are_ours, setup),
        WORKDIR_CASE(what_is_like_them_is_not, setup),
        WORKDIR_CASE(a_table_has_its_columns, setup),
        WORKDIR_CASE(the_first_line_of_stacks_may_be_long, setup),
        WORKDIR_CASE(gzip_is_looked_into, setup),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
