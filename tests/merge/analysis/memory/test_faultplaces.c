/* test_faultplaces.c - where in the program page faults were
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "merge/analysis/memory/faultplaces.h"
#include "tests/merge/stackworld.h"

#define TID STACKWORLD_TID
#define EACH 4001

static struct stackworld world;
static struct faultplaces *places;

static int setup(void **state)
{
    const struct stackworld_line lines[3] = {
        {"fill", 10}, {"fill", 11}, {"scan", 90}};
    struct region region = {100, 1000};

    (void)state;
    stackworld_make(&world, lines);
    world.defs->threads[1].name = texts_keep(world.defs->texts, "worker", 6);
    places = faultplaces_create(world.defs, world.lookback, region);
    world.report.memory = calloc(2, sizeof(*world.report.memory));
    world.report.memory_count = 2;
    world.report.memory[1].rank = 1;
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    faultplaces_destroy(places);
    stackworld_end(&world);
    return 0;
}

static void put(int rank, ck_time_t time, struct ck_sample record)
{
    struct timeline_event event = {.record = &record.e,
                                   .start = time,
                                   .end = time,
                                   .rank = rank,
                                   .process = (uint32_t)rank,
                                   .thread = (uint32_t)rank};

    record.e.name = 1;
    record.e.start = time;
    faultplaces_take(places, &event);
}

static void fault(int rank, ck_time_t time, unsigned kind, uint64_t stack)
{
    put(rank, time,
        (struct ck_sample){.e.kind = (uint16_t)kind,
                           .tid = TID,
                           .stack = stack,
                           .weight = kind == CK_KIND_FAULT_MINOR ? EACH : 17});
}

static void faults_count_for_function_line_thread_and_rank(void **state)
{
    (void)state;
    fault(0, 50, CK_KIND_FAULT_MINOR, 1); /* before the region */
    fault(0, 200, CK_KIND_FAULT_MINOR, 1);
    fault(1, 200, CK_KIND_FAULT_MINOR, 1);
    fault(1, 300, CK_KIND_FAULT_MINOR, 2);
    fault(1, 400, CK_KIND_FAULT_MINOR, 2);
    fault(1, 500, CK_KIND_FAULT_MAJOR, 3);
    faultplaces_report(places, &world.report);
    assert_int_equal(world.report.faults_count, 3);
    assert_int_equal(world.report.faults[0].rank, 1);
    assert_int_equal(world.report.faults[0].tid, TID);
    assert_string_equal(world.report.faults[0].thread, "worker");
    assert_string_equal(world.report.faults[0].place.function, "fill");
    assert_int_equal(world.report.faults[0].place.line, 11);
    assert_int_equal(world.report.faults[0].minor, 3 * EACH);
    assert_string_equal(world.report.faults[0].callers.caller.function, "step");
    assert_int_equal(world.report.fault_places_count, 2);
    assert_string_equal(world.report.fault_places[0].place.function, "fill");
    assert_int_equal(world.report.fault_places[0].minor, 4 * EACH);
    assert_int_equal(world.report.fault_places[0].ranks, 2);
    assert_int_equal(world.report.fault_places[0].rank, 1);
    assert_int_equal(world.report.fault_places[0].rank_faults, 3 * EACH);
    assert_string_equal(world.report.fault_places[1].place.function, "scan");
    assert_int_equal(world.report.fault_places[1].major, 17);
    assert_int_equal(world.report.memory[0].minor_sampled, EACH);
    assert_int_equal(world.report.memory[1].minor_sampled, 3 * EACH);
    assert_int_equal(world.report.memory[1].major_sampled, 17);
}

/* As files that are damaged have them. */
static void weights_and_stacks_that_none_has_are_left_out(void **state)
{
    struct ck_sample sample = {
        .e = {.kind = CK_KIND_SAMPLE, .flags = CK_FLAG_FAULTING},
        .tid = TID,
        .stack = 1,
        .weight = INT64_MAX};

    (void)state;
    put(0, 200, sample);
    put(0, 210, sample);
    sample.weight = 10;
    sample.stack = ((uint64_t)1 << 32) + 1;
    put(0, 220, sample);
    sample.stack = UINT32_MAX;
    put(0, 230, sample);
    faultplaces_report(places, &world.report);
    assert_int_equal(world.report.memory[0].sampled, 10);
    assert_int_equal(world.report.fault_places_count, 1);
    assert_null(world.report.fault_places[0].place.function);
}

static void samples_count_how_long_faults_took(void **state)
{
    struct ck_sample sample = {
        .e = {.kind = CK_KIND_SAMPLE}, .tid = TID, .stack = 1, .weight = 10};

    (void)state;
    put(0, 200, sample);
    sample.e.flags = CK_FLAG_FAULTING;
    put(0, 210, sample);
    put(0, 220, sample);
    faultplaces_report(places, &world.report);
    assert_int_equal(world.report.memory[0].sampled, 30);
    assert_int_equal(world.report.memory[0].faulting, 20);
    assert_int_equal(world.report.fault_places[0].faulting, 20);
    assert_int_equal(world.report.fault_places[0].minor, 0);
}

static void a_reason_has_the_faults_of_its_rank_and_function(void **state)
{
    (void)state;
    fault(0, 200, CK_KIND_FAULT_MINOR, 1);
    fault(1, 200, CK_KIND_FAULT_MINOR, 1);
    fault(1, 210, CK_KIND_FAULT_MINOR, 1);
    faultplaces_report(places, &world.report);
    world.report.delays.rank = 1;
    world.report.delays.did.sampled =
        (struct report_sampled){.total = 10,
                                .ns = 10,
                                .place = world.report.faults[0].place,
                                .faulting = 9};
    faultplaces_explain(&world.report);
    assert_int_equal(world.report.delays.did.sampled.minor, 2 * EACH);
    world.report.delays.did.sampled.minor = 0;
    world.report.delays.did.sampled.faulting = 0;
    faultplaces_explain(&world.report);
    assert_int_equal(world.report.delays.did.sampled.minor, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(
            faults_count_for_function_line_thread_and_rank, setup, teardown),
        cmocka_unit_test_setup_teardown(
            weights_and_stacks_that_none_has_are_left_out, setup, teardown),
        cmocka_unit_test_setup_teardown(samples_count_how_long_faults_took,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(
            a_reason_has_the_faults_of_its_rank_and_function, setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
