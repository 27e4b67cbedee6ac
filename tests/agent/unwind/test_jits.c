/* test_jits.c - whose files name the code of a process
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * The process is the test itself, with a page of code of its own making.
 */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "agent/unwind/codemaps.h"
#include "agent/unwind/jits.h"

static struct codemaps *codemaps;
static struct jits *jits;
static struct jitplace place;
static uint8_t *page;
static char path[64];

static int setup(void **state)
{
    (void)state;
    (void)snprintf(path, sizeof(path), "/tmp/perf-%d.map", (int)getpid());
    (void)unlink(path);
    page = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS,
                -1, 0);
    codemaps = codemaps_create();
    jits = jits_create(codemaps);
    return page == MAP_FAILED || codemaps == NULL || jits == NULL;
}

static int teardown(void **state)
{
    (void)state;
    (void)unlink(path);
    jits_destroy(jits);
    codemaps_destroy(codemaps);
    return munmap(page, 4096);
}

static void map_write(const char *name)
{
    FILE *file = fopen(path, "ae");

    assert_non_null(file);
    assert_true(
        fprintf(file, "%lx 20 %s\n", (unsigned long)(uintptr_t)page, name) > 0);
    assert_int_equal(fclose(file), 0);
}

static bool is_found(void)
{
    return jits_find(jits, getpid(), (uint64_t)(uintptr_t)page + 3, &place);
}

static void code_of_the_process_own_file_has_its_name(void **state)
{
    struct code code;

    (void)state;
    map_write("compiled");
    assert_true(
        codemaps_find(codemaps, getpid(), (uint64_t)(uintptr_t)page, &code));
    assert_true(
        codemaps_is_generated(codemaps, getpid(), (uint64_t)(uintptr_t)page));
    assert_false(codemaps_is_generated(codemaps, getpid(),
                                       (uint64_t)(uintptr_t)jits_find));
    assert_true(is_found());
    assert_string_equal(place.function, "compiled");
    assert_int_equal(jits_tally(jits).named, 1);
}

/* As it is in /proc/PID/status before the line of that name. */
static void a_name_that_looks_like_a_number_is_none(void **state)
{
    bool is_named;
    char name[16];

    (void)state;
    map_write("compiled");
    assert_int_equal(prctl(PR_GET_NAME, name), 0);
    assert_int_equal(prctl(PR_SET_NAME, "NSpid:\t7"), 0);
    is_named = is_found();
    assert_int_equal(prctl(PR_SET_NAME, name), 0);
    assert_true(is_named);
}

static void a_link_to_a_file_is_not_believed(void **state)
{
    char target[80];

    (void)state;
    map_write("compiled");
    (void)snprintf(target, sizeof(target), "%s.target", path);
    assert_int_equal(rename(path, target), 0);
    assert_int_equal(symlink(target, path), 0);
    assert_false(is_found());
    assert_int_equal(jits_tally(jits).refused, 1);
    (void)unlink(target);
}

static void what_is_no_file_is_not_believed(void **state)
{
    (void)state;
    assert_int_equal(mkfifo(path, 0600), 0);
    assert_false(is_found());
    assert_int_equal(jits_tally(jits).refused, 1);
}

/* Of an earlier process of that number. */
static void a_file_older_than_the_process_is_not_believed(void **state)
{
    struct timespec old[2] = {{.tv_sec = 1000}, {.tv_sec = 1000}};

    (void)state;
    map_write("compiled");
    assert_int_equal(utimensat(AT_FDCWD, path, old, 0), 0);
    assert_false(is_found());
    assert_int_equal(jits_tally(jits).refused, 1);
}

static void a_file_of_another_user_is_not_believed(void **state)
{
    (void)state;
    map_write("compiled");
    if (geteuid() != 0 || chown(path, 12345, 12345) != 0) {
        skip();
    }
    assert_false(is_found());
    assert_int_equal(jits_tally(jits).refused, 1);
}

static void a_file_that_grows_is_read_on(void **state)
{
    (void)state;
    map_write("first");
    assert_true(is_found());
    map_write("second");
    assert_true(is_found());
    assert_string_equal(place.function, "first"); /* nothing was asked for */
    for (int i = 0; i < 200; i++) {
        (void)jits_find(jits, getpid(), 1, &place); /* an unknown address */
        (void)usleep(10000);
        if (is_found() && strcmp(place.function, "second") == 0) {
            return;
        }
    }
    fail_msg("the second line was not read");
}

static void a_process_that_is_gone_has_no_names(void **state)
{
    (void)state;
    assert_false(jits_find(jits, 0x3ffffff1, 1, &place));
    jits_forget(jits, 0x3ffffff1);
    assert_int_equal(jits_tally(jits).unnamed, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(
            code_of_the_process_own_file_has_its_name, setup, teardown),
        cmocka_unit_test_setup_teardown(a_name_that_looks_like_a_number_is_none,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(a_link_to_a_file_is_not_believed, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(what_is_no_file_is_not_believed, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(
            a_file_older_than_the_process_is_not_believed, setup, teardown),
        cmocka_unit_test_setup_teardown(a_file_of_another_user_is_not_believed,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(a_file_that_grows_is_read_on, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(a_process_that_is_gone_has_no_names,
                                        setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
