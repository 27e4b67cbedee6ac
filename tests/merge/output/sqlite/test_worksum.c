/* test_worksum.c - sums of work against sums made the slow way
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdbool.h>
#include <string.h>

#include "merge/output/sqlite/worksum.h"
#include "tests/merge/chance.h"

#define PIECES 400
#define SPAN 3000

struct piece {
    struct worksum_key key;
    ck_time_t start, end;
};

static bool is_same_name(const struct worksum_key *a,
                         const struct worksum_key *b)
{
    return a->device == b->device && a->kind == b->kind && a->name == b->name;
}

static ck_time_t union_of(const struct piece *pieces,
                          const struct worksum_key *key)
{
    bool is_covered[SPAN + 100] = {false};
    ck_time_t sum = 0;

    for (size_t i = 0; i < PIECES; i++) {
        for (ck_time_t at = pieces[i].start;
             is_same_name(&pieces[i].key, key) && at < pieces[i].end; at++) {
            sum += !is_covered[at];
            is_covered[at] = true;
        }
    }
    return sum;
}

static void expect_row(const struct piece *pieces,
                       const struct worksum_row *row)
{
    uint64_t count = 0;
    ck_time_t total = 0, longest = 0;

    for (size_t i = 0; i < PIECES; i++) {
        ck_time_t length = pieces[i].end - pieces[i].start;

        if (memcmp(&pieces[i].key, &row->key, sizeof(row->key)) == 0) {
            count++;
            total += length;
            longest = length > longest ? length : longest;
        }
    }
    assert_int_equal(row->pieces, count);
    assert_int_equal(row->total, total);
    assert_int_equal(row->longest, longest);
}

static void sums_are_those_of_the_pieces(void **state)
{
    (void)state;
    for (int round = 0; round < 20; round++) {
        struct worksum *sums = worksum_create();
        struct piece pieces[PIECES];
        const struct worksum_row *rows;
        ck_time_t start = 0;
        uint64_t of_all = 0;
        size_t count;

        for (size_t i = 0; i < PIECES; i++) {
            start += (ck_time_t)chance_below(SPAN / PIECES);
            pieces[i] = (struct piece){
                {(int64_t)chance_below(2), (int64_t)chance_below(3) - 1,
                 (int64_t)chance_below(2), (int64_t)chance_below(5)},
                start,
                start + (ck_time_t)chance_below(100)};
            worksum_add(sums, &pieces[i].key, pieces[i].start, pieces[i].end);
        }
        rows = worksum_rows(sums, &count);
        assert_true(count > 1);
        for (size_t i = 0; i < count; i++) {
            ck_time_t alone = 0;

            expect_row(pieces, &rows[i]);
            of_all += rows[i].pieces;
            for (size_t k = 0; k < count; k++) {
                alone += is_same_name(&rows[k].key, &rows[i].key)
                             ? rows[k].alone
                             : 0;
            }
            assert_int_equal(alone, union_of(pieces, &rows[i].key));
        }
        assert_int_equal(of_all, PIECES);
        worksum_destroy(sums);
    }
}

static void without_work_there_are_no_sums(void **state)
{
    struct worksum *sums = worksum_create();
    size_t count = 1;

    (void)state;
    (void)worksum_rows(sums, &count);
    assert_int_equal(count, 0);
    worksum_destroy(sums);
    worksum_destroy(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sums_are_those_of_the_pieces),
        cmocka_unit_test(without_work_there_are_no_sums),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
