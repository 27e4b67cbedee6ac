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

#include "merge/analysis/samples/blockedplaces.h"
#include "tests/merge/stackworld.h"

#define TID STACKWORLD_TID
#define OUTER (CK_SITE_TOLD + 1000)

static struct stackworld world;
static struct blockedplaces *places;

static int setup(void **state)
{
    const struct stackworld_line lines[3] = {
        {"load", 10}, {"load", 11}, {"pop", 90}};
    struct region region = {100, 1000};

    (void)state;
    stackworld_make(&world, lines);
    places = blockedplaces_create(world.defs, world.lookback, region);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    blockedplaces_destroy(places);
    stackworld_end(&world);
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
    blockedplaces_report(places, &world.report);
    assert_int_equal(world.report.blocked_count, 2);
    load = &world.report.blocked[0];
    pop = &world.report.blocked[1];
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
    assert_int_equal(world.report.blocked_sums.waits, 5);
    assert_int_equal(world.report.blocked_sums.ns, 200);
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
    blockedplaces_report(places, &world.report);
    assert_int_equal(world.report.blocked_count, 1);
    assert_int_equal(world.report.blocked[0].waits, 2);
    assert_int_equal(world.report.blocked[0].ns, 30);
    assert_int_equal(world.report.blocked[0].longest, 20);
    assert_int_equal(world.report.blocked_sums.blocked, 150);
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
    blockedplaces_report(places, &world.report);
    assert_int_equal(world.report.blocked_sums.ns, 800 + 20);
    assert_int_equal(world.report.blocked_count, 2);
    assert_string_equal(world.report.blocked[0].place.function, "load");
    assert_int_equal(world.report.blocked[0].ns, 800);
    assert_null(world.report.blocked[1].place.function);
    assert_int_equal(world.report.blocked[1].waits, 2);
}

static void rows_with_the_least_time_are_left_out(void **state)
{
    char name[16];

    (void)state;
    for (uint32_t i = 0; i < BLOCKEDPLACES_LISTED_MAX + 10; i++) {
        (void)snprintf(name, sizeof(name), "wait%u", i);
        stackworld_put(&world, 0, &(struct stackworld_line){name, 100 + i});
        wait_with_stack(0, 200, 10 + i, 4 + i);
    }
    blockedplaces_report(places, &world.report);
    assert_int_equal(world.report.blocked_count, BLOCKEDPLACES_LISTED_MAX);
    assert_int_equal(world.report.blocked[0].ns,
                     10 + BLOCKEDPLACES_LISTED_MAX + 9);
    assert_int_equal(world.report.blocked[BLOCKEDPLACES_LISTED_MAX - 1].ns, 20);
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
