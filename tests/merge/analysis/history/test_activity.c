/* test_activity.c - numbers for what threads did
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "merge/analysis/history/activity.h"

#define SITE 0x1234
#define RANKS 2
#define ON_MS 70
#define OFF_MS 30

static struct defs *defs;
static struct activities *activities;
static struct evidence *evidence;

/* Two ranks below one agent, a thread each. */
static int setup(void **state)
{
    static const uint8_t id[16] = {1};
    uint32_t agent;

    (void)state;
    defs = defs_create();
    agent = defs_agent_find(defs, id);
    for (uint32_t rank = 0; rank < RANKS; rank++) {
        uint32_t process = defs_process_find(defs, agent, rank + 1);

        defs->processes[process].rank = (int32_t)rank;
        (void)defs_thread_find(defs, process, 100 + rank);
    }
    activities = activities_create(defs);
    evidence = evidence_create(defs);
    return activities == NULL || evidence == NULL;
}

static int teardown(void **state)
{
    (void)state;
    activities_destroy(activities);
    evidence_destroy(evidence);
    defs_destroy(defs);
    return 0;
}

/* What a rank's only thread does between two calls; NULL = none is known. */
static uint32_t number_of(uint32_t rank, struct history_span *call)
{
    struct history_state did = {
        .is_known = true, .thread = rank, .before = call, .after = call};
    int64_t number;

    if (call != NULL) {
        call->process = rank;
    }
    number = activity_number(activities, &did);
    assert_true(number >= 0);
    return (uint32_t)number;
}

static void off_add(uint32_t activity, enum evidence_off off, int64_t ms)
{
    struct evidence_item item = {.activity = activity,
                                 .kind = EVIDENCE_OFF,
                                 .a = off,
                                 .weight = ms * CK_TIME_MS};

    evidence_add(evidence, &item);
}

/* Programs that call nothing that is recorded have no place to separate them.
 */
static void ranks_without_any_call_are_distinguished(void **state)
{
    uint32_t first = number_of(0, NULL);
    uint32_t second = number_of(1, NULL);

    (void)state;
    assert_int_not_equal(first, second);
    assert_int_equal(number_of(0, NULL), first);
    off_add(first, EVIDENCE_ON, ON_MS);
    off_add(second, EVIDENCE_PREEMPTED, OFF_MS);
    assert_int_equal(
        activity_report(activities, evidence, first).running.preempted, 0);
    assert_int_equal(
        activity_report(activities, evidence, second).running.total,
        OFF_MS * CK_TIME_MS);
    assert_int_equal(activity_cause(activities, first), CAUSE_HOST_COMPUTE);
}

static void ranks_between_the_same_calls_are_distinguished(void **state)
{
    struct history_span call = {
        .site = SITE, .kind = CK_KIND_MPI_CALL, .is_call = true};
    uint32_t first = number_of(0, &call);
    uint32_t second = number_of(1, &call);

    (void)state;
    assert_int_not_equal(first, second);
    assert_int_equal(number_of(0, &call), first);
}

/* Threads of a rank that compute between the same two calls do the same. */
static void threads_between_the_same_calls_are_one(void **state)
{
    struct history_span call = {
        .site = SITE, .kind = CK_KIND_MPI_CALL, .is_call = true};
    struct history_state did = {.is_known = true, .before = &call};
    int64_t first = activity_number(activities, &did);

    (void)state;
    did.thread = 1;
    assert_int_equal(activity_number(activities, &did), first);
}

static void what_is_not_known_has_no_range(void **state)
{
    uint32_t number = number_of(1, NULL);
    struct report_activity report =
        activity_report(activities, evidence, number);

    (void)state;
    assert_null(activity_range(activities, number));
    assert_null(report.range);
    assert_null(report.call);
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(ranks_without_any_call_are_distinguished),
        CASE(ranks_between_the_same_calls_are_distinguished),
        CASE(threads_between_the_same_calls_are_one),
        CASE(what_is_not_known_has_no_range),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
