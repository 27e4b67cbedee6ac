/* test_scan.c - a scan of a batch against its records
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

/* What a scan handed out, by class. */
struct scanned {
    const struct fixture *fixture;
    size_t at[CK_CLASS_LIMIT]; /* offset of the next row */
};

#define TEXTS (1u << CK_CLASS_TEXT | 1u << CK_CLASS_MODULE)

/* The row of the next record of that class. */
static const struct ck_event *row_next(struct scanned *scanned, unsigned cls)
{
    const uint8_t *back = scanned->fixture->back;
    const struct ck_event *row;

    do {
        row = (const struct ck_event *)(back + scanned->at[cls]);
        scanned->at[cls] += (size_t)row->units * CK_UNIT_BYTES;
    } while (ck_kind_class(row->kind) != cls);
    return row;
}

static void scan_take(void *state, const struct ck_batch_columns *columns)
{
    for (unsigned i = 0; i < columns->count; i++) {
        const struct ck_event *row = row_next(state, columns->cls);
        int64_t dur = !ck_class_has_length(columns->cls)
                          ? 0
                          : ((const struct ck_mark *)row)->dur;

        assert_int_equal(columns->kind[i], row->kind);
        assert_int_equal(columns->flags[i], row->flags);
        assert_int_equal(columns->name[i], row->name);
        assert_int_equal(columns->start[i], row->start);
        assert_int_equal(columns->dur[i], dur);
        if (columns->cls == CK_CLASS_KERNEL) {
            assert_int_equal(columns->device[i],
                             ((const struct ck_kernel *)row)->device);
        } else if (columns->cls == CK_CLASS_COPY) {
            assert_int_equal(columns->device[i],
                             ((const struct ck_copy *)row)->device);
        } else {
            assert_null(columns->device);
        }
    }
}

static void scan_drop(void *state, const struct ck_batch_columns *columns)
{
    *(uint32_t *)state += columns->count;
}

/* A scan refuses what decoding refuses, and finds the same records. */
static void assert_scan_agrees(struct fixture *f)
{
    struct columns_rows rows = {f->back, ROOM, 0};
    struct scanned scanned = {.fixture = f};
    struct ck_batch_info info = {0};
    uint32_t count = 0;

    if (columns_decode(&f->view, ~TEXTS, &info, &rows, &f->err) != 0) {
        assert_int_equal(
            columns_scan(&f->view, ~TEXTS, &info, scan_drop, &count, &f->err),
            -1);
        return;
    }
    assert_int_equal(
        columns_scan(&f->view, ~TEXTS, &info, scan_take, &scanned, &f->err), 0);
    assert_int_equal(
        columns_scan(&f->view, ~TEXTS, &info, scan_drop, &count, &f->err), 0);
    for (size_t at = 0; at < rows.used; count--) {
        at += (size_t)f->back[at + 2] * CK_UNIT_BYTES;
    }
    assert_int_equal(count, 0);
}

static void a_scan_finds_what_random_records_have(void **state)
{
    struct fixture *f = *state;

    for (int round = 0; round < 300; round++) {
        size_t limit = 1 + records_below(&rng, round < 280 ? 20000 : ROOM);

        assert_int_equal(encode(f, rows_fill(f, limit)), 0);
        assert_scan_agrees(f);
    }
}

static void each_kind_alone_is_scanned(void **state)
{
    struct fixture *f = *state;

    for (unsigned kind = 1; kind < CK_KIND_LIMIT; kind++) {
        if (ck_kind_class(kind) == CK_CLASS_NONE) {
            continue;
        }
        assert_int_equal(
            encode(f, rows_repeat(f, kind, 3 * FIELD_BLOCK + 7, 40)), 0);
        assert_scan_agrees(f);
    }
}

/* In the order of the batch, whatever its classes. */
static void piece_check(void *state, const struct ck_batch_columns *columns)
{
    (void)state;
    for (unsigned i = 0; i < columns->count; i++) {
        assert_int_equal(columns->start[i] / CK_BATCH_PIECE, columns->piece);
    }
}

static void a_piece_has_the_records_at_its_place(void **state)
{
    struct fixture *f = *state;
    struct ck_batch_info info = {0};
    size_t used = 0;

    for (int i = 0; i < 5000; i++) {
        bool is_mark = records_below(&rng, 3) == 0;
        struct ck_mark mark = {.e = {CK_KIND_RANGE, 1, 0, 1, i}};
        struct ck_call call = {.e = {CK_KIND_POSIX, 2, 0, 1, i}};

        memcpy(f->rows + used, is_mark ? (void *)&mark : (void *)&call,
               is_mark ? sizeof(mark) : sizeof(call));
        used += is_mark ? sizeof(mark) : sizeof(call);
    }
    assert_int_equal(encode(f, used), 0);
    assert_int_equal(
        columns_scan(&f->view, ~0u, &info, piece_check, NULL, &f->err), 0);
}

static void whatever_is_damaged_a_scan_agrees_with_decoding(void **state)
{
    struct fixture *f = *state;
    uint8_t *copy = malloc(ROOM);

    for (int round = 0; round < 20000; round++) {
        assert_int_equal(encode(f, rows_reach(f, 1000)), 0);
        column_damage(f, copy);
        assert_scan_agrees(f);
    }
    free(copy);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_scan_finds_what_random_records_have),
        cmocka_unit_test(each_kind_alone_is_scanned),
        cmocka_unit_test(a_piece_has_the_records_at_its_place),
        cmocka_unit_test(whatever_is_damaged_a_scan_agrees_with_decoding),
    };

    rng = records_random_init();
    return cmocka_run_group_tests(tests, setup, teardown);
}
