/* test_descendants.c - kinship by the kernel's words, and by /proc
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

#include <cmocka.h>

#include "agent/process/descendants.h"

/* Numbers that no process has. */
#define TARGET 0x30000000
#define CHILD (TARGET + 1)
#define GRANDCHILD (TARGET + 2)
#define STRANGER (TARGET + 3)

static void children_of_kin_are_kin_and_others_are_strangers(void **state)
{
    struct descendants *descendants = descendants_create(TARGET, true);

    (void)state;
    descendants_forked(descendants, CHILD, TARGET, 10);
    descendants_forked(descendants, GRANDCHILD, CHILD, 20);
    descendants_forked(descendants, STRANGER, STRANGER + 1, 30);
    assert_true(descendants_has(descendants, TARGET));
    assert_true(descendants_has(descendants, CHILD));
    assert_true(descendants_has(descendants, GRANDCHILD));
    assert_false(descendants_has(descendants, STRANGER));
    descendants_destroy(descendants);
}

static void a_number_that_a_stranger_got_is_no_kin_any_more(void **state)
{
    struct descendants *descendants = descendants_create(TARGET, true);

    (void)state;
    descendants_forked(descendants, CHILD, TARGET, 10);
    descendants_forked(descendants, CHILD, STRANGER, 20);
    assert_false(descendants_has(descendants, CHILD));
    descendants_destroy(descendants);
}

static void a_fork_that_was_not_seen_is_looked_up(void **state)
{
    struct descendants *descendants = descendants_create(getppid(), true);
    struct descendants *other = descendants_create(TARGET, true);

    (void)state;
    assert_true(descendants_has(descendants, (uint32_t)getpid()));
    assert_false(descendants_has(other, (uint32_t)getpid()));
    descendants_destroy(other);
    descendants_destroy(descendants);
}

static void without_strangers_all_are_kin(void **state)
{
    struct descendants *descendants = descendants_create(TARGET, false);

    (void)state;
    assert_true(descendants_has(descendants, STRANGER));
    descendants_destroy(descendants);
}

static void an_image_is_as_old_as_its_last_exec_or_fork(void **state)
{
    struct descendants *descendants = descendants_create(TARGET, true);

    (void)state;
    assert_int_equal(descendants_since(descendants, CHILD), 0);
    descendants_forked(descendants, CHILD, TARGET, 10);
    assert_int_equal(descendants_since(descendants, CHILD), 10);
    descendants_execed(descendants, CHILD, 20);
    assert_int_equal(descendants_since(descendants, CHILD), 20);
    assert_true(descendants_has(descendants, CHILD));
    descendants_destroy(descendants);
}

static void strangers_are_forgotten_before_kin(void **state)
{
    struct descendants *descendants = descendants_create(TARGET, true);

    (void)state;
    descendants_forked(descendants, CHILD, TARGET, 10);
    for (uint32_t i = 1; i <= 16; i++) {
        descendants_forked(descendants, CHILD + i * DESCENDANTS_MAX, STRANGER,
                           20);
    }
    assert_true(descendants_has(descendants, CHILD));
    assert_int_equal(descendants_since(descendants, CHILD), 10);
    descendants_destroy(descendants);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(children_of_kin_are_kin_and_others_are_strangers),
        cmocka_unit_test(a_number_that_a_stranger_got_is_no_kin_any_more),
        cmocka_unit_test(a_fork_that_was_not_seen_is_looked_up),
        cmocka_unit_test(without_strangers_all_are_kin),
        cmocka_unit_test(an_image_is_as_old_as_its_last_exec_or_fork),
        cmocka_unit_test(strangers_are_forgotten_before_kin),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
