/* test_outbox.c - frames wait in a ring until they are acknowledged
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "agent/ring/outbox.h"
#include "schema/frame.h"

#define MEMORY_BYTES (sizeof(struct outbox_head) + 4096)

static int setup(void **state)
{
    *state = aligned_alloc(4096, MEMORY_BYTES);
    memset(*state, 0, MEMORY_BYTES);
    return *state == NULL;
}

static int teardown(void **state)
{
    free(*state);
    return 0;
}

/* A frame of `bytes` in slot `slot` with units [first, first + 10). */
static int
frame_put(struct outbox *outbox, uint32_t slot, uint64_t first, size_t bytes)
{
    struct ck_frame_header header = {
        .stream = {.incarnation = 1, .slot = slot},
        .first = first,
        .units = 10,
    };
    void *room = outbox_reserve(outbox, bytes);

    if (room == NULL) {
        return -1;
    }
    memset(room, (int)first, bytes);
    memcpy(room, &header, sizeof(header));
    outbox_commit(outbox, bytes);
    return 0;
}

static uint64_t frame_first(const void *frame)
{
    struct ck_frame_header header;

    memcpy(&header, frame, sizeof(header));
    return header.first;
}

static struct ck_ack ack_of(uint32_t slot, uint64_t next)
{
    return (struct ck_ack){.stream = {.incarnation = 1, .slot = slot},
                           .next = next};
}

static void frames_come_out_in_order_and_are_freed_by_their_ack(void **state)
{
    struct outbox outbox;
    struct ck_ack ack = ack_of(0, 20);
    const void *frame;
    size_t bytes;

    assert_int_equal(outbox_init(&outbox, *state, MEMORY_BYTES), 0);
    assert_int_equal(frame_put(&outbox, 0, 0, 200), 0);
    assert_int_equal(frame_put(&outbox, 0, 10, 96), 0);
    assert_int_equal(frame_put(&outbox, 0, 20, 96), 0);
    for (uint64_t i = 0; i < 3; i++) {
        frame = outbox_unsent(&outbox, &bytes);
        assert_non_null(frame);
        assert_int_equal(frame_first(frame), i * 10);
        assert_int_equal(bytes, i == 0 ? 200 : 96);
        assert_in_range(outbox_waiting(&outbox), (3 - i) * 96,
                        (3 - i) * (200 + 32));
        outbox_sent(&outbox);
    }
    assert_null(outbox_unsent(&outbox, &bytes));
    assert_int_equal(outbox_waiting(&outbox), 0);
    assert_int_equal(outbox_ack(&outbox, &ack, 1), 2);
    assert_int_equal(frame_first(outbox_oldest(&outbox, &bytes)), 20);
    ack = ack_of(0, 30);
    assert_int_equal(outbox_ack(&outbox, &ack, 1), 1);
    assert_true(outbox_is_empty(&outbox));
    assert_int_equal(outbox_used(&outbox), 0);
}

/* What waits little stays where it is warm; what is there is never moved. */
static void an_empty_outbox_is_used_from_its_start(void **state)
{
    const size_t large = 40000;
    const size_t room = sizeof(struct outbox_head) + (256 << 10);
    void *memory = aligned_alloc(4096, room);
    struct outbox outbox;
    struct outbox other;
    size_t bytes;
    const void *first;

    (void)state;
    memset(memory, 0, room);
    assert_int_equal(outbox_init(&outbox, memory, room), 0);
    assert_int_equal(frame_put(&outbox, 0, 0, large), 0);
    first = outbox_unsent(&outbox, &bytes);
    for (uint64_t turn = 1; turn < 100; turn++) {
        struct ck_ack ack = ack_of(0, turn * 10);

        assert_int_equal(frame_put(&outbox, 0, turn * 10, large), 0);
        outbox_sent(&outbox);
        assert_int_equal(frame_first(outbox_unsent(&outbox, &bytes)),
                         turn * 10);
        assert_int_equal(outbox_ack(&outbox, &ack, 1), 1);
        assert_in_range(outbox_waiting(&outbox), large, large + 32);
    }
    outbox_pop(&outbox);
    assert_int_equal(frame_put(&outbox, 0, 1000, large), 0);
    assert_ptr_equal(outbox_unsent(&outbox, &bytes), first);
    assert_in_range(outbox_waiting(&outbox), large, large + 32);
    assert_int_equal(outbox_init(&other, memory, room), 0);
    assert_int_equal(frame_first(outbox_unsent(&other, &bytes)), 1000);
    free(memory);
}

static void an_ack_of_another_stream_frees_nothing(void **state)
{
    struct outbox outbox;
    struct ck_ack acks[2] = {ack_of(1, 100), ack_of(0, 9)};

    assert_int_equal(outbox_init(&outbox, *state, MEMORY_BYTES), 0);
    assert_int_equal(frame_put(&outbox, 0, 0, 96), 0);
    assert_int_equal(outbox_ack(&outbox, acks, 2), 0);
    assert_false(outbox_is_empty(&outbox));
}

static void a_full_outbox_refuses_and_takes_again_when_freed(void **state)
{
    struct outbox outbox;
    uint64_t put = 0;
    uint64_t freed = 0;

    assert_int_equal(outbox_init(&outbox, *state, MEMORY_BYTES), 0);
    /* Odd sizes, so that the end of the area is met in every way. */
    for (int turn = 0; turn < 500; turn++) {
        while (frame_put(&outbox, 0, put * 10, 72 + (put * 8) % 1000) == 0) {
            put++;
        }
        assert_true(put > freed);
        while (freed + 1 < put) {
            struct ck_ack ack = ack_of(0, (freed + 1) * 10);
            size_t bytes;
            const void *oldest = outbox_oldest(&outbox, &bytes);

            assert_int_equal(frame_first(oldest), freed * 10);
            assert_int_equal(bytes, 72 + (freed * 8) % 1000);
            assert_int_equal(((const uint8_t *)oldest)[bytes - 1],
                             (uint8_t)(freed * 10));
            assert_int_equal(outbox_ack(&outbox, &ack, 1), 1);
            freed++;
        }
    }
    assert_true(put > 1000);
}

static void a_frame_larger_than_half_is_refused(void **state)
{
    struct outbox outbox;

    assert_int_equal(outbox_init(&outbox, *state, MEMORY_BYTES), 0);
    assert_null(outbox_reserve(&outbox, outbox_frame_max(&outbox) + 8));
    assert_non_null(outbox_reserve(&outbox, outbox_frame_max(&outbox)));
}

static void a_second_user_finds_all_frames_unsent(void **state)
{
    struct outbox outbox;
    struct outbox next;
    size_t bytes;

    assert_int_equal(outbox_init(&outbox, *state, MEMORY_BYTES), 0);
    assert_int_equal(frame_put(&outbox, 0, 0, 96), 0);
    assert_int_equal(frame_put(&outbox, 0, 10, 96), 0);
    assert_non_null(outbox_unsent(&outbox, &bytes));
    outbox_sent(&outbox);
    assert_non_null(outbox_reserve(&outbox, 96)); /* killed before commit */
    assert_int_equal(outbox_init(&next, *state, MEMORY_BYTES), 0);
    assert_int_equal(frame_first(outbox_unsent(&next, &bytes)), 0);
    outbox_sent(&next);
    assert_int_equal(frame_first(outbox_unsent(&next, &bytes)), 10);
    outbox_sent(&next);
    assert_null(outbox_unsent(&next, &bytes));
    assert_int_equal(next.head->collectors, 2);
}

static void a_damaged_outbox_is_refused_and_left_alone(void **state)
{
    struct outbox outbox;
    struct outbox next;
    struct outbox_entry *entry;

    assert_int_equal(outbox_init(&outbox, *state, MEMORY_BYTES), 0);
    assert_int_equal(frame_put(&outbox, 0, 0, 96), 0);
    entry = (struct outbox_entry *)outbox.area;
    entry->bytes = 1u << 30;
    assert_int_equal(outbox_init(&next, *state, MEMORY_BYTES), -1);
    assert_int_equal(entry->bytes, 1u << 30);
}

static void an_outbox_whose_tail_is_within_an_entry_is_refused(void **state)
{
    struct outbox outbox;
    struct outbox next;

    assert_int_equal(outbox_init(&outbox, *state, MEMORY_BYTES), 0);
    assert_int_equal(frame_put(&outbox, 0, 0, 96), 0);
    assert_int_equal(frame_put(&outbox, 0, 10, 96), 0);
    outbox.head->tail = outbox.head->head - 3;
    assert_int_equal(outbox_init(&next, *state, MEMORY_BYTES), -1);
    /* Entries that go on beyond the head. */
    outbox.head->tail = 0;
    outbox.head->head -= 16;
    assert_int_equal(outbox_init(&next, *state, MEMORY_BYTES), -1);
    outbox.head->head += 16;
    assert_int_equal(outbox_init(&next, *state, MEMORY_BYTES), 0);
}

/* By whom ever: nothing is walked for ever, what was there is dropped. */
static void entries_that_are_overwritten_are_dropped_and_counted(void **state)
{
    static const struct outbox_entry rubbish[] = {
        {0, OUTBOX_FILLER, 0}, {UINT32_MAX, OUTBOX_FILLER, 0},
        {8, OUTBOX_SEALED, 0}, {UINT32_MAX, OUTBOX_SENT, 0},
        {96, 77, 0},           {UINT32_MAX - 15, OUTBOX_ACKED, 0},
    };

    for (size_t i = 0; i < sizeof(rubbish) / sizeof(rubbish[0]); i++) {
        struct ck_ack ack = ack_of(0, 1000);
        struct outbox outbox;
        size_t bytes;

        memset(*state, 0, MEMORY_BYTES);
        assert_int_equal(outbox_init(&outbox, *state, MEMORY_BYTES), 0);
        assert_int_equal(frame_put(&outbox, 0, 0, 96), 0);
        assert_int_equal(frame_put(&outbox, 0, 10, 96), 0);
        memset(outbox.head, 0x77, 40);
        *(struct outbox_entry *)outbox.area = rubbish[i];
        (void)outbox_unsent(&outbox, &bytes);
        (void)outbox_ack(&outbox, &ack, 1);
        outbox_rewind(&outbox);
        assert_null(outbox_oldest(&outbox, &bytes));
        assert_true(outbox_is_empty(&outbox));
        assert_int_equal(outbox.broken, 1);
        assert_int_equal(frame_put(&outbox, 0, 20, 96), 0);
        assert_int_equal(frame_first(outbox_unsent(&outbox, &bytes)), 20);
    }
}

static void a_walk_sees_each_frame_once(void **state)
{
    struct outbox outbox;
    uint64_t at = 0;
    uint64_t seen = 0;
    size_t bytes;

    assert_int_equal(outbox_init(&outbox, *state, MEMORY_BYTES), 0);
    for (uint64_t i = 0; i < 5; i++) {
        assert_int_equal(frame_put(&outbox, 0, i * 10, 104), 0);
    }
    while (outbox_walk(&outbox, &at, &bytes) != NULL) {
        seen++;
    }
    assert_int_equal(seen, 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(
            frames_come_out_in_order_and_are_freed_by_their_ack, setup,
            teardown),
        cmocka_unit_test_setup_teardown(an_ack_of_another_stream_frees_nothing,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(
            a_full_outbox_refuses_and_takes_again_when_freed, setup, teardown),
        cmocka_unit_test_setup_teardown(
            entries_that_are_overwritten_are_dropped_and_counted, setup,
            teardown),
        cmocka_unit_test_setup_teardown(an_empty_outbox_is_used_from_its_start,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(a_frame_larger_than_half_is_refused,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(a_second_user_finds_all_frames_unsent,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(
            a_damaged_outbox_is_refused_and_left_alone, setup, teardown),
        cmocka_unit_test_setup_teardown(
            an_outbox_whose_tail_is_within_an_entry_is_refused, setup,
            teardown),
        cmocka_unit_test_setup_teardown(a_walk_sees_each_frame_once, setup,
                                        teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
