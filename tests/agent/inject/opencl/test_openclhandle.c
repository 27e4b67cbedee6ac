/* test_openclhandle.c - table from pointer to value
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "agent/inject/opencl/openclhandle.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static struct handle_table table;

static int table_clear(void **state)
{
    (void)state;
    table = (struct handle_table){0};
    return 0;
}

static const void *pointer(unsigned number)
{
    return (const void *)(uintptr_t)(0x7f0000000000u + number * 64u);
}

static void a_value_is_found_by_its_pointer(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 1000; i++) {
        assert_true(handle_put(&table, pointer(i), i + 1));
    }
    for (unsigned i = 0; i < 1000; i++) {
        assert_int_equal(handle_get(&table, pointer(i)), i + 1);
    }
    assert_int_equal(handle_get(&table, pointer(1000)), 0);
}

static void an_address_used_again_has_the_new_value(void **state)
{
    (void)state;
    assert_true(handle_put(&table, pointer(1), 5));
    assert_true(handle_put(&table, pointer(1), 6));
    assert_int_equal(handle_take(&table, pointer(1)), 6);
    assert_int_equal(handle_get(&table, pointer(1)), 0);
    assert_int_equal(handle_take(&table, pointer(1)), 0);
}

static void removed_places_are_used_again(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 20 * HANDLE_ENTRIES; i++) {
        assert_true(handle_put(&table, pointer(i), 1));
        assert_int_equal(handle_take(&table, pointer(i)), 1);
    }
}

static void a_half_full_table_takes_all(void **state)
{
    (void)state;
    for (unsigned i = 0; i < HANDLE_ENTRIES / 2; i++) {
        assert_true(handle_put(&table, pointer(i), i + 1));
    }
}

static void a_full_table_refuses_and_keeps_what_it_has(void **state)
{
    unsigned kept = 0;

    (void)state;
    for (unsigned i = 0; i < 2 * HANDLE_ENTRIES; i++) {
        kept += handle_put(&table, pointer(i), i + 1);
    }
    assert_in_range(kept, HANDLE_ENTRIES / 2, HANDLE_ENTRIES);
    for (unsigned i = 0; i < 2 * HANDLE_ENTRIES; i++) {
        uint64_t value = handle_get(&table, pointer(i));

        assert_true(value == 0 || value == i + 1);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(a_value_is_found_by_its_pointer, table_clear),
        cmocka_unit_test_setup(an_address_used_again_has_the_new_value,
                               table_clear),
        cmocka_unit_test_setup(removed_places_are_used_again, table_clear),
        cmocka_unit_test_setup(a_half_full_table_takes_all, table_clear),
        cmocka_unit_test_setup(a_full_table_refuses_and_keeps_what_it_has,
                               table_clear),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
