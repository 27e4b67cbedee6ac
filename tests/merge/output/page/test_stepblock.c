/* test_stepblock.c - rows of steps come out of the page's blocks as they were
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "merge/model/memory.h"
#include "merge/output/json/jsonreport.h"
#include "merge/output/page/stepblock.h"
#include "tests/merge/chance.h"

#define ROWS 500
#define RANKS 3
#define ZERO ((ck_time_t)1700000000000000000)

/* A report of steps alone, any values where they may have any. */
struct fixture {
    struct report report;
    struct report_step steps[ROWS];
    ck_time_t lengths[ROWS][RANKS];
};

static void step_make(struct fixture *fixture, size_t i)
{
    struct report_step *step = &fixture->steps[i];
    ck_time_t start = ZERO + (ck_time_t)i * 1000000 + chance_below(5000000);

    *step = (struct report_step){
        .number = (int64_t)i - 5 + chance_below(3),
        .start = start,
        .end = start + chance_below(900000),
        .shortest = chance_below(1000),
        .longest = 1000 + chance_below(1000000),
        .longest_rank = (int32_t)chance_below(RANKS + 1) - 1,
        .ranks = (uint32_t)chance_below(RANKS + 1),
        .launches = (uint64_t)chance_below(5),
        .collectives = (uint64_t)chance_below(300),
        .waited = chance_below(2000000),
        .waited_error = chance_below(3) * 40,
        .worst = (int32_t)chance_below(RANKS + 1) - 1,
        .worst_ns = chance_below(1000000),
        .is_outlier = chance_below(2) == 0,
        .lengths = fixture->lengths[i],
    };
    step->causes[CAUSE_MPI_WAIT] = chance_below(2) * chance_below(700000);
    for (size_t rank = 0; rank < RANKS; rank++) {
        fixture->lengths[i][rank] = chance_below(1000000) - 1;
    }
}

static struct fixture *fixture_make(size_t rows)
{
    struct fixture *fixture = xcalloc(1, sizeof(*fixture));

    for (size_t i = 0; i < rows; i++) {
        step_make(fixture, i);
    }
    fixture->report.whole.start = ZERO;
    fixture->report.size = RANKS;
    fixture->report.table.items = fixture->steps;
    fixture->report.table.count = rows;
    fixture->report.table.ranks = RANKS;
    return fixture;
}

/* ---- reading ------------------------------------------------------------ */

struct reader {
    const unsigned char *at, *end;
    size_t rows;
};

static uint64_t number_next(struct reader *reader)
{
    uint64_t value = 0;
    unsigned shift = 0;

    for (;;) {
        assert_true(reader->at < reader->end && shift < 64);
        value |= (uint64_t)(*reader->at & 0x7f) << shift;
        shift += 7;
        if ((*reader->at++ & 0x80) == 0) {
            return value;
        }
    }
}

static uint64_t *column(struct reader *reader)
{
    uint64_t *values = xcalloc(reader->rows + 1, sizeof(*values));

    for (size_t i = 0; i < reader->rows; i++) {
        values[i] = number_next(reader);
    }
    return values;
}

static int64_t signed_of(uint64_t value)
{
    return (value & 1) != 0 ? -(int64_t)(value >> 1) - 1
                            : (int64_t)(value >> 1);
}

/* The next column is that of the steps. */
#define SAME(reader, fixture, of)                                              \
    do {                                                                       \
        uint64_t *values = column(reader);                                     \
                                                                               \
        for (size_t i = 0; i < (reader)->rows; i++) {                          \
            const struct report_step *step = &(fixture)->steps[i];             \
                                                                               \
            assert_int_equal(of, values[i]);                                   \
        }                                                                      \
        free(values);                                                          \
    } while (0)
#define FOLDED(of) ((of) < 0 ? (uint64_t)(-(of)) * 2 - 1 : (uint64_t)(of)*2)

/* Each less the one before. */
static void
deltas_are(struct reader *reader, const struct fixture *fixture, bool is_start)
{
    uint64_t *values = column(reader);
    int64_t sum = is_start ? ZERO : 0;

    for (size_t i = 0; i < reader->rows; i++) {
        sum += signed_of(values[i]);
        assert_int_equal(sum, is_start ? fixture->steps[i].start
                                       : fixture->steps[i].number);
    }
    free(values);
}

static void each_figure_comes_out_as_it_was(void **state)
{
    struct fixture *fixture = fixture_make(ROWS);
    struct stepblock block;
    struct reader reader = {.rows = ROWS};

    (void)state;
    assert_int_equal(stepblock_make(&block, &fixture->report), 0);
    assert_string_equal(block.index,
                        "{\"version\":1,\"rows\":500,\"of_ranks\":3,"
                        "\"lengths\":3,\"causes\":[\"mpi_wait\"]}");
    reader.at = block.numbers.at;
    reader.end = reader.at + block.numbers.used;
    deltas_are(&reader, fixture, false);
    deltas_are(&reader, fixture, true);
    SAME(&reader, fixture, FOLDED(step->end - step->start));
    SAME(&reader, fixture, step->ranks);
    SAME(&reader, fixture, FOLDED(step->shortest));
    SAME(&reader, fixture, FOLDED(step->longest - step->shortest));
    SAME(&reader, fixture, FOLDED((int64_t)step->longest_rank));
    SAME(&reader, fixture, step->launches);
    SAME(&reader, fixture, step->syncs);
    SAME(&reader, fixture, step->copies);
    SAME(&reader, fixture, step->collectives);
    SAME(&reader, fixture, FOLDED(step->waited));
    SAME(&reader, fixture, step->waited_error);
    SAME(&reader, fixture, step->worst + 1);
    SAME(&reader, fixture, step->worst < 0 ? 0 : FOLDED(step->worst_ns));
    SAME(&reader, fixture, step->is_outlier);
    SAME(&reader, fixture, FOLDED(step->causes[CAUSE_MPI_WAIT]));
    for (size_t rank = 0; rank < RANKS; rank++) {
        SAME(&reader, fixture, step->lengths[rank] + 1);
    }
    assert_ptr_equal(reader.at, reader.end);
    stepblock_fini(&block);
    free(fixture);
}

static void rows_take_a_fifth_of_their_json_at_most(void **state)
{
    struct fixture *fixture = fixture_make(ROWS);
    struct stepblock block;
    size_t with, without;

    (void)state;
    free(output_json(&fixture->report, &with));
    assert_int_equal(stepblock_make(&block, &fixture->report), 0);
    fixture->report.table.items = NULL;
    free(output_json(&fixture->report, &without));
    assert_true(block.numbers.used + block.index_length < (with - without) / 5);
    stepblock_fini(&block);
    free(fixture);
}

static void what_is_not_kept_is_not_there(void **state)
{
    struct fixture *fixture = fixture_make(2);
    struct stepblock block;

    (void)state;
    fixture->steps[0].lengths = fixture->steps[1].lengths = NULL;
    assert_int_equal(stepblock_make(&block, &fixture->report), 0);
    assert_non_null(strstr(block.index, "\"lengths\":0"));
    stepblock_fini(&block);
    fixture->report.table.count = 0;
    assert_int_equal(stepblock_make(&block, &fixture->report), 0);
    assert_null(block.index);
    assert_int_equal(block.numbers.used, 0);
    stepblock_fini(&block);
    free(fixture);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_figure_comes_out_as_it_was),
        cmocka_unit_test(rows_take_a_fifth_of_their_json_at_most),
        cmocka_unit_test(what_is_not_kept_is_not_there),
    };

    chance_seed(20261124);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
