/* test_store.c - the segment of one agent and its positions
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "schema/event.h"
#include "tests/aggregator/place.h"

/* So many marks, as one frame. */
static enum store_result
marks_put(struct place *place, uint32_t slot, uint64_t first, uint32_t count)
{
    static struct ck_mark records[64];

    for (uint32_t i = 0; i < count; i++) {
        records[i].e =
            (struct ck_event){.kind = CK_KIND_MARK, .units = 1, .start = i};
    }
    return place_put(place, (struct ck_stream){1, slot}, first, records,
                     count * sizeof(records[0]));
}

static void what_is_stored_is_known_after_a_reopen(void **state)
{
    struct place *place = *state;
    struct store *store = place_reopen(place);
    struct store_facts before;
    struct store_facts after;
    struct ck_ack acks[4];

    assert_int_equal(marks_put(place, 0, 0, 10), STORE_DONE);
    assert_int_equal(marks_put(place, 7, 500, 5), STORE_DONE);
    assert_int_equal(marks_put(place, 0, 20, 10), STORE_DONE);
    before = store_facts(store);
    store = place_reopen(place);
    after = store_facts(store);
    assert_int_equal(after.frames, 3);
    assert_int_equal(after.records, 25);
    assert_int_equal(after.bytes, before.bytes);
    assert_int_equal(after.missing, 10);
    assert_int_equal(positions_acks(store_positions(store), acks, 4), 2);
    assert_int_equal(acks[0].next, 30);
    assert_int_equal(acks[1].next, 505);
    assert_int_equal(marks_put(place, 7, 500, 5), STORE_OLD);
    assert_int_equal(marks_put(place, 0, 10, 10), STORE_DONE);
    assert_int_equal(store_facts(store).missing, 0);
}

static void identity_and_exit_are_read_from_the_collectors_stream(void **state)
{
    struct place *place = *state;
    struct store *store = place_reopen(place);
    _Alignas(8) uint8_t rows[1024];
    size_t bytes = text_put(rows, CK_KIND_IDENTITY, 0, "rank=3\npid=9\n");
    const struct ck_stream own = {0, CK_SLOT_COLLECTOR};

    assert_int_equal(place_put(place, own, 0, rows, bytes), STORE_DONE);
    assert_string_equal(store_identity(store), "");
    store = place_reopen(place);
    assert_string_equal(store_identity(store), "rank=3\npid=9\n");
    assert_false(store_has_exit(store));
    bytes = text_put(rows, CK_KIND_EXIT, 0, "status=0\n");
    assert_int_equal(place_put(place, own, 10, rows, bytes), STORE_DONE);
    store = place_reopen(place);
    assert_true(store_has_exit(store));
}

static void a_directory_that_is_missing_is_reported(void **state)
{
    struct ck_err err;

    (void)state;
    assert_null(store_create("/proc/none", agent, &err));
    assert_non_null(strstr(err.text, "/proc/none"));
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(what_is_stored_is_known_after_a_reopen),
        CASE(identity_and_exit_are_read_from_the_collectors_stream),
        CASE(a_directory_that_is_missing_is_reported),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
