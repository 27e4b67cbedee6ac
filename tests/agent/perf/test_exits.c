/* test_exits.c - the ends of processes, by the ends of their threads
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "agent/perf/exits.h"

static struct exits exits;

static int setup(void **state)
{
    (void)state;
    exits = (struct exits){0};
    return 0;
}

static ck_time_t find(uint32_t pid)
{
    return exits_find(&exits, pid, 0, false);
}

static void a_process_ends_with_the_last_of_its_threads(void **state)
{
    (void)state;
    exits_add(&exits, 7, 8, 100);
    assert_int_equal(find(7), 0); /* a thread of many */
    exits_add(&exits, 7, 7, 500);
    exits_add(&exits, 7, 9, 400); /* of another CPU's ring, read later */
    assert_int_equal(find(7), 500);
    exits_add(&exits, 7, 10, 600); /* the first one left before */
    assert_int_equal(find(7), 600);
    assert_int_equal(find(8), 0);
}

static void a_number_that_is_used_again_has_no_end(void **state)
{
    (void)state;
    exits_add(&exits, 7, 7, 500);
    exits_begin(&exits, 7, 400); /* its own exec, read later */
    assert_int_equal(find(7), 500);
    exits_begin(&exits, 7, 550);
    assert_int_equal(find(7), 0);
    exits_add(&exits, 7, 8, 600);
    assert_int_equal(find(7), 0);
}

static void one_that_is_pushed_out_is_not_known(void **state)
{
    (void)state;
    exits_add(&exits, 7, 7, 500);
    exits_add(&exits, 7 + EXITS_MAX, 8, 600);
    assert_int_equal(find(7), 0);
    assert_int_equal(find(7 + EXITS_MAX), 0);
    exits_begin(&exits, 7, 900);
    exits_add(&exits, 7 + EXITS_MAX, 7 + EXITS_MAX, 700);
    assert_int_equal(find(7 + EXITS_MAX), 700);
}

/* A thread's record is written before its memory is given back. */
static void what_lives_behind_its_end_gives_its_memory_back(void **state)
{
    (void)state;
    exits_add(&exits, 7, 7, 500);
    assert_int_equal(exits_find(&exits, 7, 530, false), 500);
    assert_int_equal(exits_find(&exits, 7, 530, true), 0); /* others' lost? */
    assert_int_equal(exits_find(&exits, 7, 499, true), 500);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(a_process_ends_with_the_last_of_its_threads,
                               setup),
        cmocka_unit_test_setup(a_number_that_is_used_again_has_no_end, setup),
        cmocka_unit_test_setup(one_that_is_pushed_out_is_not_known, setup),
        cmocka_unit_test_setup(what_lives_behind_its_end_gives_its_memory_back,
                               setup),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
