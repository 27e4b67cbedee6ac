/* test_positions.c - how far the streams of one agent are stored
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "aggregator/store/positions.h"

#define SPACE 400

static int setup(void **state)
{
    *state = positions_create();
    return *state ? 0 : -1;
}

static int teardown(void **state)
{
    positions_destroy(*state);
    return 0;
}

static struct position *get(void **state)
{
    return positions_get(*state, (struct ck_stream){1, 2});
}

static void nothing_is_stored_at_first(void **state)
{
    struct ck_ack ack;

    assert_false(position_has(get(state), 0, 1));
    assert_int_equal(positions_acks(*state, &ack, 1), 0);
}

static void a_stream_begins_anywhere_without_a_gap(void **state)
{
    position_take(get(state), 1000, 10);
    assert_true(position_has(get(state), 1000, 10));
    assert_false(position_has(get(state), 999, 1));
    assert_false(position_has(get(state), 1010, 1));
    assert_int_equal(positions_missing(*state), 0);
}

static void an_overlap_is_not_stored_yet(void **state)
{
    position_take(get(state), 0, 10);
    assert_false(position_has(get(state), 5, 10));
    assert_true(position_has(get(state), 5, 5));
}

static void a_gap_is_counted_and_can_be_closed(void **state)
{
    position_take(get(state), 0, 10);
    position_take(get(state), 20, 10);
    assert_int_equal(positions_missing(*state), 10);
    assert_false(position_has(get(state), 10, 10));
    assert_false(position_has(get(state), 5, 20));
    position_take(get(state), 12, 3);
    assert_int_equal(positions_missing(*state), 7);
    position_take(get(state), 8, 15);
    assert_int_equal(positions_missing(*state), 0);
    assert_true(position_has(get(state), 0, 30));
}

/* The slot goes to another process image, and back. */
static void a_gap_that_another_stream_of_the_slot_has_is_none(void **state)
{
    struct ck_stream other = get(state)->stream;

    other.incarnation++;
    position_take(get(state), 0, 10);
    position_take(get(state), 30, 10);
    assert_int_equal(positions_missing(*state), 20);
    position_take(positions_get(*state, other), 10, 15);
    assert_int_equal(positions_missing(*state), 5);
    other.slot++;
    position_take(positions_get(*state, other), 25, 5);
    assert_int_equal(positions_missing(*state), 5);
    other.slot--;
    position_take(positions_get(*state, other), 25, 5);
    assert_int_equal(positions_missing(*state), 0);
}

static void acknowledgements_are_due_once(void **state)
{
    struct ck_ack acks[4];
    struct position *position = get(state);

    position_take(position, 0, 10);
    position->is_due = true;
    assert_int_equal(positions_acks_due(*state, acks, 4), 1);
    assert_int_equal(acks[0].next, 10);
    assert_int_equal(acks[0].stream.slot, 2);
    assert_int_equal(positions_acks_due(*state, acks, 4), 0);
    positions_due_again(*state);
    assert_int_equal(positions_acks_due(*state, acks, 4), 1);
    assert_int_equal(positions_acks(*state, acks, 4), 1);
}

static void streams_are_bounded(void **state)
{
    for (uint32_t i = 0; i < POSITIONS_MAX; i++) {
        /* any order */
        assert_non_null(positions_get(
            *state, (struct ck_stream){i % 7, (i * 40503u) & 0xffffff}));
    }
    assert_int_equal(positions_count(*state), POSITIONS_MAX);
    errno = 0;
    assert_null(positions_get(*state, (struct ck_stream){9, 9}));
    assert_int_equal(errno, ENOBUFS);
    assert_non_null(positions_get(*state, (struct ck_stream){0, 0}));
}

/* Against a map of units: what is reported as stored was stored; what was
 * stored and is within few gaps is known. */
static void random_frames_are_never_forgotten(void **state)
{
    const char *text = getenv("CK_SEED");
    unsigned seed = text ? (unsigned)atoi(text) : (unsigned)time(NULL);

    (void)state;
    print_message("CK_SEED=%u\n", seed);
    srand(seed);
    for (int run = 0; run < 2000; run++) {
        struct position position = {.is_begun = false};
        uint8_t stored[SPACE] = {0};
        bool is_exact = true; /* the table of gaps was never full */

        for (int i = 0; i < 40; i++) {
            uint64_t first = (uint64_t)(rand() % (SPACE - 40));
            uint32_t units = 1 + (uint32_t)(rand() % 39);
            bool has_all = memchr(stored + first, 0, units) == NULL;
            bool has = position_has(&position, first, units);

            assert_false(has && !has_all);
            if (is_exact) {
                assert_int_equal(has, has_all);
            }
            if (!has) {
                position_take(&position, first, units);
                memset(stored + first, 1, units);
            }
            is_exact &= position.gaps_count < POSITION_GAPS_MAX;
        }
    }
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(nothing_is_stored_at_first),
        CASE(a_stream_begins_anywhere_without_a_gap),
        CASE(an_overlap_is_not_stored_yet),
        CASE(a_gap_is_counted_and_can_be_closed),
        CASE(a_gap_that_another_stream_of_the_slot_has_is_none),
        CASE(acknowledgements_are_due_once),
        CASE(streams_are_bounded),
        CASE(random_frames_are_never_forgotten),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
