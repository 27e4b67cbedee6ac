/* test_livedir.c - where merges of a running job write
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "aggregator/live/livedir.h"

static char run[] = "/tmp/ck-livedir.XXXXXX";
static char live[64];

static int run_make(void **state)
{
    (void)state;
    strcpy(run + strlen(run) - 6, "XXXXXX");
    if (mkdtemp(run) == NULL) {
        return -1;
    }
    (void)snprintf(live, sizeof(live), "%s/" LIVEDIR_NAME, run);
    return 0;
}

static int run_remove(void **state)
{
    (void)state;
    return rmdir(run); /* each case leaves it empty */
}

static int remove_it(void)
{
    int fd = open(run, O_RDONLY | O_DIRECTORY);
    int rc = livedir_remove(fd);

    (void)close(fd);
    return rc;
}

static void file_make(const char *name)
{
    char path[128];
    FILE *file;

    (void)snprintf(path, sizeof(path), "%s/%s", live, name);
    file = fopen(path, "w");
    assert_non_null(file);
    assert_int_equal(fclose(file), 0);
}

static void it_is_of_this_user_alone(void **state)
{
    mode_t mask = umask(0);
    struct stat facts;
    struct ck_err err;

    (void)state;
    assert_int_equal(livedir_make(run, &err), 0);
    (void)umask(mask);
    assert_int_equal(stat(live, &facts), 0);
    assert_int_equal(facts.st_mode & 07777, 0700);
    assert_int_equal(livedir_check(run, &err), 0);
    assert_int_equal(remove_it(), 0);
}

static void one_that_was_opened_to_others_is_refused(void **state)
{
    struct ck_err err;

    (void)state;
    assert_int_equal(livedir_make(run, &err), 0);
    assert_int_equal(chmod(live, 0777), 0);
    assert_int_equal(livedir_check(run, &err), -1);
    assert_non_null(strstr(err.text, live));
    assert_int_equal(remove_it(), 0);
}

/* A killed ckmerge leaves temporary files; another may have planted some. */
static void what_an_earlier_one_left_is_removed(void **state)
{
    char path[128];
    struct stat facts;
    struct ck_err err;

    (void)state;
    assert_int_equal(mkdir(live, 0777), 0);
    assert_int_equal(chmod(live, 0777), 0);
    file_make("report.html.Xy12ab");
    file_make(".hidden");
    assert_int_equal(livedir_make(run, &err), 0);
    assert_int_equal(stat(live, &facts), 0);
    assert_int_equal(facts.st_mode & 07777, 0700);
    (void)snprintf(path, sizeof(path), "%s/.hidden", live);
    assert_int_equal(access(path, F_OK), -1);
    file_make("report.html");
    assert_int_equal(remove_it(), 0);
    assert_int_equal(access(live, F_OK), -1);
    assert_int_equal(remove_it(), 0); /* it is not there */
}

static void a_link_is_neither_followed_nor_removed(void **state)
{
    char other[] = "/tmp/ck-livedir-other.XXXXXX", file[64];
    struct ck_err err;

    (void)state;
    assert_non_null(mkdtemp(other));
    (void)snprintf(file, sizeof(file), "%s/kept", other);
    assert_int_equal(mkdir(file, 0700), 0);
    assert_int_equal(symlink(other, live), 0);
    assert_int_equal(livedir_make(run, &err), -1);
    assert_int_equal(livedir_check(run, &err), -1);
    assert_int_equal(remove_it(), -1);
    assert_int_equal(access(file, F_OK), 0);
    assert_int_equal(unlink(live), 0);
    assert_int_equal(rmdir(file), 0);
    assert_int_equal(rmdir(other), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(it_is_of_this_user_alone, run_make,
                                        run_remove),
        cmocka_unit_test_setup_teardown(
            one_that_was_opened_to_others_is_refused, run_make, run_remove),
        cmocka_unit_test_setup_teardown(what_an_earlier_one_left_is_removed,
                                        run_make, run_remove),
        cmocka_unit_test_setup_teardown(a_link_is_neither_followed_nor_removed,
                                        run_make, run_remove),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
