/* test_columns.c - records to columns and back, whatever is in them
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

#include "tests/schema/batches.h"

/* Decode to a place that has room for exactly `room` bytes. */
static int
decode(struct fixture *f, size_t room, uint32_t classes, size_t *used)
{
    struct columns_rows rows = {f->back, room, 0};
    int rc = columns_decode(&f->view, classes, &f->info, &rows, &f->err);

    *used = rows.used;
    return rc;
}

static void assert_round_trip(struct fixture *f, size_t bytes)
{
    size_t used;

    assert_int_equal(encode(f, bytes), 0);
    assert_int_equal(f->info.units, bytes / CK_UNIT_BYTES);
    assert_int_equal(f->info.skipped, 0);
    memset(f->back, 0xa5, bytes);
    if (decode(f, bytes, ~0u, &used) != 0) {
        fail_msg("%s", f->err.text);
    }
    assert_int_equal(used, bytes);
    assert_memory_equal(f->rows, f->back, bytes);
}

static void random_records_come_back_byte_for_byte(void **state)
{
    struct fixture *f = *state;

    for (int round = 0; round < 300; round++) {
        size_t limit = 1 + records_below(&rng, round < 280 ? 20000 : ROOM);

        assert_round_trip(f, rows_fill(f, limit));
    }
}

static void each_kind_alone_fills_several_blocks(void **state)
{
    struct fixture *f = *state;

    for (unsigned kind = 1; kind < CK_KIND_LIMIT; kind++) {
        if (ck_kind_class(kind) == CK_CLASS_NONE) {
            continue;
        }
        assert_round_trip(f, rows_repeat(f, kind, 3 * FIELD_BLOCK + 7, 40));
    }
}

static void many_of_one_kind_and_name_come_back(void **state)
{
    struct fixture *f = *state;

    for (int round = 0; round < 100; round++) {
        assert_round_trip(f, rows_runs(f, 8));
    }
}

static void extreme_values_come_back(void **state)
{
    static const uint64_t values[] = {
        0,          1,          ~(uint64_t)0, INT64_MAX,  1ull << 63,
        0x7fffffff, 0x80000000, 0xffffffff,   1ull << 56, (1ull << 56) - 1,
        1ull << 55, 127,        128,          1ull << 62};
    const size_t count = sizeof(values) / sizeof(values[0]);
    struct fixture *f = *state;
    size_t used = 0;

    for (size_t i = 0; i < count; i++) {
        for (size_t k = 0; k < count; k++) {
            struct ck_kernel r = {
                .e = {CK_KIND_KERNEL, 3, 0, 1, (int64_t)values[i]},
                .dur = (int64_t)values[k],
                .queued = (int64_t)values[k],
                .submitted = (int64_t)(values[i] + (k < 3 ? k : values[k])),
                .tid = (uint32_t)values[k],
                .correlation = values[k],
            };

            memcpy(f->rows + used, &r, sizeof(r));
            used += sizeof(r);
        }
    }
    assert_round_trip(f, used);
}

static void texts_of_every_length_come_back(void **state)
{
    struct fixture *f = *state;

    for (uint32_t length = 0; length <= CK_TEXT_BYTES_MAX; length++) {
        if (length > 200 && length < CK_TEXT_BYTES_MAX - 100 &&
            length % 97 != 0) {
            continue;
        }
        assert_round_trip(f, records_make(&rng, f->rows, CK_KIND_NOTE, length));
    }
}

static void no_records_make_an_empty_batch(void **state)
{
    assert_round_trip(*state, 0);
}

/* The example of docs/protocol.md, byte for byte. */
static void the_documented_example_is_true(void **state)
{
    static const uint8_t start[] = {0xc8, 0x01, 0x64, 0x64};
    static const uint8_t dur[] = {0x0a, 0x00, 0x00, 0x08};
    static const uint8_t name[] = {0x0e, 0x00, 0x01};
    struct fixture *f = *state;
    const struct columns_group *group = &f->view.groups[CK_CLASS_MARK];
    struct ck_mark marks[3] = {
        {.e = {CK_KIND_MARK, 1, 0, 7, 100}, .dur = 5},
        {.e = {CK_KIND_MARK, 1, 0, 7, 150}, .dur = 5},
        {.e = {CK_KIND_MARK, 1, 0, 7, 200}, .dur = 9},
    };

    memcpy(f->rows, marks, sizeof(marks));
    assert_round_trip(f, sizeof(marks));
    assert_int_equal(f->view.order.length, 1);
    assert_int_equal(f->view.order.bytes[0], 0x41);
    assert_int_equal(group->column[3].length, sizeof(start));
    assert_memory_equal(group->column[3].bytes, start, sizeof(start));
    assert_int_equal(group->column[4].length, sizeof(dur));
    assert_memory_equal(group->column[4].bytes, dur, sizeof(dur));
    assert_int_equal(group->column[2].length, sizeof(name));
    assert_memory_equal(group->column[2].bytes, name, sizeof(name));
    assert_int_equal(group->column[1].length, 0);
    assert_int_equal(group->column[5].length, 0);
}

static void an_unchanging_column_is_left_out(void **state)
{
    struct fixture *f = *state;
    struct ck_mark r = {.e = {CK_KIND_MARK, 1, 0, 0, 0}};
    size_t used = 0;

    for (int i = 0; i < 1000; i++) {
        r.e.start = 10 * i;
        memcpy(f->rows + used, &r, sizeof(r));
        used += sizeof(r);
    }
    assert_round_trip(f, used);
    assert_int_equal(f->view.groups[CK_CLASS_MARK].column[4].length, 0);
    assert_int_equal(f->view.groups[CK_CLASS_MARK].column[2].length, 0);
    /* kind: +1, then a run of 999 */
    assert_int_equal(f->view.groups[CK_CLASS_MARK].column[0].length, 4);
    assert_int_equal(f->view.order.length, 3);
}

/* Three calls with the numbers of a column, coded as NEXT or not. */
static void assert_call_numbers(struct fixture *f,
                                bool is_next,
                                const char *column,
                                const uint32_t expected[3])
{
    static const uint8_t order = 2 << 5 | CK_CLASS_CALL;
    static const uint8_t kind[] = {2 * CK_KIND_MPI_CALL, 0, 1};
    static const uint8_t name[] = {14, 2, 4}; /* 7 8 10: three contexts */
    struct columns_group *group = &f->view.groups[CK_CLASS_CALL];
    const struct ck_call *calls = (const struct ck_call *)f->back;
    size_t used;

    memset(&f->view, 0, sizeof(f->view));
    f->view.order = (struct columns_bytes){&order, 1};
    group->records = 3;
    group->next = is_next ? 1u << 6 : 0;
    group->column[0] = (struct columns_bytes){kind, sizeof(kind)};
    group->column[2] = (struct columns_bytes){name, sizeof(name)};
    group->column[6] =
        (struct columns_bytes){(const uint8_t *)column, strlen(column)};
    assert_int_equal(decode(f, 192, ~0u, &used), 0);
    assert_int_equal(used, 192);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(calls[i].call, expected[i]);
    }
}

static void a_next_column_counts_from_record_to_record(void **state)
{
    static const uint32_t same[3] = {5, 1, 2};
    static const uint32_t next[3] = {6, 8, 11};
    static const uint32_t zeros[3] = {0, 0, 0};
    static const uint32_t ones[3] = {1, 2, 3};

    assert_call_numbers(*state, false, "\x0a\x02\x04", same);
    assert_call_numbers(*state, true, "\x0a\x02\x04", next);
    assert_call_numbers(*state, false, "", zeros);
    assert_call_numbers(*state, true, "", ones);
}

static void a_next_column_must_be_a_plain_number(void **state)
{
    struct fixture *f = *state;
    struct ck_kernel r = {.e = {CK_KIND_KERNEL, 3, 0, 0, 0}};
    size_t used;

    for (unsigned c = 0; c < COLUMNS_MAX; c++) {
        memcpy(f->rows, &r, sizeof(r));
        assert_int_equal(encode(f, sizeof(r)), 0);
        f->view.groups[CK_CLASS_KERNEL].next = 1u << c;
        /* 5, 6: BACK */
        assert_int_equal(decode(f, sizeof(r), ~0u, &used),
                         c == 5 || c == 6 ? -1 : 0);
    }
}

static void kernels_make(struct fixture *f, uint32_t first, size_t count)
{
    struct ck_kernel r = {.e = {CK_KIND_KERNEL, 3, 0, 0, 0}};

    for (size_t i = 0; i < count; i++) {
        r.e.name = (uint32_t)i % 3;
        r.call = first + (uint32_t)i;
        r.correlation = r.call;
        memcpy(f->rows + i * sizeof(r), &r, sizeof(r));
    }
}

static void numbers_that_count_up_cost_nothing(void **state)
{
    struct fixture *f = *state;
    struct columns_group *group = &f->view.groups[CK_CLASS_KERNEL];
    const size_t count = FIELD_BLOCK + 10;

    kernels_make(f, 1, count);
    assert_round_trip(f, count * sizeof(struct ck_kernel));
    assert_int_equal(group->next, 1u << 8 | 1u << 17);
    assert_int_equal(group->column[8].length, 3);
    assert_int_equal(group->column[17].length, 3);
    /* Over the end of 32 bits, which is not the end of 64. */
    kernels_make(f, 0xfffffffe, count);
    assert_round_trip(f, count * sizeof(struct ck_kernel));
    assert_int_equal(group->column[8].length, 1 + 3);
    assert_true(group->column[17].length > 1 + 3);
}

/* With no memory of batches before. */
static void
numbers_that_only_count_up_come_back_from_a_new_encoder(void **state)
{
    struct fixture *f = *state;

    columns_encoder_destroy(f->encoder);
    f->encoder = columns_encoder_create();
    assert_non_null(f->encoder);
    kernels_make(f, 1, 3);
    assert_round_trip(f, 3 * sizeof(struct ck_kernel));
    assert_int_equal(f->view.groups[CK_CLASS_KERNEL].column[8].length, 2);
}

static void numbers_that_do_not_count_up_are_coded_by_context(void **state)
{
    struct fixture *f = *state;
    struct columns_group *group = &f->view.groups[CK_CLASS_KERNEL];
    struct ck_kernel *rows = (struct ck_kernel *)f->rows;

    kernels_make(f, 1, 1000);
    for (size_t i = 0; i < 1000; i++) {
        rows[i].call = 7;
        rows[i].correlation = i < 20 ? i : 0;
    }
    assert_round_trip(f, 1000 * sizeof(struct ck_kernel));
    assert_int_equal(group->next, 0);
}

static void an_unknown_kind_is_left_out_and_counted(void **state)
{
    struct fixture *f = *state;
    struct ck_event unknown = {.kind = 60000, .units = 5};
    size_t used = records_make(&rng, f->rows, CK_KIND_SEND, 0);
    size_t first = used, out;

    memcpy(f->rows + used, &unknown, sizeof(unknown));
    used += 5 * CK_UNIT_BYTES;
    used += records_make(&rng, f->rows + used, CK_KIND_MARK, 0);
    assert_int_equal(encode(f, used), 0);
    assert_int_equal(f->info.skipped, 1);
    assert_int_equal(f->info.records, 2);
    assert_int_equal(f->info.units, used / CK_UNIT_BYTES);
    assert_int_equal(decode(f, used, ~0u, &out), 0);
    assert_int_equal(out, 96);
    assert_memory_equal(f->back, f->rows, first);
    assert_memory_equal(f->back + first, f->rows + used - 32, 32);
}

static void a_record_with_a_wrong_length_is_left_out(void **state)
{
    struct fixture *f = *state;
    struct ck_text text = {.e = {CK_KIND_NAME, 2, 0, 1, 0}, .length = 33};

    memset(f->rows, 0, 64);
    memcpy(f->rows, &text, sizeof(text));
    assert_int_equal(encode(f, 64), 0);
    assert_int_equal(f->info.skipped, 1);
    text.length = 0xfffffff0;
    memcpy(f->rows, &text, sizeof(text));
    assert_int_equal(encode(f, 64), 0);
    assert_int_equal(f->info.skipped, 1);
    records_make(&rng, f->rows, CK_KIND_MARK, 0);
    f->rows[2] = 2; /* a mark has one unit */
    assert_int_equal(encode(f, 64), 0);
    assert_int_equal(f->info.skipped, 1);
}

static void a_record_of_no_units_or_beyond_the_end_is_refused(void **state)
{
    struct fixture *f = *state;
    size_t used = records_make(&rng, f->rows, CK_KIND_SEND, 0);

    assert_int_equal(encode(f, used - CK_UNIT_BYTES), -1);
    assert_string_equal(f->err.text, "record at byte 0 of 32 is not well "
                                     "formed: 2 units");
    f->rows[2] = 0;
    assert_int_equal(encode(f, used), -1);
}

static void a_batch_ends_at_its_bound_of_records(void **state)
{
    struct fixture *f = *state;
    size_t used = 0;

    for (int i = 0; i < CK_FRAME_RECORDS_MAX + 10; i++) {
        used += records_make(&rng, f->rows + used, CK_KIND_MARK, 0);
    }
    assert_int_equal(encode(f, used), 0);
    assert_int_equal(f->info.records, CK_FRAME_RECORDS_MAX);
    assert_int_equal(f->info.units, CK_FRAME_RECORDS_MAX);
}

static void a_pass_sees_the_classes_it_asked_for(void **state)
{
    struct fixture *f = *state;
    size_t used = records_make(&rng, f->rows, CK_KIND_SEND, 0);
    size_t name = used, length, out;

    length = records_make(&rng, f->rows + used, CK_KIND_NAME, 50);
    used += length;
    used += records_make(&rng, f->rows + used, CK_KIND_KERNEL, 0);
    assert_int_equal(encode(f, used), 0);
    assert_int_equal(decode(f, used, 1u << CK_CLASS_TEXT, &out), 0);
    assert_int_equal(out, length);
    assert_memory_equal(f->back, f->rows + name, length);
}

static void rows_that_do_not_fit_are_refused(void **state)
{
    struct fixture *f = *state;
    size_t used = records_make(&rng, f->rows, CK_KIND_KERNEL, 0), out;

    assert_int_equal(encode(f, used), 0);
    assert_int_equal(decode(f, used - 1, ~0u, &out), -1);
}

/* Views that no encoder makes: one group of marks with a crafted column. */
static int decode_marks(struct fixture *f,
                        uint32_t records,
                        unsigned column,
                        const char *bytes,
                        size_t length)
{
    static const uint8_t kind[] = {2, 0, 1}; /* +1, then two the same */
    uint8_t order[] = {(uint8_t)((records - 1) << 5 | CK_CLASS_MARK)};
    struct columns_group *group = &f->view.groups[CK_CLASS_MARK];
    uint8_t *copy = malloc(length + 1); /* so that ASan sees its end */
    size_t used;
    int rc;

    memset(&f->view, 0, sizeof(f->view));
    memcpy(copy, bytes, length);
    f->view.order = (struct columns_bytes){order, 1};
    group->records = records;
    group->column[0] = (struct columns_bytes){kind, sizeof(kind)};
    group->column[column] =
        (struct columns_bytes){length == 0 ? NULL : copy, length};
    rc = decode(f, 96, ~0u, &used);
    free(copy);
    return rc;
}

static void columns_that_do_not_fit_their_records_are_refused(void **state)
{
    static const struct {
        unsigned column;
        int rc;
        size_t length;
        const char *bytes;
    } cases[] = {
        {4, 0, 0, ""},
        {4, 0, 3, "\x02\x02\x02"},
        {4, 0, 2, "\0\x02"},            /* a run of three */
        {4, 0, 3, "\x02\0\x01"},        /* one and a run of two */
        {4, -1, 2, "\x02\x02"},         /* too few */
        {4, -1, 4, "\x02\x02\x02\x02"}, /* too many */
        {4, -1, 2, "\0\x03"},           /* run beyond the end */
        {4, -1, 3, "\x02\0\x02"},
        {4, -1, 1, "\0"},             /* run without a length */
        {4, -1, 3, "\x02\x02\x82"},   /* number without its end */
        {4, -1, 4, "\x02\x02\x82\0"}, /* needless zero byte */
        {4, 0, 12, "\x02\x02\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"},
        {4, -1, 12, "\x02\x02\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02"},
        {4, -1, 13, "\x02\x02\xff\xff\xff\xff\xff\xff\xff\xff\xff\x81\x01"},
        {2, 0, 7, "\x02\x02\xff\xff\xff\xff\x0f"}, /* name: 4 bytes wide */
        {2, -1, 7, "\x02\x02\xff\xff\xff\xff\x1f"},
        {1, 0, 4, "\x02\x02\xff\x01"}, /* flags: one byte wide */
        {1, -1, 4, "\x02\x02\x80\x02"},
        {0, -1, 3, "\x40\0\x01"},  /* sends among the marks */
        {9, 0, 3, "\x02\x02\x02"}, /* a column of a later version */
    };
    struct fixture *f = *state;

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        int rc = decode_marks(f, 3, cases[i].column, cases[i].bytes,
                              cases[i].length);

        if (rc != cases[i].rc) {
            fail_msg("case %zu: %d", i, rc);
        }
    }
}

static void order_and_groups_must_agree(void **state)
{
    static const uint8_t two[] = {1 << 5 | CK_CLASS_MARK};
    static const uint8_t huge[] = {0xe1, 0xff, 0xff, 0xff, 0x0f};
    static const uint8_t class_31[] = {2 << 5 | 31};
    struct fixture *f = *state;
    size_t out;

    memset(&f->view, 0, sizeof(f->view));
    f->view.order = (struct columns_bytes){two, 1};
    assert_int_equal(decode(f, 96, ~0u, &out), -1);
    f->view.groups[CK_CLASS_MARK].records = 2;
    /* Kind 0 is of no class: left out, counted. */
    assert_int_equal(decode(f, 96, ~0u, &out), 0);
    assert_int_equal(f->info.skipped, 2);
    assert_int_equal(out, 0);
    f->view.order = (struct columns_bytes){huge, sizeof(huge)};
    assert_int_equal(decode(f, 96, ~0u, &out), -1);
    memset(&f->view, 0, sizeof(f->view));
    f->view.order = (struct columns_bytes){class_31, 1};
    assert_int_equal(decode(f, 96, ~0u, &out), 0);
    assert_int_equal(f->info.skipped, 3);
}

static void hostile_text_lengths_are_refused(void **state)
{
    struct fixture *f = *state;
    size_t used = records_make(&rng, f->rows, CK_KIND_NAME, 40), out;
    struct columns_bytes *text = &f->view.groups[CK_CLASS_TEXT].text;

    assert_int_equal(encode(f, used), 0);
    text->length = 39;
    assert_int_equal(decode(f, used, ~0u, &out), -1);
    text->length = 41;
    assert_int_equal(decode(f, used, ~0u, &out), -1);
    text->length = 40;
    assert_int_equal(decode(f, used, ~0u, &out), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_records_come_back_byte_for_byte),
        cmocka_unit_test(each_kind_alone_fills_several_blocks),
        cmocka_unit_test(many_of_one_kind_and_name_come_back),
        cmocka_unit_test(extreme_values_come_back),
        cmocka_unit_test(texts_of_every_length_come_back),
        cmocka_unit_test(no_records_make_an_empty_batch),
        cmocka_unit_test(the_documented_example_is_true),
        cmocka_unit_test(an_unchanging_column_is_left_out),
        cmocka_unit_test(a_next_column_counts_from_record_to_record),
        cmocka_unit_test(a_next_column_must_be_a_plain_number),
        cmocka_unit_test(numbers_that_count_up_cost_nothing),
        cmocka_unit_test(
            numbers_that_only_count_up_come_back_from_a_new_encoder),
        cmocka_unit_test(numbers_that_do_not_count_up_are_coded_by_context),
        cmocka_unit_test(an_unknown_kind_is_left_out_and_counted),
        cmocka_unit_test(a_record_with_a_wrong_length_is_left_out),
        cmocka_unit_test(a_record_of_no_units_or_beyond_the_end_is_refused),
        cmocka_unit_test(a_batch_ends_at_its_bound_of_records),
        cmocka_unit_test(a_pass_sees_the_classes_it_asked_for),
        cmocka_unit_test(rows_that_do_not_fit_are_refused),
        cmocka_unit_test(columns_that_do_not_fit_their_records_are_refused),
        cmocka_unit_test(order_and_groups_must_agree),
        cmocka_unit_test(hostile_text_lengths_are_refused),
    };

    rng = records_random_init();
    return cmocka_run_group_tests(tests, setup, teardown);
}
