/* test_wire.c - batches and control messages: whole or refused
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

#include "schema/batch/wire.h"
#include "tests/schema/records.h"

#define ROOM ((size_t)64 << 10)

static struct records_random rng;

static int setup(void **state)
{
    *state = ck_batch_writer_create();
    return *state == NULL ? -1 : 0;
}

static int teardown(void **state)
{
    ck_batch_writer_destroy(*state);
    return 0;
}

/* Some of each class; returns their bytes. */
static size_t make_records(uint8_t *rows, size_t limit)
{
    size_t used = 0, n;

    while ((n = records_any(&rng, rows + used, limit - used)) > 0) {
        used += n;
    }
    return used;
}

static uint32_t classes_of(const uint8_t *rows, size_t used)
{
    uint32_t classes = 0;

    for (size_t at = 0; at < used;) {
        const struct ck_event *event = (const void *)(rows + at);

        classes |= (uint32_t)1 << ck_kind_class(event->kind);
        at += (size_t)event->units * CK_UNIT_BYTES;
    }
    return classes;
}

static void a_batch_comes_back_with_its_facts(void **state)
{
    static uint8_t rows[ROOM] __attribute__((aligned(8)));
    static uint8_t back[ROOM] __attribute__((aligned(8)));

    for (int round = 0; round < 200; round++) {
        size_t used = make_records(rows, 1 + records_below(&rng, ROOM));
        struct ck_batch_info info = {
            .clock = CK_CLOCK_TSC, .pid = 77, .tid = 78};
        struct ck_batch_info seen;
        const void *payload;
        size_t bytes;

        assert_int_equal(
            ck_batch_encode(*state, &info, rows, used, &payload, &bytes, NULL),
            0);
        assert_int_equal((uintptr_t)payload % 8, 0);
        used = (size_t)info.units * CK_UNIT_BYTES; /* up to a THREAD record */
        assert_int_equal(
            ck_batch_decode(payload, bytes, &seen, back, used, NULL), 0);
        assert_memory_equal(rows, back, used);
        assert_int_equal(seen.clock, CK_CLOCK_TSC);
        assert_int_equal(seen.pid, 77);
        assert_int_equal(seen.tid, 78);
        assert_int_equal(seen.records, info.records);
        assert_int_equal(seen.units, used / CK_UNIT_BYTES);
        assert_int_equal(info.classes, classes_of(rows, used));
    }
}

static void a_batch_ends_where_another_thread_begins(void **state)
{
    uint8_t rows[32 * 4] __attribute__((aligned(8)));
    struct ck_mark mark = {.e = {CK_KIND_MARK, 1, 0, 0, 0}};
    struct ck_text text = {.e = {CK_KIND_THREAD, 1, 0, 0, 0}, .object = 7};
    const struct {
        uint32_t tid;
        uint32_t records;
    } cases[] = {{0, 4}, {7, 4}, {8, 2}};
    const void *payload;
    size_t bytes;

    for (int i = 0; i < 4; i++) {
        memcpy(rows + 32 * i, i % 2 == 0 ? (void *)&text : &mark, 32);
    }
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct ck_batch_info info = {.tid = cases[i].tid};

        assert_int_equal(ck_batch_encode(*state, &info, rows, sizeof(rows),
                                         &payload, &bytes, NULL),
                         0);
        assert_int_equal(info.records, cases[i].records);
        assert_int_equal(info.units, cases[i].records);
    }
}

static void the_call_sites_of_a_batch_are_reported(void **state)
{
    uint8_t rows[64 * 20] __attribute__((aligned(8)));
    struct ck_call call = {.e = {CK_KIND_MPI_CALL, 2, 0, 0, 0}};
    struct ck_message message = {.e = {CK_KIND_SEND, 2, 0, 9, 0}};
    struct ck_batch_info info = {.clock = CK_CLOCK_RAW};
    const uint64_t *sites;
    const void *payload;
    size_t bytes;

    for (uint32_t i = 0; i < 20; i++) {
        call.e.name = i % 2;
        call.site = i == 11 ? 77 : 100 + i % 2;
        message.site = i == 4 ? 0 : 55;
        memcpy(rows + (size_t)i * 64, i % 5 == 4 ? (void *)&message : &call,
               64);
    }
    assert_int_equal(ck_batch_encode(*state, &info, rows, sizeof(rows),
                                     &payload, &bytes, NULL),
                     0);
    assert_int_equal(ck_batch_sites(*state, &sites), 5);
    assert_int_equal(sites[0], 100);
    assert_int_equal(sites[1], 101);
    assert_int_equal(sites[2], 77);
    assert_int_equal(sites[3], 101);
    assert_int_equal(sites[4], 55);
    assert_int_equal(
        ck_batch_encode(*state, &info, rows, 0, &payload, &bytes, NULL), 0);
    assert_int_equal(ck_batch_sites(*state, &sites), 0);
}

static void a_batch_cut_at_any_byte_is_refused(void **state)
{
    uint8_t rows[4096] __attribute__((aligned(8)));
    uint8_t back[4096] __attribute__((aligned(8)));
    size_t used = make_records(rows, sizeof(rows));
    struct ck_batch_info info = {.clock = CK_CLOCK_RAW};
    const void *payload;
    size_t bytes;
    struct ck_err err;

    assert_int_equal(
        ck_batch_encode(*state, &info, rows, used, &payload, &bytes, &err), 0);
    for (size_t cut = 0; cut < bytes; cut++) {
        void *copy = malloc(cut + 1); /* ASan sees a read beyond the cut */

        memcpy(copy, payload, cut);
        /* Up to seven bytes at the end may be alignment only. */
        if (ck_batch_decode(copy, cut, &info, back, used, &err) == 0) {
            assert_true(bytes - cut < 8);
            assert_memory_equal(rows, back, used);
        }
        free(copy);
    }
}

/* Without the frame's crc a flipped bit may give other records, but never an
 * access out of bounds or rows beyond the room. */
static void flipped_bits_are_safe(void **state)
{
    uint8_t rows[2048] __attribute__((aligned(8)));
    uint8_t back[2048 + 64] __attribute__((aligned(8)));
    size_t used = make_records(rows, sizeof(rows));
    struct ck_batch_info info = {.clock = CK_CLOCK_RAW};
    const void *payload;
    size_t bytes;
    uint8_t *copy;

    assert_int_equal(
        ck_batch_encode(*state, &info, rows, used, &payload, &bytes, NULL), 0);
    copy = malloc(bytes);
    memset(back, 0x5a, sizeof(back));
    for (size_t bit = 0; bit < bytes * 8; bit++) {
        memcpy(copy, payload, bytes);
        copy[bit / 8] ^= (uint8_t)(1u << bit % 8);
        (void)ck_batch_decode(copy, bytes, &info, back, used, NULL);
        for (size_t i = used; i < sizeof(back); i++) {
            assert_int_equal(back[i], 0x5a);
        }
    }
    free(copy);
}

static void a_misaligned_batch_is_refused(void **state)
{
    uint8_t rows[64] __attribute__((aligned(8)));
    size_t used = records_make(&rng, rows, CK_KIND_SEND, 0);
    struct ck_batch_info info = {.clock = CK_CLOCK_RAW};
    const void *payload;
    size_t bytes;
    uint8_t *copy;

    assert_int_equal(
        ck_batch_encode(*state, &info, rows, used, &payload, &bytes, NULL), 0);
    copy = malloc(bytes + 4);
    memcpy(copy + 4, payload, bytes);
    assert_int_equal(ck_batch_decode(copy + 4, bytes, &info, rows, used, NULL),
                     -1);
    free(copy);
}

static void batches_of_version_1_are_read_and_of_3_refused(void **state)
{
    uint8_t rows[64] __attribute__((aligned(8)));
    uint8_t back[64] __attribute__((aligned(8)));
    struct ck_mark record = {.e = {CK_KIND_MARK, 1, 0, 7, 100}};
    struct ck_batch_info info = {.clock = CK_CLOCK_RAW};
    const void *payload;
    size_t bytes;
    uint8_t *copy;

    memcpy(rows, &record, CK_UNIT_BYTES);
    assert_int_equal(ck_batch_encode(*state, &info, rows, CK_UNIT_BYTES,
                                     &payload, &bytes, NULL),
                     0);
    copy = malloc(bytes);
    memcpy(copy, payload, bytes);
    assert_memory_equal(copy + 4, "CKB2", 4);
    copy[7] = '1';
    assert_int_equal(
        ck_batch_decode(copy, bytes, &info, back, sizeof(back), NULL), 0);
    assert_memory_equal(rows, back, CK_UNIT_BYTES);
    copy[7] = '3';
    assert_int_equal(
        ck_batch_decode(copy, bytes, &info, back, sizeof(back), NULL), -1);
    free(copy);
}

static void a_control_message_comes_back(void **state)
{
    struct ck_ack acks[3] = {{{1, 2}, 3}, {{4, 5}, UINT64_MAX}, {{0, ~0u}, 0}};
    struct ck_control sent = {
        .type = CK_CONTROL_WELCOME,
        .version = 1,
        .agent = {1, 2, 3, 255},
        .text = "run=x\ndir=/y\n",
        .text_length = 13,
        .acks = acks,
        .acks_count = 3,
    };
    struct ck_control seen;
    const void *bytes;
    size_t length;

    assert_int_equal(ck_control_encode(*state, &sent, &bytes, &length, NULL),
                     0);
    assert_true(ck_control_is(bytes, length));
    assert_int_equal(ck_control_decode(bytes, length, &seen, NULL), 0);
    assert_int_equal(seen.type, CK_CONTROL_WELCOME);
    assert_int_equal(seen.version, 1);
    assert_memory_equal(seen.agent, sent.agent, 16);
    assert_int_equal(seen.text_length, 13);
    assert_string_equal(seen.text, sent.text);
    assert_int_equal(seen.acks_count, 3);
    assert_memory_equal(seen.acks, acks, sizeof(acks));
}

static void an_empty_control_message_comes_back(void **state)
{
    struct ck_control sent = {.type = CK_CONTROL_STOP};
    struct ck_control seen;
    const void *bytes;
    size_t length;

    assert_int_equal(ck_control_encode(*state, &sent, &bytes, &length, NULL),
                     0);
    assert_int_equal(ck_control_decode(bytes, length, &seen, NULL), 0);
    assert_int_equal(seen.type, CK_CONTROL_STOP);
    assert_string_equal(seen.text, "");
    assert_int_equal(seen.acks_count, 0);
}

static void a_control_message_cut_or_flipped_is_safe(void **state)
{
    struct ck_ack ack = {{1, 2}, 3};
    struct ck_control sent = {.type = CK_CONTROL_ACK,
                              .text = "abc",
                              .text_length = 3,
                              .acks = &ack,
                              .acks_count = 1};
    struct ck_control seen;
    const void *bytes;
    size_t length;
    uint8_t *copy;

    assert_int_equal(ck_control_encode(*state, &sent, &bytes, &length, NULL),
                     0);
    for (size_t cut = 0; cut < length; cut++) {
        copy = malloc(cut + 1);
        memcpy(copy, bytes, cut);
        if (ck_control_decode(copy, cut, &seen, NULL) == 0) {
            assert_true(length - cut < 8);
        }
        free(copy);
    }
    copy = malloc(length);
    for (size_t bit = 0; bit < length * 8; bit++) {
        memcpy(copy, bytes, length);
        copy[bit / 8] ^= (uint8_t)(1u << bit % 8);
        if (ck_control_decode(copy, length, &seen, NULL) == 0) {
            assert_int_equal(strlen(seen.text) <= seen.text_length, 1);
            assert_true(seen.acks_count <= length / sizeof(ack));
        }
    }
    free(copy);
}

static void too_much_text_is_refused(void **state)
{
    struct ck_control sent = {.type = CK_CONTROL_STATUS,
                              .text = "",
                              .text_length = CK_CONTROL_TEXT_MAX + 1};
    const void *bytes;
    size_t length;
    struct ck_err err;

    assert_int_equal(ck_control_encode(*state, &sent, &bytes, &length, &err),
                     -1);
}

static void a_batch_is_no_control_message(void **state)
{
    struct ck_batch_info info = {.clock = CK_CLOCK_RAW};
    struct ck_control seen;
    const void *payload;
    size_t bytes;

    assert_int_equal(
        ck_batch_encode(*state, &info, "", 0, &payload, &bytes, NULL), 0);
    assert_false(ck_control_is(payload, bytes));
    assert_int_equal(ck_control_decode(payload, bytes, &seen, NULL), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_batch_comes_back_with_its_facts),
        cmocka_unit_test(a_batch_ends_where_another_thread_begins),
        cmocka_unit_test(the_call_sites_of_a_batch_are_reported),
        cmocka_unit_test(a_batch_cut_at_any_byte_is_refused),
        cmocka_unit_test(flipped_bits_are_safe),
        cmocka_unit_test(a_misaligned_batch_is_refused),
        cmocka_unit_test(batches_of_version_1_are_read_and_of_3_refused),
        cmocka_unit_test(a_control_message_comes_back),
        cmocka_unit_test(an_empty_control_message_comes_back),
        cmocka_unit_test(a_control_message_cut_or_flipped_is_safe),
        cmocka_unit_test(too_much_text_is_refused),
        cmocka_unit_test(a_batch_is_no_control_message),
    };

    rng = records_random_init();
    return cmocka_run_group_tests(tests, setup, teardown);
}
