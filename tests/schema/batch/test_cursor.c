/* test_cursor.c - a batch decoded piece by piece against all at once
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

static uint8_t *together; /* what came piece by piece */
static struct columns_cursor *cursor;

static int cursor_setup(void **state)
{
    together = aligned_alloc(64, ROOM);
    cursor = columns_cursor_create();
    return setup(state) != 0 || together == NULL || cursor == NULL ? -1 : 0;
}

static int cursor_teardown(void **state)
{
    free(together);
    columns_cursor_destroy(cursor);
    return teardown(state);
}

#define TEXTS (1u << CK_CLASS_TEXT | 1u << CK_CLASS_MODULE)
#define PIECES_BYTES ((size_t)CK_BATCH_PIECES_MAX * CK_BATCH_PIECE * 96)

/* All pieces one after the other, each decoded to the same place and moved
 * away. 0, or -1: it did not decode. */
static int pieces_decode(struct fixture *f, uint32_t classes, size_t *used)
{
    static uint8_t place[PIECES_BYTES] __attribute__((aligned(8)));
    int rc = columns_cursor_open(cursor, &f->view, classes, &f->err);

    *used = 0;
    while (rc == 0 || rc == 1) {
        struct columns_rows rows = {place, sizeof(place), 0};
        unsigned pieces =
            1 + (unsigned)records_below(&rng, CK_BATCH_PIECES_MAX);

        rc = columns_cursor_next(cursor, pieces, &rows, &f->err);
        if (rc != 1) {
            return rc;
        }
        assert_true(rows.used <= (size_t)pieces * CK_BATCH_PIECE * 96);
        memcpy(together + *used, place, rows.used);
        memset(place, 0x5a, sizeof(place));
        *used += rows.used;
    }
    return rc;
}

/* Pieces decode when all does, and to the same. */
static void assert_pieces_agree(struct fixture *f, uint32_t classes)
{
    struct columns_rows rows = {f->back, ROOM, 0};
    struct ck_batch_info info = {0};
    int whole =
        columns_decode(&f->view, classes & ~TEXTS, &info, &rows, &f->err);
    size_t used;

    assert_int_equal(pieces_decode(f, classes, &used), whole);
    if (whole == 0) {
        assert_int_equal(used, rows.used);
        assert_memory_equal(together, f->back, used);
    }
}

static void pieces_make_the_whole(void **state)
{
    struct fixture *f = *state;

    for (int round = 0; round < 300; round++) {
        size_t limit = 1 + records_below(&rng, round < 280 ? 100000 : ROOM);
        uint32_t classes = round % 2 == 0 ? ~0u : (uint32_t)records_next(&rng);

        assert_int_equal(encode(f, rows_fill(f, limit)), 0);
        assert_pieces_agree(f, classes);
    }
}

static void each_kind_alone_comes_in_pieces(void **state)
{
    struct fixture *f = *state;

    for (unsigned kind = 1; kind < CK_KIND_LIMIT; kind++) {
        if (ck_kind_class(kind) == CK_CLASS_NONE) {
            continue;
        }
        assert_int_equal(
            encode(f, rows_repeat(f, kind, 7 * CK_BATCH_PIECE + 7, 300)), 0);
        assert_pieces_agree(f, ~0u);
    }
}

static void many_of_one_kind_and_name_come_in_pieces(void **state)
{
    struct fixture *f = *state;

    for (int round = 0; round < 100; round++) {
        assert_int_equal(encode(f, rows_runs(f, 8)), 0);
        assert_pieces_agree(f, ~0u);
    }
}

static void pieces_refuse_what_decoding_refuses(void **state)
{
    struct fixture *f = *state;
    uint8_t *copy = malloc(ROOM);

    for (int round = 0; round < 4000; round++) {
        assert_int_equal(encode(f, rows_reach(f, (size_t)round * 10)), 0);
        column_damage(f, copy);
        assert_pieces_agree(f, ~0u);
    }
    free(copy);
}

static void rows_that_do_not_fit_are_refused(void **state)
{
    struct fixture *f = *state;
    struct columns_rows rows = {f->back, 0, 0};
    size_t used = 0;

    for (int i = 0; i < 100; i++) {
        used += records_make(&rng, f->rows + used, CK_KIND_POSIX, 1);
    }
    assert_int_equal(encode(f, used), 0);
    for (rows.room = 0; rows.room < used; rows.room += 32) {
        assert_int_equal(columns_cursor_open(cursor, &f->view, ~0u, &f->err),
                         0);
        assert_int_equal(columns_cursor_next(cursor, 1, &rows, &f->err), -1);
    }
    assert_int_equal(columns_cursor_open(cursor, &f->view, ~0u, &f->err), 0);
    assert_int_equal(columns_cursor_next(cursor, 1, &rows, &f->err), 1);
    assert_int_equal(columns_cursor_next(cursor, 1, &rows, &f->err), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pieces_make_the_whole),
        cmocka_unit_test(each_kind_alone_comes_in_pieces),
        cmocka_unit_test(many_of_one_kind_and_name_come_in_pieces),
        cmocka_unit_test(pieces_refuse_what_decoding_refuses),
        cmocka_unit_test(rows_that_do_not_fit_are_refused),
    };

    rng = records_random_init();
    return cmocka_run_group_tests(tests, cursor_setup, cursor_teardown);
}
