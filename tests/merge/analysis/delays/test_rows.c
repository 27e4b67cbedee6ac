/* test_rows.c - time by cause and pair of ranks, with a bound
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

#include "merge/analysis/delays/rows.h"
#include "merge/analysis/idle/causekeys.h"
#include "tests/merge/chance.h"

#define RANKS 40
#define LIMIT 50
#define ROUNDS 20000

static struct defs_rank ranks[RANKS];
static struct defs defs = {.ranks = ranks, .ranks_count = RANKS};

static int setup(void **state)
{
    (void)state;
    for (int32_t i = 0; i < RANKS; i++) {
        ranks[i] = (struct defs_rank){.number = i * 3, .is_wanted = true};
    }
    return 0;
}

static bool is_shown(const struct defs *of, uint32_t device)
{
    return of != NULL && device % 5 != 0;
}

static struct ledger_row any_row(unsigned *seed)
{
    uint32_t device = (uint32_t)rand_r(seed) % RANKS;
    bool is_wait = rand_r(seed) % 4 != 0;

    return (struct ledger_row){
        .device = device,
        .cause = is_wait ? CAUSE_MPI_WAIT : CAUSE_MPI_TRANSFER,
        .rank = ranks[device].number,
        .wait = is_wait ? (enum wait_kind)(rand_r(seed) % 3) : WAIT_NONE,
        .last =
            is_wait ? ranks[rand_r(seed) % RANKS].number : DEFS_RANK_UNKNOWN,
        .blamed =
            is_wait ? ranks[rand_r(seed) % RANKS].number : DEFS_RANK_UNKNOWN,
        .did = DEFS_NONE,
        .blamed_did = DEFS_NONE,
    };
}

static int add(struct rows *rows, const struct ledger_row *what, ck_time_t ns)
{
    struct ledger_row *row = rows_find(rows, what);

    if (row == NULL) {
        return -1;
    }
    row->ns += ns;
    row->count++;
    return 0;
}

/* What a report has of the waits for a rank: time, how often, how many ranks;
 * of what is shown, or of what is not. */
struct told {
    ck_time_t ns;
    uint64_t count;
    uint32_t ranks;
};

static struct told told_of(const struct rows *rows, int32_t blamed, bool shown)
{
    struct told told = {0, 0, 0};
    size_t count;
    const struct ledger_row *all = rows_all(rows, &count);
    const struct ledger_row **kept = calloc(count + 1, sizeof(*kept));
    size_t used = 0;

    for (size_t i = 0; i < count; i++) {
        if (all[i].blamed == blamed && all[i].cause == CAUSE_MPI_WAIT &&
            is_shown(&defs, all[i].device) == shown) {
            told.ns += all[i].ns;
            told.count += all[i].count;
            kept[used++] = &all[i];
        }
    }
    told.ranks = rows_ranks(&defs, kept, used);
    free(kept);
    return told;
}

static void rows_that_are_shared_have_the_same_of_each_rank(void **state)
{
    unsigned seed = chance_rand_seed();
    struct rows *bound = rows_create(&defs, NULL, is_shown, LIMIT);
    struct rows *whole = rows_create(&defs, NULL, is_shown, (size_t)1 << 30);
    size_t bound_count, whole_count;

    (void)state;
    for (int i = 0; i < ROUNDS; i++) {
        struct ledger_row row = any_row(&seed);
        ck_time_t ns = rand_r(&seed) % 1000;

        assert_int_equal(add(bound, &row, ns), 0);
        assert_int_equal(add(whole, &row, ns), 0);
    }
    for (int i = 0; i < RANKS * 2; i++) {
        struct told a = told_of(bound, ranks[i / 2].number, i % 2 == 0);
        struct told b = told_of(whole, ranks[i / 2].number, i % 2 == 0);

        assert_int_equal(a.ns, b.ns);
        assert_int_equal(a.count, b.count);
        assert_int_equal(a.ranks, b.ranks);
    }
    (void)rows_all(bound, &bound_count);
    (void)rows_all(whole, &whole_count);
    /* Each kind of wait for each rank, shown or not; and no waits. */
    assert_true(bound_count <= LIMIT * 2 + RANKS * 3 * 2 + RANKS);
    assert_true(bound_count < whole_count);
    rows_destroy(bound);
    rows_destroy(whole);
}

/* The report joins both. */
static bool is_one_cause(const struct ledger_row *a, const struct ledger_row *b)
{
    if (a->cause != b->cause || a->blamed != b->blamed ||
        a->is_start != b->is_start ||
        is_shown(&defs, a->device) != is_shown(&defs, b->device)) {
        return false;
    }
    return a->cause == CAUSE_MPI_WAIT ? a->wait == b->wait : a->rank == b->rank;
}

static void rows_that_are_reported_together_have_one_key(void **state)
{
    unsigned seed = chance_rand_seed();
    struct causekeys *keys = causekeys_create(&defs, NULL, is_shown);
    static struct ledger_row rows[400];
    static int64_t numbers[400];

    (void)state;
    assert_non_null(keys);
    for (size_t i = 0; i < 400; i++) {
        rows[i] = any_row(&seed);
        rows[i].is_start = rand_r(&seed) % 8 == 0;
        numbers[i] = causekeys_find(keys, &rows[i]);
        assert_true(numbers[i] >= 0);
        for (size_t k = 0; k < i; k++) {
            assert_int_equal(numbers[i] == numbers[k],
                             is_one_cause(&rows[i], &rows[k]));
        }
    }
    causekeys_destroy(keys);
}

static void waits_for_a_device_are_reported_by_device(void **state)
{
    struct causekeys *keys = causekeys_create(&defs, NULL, is_shown);
    struct ledger_row row = {.device = 3,
                             .cause = CAUSE_DEP_REMOTE,
                             .rank = 9,
                             .last = 4,
                             .blamed = DEFS_RANK_UNKNOWN,
                             .did = DEFS_NONE};
    int64_t number = causekeys_find(keys, &row);

    (void)state;
    row.blamed_did = 7; /* makes no difference */
    assert_int_equal(causekeys_find(keys, &row), number);
    row.last = 6;
    assert_int_not_equal(causekeys_find(keys, &row), number);
    row.last = 4;
    row.device = 2;
    assert_int_not_equal(causekeys_find(keys, &row), number);
    causekeys_destroy(keys);
}

static void a_row_is_the_same_however_it_is_looked_for(void **state)
{
    unsigned seed = chance_rand_seed();
    struct rows *rows = rows_create(&defs, NULL, is_shown, (size_t)1 << 30);
    static uint32_t last[RANKS][CAUSES][ROWS_LAST];

    (void)state;
    for (int i = 0; i < ROUNDS; i++) {
        struct ledger_row what = any_row(&seed);
        struct ledger_row *again =
            rows_again(rows, &what, last[what.device][what.cause]);

        assert_non_null(again);
        assert_ptr_equal(rows_find(rows, &what), again);
    }
    rows_destroy(rows);
}

/* A row with so many pieces of these lengths in turn, all by rank 9. */
static struct ledger_row *pieces_put(struct rows *rows,
                                     uint32_t device,
                                     const ck_time_t *lengths,
                                     size_t kinds,
                                     size_t count,
                                     ck_time_t from)
{
    const struct ledger_row what = {.device = device,
                                    .cause = CAUSE_HOST_COMPUTE,
                                    .rank = 9,
                                    .last = DEFS_RANK_UNKNOWN,
                                    .blamed = DEFS_RANK_UNKNOWN,
                                    .did = DEFS_NONE,
                                    .blamed_did = DEFS_NONE};
    struct ledger_row *row = rows_find(rows, &what);

    for (size_t i = 0; i < count; i++) {
        ck_time_t start = from + (ck_time_t)i * 10000;

        rows_example(row, (struct report_piece){
                              {start, start + lengths[i % kinds]}, 9, 1});
    }
    return row;
}

static void a_typical_piece_has_median_length(void **state)
{
    static const ck_time_t few[] = {5}, most[] = {300, 300, 301};
    static const ck_time_t turns[] = {10, 200, 200, 200, 9000};
    struct rows *rows = rows_create(&defs, NULL, is_shown, 0);
    const struct ledger_row *all[2];
    struct report_piece piece;

    (void)state;
    all[0] = pieces_put(rows, 3, turns, 5, 5000, 0);
    piece = rows_typical(all, 1);
    assert_int_equal(region_length(piece.part), 200);
    assert_int_equal(piece.rank, 9);
    assert_int_equal(piece.part.start % 10000, 0);
    /* A row with few pieces counts little, though as many of it are kept. */
    all[0] = pieces_put(rows, 1, few, 1, ROWS_SAMPLE, 0);
    all[1] = pieces_put(rows, 2, most, 3, 3000, 0);
    assert_in_range(region_length(rows_typical(all, 2).part), 300, 301);
    assert_int_equal(region_length(rows_typical(all, 1).part), 5);
    assert_int_equal(region_length(rows_typical(all, 0).part), 0);
    rows_destroy(rows);
}

static void each_piece_has_the_same_chance_to_be_kept(void **state)
{
    static const ck_time_t one[] = {7};
    double first = 0;
    size_t kept = 0;

    (void)state;
    for (size_t count = 100; count < 500; count++) {
        struct rows *rows = rows_create(&defs, NULL, is_shown, 0);
        ck_time_t from = (ck_time_t)count * 123457;
        const struct ledger_row *row = pieces_put(rows, 3, one, 1, count, from);

        assert_int_equal(row->more->sample->kept, ROWS_SAMPLE);
        assert_int_equal(row->more->sample->count, count);
        for (size_t k = 0; k < ROWS_SAMPLE; k++, kept++) {
            ck_time_t number =
                (row->more->sample->pieces[k].part.start - from) / 10000;

            assert_in_range(number, 0, count - 1);
            first += number < (ck_time_t)count / 2;
        }
        rows_destroy(rows);
    }
    /* Half of them, but for five standard deviations of 6,400 draws. */
    assert_true(first / (double)kept > 0.47 && first / (double)kept < 0.53);
}

static void a_piece_that_goes_on_is_one_piece(void **state)
{
    static const ck_time_t one[] = {7};
    struct rows *rows = rows_create(&defs, NULL, is_shown, 0);
    struct ledger_row *row = pieces_put(rows, 3, one, 1, 1, 0);

    (void)state;
    rows_example(row, (struct report_piece){{7, 50}, 9, 1});
    rows_example(row, (struct report_piece){{50, 60}, 9, 1});
    rows_example(row, (struct report_piece){{100, 101}, 9, 2});
    assert_int_equal(row->more->sample->count, 2);
    assert_int_equal(row->more->sample->pieces[0].part.start, 0);
    assert_int_equal(row->more->sample->pieces[0].part.end, 60);
    assert_int_equal(row->longest.part.end, 60);
    assert_int_equal(row->longest.device, 1);
    assert_int_equal(row->more->sample->pieces[1].device, 2);
    rows_destroy(rows);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_that_are_shared_have_the_same_of_each_rank),
        cmocka_unit_test(rows_that_are_reported_together_have_one_key),
        cmocka_unit_test(waits_for_a_device_are_reported_by_device),
        cmocka_unit_test(a_row_is_the_same_however_it_is_looked_for),
        cmocka_unit_test(a_typical_piece_has_median_length),
        cmocka_unit_test(each_piece_has_the_same_chance_to_be_kept),
        cmocka_unit_test(a_piece_that_goes_on_is_one_piece),
    };

    return cmocka_run_group_tests(tests, setup, NULL);
}
