/* test_flamecells.c - no time is lost, however many stacks and instants
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdbool.h>
#include <stdlib.h>

#include "merge/output/flames/flamecells.h"
#include "tests/merge/chance.h"

#define SECOND ((ck_time_t)1000000000)
#define PATHS 200

static const struct table_key no_path = {1, 0, 0};

static void added(struct flamecells *cells,
                  enum flame_kind kind,
                  struct table_key path,
                  struct region piece,
                  ck_time_t ns)
{
    flamecells_add(cells, kind, &path, piece, ns);
}

static ck_time_t total_of(const struct flamecells *cells, enum flame_kind kind)
{
    const ck_time_t *times = flamecells_times(cells, kind);
    ck_time_t total = 0;

    for (size_t i = 0; times != NULL && i < flamecells_count(cells); i++) {
        total += times[i];
    }
    return total;
}

static void columns_begin_with_the_seconds_of_the_clock(void **state)
{
    struct region part = {5 * SECOND + 300, 105 * SECOND};
    struct flamecells *cells = flamecells_create(part, 700000000);

    (void)state;
    assert_non_null(cells);
    assert_int_equal(flamecells_column(cells), SECOND);
    assert_int_equal(flamecells_width(cells), SECOND / 50);
    assert_int_equal(flamecells_start(cells), 4300000000);
    flamecells_destroy(cells);
}

static void a_short_run_has_shorter_columns(void **state)
{
    struct flamecells *cells =
        flamecells_create((struct region){0, 3 * SECOND}, 0);

    (void)state;
    assert_non_null(cells);
    assert_int_equal(flamecells_column(cells), SECOND / 10);
    assert_int_equal(flamecells_width(cells), SECOND / 500);
    flamecells_destroy(cells);
}

static void a_day_has_cells_that_fill_its_columns(void **state)
{
    struct flamecells *cells =
        flamecells_create((struct region){0, 86400 * SECOND}, 0);

    (void)state;
    assert_non_null(cells);
    assert_true(flamecells_count(cells) <= FLAMECELLS_CELLS);
    assert_int_equal(SECOND % flamecells_width(cells), 0);
    flamecells_destroy(cells);
}

static void a_piece_is_shared_out_among_its_cells(void **state)
{
    struct flamecells *cells =
        flamecells_create((struct region){0, 100 * SECOND}, 0);
    const ck_time_t *times;

    (void)state;
    added(cells, FLAME_DEVICE, no_path, (struct region){15000000, 45000000},
          30000000);
    times = flamecells_times(cells, FLAME_DEVICE);
    assert_int_equal(times[0], 5000000);
    assert_int_equal(times[1], 20000000);
    assert_int_equal(times[2], 5000000);
    assert_null(flamecells_times(cells, FLAME_CPU));
    flamecells_destroy(cells);
}

static void what_is_outside_is_left_out(void **state)
{
    struct flamecells *cells =
        flamecells_create((struct region){SECOND, 2 * SECOND}, 0);

    (void)state;
    added(cells, FLAME_IDLE, no_path, (struct region){0, 3 * SECOND}, 1);
    added(cells, FLAME_IDLE, no_path, (struct region){0, 10}, 10);
    added(cells, FLAME_CPU, no_path, (struct region){2 * SECOND, 2 * SECOND},
          5);
    assert_int_equal(total_of(cells, FLAME_IDLE), SECOND);
    assert_int_equal(total_of(cells, FLAME_CPU), 0);
    flamecells_destroy(cells);
}

/* More pairs of path and cell than there is room for. */
static void wider_cells_lose_no_time_of_any_path(void **state)
{
    struct flamecells *cells =
        flamecells_create((struct region){0, 1000 * SECOND}, 0);
    ck_time_t expected[PATHS] = {0};
    struct flame_sum *sums;
    size_t count;

    (void)state;
    for (int i = 0; i < 400000; i++) {
        uint64_t path = (uint64_t)chance_below(PATHS);
        ck_time_t start = chance_below(1000 * SECOND - 50000000);
        ck_time_t length = 1 + chance_below(50000000);

        added(cells, FLAME_OFFCPU, (struct table_key){path, 7, 7},
              (struct region){start, start + length}, length);
        expected[path] += length;
    }
    flamecells_finish(cells);
    assert_true(flamecells_wide(cells) > 1);
    sums = flamecells_sums(cells, FLAME_OFFCPU, &count);
    assert_non_null(sums);
    assert_true(count <= FLAMECELLS_SUMS);
    for (size_t i = 0; i < count; i++) {
        struct table_key key;

        assert_true(flamecells_path(cells, FLAME_OFFCPU, sums[i].path, &key));
        expected[key.a] -= sums[i].ns;
        assert_true(i == 0 || sums[i - 1].cell < sums[i].cell ||
                    (sums[i - 1].cell == sums[i].cell &&
                     sums[i - 1].path < sums[i].path));
    }
    for (size_t i = 0; i < PATHS; i++) {
        assert_int_equal(expected[i], 0);
    }
    free(sums);
    flamecells_destroy(cells);
}

/* Pieces of two kinds and many paths, forwards or backwards in time. */
static struct flame_sum *sums_of(bool is_backwards, size_t *wide, size_t *count)
{
    struct flamecells *cells =
        flamecells_create((struct region){0, 1000 * SECOND}, 0);
    struct flame_sum *sums;

    for (int64_t i = 0; i < 300000; i++) {
        int64_t number = is_backwards ? 299999 - i : i;
        ck_time_t start = number * 3000000;
        struct table_key path = {(uint64_t)(number * 7919 % PATHS), 0, 0};

        added(cells, number % 3 == 0 ? FLAME_CPU : FLAME_DEVICE, path,
              (struct region){start, start + 5000000}, 5000000);
    }
    flamecells_finish(cells);
    *wide = flamecells_wide(cells);
    sums = flamecells_sums(cells, FLAME_DEVICE, count);
    for (size_t i = 0; i < *count; i++) {
        struct table_key key;

        assert_true(flamecells_path(cells, FLAME_DEVICE, sums[i].path, &key));
        sums[i].path = (uint32_t)key.a;
    }
    flamecells_destroy(cells);
    return sums;
}

static ck_time_t
time_of(const struct flame_sum *sums, size_t count, const struct flame_sum *of)
{
    for (size_t i = 0; i < count; i++) {
        if (sums[i].cell == of->cell && sums[i].path == of->path) {
            return sums[i].ns;
        }
    }
    return 0;
}

static void in_which_order_pieces_come_does_not_matter(void **state)
{
    size_t wide, other_wide, count, other_count;
    struct flame_sum *sums = sums_of(false, &wide, &count);
    struct flame_sum *others = sums_of(true, &other_wide, &other_count);

    (void)state;
    assert_true(wide > 1);
    assert_int_equal(wide, other_wide);
    assert_int_equal(count, other_count);
    for (size_t i = 0; i < count; i += 997) {
        assert_int_equal(time_of(others, other_count, &sums[i]), sums[i].ns);
    }
    free(sums);
    free(others);
}

static void stacks_without_room_are_one(void **state)
{
    struct flamecells *cells = flamecells_create((struct region){0, SECOND}, 0);
    struct table_key key;
    size_t paths;

    (void)state;
    for (uint64_t i = 0; i < 2 * FLAMECELLS_PATHS; i++) {
        added(cells, FLAME_CPU, (struct table_key){i, 0, 0},
              (struct region){5, 5}, 3);
    }
    paths = flamecells_paths(cells, FLAME_CPU);
    assert_true(paths <= FLAMECELLS_PATHS);
    assert_int_equal(total_of(cells, FLAME_CPU), 6 * FLAMECELLS_PATHS);
    assert_true(flamecells_path(cells, FLAME_CPU, 0, &key));
    assert_false(flamecells_path(cells, FLAME_CPU, paths - 1, &key));
    flamecells_destroy(cells);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(columns_begin_with_the_seconds_of_the_clock),
        cmocka_unit_test(a_short_run_has_shorter_columns),
        cmocka_unit_test(a_day_has_cells_that_fill_its_columns),
        cmocka_unit_test(a_piece_is_shared_out_among_its_cells),
        cmocka_unit_test(what_is_outside_is_left_out),
        cmocka_unit_test(wider_cells_lose_no_time_of_any_path),
        cmocka_unit_test(in_which_order_pieces_come_does_not_matter),
        cmocka_unit_test(stacks_without_room_are_one),
    };

    chance_seed(CHANCE_SEED);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
