/* test_event.c - the tables of kind.def
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "schema/batch/field.h"
#include "schema/event.h"

static void kinds_know_class_and_name(void **state)
{
    (void)state;
    assert_int_equal(ck_kind_class(CK_KIND_SEND), CK_CLASS_MESSAGE);
    assert_string_equal(ck_kind_name(CK_KIND_SEND), "send");
    assert_int_equal(ck_kind_class(CK_KIND_OPEN), CK_CLASS_OPEN);
    assert_string_equal(ck_class_name(CK_CLASS_KERNEL), "kernel");
    assert_int_equal(ck_class_units(CK_CLASS_KERNEL), 3);
}

static void unknown_numbers_are_harmless(void **state)
{
    (void)state;
    assert_int_equal(ck_kind_class(0), CK_CLASS_NONE);
    assert_int_equal(ck_kind_class(15), CK_CLASS_NONE);
    assert_int_equal(ck_kind_class(65535), CK_CLASS_NONE);
    assert_string_equal(ck_kind_name(15), "?");
    assert_string_equal(ck_kind_name(65535), "?");
    assert_string_equal(ck_class_name(0), "?");
    assert_string_equal(ck_class_name(99), "?");
    assert_int_equal(ck_class_units(0), 0);
    assert_int_equal(ck_class_units(99), 0);
}

/* The codec walks columns until the first hole. */
static void columns_have_no_holes_and_no_overlap(void **state)
{
    (void)state;
    for (unsigned cls = 1; cls < CK_CLASS_LIMIT; cls++) {
        uint8_t used[96] = {0};
        unsigned columns = 0;

        for (unsigned c = FIELD_FIRST; c < COLUMNS_MAX; c++) {
            const struct field *f = &ck_fields[cls][c];

            columns += f->bytes != 0;
            for (unsigned i = 0; i < f->bytes; i++) {
                assert_int_equal(used[f->offset + i]++, 0);
            }
        }
        assert_true(columns > 0);
        assert_int_not_equal(ck_fields[cls][FIELD_FIRST + columns - 1].bytes,
                             0);
    }
}

static void text_units_round_up_and_stop_at_the_bound(void **state)
{
    (void)state;
    assert_int_equal(ck_text_units(0), 1);
    assert_int_equal(ck_text_units(1), 2);
    assert_int_equal(ck_text_units(32), 2);
    assert_int_equal(ck_text_units(33), 3);
    assert_int_equal(ck_text_units(CK_TEXT_BYTES_MAX), CK_RECORD_UNITS_MAX);
    assert_int_equal(ck_text_units(SIZE_MAX), CK_RECORD_UNITS_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kinds_know_class_and_name),
        cmocka_unit_test(unknown_numbers_are_harmless),
        cmocka_unit_test(columns_have_no_holes_and_no_overlap),
        cmocka_unit_test(text_units_round_up_and_stop_at_the_bound),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
