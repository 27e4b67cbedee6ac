/* test_table.c - numbers for keys, in order of first sight
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "merge/model/table.h"

#define KEYS 100000

/* Keys that are close to each other, each once. */
static struct table_key key_of(uint64_t i)
{
    return (struct table_key){i % 10, i / 10 % 100 << 32, i / 1000};
}

static void keys_keep_their_numbers_as_the_table_grows(void **state)
{
    struct table *table = table_create();

    (void)state;
    assert_non_null(table);
    for (uint64_t i = 0; i < KEYS; i++) {
        assert_int_equal(table_find(table, key_of(i)), -1);
        assert_int_equal(table_number(table, key_of(i)), (int64_t)i);
        assert_int_equal(table_find(table, key_of(i / 2)), (int64_t)(i / 2));
    }
    assert_int_equal(table_count(table), KEYS);
    for (uint64_t i = 0; i < KEYS; i++) {
        struct table_key key = table_key(table, (size_t)i);

        assert_int_equal(table_number(table, key_of(i)), (int64_t)i);
        assert_true(key.a == key_of(i).a && key.b == key_of(i).b &&
                    key.c == key_of(i).c);
    }
    assert_int_equal(table_count(table), KEYS);
    table_destroy(table);
}

static void a_question_gives_no_number(void **state)
{
    struct table *table = table_create();

    (void)state;
    assert_non_null(table);
    assert_false(table_has(table, key_of(7)));
    assert_int_equal(table_find(table, key_of(7)), -1);
    assert_int_equal(table_count(table), 0);
    assert_int_equal(table_number(table, key_of(7)), 0);
    assert_true(table_has(table, key_of(7)));
    table_destroy(table);
}

static void room_changes_no_number(void **state)
{
    struct table *table = table_create();

    (void)state;
    for (uint64_t i = 0; i < 3000; i++) {
        if (i == 100) {
            table_reserve(table, 2000);
            table_reserve(table, 10);
        }
        assert_int_equal(table_number(table, key_of(i)), i);
    }
    for (uint64_t i = 0; i < 3000; i++) {
        assert_int_equal(table_find(table, key_of(i)), i);
    }
    table_destroy(table);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(room_changes_no_number),
        cmocka_unit_test(keys_keep_their_numbers_as_the_table_grows),
        cmocka_unit_test(a_question_gives_no_number),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
