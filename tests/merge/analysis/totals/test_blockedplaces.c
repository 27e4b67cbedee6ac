/* test_blockedplaces.c - where in the program threads waited without a CPU
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "merge/analysis/totals/blockedplaces.h"
#include "merge/clocks/align.h"
#include "merge/model/comm.h"

#define TID 7
#define OUTER (CK_SITE_TOLD + 1000)

static struct defs *defs;
static struct align *align;
static struct lookback *lookback;
static struct blockedplaces *places;
static struct report report;

/* Frames of two addresses: a line of a function, and its caller. */
static void stack_put(uint32_t process, const char *function, uint32_t line)
{
    struct defs_agent *agent = &defs->agents[defs->processes[process].agent];
    uint64_t address = CK_SITE_TOLD + agent->stacks_last + 1;
    const char *file = texts_keep(defs->texts, "a.c", 3);
    struct place place = {texts_keep(defs->texts, function, strlen(function)),
                          file, line};
    struct place outer = {texts_keep(defs->texts, "step", 4), file, 5};
    struct defs_stack *stack = defs_stack_enter(agent, agent->stacks_last + 1);

    *stack = (struct defs_stack){
        .frames = calloc(2, sizeof(uint64_t)), .count = 2, .depth = 2};
    stack->frames[0] = address;
    stack->frames[1] = OUTER;
    names_set_place(defs->processes[process].names, address, place);
    names_set_place(defs->processes[process].names, OUTER, outer);
}

static int setup(void **state)
{
    struct region region = {100, 1000};

    (void)state;
    defs = defs_create();
    for (int rank = 0; rank < 2; rank++) {
        uint8_t id[16] = {(uint8_t)(rank + 1)};
        uint32_t agent = defs_agent_find(defs, id);
        uint32_t process = defs_process_find(defs, agent, 1);

        defs->agents[agent].rank = defs->processes[process].rank = rank;
        (void)defs_thread_find(defs, process, TID);
        stack_put(process, "load", 10);
        stack_put(process, "load", 11);
        stack_put(process, "pop", 90);
    }
    defs_close(defs);
    comm_close(defs);
    align = align_create();
    align_close(align, defs);
    lookback = lookback_create(defs, align, 4096);
    places = blockedplaces_create(defs, lookback, region);
    memset(&report, 0, sizeof(report));
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    blockedplaces_destroy(places);
    lookback_destroy(lookback);
    align_destroy(align);
    defs_destroy(defs);
    report_fini(&report);
    return 0;
}

static void put(int rank, const struct ck_event *record, struct region part)
{
    struct timeline_event event = {.record = record,
                                   .start = part.start,
                                   .end = part.end,
                                   .rank = rank,
                                   .process = (uint32_t)rank,
                                   .thread = (uint32_t)rank};

    blockedplaces_take(places, &event);
}

/* The kernel's own record of a wait has no stack. */
static void blocked(int rank, ck_time_t start, ck_time_t end)
{
    struct ck_mark record = {
        .e = {.kind = CK_KIND_BLOCKED, .name = 1, .start = start},
        .dur = end - start};

    put(rank, &record.e, (struct region){start, end});
}

static void
wait_with_stack(int rank, ck_time_t start, ck_time_t ns, uint64_t stack)
{
    struct ck_sample record = {
        .e = {.kind = CK_KIND_OFF_CPU, .name = 1, .start = start},
        .tid = TID,
        .stack = stack,
        .weight = ns};

    put(rank, &record.e, (struct region){start, start});
}

static void waits_count_for_function_line_thread_and_rank(void **state)
{
    const struct report_blocked *load, *pop;

    (void)state;
    wait_with_stack(0, 200, 30, 1);
    wait_with_stack(1, 200, 40, 1);
    wait_with_stack(1, 300, 50, 2);
    wait_with_stack(1, 400, 60, 2);
    wait_with_stack(0, 500, 20, 3);
    blockedplaces_report(places, &report);
    assert_int_equal(report.blocked_count, 2);
    load = &report.blocked[0];
    pop = &report.blocked[1];
    assert_string_equal(load->place.function, "load");
    assert_int_equal(load->place.line, 11);
    assert_int_equal(load->waits, 4);
    assert_int_equal(load->ns, 180);
    assert_int_equal(load->longest, 60);
    assert_int_equal(load->ranks, 2);
    assert_int_equal(load->threads, 2);
    assert_int_equal(load->rank, 1);
    assert_int_equal(load->rank_ns, 150);
    assert_true(load->is_users);
    assert_string_equal(load->callers.caller.function, "step");
    assert_string_equal(pop->place.function, "pop");
    assert_int_equal(pop->ns, 20);
    assert_int_equal(pop->ranks, 1);
    assert_int_equal(report.blocked_sums.waits, 5);
    assert_int_equal(report.blocked_sums.ns, 200);
}

static void only_what_is_in_the_region_counts(void **state)
{
    (void)state;
    wait_with_stack(0, 10, 50, 1);    /* before it */
    wait_with_stack(0, 50, 70, 1);    /* 20 of it */
    wait_with_stack(0, 990, 500, 1);  /* 10 of it */
    wait_with_stack(0, 1000, 500, 1); /* behind it */
    blocked(0, 0, 100);
    blocked(0, 0, 150);
    blocked(0, 900, 1100);
    blockedplaces_report(places, &report);
    assert_int_equal(report.blocked_count, 1);
    assert_int_equal(report.blocked[0].waits, 2);
    assert_int_equal(report.blocked[0].ns, 30);
    assert_int_equal(report.blocked[0].longest, 20);
    assert_int_equal(report.blocked_sums.blocked, 150);
}

/* As files that are damaged have them. */
static void weights_and_stacks_that_none_has_do_no_harm(void **state)
{
    (void)state;
    wait_with_stack(0, 200, INT64_MAX, 1);
    wait_with_stack(0, 200, INT64_MIN, 1);
    wait_with_stack(0, 200, 0, 1);
    wait_with_stack(0, 300, 10, UINT32_MAX);
    wait_with_stack(0, 300, 10, ((uint64_t)1 << 32) + 1);
    blockedplaces_report(places, &report);
    assert_int_equal(report.blocked_sums.ns, 800 + 20);
    assert_int_equal(report.blocked_count, 2);
    assert_string_equal(report.blocked[0].place.function, "load");
    assert_int_equal(report.blocked[0].ns, 800);
    assert_null(report.blocked[1].place.function);
    assert_int_equal(report.blocked[1].waits, 2);
}

static void rows_with_the_least_time_are_left_out(void **state)
{
    char name[16];

    (void)state;
    for (uint32_t i = 0; i < BLOCKEDPLACES_LISTED_MAX + 10; i++) {
        (void)snprintf(name, sizeof(name), "wait%u", i);
        stack_put(0, name, 100 + i);
        wait_with_stack(0, 200, 10 + i, 4 + i);
    }
    blockedplaces_report(places, &report);
    assert_int_equal(report.blocked_count, BLOCKEDPLACES_LISTED_MAX);
    assert_int_equal(report.blocked[0].ns, 10 + BLOCKEDPLACES_LISTED_MAX + 9);
    assert_int_equal(report.blocked[BLOCKEDPLACES_LISTED_MAX - 1].ns, 20);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(
            waits_count_for_function_line_thread_and_rank, setup, teardown),
        cmocka_unit_test_setup_teardown(only_what_is_in_the_region_counts,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(
            weights_and_stacks_that_none_has_do_no_harm, setup, teardown),
        cmocka_unit_test_setup_teardown(rows_with_the_least_time_are_left_out,
                                        setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
