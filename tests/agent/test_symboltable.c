/* test_symboltable.c - the functions of this very program
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <link.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "agent/symboltable.h"

#define ASKED 100

static uint64_t load_bias;
static char build_id[SYMBOLTABLE_ID_BYTES];
static struct symboltable *table;

__attribute__((noinline)) static int first_known(int number)
{
    return number * 3 + 1;
}

__attribute__((noinline)) static int second_known(int number)
{
    return number * 5 + 2;
}

/* The program itself is the first of all. */
static int program_take(struct dl_phdr_info *info, size_t size, void *unused)
{
    (void)size;
    (void)unused;
    load_bias = info->dlpi_addr;
    return 1;
}

static int setup(void **state)
{
    uint64_t unused;

    (void)state;
    (void)dl_iterate_phdr(program_take, NULL);
    if (symboltable_identify("/proc/self/exe", 0, 0, &unused, build_id) != 0) {
        return -1;
    }
    table = symboltable_create("/proc/self/exe", build_id);
    return table == NULL ? -1 : 0;
}

static int teardown(void **state)
{
    (void)state;
    symboltable_destroy(table);
    table = NULL;
    return 0;
}

static const char *name_of(int (*function)(int), uint64_t offset)
{
    return symboltable_function(table, (uint64_t)(uintptr_t)function -
                                           load_bias + offset);
}

static void a_function_is_found_however_often_was_asked(void **state)
{
    (void)state;
    assert_int_equal(first_known(1) + second_known(1), 11);
    for (int i = 0; i < ASKED; i++) {
        assert_string_equal(name_of(first_known, 0), "first_known");
        assert_string_equal(name_of(second_known, 1), "second_known");
    }
}

static void an_address_before_all_of_them_has_none(void **state)
{
    (void)state;
    for (int i = 0; i < ASKED; i++) {
        assert_null(symboltable_function(table, 0));
    }
}

static void another_build_is_refused(void **state)
{
    (void)state;
    assert_null(symboltable_create("/proc/self/exe", "00"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(
            a_function_is_found_however_often_was_asked, setup, teardown),
        cmocka_unit_test_setup_teardown(an_address_before_all_of_them_has_none,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(another_build_is_refused, setup,
                                        teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
