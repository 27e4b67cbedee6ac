/* test_disagree.c - which ranks called which collective otherwise
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

#include "merge/analysis/waits/disagree.h"
#include "merge/model/comm.h"

#define RANKS 4
#define KIB 1024

enum name { N_ALLREDUCE = 1, N_BROADCAST, N_WORLD, N_PAIR, NAMES };

static struct defs *defs;
static struct disagree *disagree;
static struct report report;

static void rank_make(int rank)
{
    static const char *const names[NAMES] = {
        NULL, "ncclAllReduce Float32", "ncclBroadcast Int8",
        "communicator=a11\nsize=4\n", "communicator=b2\nsize=2\n"};
    uint8_t id[16] = {(uint8_t)(rank + 1)};
    uint32_t agent = defs_agent_find(defs, id);
    uint32_t process = defs_process_find(defs, agent, 1);
    struct defs_process *p = &defs->processes[process];

    defs->agents[agent].rank = p->rank = rank;
    for (uint32_t n = 1; n < NAMES; n++) {
        assert_int_equal(
            names_set(p->names, n,
                      texts_keep(defs->texts, names[n], strlen(names[n]))),
            0);
    }
}

static int setup(void **state)
{
    (void)state;
    memset(&report, 0, sizeof(report));
    defs = defs_create();
    for (int rank = 0; rank < RANKS; rank++) {
        rank_make(rank);
    }
    defs_close(defs);
    comm_close(defs);
    disagree = disagree_create(defs);
    return disagree == NULL;
}

static int teardown(void **state)
{
    (void)state;
    report_fini(&report);
    disagree_destroy(disagree);
    defs_destroy(defs);
    return 0;
}

/* In its communicator, the number, its function, bytes and root (-1: none). */
static void calls(int rank,
                  enum name comm,
                  uint64_t number,
                  enum name function,
                  uint64_t bytes,
                  int root)
{
    struct ck_call call = {.e = {.kind = CK_KIND_NCCL_CALL, .name = function},
                           .object = (uint32_t)(root + 1),
                           .bytes = bytes,
                           .arg = number,
                           .extra = comm};
    struct timeline_event event = {.record = &call.e,
                                   .start = (ck_time_t)number * CK_TIME_MS,
                                   .end = (ck_time_t)number * CK_TIME_MS,
                                   .rank = rank,
                                   .process = (uint32_t)rank};

    assert_int_equal(disagree_take(disagree, &event), 0);
}

static void all_call(uint64_t number)
{
    for (int rank = 0; rank < RANKS; rank++) {
        calls(rank, N_WORLD, number, N_ALLREDUCE, KIB, -1);
    }
}

/* The run goes on until then. */
static void time_passes(ck_time_t until)
{
    struct ck_call call = {.e = {.kind = CK_KIND_POSIX}};
    struct timeline_event event = {
        .record = &call.e, .start = until, .end = until};

    assert_int_equal(disagree_take(disagree, &event), 0);
}

static const struct report_disagreement *only(void)
{
    disagree_report(disagree, &report);
    assert_int_equal(report.disagreements_count, 1);
    return &report.disagreements[0];
}

static void assert_none(void)
{
    disagree_report(disagree, &report);
    assert_int_equal(report.disagreements_count, 0);
}

static void assert_part(const struct report_disagreement_part *part,
                        const char *call,
                        uint64_t bytes,
                        int64_t root,
                        size_t count,
                        int32_t first)
{
    if (call == NULL) {
        assert_null(part->call);
    } else {
        assert_string_equal(part->call, call);
    }
    assert_int_equal(part->bytes, bytes);
    assert_int_equal(part->root, root);
    assert_int_equal(part->ranks_count, count);
    assert_int_equal(part->ranks[0], first);
}

static void
the_first_that_differs_is_reported_with_what_each_called(void **state)
{
    const struct report_disagreement *found;

    (void)state;
    all_call(1);
    calls(1, N_WORLD, 2, N_BROADCAST, KIB, 0); /* it left one out */
    calls(1, N_WORLD, 3, N_ALLREDUCE, KIB, -1);
    calls(0, N_WORLD, 2, N_ALLREDUCE, KIB, -1);
    calls(0, N_WORLD, 3, N_BROADCAST, KIB, 0);
    calls(3, N_WORLD, 2, N_ALLREDUCE, KIB, -1);
    calls(2, N_WORLD, 2, N_ALLREDUCE, KIB, -1);
    found = only();
    assert_string_equal(found->comm, "a11");
    assert_int_equal(found->size, 4);
    assert_int_equal(found->number, 2);
    assert_false(found->is_missing);
    assert_int_equal(found->parts_count, 2);
    assert_part(&found->parts[0], "ncclAllReduce Float32", KIB, -1, 3, 0);
    assert_part(&found->parts[1], "ncclBroadcast Int8", KIB, 0, 1, 1);
    assert_int_equal(found->parts[0].ranks[1], 2);
    assert_int_equal(found->parts[0].ranks[2], 3);
}

static void a_lower_number_that_is_seen_later_counts(void **state)
{
    const struct report_disagreement *found;

    (void)state;
    all_call(1);
    calls(0, N_WORLD, 2, N_ALLREDUCE, KIB, -1);
    calls(1, N_WORLD, 2, N_ALLREDUCE, KIB, -1);
    calls(0, N_WORLD, 3, N_ALLREDUCE, KIB, -1);
    calls(1, N_WORLD, 3, N_ALLREDUCE, 2 * KIB, -1);
    calls(2, N_WORLD, 2, N_ALLREDUCE, 4 * KIB, -1);
    calls(2, N_WORLD, 3, N_ALLREDUCE, 4 * KIB, -1);
    found = only();
    assert_int_equal(found->number, 2);
    assert_int_equal(found->parts_count, 3);
    assert_part(&found->parts[0], "ncclAllReduce Float32", KIB, -1, 2, 0);
    assert_part(&found->parts[1], "ncclAllReduce Float32", 4 * KIB, -1, 1, 2);
    assert_part(&found->parts[2], NULL, 0, -1, 1, 3);
}

static void another_root_differs_and_another_communicator_does_not(void **state)
{
    const struct report_disagreement *found;

    (void)state;
    all_call(1);
    calls(0, N_PAIR, 1, N_BROADCAST, KIB, 0);
    calls(1, N_PAIR, 1, N_BROADCAST, KIB, 1);
    found = only();
    assert_string_equal(found->comm, "b2");
    assert_int_equal(found->parts[0].root + found->parts[1].root, 1);
}

static void
who_is_short_of_the_last_call_is_told_when_nobody_calls(void **state)
{
    const struct report_disagreement *found;

    (void)state;
    for (uint64_t number = 1; number < 50; number++) {
        all_call(number);
    }
    calls(0, N_WORLD, 50, N_ALLREDUCE, KIB, -1);
    calls(2, N_WORLD, 50, N_ALLREDUCE, KIB, -1);
    calls(3, N_WORLD, 50, N_ALLREDUCE, KIB, -1);
    time_passes(5 * CK_TIME_S);
    found = only();
    assert_true(found->is_missing);
    assert_int_equal(found->number, 50);
    assert_int_equal(found->silent, 5 * CK_TIME_S - 50 * CK_TIME_MS);
    assert_part(&found->parts[0], "ncclAllReduce Float32", KIB, -1, 3, 0);
    assert_part(&found->parts[1], NULL, 0, -1, 1, 1);
}

static void a_job_that_was_interrupted_has_ranks_ahead(void **state)
{
    (void)state;
    all_call(1);
    all_call(1000);
    calls(0, N_WORLD, 1001, N_ALLREDUCE, KIB, -1);
    /* longer than a second, but so was a call before */
    time_passes(4 * CK_TIME_S);
    assert_none();
}

static void a_rank_that_lost_records_is_not_called_short(void **state)
{
    (void)state;
    all_call(1);
    calls(0, N_WORLD, 2, N_ALLREDUCE, KIB, -1);
    defs->agents[1].lost[CK_LOST_RING] = 1;
    time_passes(5 * CK_TIME_S);
    assert_none();
}

static void ranks_too_far_apart_are_counted(void **state)
{
    (void)state;
    for (uint64_t number = 1; number <= DISAGREE_APART + 3; number++) {
        calls(0, N_WORLD, number, N_ALLREDUCE, KIB, -1);
    }
    calls(1, N_WORLD, 1, N_ALLREDUCE, 2 * KIB, -1);
    calls(1, N_WORLD, 3, N_ALLREDUCE, 2 * KIB, -1);
    assert_none();
    assert_int_equal(report.disagreements_uncompared, 2);
}

static void records_of_no_communicator_are_left_out(void **state)
{
    (void)state;
    calls(0, N_ALLREDUCE, 1, N_ALLREDUCE, KIB, -1);
    calls(1, NAMES + 1, 1, N_ALLREDUCE, KIB, -1);
    calls(0, N_WORLD, 0, N_ALLREDUCE, KIB, -1);
    calls(1, N_WORLD, 1, NAMES + 7, KIB, -1);
    assert_none();
}

static void it_is_wanted_where_a_communicator_is_named(void **state)
{
    struct defs *empty = defs_create();

    (void)state;
    assert_true(disagree_is_wanted(defs));
    assert_false(disagree_is_wanted(empty));
    defs_destroy(empty);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(the_first_that_differs_is_reported_with_what_each_called),
        CASE(a_lower_number_that_is_seen_later_counts),
        CASE(another_root_differs_and_another_communicator_does_not),
        CASE(who_is_short_of_the_last_call_is_told_when_nobody_calls),
        CASE(a_job_that_was_interrupted_has_ranks_ahead),
        CASE(a_rank_that_lost_records_is_not_called_short),
        CASE(ranks_too_far_apart_are_counted),
        CASE(records_of_no_communicator_are_left_out),
        CASE(it_is_wanted_where_a_communicator_is_named),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
