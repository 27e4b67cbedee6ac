/* test_kin.c - kinship by the kernel's words, and by /proc
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

#include <cmocka.h>

#include "agent/process/kin.h"

/* Numbers that no process has. */
#define TARGET 0x30000000
#define CHILD (TARGET + 1)
#define GRANDCHILD (TARGET + 2)
#define STRANGER (TARGET + 3)

static void children_of_kin_are_kin_and_others_are_strangers(void **state)
{
    struct kin *kin = kin_create(TARGET, true);

    (void)state;
    kin_forked(kin, CHILD, TARGET, 10);
    kin_forked(kin, GRANDCHILD, CHILD, 20);
    kin_forked(kin, STRANGER, STRANGER + 1, 30);
    assert_true(kin_has(kin, TARGET));
    assert_true(kin_has(kin, CHILD));
    assert_true(kin_has(kin, GRANDCHILD));
    assert_false(kin_has(kin, STRANGER));
    kin_destroy(kin);
}

static void a_number_that_a_stranger_got_is_no_kin_any_more(void **state)
{
    struct kin *kin = kin_create(TARGET, true);

    (void)state;
    kin_forked(kin, CHILD, TARGET, 10);
    kin_forked(kin, CHILD, STRANGER, 20);
    assert_false(kin_has(kin, CHILD));
    kin_destroy(kin);
}

static void a_fork_that_was_not_seen_is_looked_up(void **state)
{
    struct kin *kin = kin_create(getppid(), true);
    struct kin *other = kin_create(TARGET, true);

    (void)state;
    assert_true(kin_has(kin, (uint32_t)getpid()));
    assert_false(kin_has(other, (uint32_t)getpid()));
    kin_destroy(other);
    kin_destroy(kin);
}

static void without_strangers_all_are_kin(void **state)
{
    struct kin *kin = kin_create(TARGET, false);

    (void)state;
    assert_true(kin_has(kin, STRANGER));
    kin_destroy(kin);
}

static void an_image_is_as_old_as_its_last_exec_or_fork(void **state)
{
    struct kin *kin = kin_create(TARGET, true);

    (void)state;
    assert_int_equal(kin_since(kin, CHILD), 0);
    kin_forked(kin, CHILD, TARGET, 10);
    assert_int_equal(kin_since(kin, CHILD), 10);
    kin_execed(kin, CHILD, 20);
    assert_int_equal(kin_since(kin, CHILD), 20);
    assert_true(kin_has(kin, CHILD));
    kin_destroy(kin);
}

static void strangers_are_forgotten_before_kin(void **state)
{
    struct kin *kin = kin_create(TARGET, true);

    (void)state;
    kin_forked(kin, CHILD, TARGET, 10);
    for (uint32_t i = 1; i <= 16; i++) {
        kin_forked(kin, CHILD + i * KIN_MAX, STRANGER, 20);
    }
    assert_true(kin_has(kin, CHILD));
    assert_int_equal(kin_since(kin, CHILD), 10);
    kin_destroy(kin);
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
