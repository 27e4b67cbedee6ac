/* test_ringdir.c - names and directories of ring files
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "schema/ring/ringdir.h"

static void the_second_directory_follows_tmpdir(void **state)
{
    char dirs[CK_RING_DIRS][CK_RING_DIR_BYTES];
    char expected[64];

    (void)state;
    (void)snprintf(expected, sizeof(expected), "/dev/shm/ck-%u",
                   (unsigned)geteuid());
    assert_int_equal(unsetenv("CK_TEST_RINGS"), 0);
    assert_int_equal(setenv("TMPDIR", "/some/where", 1), 0);
    ck_ring_dirs(dirs);
    assert_string_equal(dirs[0], expected);
    assert_memory_equal(dirs[1], "/some/where/ck-", 15);
    /* Not below a directory that depends on the working directory. */
    assert_int_equal(setenv("TMPDIR", "relative", 1), 0);
    ck_ring_dirs(dirs);
    assert_memory_equal(dirs[1], "/tmp/ck-", 8);
}

static void a_test_has_both_directories_of_its_own(void **state)
{
    char all[CK_RING_DIRS_MOST][CK_RING_DIR_BYTES];

    (void)state;
    assert_int_equal(setenv("TMPDIR", "/some/where", 1), 0);
    assert_int_equal(setenv("CK_TEST_RINGS", "/of/a/test", 1), 0);
    assert_int_equal(ck_ring_dirs_all(all), CK_RING_DIRS);
    for (size_t i = 0; i < CK_RING_DIRS; i++) {
        assert_memory_equal(all[i], "/of/a/test/", 11);
    }
    assert_string_not_equal(all[0], all[1]);
}

static void names_are_distinguished_from_others(void **state)
{
    static const struct {
        const char *name;
        bool is_ring;
        bool is_new;
    } cases[] = {
        {"0011223344556677.ring", true, false},
        {"0011223344556677.ring.new", false, true},
        {".ring", false, false},
        {"ring", false, false},
        {"", false, false},
        {"a.rings", false, false},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        assert_int_equal(ck_ring_is_name(cases[i].name), cases[i].is_ring);
        assert_int_equal(ck_ring_is_new_name(cases[i].name), cases[i].is_new);
    }
}

static void a_path_is_of_its_agent_and_fits(void **state)
{
    const uint8_t agent[16] = {0, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0xff, 9};
    char path[32];

    (void)state;
    assert_int_equal(ck_ring_path(path, sizeof(path), "/d", agent), 0);
    assert_string_equal(path, "/d/00112233445566ff.ring");
    assert_true(ck_ring_is_name(path + 3));
    assert_int_equal(ck_ring_path(path, 24, "/d", agent), -1);
    assert_int_equal(errno, ENAMETOOLONG);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_second_directory_follows_tmpdir),
        cmocka_unit_test(a_test_has_both_directories_of_its_own),
        cmocka_unit_test(names_are_distinguished_from_others),
        cmocka_unit_test(a_path_is_of_its_agent_and_fits),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
