/* test_libraries.c - paths that LD_PRELOAD can take
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
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "agent/front/libraries.h"
#include "tests/workdir.h"

/* An empty library in work/NAME. */
static void library_put(const char *name, char path[PATH_MAX])
{
    FILE *file;

    (void)snprintf(path, PATH_MAX, "%s/%s", work, name);
    assert_int_equal(mkdir(path, 0700), 0);
    strcat(path, "/lib.so");
    file = fopen(path, "w");
    assert_non_null(file);
    assert_int_equal(fclose(file), 0);
}

static void a_plain_path_is_taken_as_it_is(void **state)
{
    char loadable[PATH_MAX];

    (void)state;
    assert_int_equal(libraries_link("/a/b.so", work, loadable), 0);
    assert_string_equal(loadable, "/a/b.so");
    assert_int_equal(rmdir(work), 0);
}

static void blanks_and_colons_are_reached_by_a_link(void **state)
{
    static const char *const names[] = {"my programs", "a:b", "tab\there"};
    char path[PATH_MAX];
    char loadable[PATH_MAX];
    char again[PATH_MAX];

    (void)state;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        library_put(names[i], path);
        assert_int_equal(libraries_link(path, work, loadable), 0);
        assert_null(strpbrk(loadable, " :\t"));
        assert_int_equal(access(loadable, R_OK), 0);
        assert_int_equal(libraries_link(path, work, again), 0);
        assert_string_equal(loadable, again);
    }
}

static void a_link_that_leads_elsewhere_is_made_anew(void **state)
{
    char path[PATH_MAX];
    char loadable[PATH_MAX];
    char *slash;

    (void)state;
    library_put("my programs", path);
    assert_int_equal(libraries_link(path, work, loadable), 0);
    slash = strrchr(loadable, '/');
    *slash = '\0';
    assert_int_equal(unlink(loadable), 0);
    assert_int_equal(symlink("/nowhere", loadable), 0);
    assert_int_equal(libraries_link(path, work, loadable), 0);
    assert_int_equal(access(loadable, R_OK), 0);
}

static void without_a_place_for_the_link_it_is_refused(void **state)
{
    char path[PATH_MAX];
    char loadable[PATH_MAX];

    (void)state;
    library_put("my programs", path);
    assert_int_equal(libraries_link(path, "/no place", loadable), -1);
    assert_int_equal(libraries_link(path, "/no-such-place", loadable), -1);
}

int main(void)
{
#define CASE(name) WORKDIR_CASE(name, workdir_setup)
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(a_plain_path_is_taken_as_it_is, workdir_setup),
        CASE(blanks_and_colons_are_reached_by_a_link),
        CASE(a_link_that_leads_elsewhere_is_made_anew),
        CASE(without_a_place_for_the_link_it_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
