/* test_meetdir.c - where agents meet when the known place is taken
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
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "agent/link/meetdir.h"
#include "tests/workdir.h"

#define AGENTS 24
#define PATH_BYTES 96

static void the_first_one_makes_it_and_it_stays(void **state)
{
    char first[PATH_BYTES], second[PATH_BYTES];
    struct stat st;

    (void)state;
    assert_int_equal(meetdir_find(work, first, sizeof(first), NULL), 0);
    assert_int_equal(stat(first, &st), 0);
    assert_int_equal(st.st_mode & 07777, 0700);
    assert_int_equal(meetdir_find(work, second, sizeof(second), NULL), 0);
    assert_string_equal(first, second);
}

static void what_others_may_read_is_left(void **state)
{
    char open[PATH_BYTES], found[PATH_BYTES];

    (void)state;
    (void)snprintf(open, sizeof(open), "%s/ck-meet-%u-000000", work,
                   (unsigned)geteuid());
    assert_int_equal(mkdir(open, 0700), 0);
    assert_int_equal(chmod(open, 0755), 0);
    assert_int_equal(meetdir_find(work, found, sizeof(found), NULL), 0);
    assert_string_not_equal(open, found);
    assert_int_equal(chmod(open, 0700), 0); /* the oldest now */
    assert_int_equal(meetdir_find(work, found, sizeof(found), NULL), 0);
    assert_string_equal(open, found);
}

/* All at once, the first of all included. */
static void agents_that_begin_at_once_find_one(void **state)
{
    char dirs[AGENTS][PATH_BYTES] = {{0}};
    int start[2], found[2];

    (void)state;
    assert_true(pipe(start) == 0 && pipe(found) == 0);
    for (int i = 0; i < AGENTS; i++) {
        if (fork() == 0) {
            (void)close(start[1]);
            (void)read(start[0], dirs[0], 1); /* until it is closed */
            _exit(meetdir_find(work, dirs[0], PATH_BYTES, NULL) != 0 ||
                  write(found[1], dirs[0], PATH_BYTES) != PATH_BYTES);
        }
    }
    (void)close(start[0]);
    (void)close(start[1]);
    for (int i = 0; i < AGENTS; i++) {
        int status = -1;

        assert_true(wait(&status) > 0);
        assert_int_equal(status, 0);
        assert_int_equal(read(found[0], dirs[i], PATH_BYTES), PATH_BYTES);
        assert_string_equal(dirs[i], dirs[0]);
    }
    (void)close(found[0]);
    (void)close(found[1]);
}

#define CASE(name) WORKDIR_CASE(name, workdir_setup)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(the_first_one_makes_it_and_it_stays),
        CASE(what_others_may_read_is_left),
        CASE(agents_that_begin_at_once_find_one),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
