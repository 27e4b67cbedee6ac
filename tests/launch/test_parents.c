/* test_parents.c - directories above one that is to be made
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "launch/parents.h"
#include "tests/workdir.h"

static char path[160];

static const char *below(const char *name)
{
    (void)snprintf(path, sizeof(path), "%s/%s", work, name);
    return path;
}

static void missing_ones_are_made_with_the_rights_of_the_mask(void **state)
{
    mode_t mask = umask(027);
    struct stat status;

    (void)state;
    assert_true(ck_parents_create(below("a//b/run")));
    (void)umask(mask);
    assert_int_equal(stat(below("a/b"), &status), 0);
    assert_int_equal(status.st_mode & 0777, 0750);
    assert_int_not_equal(access(below("a/b/run"), F_OK), 0);
}

/* Where this one was late. */
static void those_that_another_rank_has_made_are_there(void **state)
{
    (void)state;
    assert_true(ck_parents_create(below("c/d/run")));
    assert_true(ck_parents_create(below("c/d/run")));
    assert_int_not_equal(access(below("c/d/run"), F_OK), 0);
}

static void where_none_can_be_made_there_is_nothing_to_try_again(void **state)
{
    FILE *file = fopen(below("file"), "we");

    (void)state;
    assert_non_null(file);
    assert_int_equal(fclose(file), 0);
    assert_false(ck_parents_create(below("file/run")));
    assert_false(ck_parents_create(below("file/more/run")));
    assert_false(ck_parents_create("/proc/nowhere/run"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WORKDIR_CASE(missing_ones_are_made_with_the_rights_of_the_mask,
                     workdir_setup),
        WORKDIR_CASE(those_that_another_rank_has_made_are_there, workdir_setup),
        WORKDIR_CASE(where_none_can_be_made_there_is_nothing_to_try_again,
                     workdir_setup),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
