/* test_teams.c - regions of a damaged run
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "merge/analysis/threads/teams.h"

#define LENGTH ((ck_time_t)1 << 40)

static struct defs *defs;
static struct history *history;
static uint32_t process, thread;

static int setup(void **state)
{
    const uint8_t id[16] = {1};

    (void)state;
    defs = defs_create();
    process = defs_process_find(defs, defs_agent_find(defs, id), 1);
    thread = defs_thread_find(defs, process, 100);
    defs_close(defs);
    history = history_create(defs, 0);
    return history == NULL;
}

static int teardown(void **state)
{
    (void)state;
    history_destroy(history);
    defs_destroy(defs);
    return 0;
}

static void
put(struct teams *teams, enum ck_kind kind, ck_time_t at, struct ck_team record)
{
    struct timeline_event event = {.record = &record.e,
                                   .start = at,
                                   .end = LENGTH,
                                   .process = process,
                                   .thread = thread};

    record.e =
        (struct ck_event){.kind = (uint16_t)kind, .units = 2, .start = at};
    teams_take(teams, &event);
}

static void a_team_that_no_machine_has_is_damage(void **state)
{
    struct teams *teams =
        teams_create(defs, history, (struct region){0, LENGTH});
    struct report report = {0};

    (void)state;
    put(teams, CK_KIND_TEAM_REGION, 1,
        (struct ck_team){.region = 1, .size = UINT32_MAX});
    put(teams, CK_KIND_TEAM_PART, 2,
        (struct ck_team){.region = 1, .thread = UINT32_MAX});
    put(teams, CK_KIND_TEAM_REGION, 3,
        (struct ck_team){.region = 2, .size = 2});
    put(teams, CK_KIND_TEAM_PART, 4,
        (struct ck_team){.region = 2, .thread = UINT32_MAX});
    put(teams, CK_KIND_TEAM_BARRIER, 5,
        (struct ck_team){
            .region = 2, .thread = UINT32_MAX, .number = UINT32_MAX});
    teams_report(teams, &report);
    assert_int_equal(report.threads.astray, 4);
    assert_int_equal(report.threads.regions_count, 1);
    assert_int_equal(report.threads.regions[0].threads, 2);
    assert_int_equal(report.threads.regions[0].states[REPORT_TEAM_UNKNOWN],
                     2 * (LENGTH - 3));
    teams_destroy(teams);
    report_fini(&report);
}

/* Each record of a part asks for room for all threads before it. */
static void parts_that_are_open_have_a_bound(void **state)
{
    struct teams *teams =
        teams_create(defs, history, (struct region){0, LENGTH});
    struct report report = {0};

    (void)state;
    for (uint32_t i = 1; i <= 200; i++) {
        put(teams, CK_KIND_TEAM_REGION, 2 * i,
            (struct ck_team){.region = i, .size = TEAM_THREADS});
        put(teams, CK_KIND_TEAM_PART, 2 * i + 1,
            (struct ck_team){.region = i, .thread = TEAM_THREADS - 1});
    }
    teams_report(teams, &report);
    assert_int_equal(report.threads.astray, 200 - (1 << 19) / TEAM_THREADS);
    teams_destroy(teams);
    report_fini(&report);
}

static void a_thread_has_one_part_of_a_region(void **state)
{
    struct teams *teams =
        teams_create(defs, history, (struct region){0, LENGTH});
    struct report report = {0};

    (void)state;
    put(teams, CK_KIND_TEAM_REGION, 1,
        (struct ck_team){.region = 1, .size = 2});
    put(teams, CK_KIND_TEAM_PART, 2,
        (struct ck_team){.region = 1, .thread = 0});
    put(teams, CK_KIND_TEAM_PART, 3,
        (struct ck_team){.region = 1, .thread = 1});
    /* In one within it the same thread has another one. */
    put(teams, CK_KIND_TEAM_REGION, 4,
        (struct ck_team){.region = 2, .size = 2, .outer = 1, .level = 1});
    put(teams, CK_KIND_TEAM_PART, 5,
        (struct ck_team){.region = 2, .thread = 0});
    teams_report(teams, &report);
    assert_int_equal(report.threads.astray, 1);
    assert_int_equal(report.threads.nested, 1);
    teams_destroy(teams);
    report_fini(&report);
}

/* Its record is that of the region, which has how many short waits it had. */
static void a_team_of_one_thread_has_its_part_in_the_region(void **state)
{
    struct teams *teams =
        teams_create(defs, history, (struct region){0, LENGTH});
    struct report report = {0};
    const struct report_team_region *row;

    (void)state;
    put(teams, CK_KIND_TEAM_REGION, 10,
        (struct ck_team){
            .region = 1, .size = 1, .thread = 7, .number = CK_TEAM_ALONE | 3});
    put(teams, CK_KIND_TEAM_LOCK, 20, (struct ck_team){.region = 1});
    teams_report(teams, &report);
    row = &report.threads.regions[0];
    assert_int_equal(report.threads.astray, 0);
    assert_int_equal(report.threads.short_waits, 3);
    assert_int_equal(row->states[REPORT_TEAM_WORK], 10);
    assert_int_equal(row->states[REPORT_TEAM_LOCK], LENGTH - 20);
    assert_int_equal(row->states[REPORT_TEAM_UNKNOWN], 0);
    teams_destroy(teams);
    report_fini(&report);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_team_that_no_machine_has_is_damage),
        cmocka_unit_test(parts_that_are_open_have_a_bound),
        cmocka_unit_test(a_thread_has_one_part_of_a_region),
        cmocka_unit_test(a_team_of_one_thread_has_its_part_in_the_region),
    };

    return cmocka_run_group_tests(tests, setup, teardown);
}
