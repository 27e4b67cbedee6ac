/* test_epochs.c - for whom ranks wait in the epochs of windows
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Rank 0 starts, puts and completes; ranks 1 and 2 post and wait. The calls are
 * those of play.c, the window is its first communicator.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "merge/analysis/history/waits.h"
#include "tests/merge/play.h"

enum { POST = 25, START, COMPLETE, WAIT };

static struct world world;
static struct waits *waits;

static int setup(void **state)
{
    (void)state;
    memset(&world, 0, sizeof(world));
    play_cast(&world);
    waits = waits_create(world.defs, world.align, 4096);
    return waits == NULL ? -1 : 0;
}

static int teardown(void **state)
{
    (void)state;
    waits_destroy(waits);
    align_destroy(world.align);
    defs_destroy(world.defs);
    return 0;
}

static void take(int rank, const union record *record, ck_time_t end)
{
    struct timeline_event event = {.record = &record->e,
                                   .start = record->e.start,
                                   .end = end,
                                   .rank = rank,
                                   .process = (uint32_t)rank,
                                   .thread = (uint32_t)rank};

    waits_take(waits, &event, 0);
}

/* A call, and the ranks that it is given, -1 = none. */
static struct history_span
called(int rank, uint32_t name, struct region time, int first, int second)
{
    const int peers[] = {first, second};
    struct history_span span = {
        .start = time.start, .end = time.end, .call = ++world.call[rank]};
    union record record = {
        .call = {
            .e = {.kind = CK_KIND_MPI_CALL, .name = name, .start = time.start},
            .dur = time.end - time.start,
            .object = 1,
            .call = span.call}};

    take(rank, &record, time.end);
    for (int i = 0; i < 2 && peers[i] >= 0; i++) {
        union record member = {
            .message = {
                .e = {.kind = CK_KIND_EPOCH, .name = name, .start = time.start},
                .dur = time.end - time.start,
                .call = span.call,
                .comm = 1,
                .peer = peers[i]}};

        take(rank, &member, time.end);
    }
    return span;
}

static void
assert_waits(int rank, struct history_span call, int whom, ck_time_t until)
{
    struct wait wait = {.thread = DEFS_NONE};

    assert_true(waits_find(waits, (uint32_t)rank, &call, &wait));
    assert_int_equal(wait.kind, WAIT_WINDOW);
    assert_int_equal(wait.thread, whom);
    assert_int_equal(wait.until, until);
}

static void assert_no_wait(int rank, struct history_span call)
{
    struct wait wait = {.thread = DEFS_NONE};

    assert_true(waits_find(waits, (uint32_t)rank, &call, &wait));
    assert_true(wait.thread == DEFS_NONE || wait.until <= call.start);
}

static void
who_starts_waits_for_the_last_post_who_waits_for_the_complete(void **state)
{
    struct history_span start, complete, waited;

    (void)state;
    (void)called(1, POST, (struct region){100, 110}, 0, -1);
    start = called(0, START, (struct region){200, 920}, 1, 2);
    waited = called(1, WAIT, (struct region){300, 5100}, -1, -1);
    (void)called(2, POST, (struct region){900, 910}, 0, -1);
    complete = called(0, COMPLETE, (struct region){5000, 5050}, -1, -1);
    assert_waits(0, start, 2, 900);
    assert_no_wait(0, complete);
    assert_waits(1, waited, 0, 5000);
}

static void
a_start_that_returns_before_the_post_waits_when_it_completes(void **state)
{
    struct history_span start, complete;

    (void)state;
    start = called(0, START, (struct region){200, 210}, 1, -1);
    complete = called(0, COMPLETE, (struct region){300, 950}, -1, -1);
    (void)called(1, POST, (struct region){900, 910}, 0, -1);
    assert_no_wait(0, start);
    assert_waits(0, complete, 1, 900);
}

static void each_epoch_waits_for_its_own_post(void **state)
{
    struct history_span first, second;

    (void)state;
    (void)called(1, POST, (struct region){100, 110}, 0, -1);
    first = called(0, START, (struct region){200, 210}, 1, -1);
    (void)called(0, COMPLETE, (struct region){220, 230}, -1, -1);
    (void)called(1, WAIT, (struct region){240, 250}, -1, -1);
    second = called(0, START, (struct region){300, 820}, 1, -1);
    (void)called(1, POST, (struct region){800, 810}, 0, -1);
    assert_no_wait(0, first);
    assert_waits(0, second, 1, 800);
}

static void without_the_post_it_is_not_known(void **state)
{
    struct history_span start;
    struct wait wait;

    (void)state;
    start = called(0, START, (struct region){200, 920}, 1, 2);
    (void)called(1, POST, (struct region){300, 310}, 0, -1);
    assert_false(waits_find(waits, 0, &start, &wait));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(
            who_starts_waits_for_the_last_post_who_waits_for_the_complete,
            setup, teardown),
        cmocka_unit_test_setup_teardown(
            a_start_that_returns_before_the_post_waits_when_it_completes, setup,
            teardown),
        cmocka_unit_test_setup_teardown(each_epoch_waits_for_its_own_post,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(without_the_post_it_is_not_known, setup,
                                        teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
