/* test_hang.c - who waited in a collective, and who never came
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "merge/analysis/waits/hang.h"
#include "tests/merge/ended.h"

#define WORLD 1

static struct hang *hang;

static int setup(void **state)
{
    (void)state;
    ended_init();
    hang = hang_create(world.defs);
    return hang == NULL;
}

static int teardown(void **state)
{
    (void)state;
    hang_destroy(hang);
    ended_fini();
    return 0;
}

static void collective(
    int rank, uint32_t comm, uint32_t seq, ck_time_t start, unsigned flags)
{
    struct ck_collective record = {
        .e = {.kind = CK_KIND_COLLECTIVE,
              .units = 3,
              .flags = (uint8_t)flags,
              .name = 1,
              .start = start},
        .dur = 5,
        .comm = comm,
        .seq = seq,
    };
    struct timeline_event event = {.record = &record.e,
                                   .start = start,
                                   .end = start + 5,
                                   .rank = rank,
                                   .process = (uint32_t)rank,
                                   .thread = (uint32_t)rank};

    assert_int_equal(hang_take(hang, &event), 0);
}

static void leaves(int rank, uint32_t seq)
{
    collective(rank, WORLD, seq, 10 * seq, 0);
}

static void stands(int rank, uint32_t seq)
{
    collective(rank, WORLD, seq, 10 * seq, CK_FLAG_CUT);
}

static const struct report_impasse *only(void)
{
    hang_report(hang, &report);
    assert_int_equal(report.impasses_count, 1);
    return &report.impasses[0];
}

static void assert_counts(const struct report_impasse *row,
                          size_t waited,
                          size_t died,
                          size_t absent,
                          size_t left)
{
    assert_int_equal(row->waited, waited);
    assert_int_equal(row->died, died);
    assert_int_equal(row->absent, absent);
    assert_int_equal(row->left, left);
}

static void the_rank_that_never_came_is_reported(void **state)
{
    const struct report_impasse *row;

    (void)state;
    for (int rank = 0; rank < PLAY_RANKS; rank++) {
        leaves(rank, 4);
    }
    stands(3, 5);
    stands(0, 5);
    stands(1, 5);
    dies(2, SIGKILL);
    row = only();
    assert_counts(row, 3, 0, 1, 0);
    assert_int_equal(row->ranks[0], 0);
    assert_int_equal(row->ranks[1], 1);
    assert_int_equal(row->ranks[2], 3);
    assert_int_equal(row->ranks[3], 2);
    assert_int_equal(row->number, 5);
    assert_int_equal(row->size, PLAY_RANKS);
    assert_string_equal(row->comm, "MPI_COMM_WORLD");
    assert_true(row->is_sure);
}

static void the_rank_that_died_in_it_did_not_wait(void **state)
{
    const struct report_impasse *row;

    (void)state;
    for (int rank = 0; rank < PLAY_RANKS; rank++) {
        stands(rank, 5);
    }
    dies(1, SIGSEGV);
    row = only();
    assert_counts(row, 3, 1, 0, 0);
    assert_int_equal(row->ranks[3], 1);
}

static void those_killed_after_the_first_death_waited(void **state)
{
    (void)state;
    for (int rank = 0; rank < PLAY_RANKS; rank++) {
        stands(rank, 5);
        rows[rank].code = SIGKILL;
    }
    dies(2, SIGKILL);
    assert_counts(only(), 3, 1, 0, 0);
}

static void a_rank_that_went_on_is_through_it(void **state)
{
    const struct report_impasse *row;

    (void)state;
    leaves(0, 5); /* the root of a broadcast */
    leaves(0, 6);
    leaves(2, 4);
    stands(1, 5);
    dies(2, SIGKILL);
    leaves(3, 5);
    row = only();
    assert_counts(row, 1, 0, 1, 2);
    assert_int_equal(row->ranks[1], 2);
    assert_int_equal(row->ranks[2], 0);
    assert_int_equal(row->ranks[3], 3);
}

static void two_collectives_are_two_rows_the_fuller_one_first(void **state)
{
    (void)state;
    stands(0, 4);
    stands(1, 5);
    leaves(1, 4);
    stands(3, 5);
    leaves(3, 4);
    dies(2, SIGKILL);
    hang_report(hang, &report);
    assert_int_equal(report.impasses_count, 2);
    assert_int_equal(report.impasses[0].number, 5);
    assert_counts(&report.impasses[0], 2, 0, 2, 0);
    assert_int_equal(report.impasses[1].number, 4);
    assert_counts(&report.impasses[1], 1, 0, 1, 2);
}

static void with_lost_records_nothing_is_sure(void **state)
{
    const struct report_impasse *row;

    (void)state;
    stands(0, 5);
    stands(1, 5);
    stands(3, 5);
    world.defs->agents[2].lost[0] = 1;
    dies(2, SIGKILL);
    row = only();
    assert_counts(row, 3, 0, 1, 0);
    assert_false(row->is_sure);
}

static void the_last_call_is_of_ranks_that_did_not_end_well(void **state)
{
    (void)state;
    leaves(2, 4);
    leaves(2, 3);
    leaves(1, 3);
    dies(2, SIGKILL);
    rows[1].end = REPORT_END_EXITED;
    rows[1].code = 0;
    hang_report(hang, &report);
    assert_non_null(rows[2].last);
    assert_int_equal(rows[2].last_end, 45);
    assert_null(rows[1].last);
    assert_null(rows[0].last);
}

static void a_run_that_ended_well_is_not_looked_at(void **state)
{
    (void)state;
    for (int rank = 0; rank < PLAY_RANKS; rank++) {
        world.defs->agents[rank].has_exit = true;
        world.defs->agents[rank].is_exit_known = true;
    }
    assert_false(hang_is_wanted(world.defs));
    world.defs->agents[3].status = SIGKILL;
    assert_true(hang_is_wanted(world.defs));
}

static void who_never_came_is_asked_for_while_records_come(void **state)
{
    const struct ck_collective endless = {.comm = WORLD, .seq = 5};

    (void)state;
    stands(0, 5);
    assert_true(hang_is_absent(hang, 0, &endless, 1));
    assert_true(hang_is_absent(hang, 0, &endless, 3));
    for (uint32_t comm = 2; comm < 40; comm++) {
        collective(1, comm, 9, 100 + comm, 0);
    }
    assert_true(hang_is_absent(hang, 0, &endless, 1));
    leaves(3, 5);
    leaves(2, 4);
    assert_true(hang_is_absent(hang, 0, &endless, 2));
    assert_false(hang_is_absent(hang, 0, &endless, 3));
    assert_counts(only(), 1, 0, 2, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(the_rank_that_never_came_is_reported,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(the_rank_that_died_in_it_did_not_wait,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(
            those_killed_after_the_first_death_waited, setup, teardown),
        cmocka_unit_test_setup_teardown(a_rank_that_went_on_is_through_it,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(
            two_collectives_are_two_rows_the_fuller_one_first, setup, teardown),
        cmocka_unit_test_setup_teardown(with_lost_records_nothing_is_sure,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(
            the_last_call_is_of_ranks_that_did_not_end_well, setup, teardown),
        cmocka_unit_test_setup_teardown(
            who_never_came_is_asked_for_while_records_come, setup, teardown),
        cmocka_unit_test_setup_teardown(a_run_that_ended_well_is_not_looked_at,
                                        setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
