/* test_debugpackage.c - which package would have the symbols of a file
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "merge/debugpackage.h"
#include "tests/workdir.h"

static char info[] = "/tmp/ck-debugpackage.XXXXXX";
static char path[256];
static char package[64];

static void put(const char *name, const char *bytes, size_t length)
{
    FILE *file;

    (void)snprintf(path, sizeof(path), "%s/%s", info, name);
    file = fopen(path, "w");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, length, file), length);
    assert_int_equal(fclose(file), 0);
}

static void put_text(const char *name, const char *text)
{
    put(name, text, strlen(text));
}

static int setup(void **state)
{
    (void)state;
    strcpy(info + sizeof(info) - 7, "XXXXXX");
    return mkdtemp(info) == NULL;
}

static int teardown(void **state)
{
    (void)state;
    return workdir_remove(info);
}

static bool find(const char *file)
{
    return debugpackage_find(info, file, package, sizeof(package));
}

static void a_file_has_the_package_that_lists_it(void **state)
{
    (void)state;
    put_text("libfoo1:amd64.list", "/.\n/usr\n/usr/lib/libfoo.so.1.2\n");
    put_text("bar.list", "/.\n/usr/lib/libfoo.so.1.2.3\n/bin/bar\n");
    put_text("libfoo1:amd64.md5sums", "/opt/none\n");
    assert_true(find("/usr/lib/libfoo.so.1.2"));
    assert_string_equal(package, "libfoo1");
    assert_true(find("/usr/lib/libfoo.so.1.2.3"));
    assert_string_equal(package, "bar");
    assert_false(find("/usr/lib/libfoo.so.1"));
    assert_false(find("/opt/none"));
}

static void a_file_below_usr_may_be_listed_without_it(void **state)
{
    (void)state;
    put_text("libc6:amd64.list", "/lib/libc.so.6\n");
    put_text("tool.list", "/usr/bin/tool\n");
    assert_true(find("/usr/lib/libc.so.6"));
    assert_string_equal(package, "libc6");
    assert_true(find("/bin/tool"));
    assert_string_equal(package, "tool");
}

static void without_lists_there_is_no_package(void **state)
{
    (void)state;
    assert_false(debugpackage_find("/nowhere", "/bin/sh", package, 8));
    put_text("a-name-that-is-longer-than-there-is-room-for.list", "/bin/x\n");
    assert_false(debugpackage_find(info, "/bin/x", package, 8));
}

static void a_file_of_another_build_is_not_believed(void **state)
{
    static const char bytes[] = "\x7f"
                                "ELF....GNU\0\x01\x02\xfe\xff\x03\x04\x05\x06";

    (void)state;
    put("elf", bytes, sizeof(bytes));
    assert_false(debugpackage_is_build(path, "7f")); /* in any file */
    assert_true(debugpackage_is_build(path, "0102feff03040506"));
    assert_false(debugpackage_is_build(path, "0102feff03040507"));
    assert_false(debugpackage_is_build(path, ""));
    assert_false(debugpackage_is_build(path, "0102feff0304050"));
    assert_false(debugpackage_is_build(path, "01zzfeff03040506"));
    assert_false(debugpackage_is_build("/nowhere", "0102feff03040506"));
    assert_false(
        debugpackage_is_build(info, "0102feff03040506")); /* a folder */
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(a_file_has_the_package_that_lists_it),
        CASE(a_file_below_usr_may_be_listed_without_it),
        CASE(without_lists_there_is_no_package),
        CASE(a_file_of_another_build_is_not_believed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
