/* test_unmatched.c - which messages ranks waited for at the end of a run
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <signal.h>
#include <string.h>

#include "merge/analysis/waits/unmatched.h"
#include "tests/merge/ended.h"

#define WORLD 1
#define WAITALL 90 /* name of a call */

static struct unmatched *unmatched;

static int setup(void **state)
{
    (void)state;
    ended_init();
    dies(2, SIGKILL);
    for (uint32_t p = 0; p < PLAY_RANKS; p++) {
        assert_int_equal(
            names_set(world.defs->processes[p].names, WAITALL,
                      texts_keep(world.defs->texts, "MPI_Waitall", 11)),
            0);
    }
    unmatched = unmatched_create(world.defs);
    return unmatched == NULL;
}

static int teardown(void **state)
{
    (void)state;
    unmatched_destroy(unmatched);
    ended_fini();
    return 0;
}

static void take(int rank, struct ck_event *record)
{
    struct timeline_event event = {.record = record,
                                   .rank = rank,
                                   .process = (uint32_t)rank,
                                   .thread = (uint32_t)rank};

    unmatched_take(unmatched, &event);
}

static struct ck_message message(enum ck_kind kind, int32_t peer, int32_t tag)
{
    return (struct ck_message){
        .e = {.kind = (uint16_t)kind, .units = 2, .name = 1},
        .comm = WORLD,
        .peer = peer,
        .tag = tag,
    };
}

/* In a blocking call that never ended. */
static void stands(int rank, enum ck_kind kind, int32_t peer, int32_t tag)
{
    struct ck_message record = message(kind, peer, tag);

    record.e.flags = CK_FLAG_CUT;
    take(rank, &record.e);
}

static void posts(int rank, int32_t peer, int32_t tag, uint64_t request)
{
    struct ck_message record = message(CK_KIND_RECV, peer, tag);

    record.request = request;
    take(rank, &record.e);
}

static void completes(int rank, uint64_t request)
{
    struct ck_message record = message(CK_KIND_COMPLETE, 0, 0);

    record.request = request;
    take(rank, &record.e);
}

static void waits(int rank)
{
    struct ck_call record = {.e = {.kind = CK_KIND_MPI_CALL,
                                   .units = 2,
                                   .flags = CK_FLAG_CUT,
                                   .name = WAITALL}};

    take(rank, &record.e);
}

static void assert_row(size_t at, int32_t peer, int32_t tag, size_t ranks)
{
    assert_in_range(at, 0, report.awaited_count - 1);
    assert_int_equal(report.awaited[at].peer, peer);
    assert_int_equal(report.awaited[at].tag, tag);
    assert_int_equal(report.awaited[at].ranks_count, ranks);
    assert_string_equal(report.awaited[at].comm, "MPI_COMM_WORLD");
}

static void receives_from_the_dead_come_first(void **state)
{
    (void)state;
    stands(0, CK_KIND_RECV, 1, 7);
    stands(1, CK_KIND_RECV, 2, 7);
    stands(3, CK_KIND_RECV, 2, 7);
    stands(2, CK_KIND_RECV, 0, 7); /* he died in it: he does not wait */
    unmatched_report(unmatched, &report);
    assert_int_equal(report.awaited_count, 2);
    assert_row(0, 2, 7, 2);
    assert_true(report.awaited[0].has_died);
    assert_int_equal(report.awaited[0].ranks[0], 1);
    assert_int_equal(report.awaited[0].ranks[1], 3);
    assert_row(1, 1, 7, 1);
    assert_false(report.awaited[1].has_died);
}

static void a_wait_is_for_the_receives_that_are_open(void **state)
{
    (void)state;
    posts(0, 1, 5, 0x10);
    posts(0, 2, 6, 0x20);
    posts(0, 3, 5, 0x30);
    completes(0, 0x10);
    completes(0, 0x30);
    posts(1, 2, 9, 0x20); /* another process, which waits for nothing */
    waits(0);
    unmatched_report(unmatched, &report);
    assert_int_equal(report.awaited_count, 1);
    assert_row(0, 2, 6, 1);
    assert_string_equal(report.awaited[0].call, "MPI_Waitall");
}

static void any_source_and_sends_are_reported_as_such(void **state)
{
    (void)state;
    stands(0, CK_KIND_RECV, -1, -1);
    stands(1, CK_KIND_SEND, 2, 3);
    unmatched_report(unmatched, &report);
    assert_int_equal(report.awaited_count, 2);
    assert_row(0, 2, 3, 1);
    assert_true(report.awaited[0].is_send);
    assert_row(1, -1, -1, 1);
    assert_false(report.awaited[1].has_died);
}

static void a_rank_that_waits_for_nothing_is_not_reported(void **state)
{
    (void)state;
    waits(0);
    posts(1, 2, 5, 0x10);
    unmatched_report(unmatched, &report);
    assert_int_equal(report.awaited_count, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(receives_from_the_dead_come_first,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(
            a_wait_is_for_the_receives_that_are_open, setup, teardown),
        cmocka_unit_test_setup_teardown(
            any_source_and_sends_are_reported_as_such, setup, teardown),
        cmocka_unit_test_setup_teardown(
            a_rank_that_waits_for_nothing_is_not_reported, setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
