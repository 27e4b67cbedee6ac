/* test_framing.c - how much of a slot makes a frame
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <string.h>

#include <cmocka.h>

#include "agent/stream/framing.h"
#include "schema/event.h"

#define UNITS 8

static uint8_t slot[UNITS * CK_UNIT_BYTES];

/* Records of these lengths, one behind the other. */
static void slot_fill(const uint8_t *lengths, unsigned count)
{
    size_t at = 0;

    memset(slot, 0, sizeof(slot));
    for (unsigned i = 0; i < count && at < UNITS; i++) {
        struct ck_event event = {.units = lengths[i]};

        memcpy(slot + at * CK_UNIT_BYTES, &event, sizeof(event));
        at += lengths[i];
    }
}

static void whole_records_are_measured(void **state)
{
    uint64_t records;

    (void)state;
    slot_fill((const uint8_t[]){1, 3, 2, 2}, 4);
    assert_int_equal(framing_measure(slot, UNITS, &records), UNITS);
    assert_int_equal(records, 4);
}

/* A wild pointer of the program writes any length. */
static void a_record_that_is_longer_than_the_rest_ends_them(void **state)
{
    uint64_t records;

    (void)state;
    slot_fill((const uint8_t[]){1, 3, 5}, 3);
    assert_int_equal(framing_measure(slot, UNITS, &records), 4);
    assert_int_equal(records, 2);
    slot_fill((const uint8_t[]){255}, 1);
    assert_int_equal(framing_measure(slot, UNITS, &records), 0);
    assert_int_equal(records, 0);
}

static void so_does_one_without_a_length(void **state)
{
    uint64_t records;

    (void)state;
    slot_fill((const uint8_t[]){2, 1, 0}, 3);
    assert_int_equal(framing_measure(slot, UNITS, &records), 3);
    assert_int_equal(records, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whole_records_are_measured),
        cmocka_unit_test(a_record_that_is_longer_than_the_rest_ends_them),
        cmocka_unit_test(so_does_one_without_a_length),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
