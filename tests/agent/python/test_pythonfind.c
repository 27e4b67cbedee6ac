/* test_pythonfind.c - programs without an interpreter are read once
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

#include <cmocka.h>

#include "agent/python/pythonfind.h"
#include "tests/emulator.h"

static void a_program_without_an_interpreter_is_remembered(void **state)
{
    struct pythonprogram program;

    (void)state;
    EMULATOR_SKIP(
        "/proc/PID/exe is the emulator, but when it is read as a link");
    assert_false(pythonfind_is_none(getpid()));
    assert_int_equal(pythonfind(getpid(), &program), PYTHONFIND_NONE);
    assert_true(pythonfind_is_none(getpid()));
    assert_int_equal(pythonfind(getpid(), &program), PYTHONFIND_NONE);
    assert_false(pythonfind_is_none(0x3ffffff1)); /* of no process that runs */
}

static void interpreters_are_known_by_their_names(void **state)
{
    (void)state;
    assert_true(pythonfind_is_named("/usr/lib/libpython3.11.so.1.0"));
    assert_true(pythonfind_is_named("/usr/bin/python3.11"));
    assert_true(pythonfind_is_named("python"));
    assert_false(pythonfind_is_named("/usr/lib/python3/dist-packages/a.so"));
    assert_false(pythonfind_is_named("/bin/sh"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_program_without_an_interpreter_is_remembered),
        cmocka_unit_test(interpreters_are_known_by_their_names),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
