/* test_allocplaces.c - where in the program memory came from
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "merge/analysis/memory/allocplaces.h"
#include "tests/merge/stackworld.h"

#define MEAN 1000
/* So large that it is sampled in any case. */
#define SURE 100000

static struct stackworld world;
static struct allocplaces *places;

static int setup(void **state)
{
    const struct stackworld_line lines[3] = {
        {"build", 10}, {"build", 11}, {"scan", 90}};

    (void)state;
    stackworld_make(&world, lines);
    places = allocplaces_create(world.defs, world.lookback, ALLOCPLACES_HOST);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    allocplaces_destroy(places);
    stackworld_end(&world);
    return 0;
}

static void give(int rank, const struct ck_stacked *record)
{
    struct timeline_event event = {.record = &record->e,
                                   .start = record->e.start,
                                   .end = record->e.start,
                                   .rank = rank,
                                   .process = (uint32_t)rank,
                                   .thread = (uint32_t)rank};

    allocplaces_take(places, &event);
}

static void
block(int rank, ck_time_t time, unsigned kind, uint32_t stack, uint64_t bytes)
{
    give(rank,
         &(struct ck_stacked){.e = {.kind = (uint16_t)kind, .start = time},
                              .bytes = bytes,
                              .stack = stack,
                              .mean = MEAN});
}

static void what_was_live_at_the_peak_is_known_by_function(void **state)
{
    (void)state;
    block(0, 10, CK_KIND_ALLOCATED, 1, SURE);
    block(0, 20, CK_KIND_ALLOCATED, 3, 2 * SURE); /* the first peak */
    block(0, 30, CK_KIND_FREED, 1, SURE);
    block(0, 40, CK_KIND_ALLOCATED, 2, 3 * SURE); /* the last one: 5 */
    block(0, 50, CK_KIND_FREED, 3, 2 * SURE);
    block(0, 60, CK_KIND_ALLOCATED, 1, SURE);
    allocplaces_report(places, &world.report);
    assert_int_equal(world.report.allocations.mean, MEAN);
    assert_int_equal(world.report.allocations.places_count, 2);
    assert_string_equal(world.report.allocations.places[0].place.function,
                        "build");
    assert_int_equal(world.report.allocations.places[0].place.line, 11);
    assert_int_equal(world.report.allocations.places[0].held.bytes, 5 * SURE);
    assert_int_equal(world.report.allocations.places[0].held.peak, 3 * SURE);
    assert_int_equal(world.report.allocations.places[0].held.last, 4 * SURE);
    assert_int_equal(world.report.allocations.places[0].held.blocks, 3);
    assert_int_equal(world.report.allocations.places[0].held.bytes_error, 0);
    assert_int_equal(world.report.allocations.places[1].held.peak, 2 * SURE);
    assert_int_equal(world.report.allocations.places[1].held.last, 0);
    assert_int_equal(world.report.allocations.ranks_count, 1);
    assert_int_equal(world.report.allocations.ranks[0].held.peak, 5 * SURE);
    assert_int_equal(world.report.allocations.ranks[0].peak_at, 40);
}

static void a_small_block_represents_many_and_its_error_is_known(void **state)
{
    double p = -expm1(-0.1);

    (void)state;
    for (int i = 0; i < 50; i++) {
        block(0, 10 + i, CK_KIND_ALLOCATED, 1, MEAN / 10);
    }
    allocplaces_report(places, &world.report);
    assert_int_equal(world.report.allocations.places[0].held.bytes,
                     lround(50 * 100 / p));
    assert_int_equal(world.report.allocations.places[0].held.blocks,
                     lround(50 / p));
    assert_int_equal(world.report.allocations.places[0].held.bytes_error,
                     lround(100 / p * sqrt(50 * (1 - p))));
}

static void what_is_left_of_a_block_was_not_asked_for_again(void **state)
{
    struct ck_stacked rest = {
        .e = {.kind = CK_KIND_ALLOCATED, .flags = CK_FLAG_PART, .start = 30},
        .bytes = SURE / 4,
        .stack = 1,
        .mean = MEAN / 4};

    (void)state;
    block(0, 10, CK_KIND_ALLOCATED, 1, SURE);
    block(0, 20, CK_KIND_FREED, 1, SURE);
    give(0, &rest);
    allocplaces_report(places, &world.report);
    assert_int_equal(world.report.allocations.mean, MEAN);
    assert_int_equal(world.report.allocations.places[0].held.bytes, SURE);
    assert_int_equal(world.report.allocations.places[0].held.blocks, 1);
    assert_int_equal(world.report.allocations.places[0].held.peak, SURE);
    assert_int_equal(world.report.allocations.places[0].held.last, SURE / 4);
}

static void ranks_have_peaks_of_their_own(void **state)
{
    (void)state;
    block(0, 10, CK_KIND_ALLOCATED, 1, SURE);
    block(1, 20, CK_KIND_ALLOCATED, 1, 2 * SURE);
    block(1, 30, CK_KIND_FREED, 1, 2 * SURE);
    block(0, 40, CK_KIND_ALLOCATED, 1, SURE);
    allocplaces_report(places, &world.report);
    assert_int_equal(world.report.allocations.places_count, 1);
    assert_int_equal(world.report.allocations.places[0].held.peak, 4 * SURE);
    assert_int_equal(world.report.allocations.places[0].ranks, 2);
    assert_int_equal(world.report.allocations.places[0].rank_peak, 2 * SURE);
    assert_int_equal(world.report.allocations.ranks_count, 2);
    assert_int_equal(world.report.allocations.ranks[0].peak_at, 40);
    assert_int_equal(world.report.allocations.ranks[1].peak_at, 20);
    assert_int_equal(world.report.allocations.ranks[1].held.last, 0);
}

static void processes_of_a_rank_are_counted(void **state)
{
    (void)state;
    world.defs->processes[1].rank = 0;
    block(0, 10, CK_KIND_ALLOCATED, 1, SURE);
    block(1, 20, CK_KIND_ALLOCATED, 3, 2 * SURE);
    block(0, 30, CK_KIND_ALLOCATED, 3, SURE / 2);
    allocplaces_report(places, &world.report);
    assert_int_equal(world.report.allocations.ranks_count, 1);
    assert_int_equal(world.report.allocations.ranks[0].processes, 2);
    assert_int_equal(world.report.allocations.ranks[0].peak_at, 20);
}

/* Code of the library in the user's program, called by main(). */
static void a_template_that_the_place_called_is_not_its_caller(void **state)
{
    struct defs_process *process = &world.defs->processes[0];
    struct place inner = {"append", "/usr/include/c++/bits/vector.tcc", 600};
    struct place outer = {"main", "a.c", 10};
    struct defs_stack *stack = defs_stack_enter(&world.defs->agents[0], 1);

    (void)state;
    process->modules = calloc(1, sizeof(*process->modules));
    process->modules_count = process->modules_room = 1;
    process->modules[0] = (struct defs_module){
        .path = "/srv/program", .start = 0x1000, .end = 0x2000};
    names_set_place(process->names, 0x1100, inner);
    names_set_place(process->names, 0x1200, outer);
    stack->frames = realloc(stack->frames, 2 * sizeof(*stack->frames));
    stack->count = stack->depth = 2;
    stack->frames[0] = 0x1100;
    stack->frames[1] = 0x1200;
    block(0, 10, CK_KIND_ALLOCATED, 1, SURE);
    allocplaces_report(places, &world.report);
    assert_string_equal(world.report.allocations.places[0].place.function,
                        "main");
    assert_null(world.report.allocations.places[0].callers.caller.function);
}

/* As files that are damaged have them. */
static void what_cannot_be_is_left_out(void **state)
{
    (void)state;
    block(0, 10, CK_KIND_FREED, 1, SURE); /* of a block that was never given */
    block(0, 20, CK_KIND_ALLOCATED, 1, 0);
    block(0, 30, CK_KIND_ALLOCATED, 4000000000u, SURE);
    allocplaces_report(places, &world.report);
    assert_int_equal(world.report.allocations.ranks[0].held.peak, SURE);
    assert_int_equal(world.report.allocations.ranks[0].held.last, SURE);
}

static void blocks_larger_than_any_are_damage(void **state)
{
    (void)state;
    block(0, 10, CK_KIND_ALLOCATED, 1, SURE);
    block(0, 20, CK_KIND_ALLOCATED, 1, UINT64_MAX);
    block(0, 30, CK_KIND_ALLOCATED, 1, CK_BLOCK_BYTES_MAX + 1);
    block(0, 40, CK_KIND_FREED, 1, UINT64_MAX);
    allocplaces_report(places, &world.report);
    assert_int_equal(world.report.allocations.ranks[0].held.bytes, SURE);
    assert_int_equal(world.report.allocations.ranks[0].held.last, SURE);
    assert_int_equal(world.report.damage_places, 3);
    assert_string_equal(world.report.damage_first,
                        "a block of more than 2^48 bytes in a record");
}

static void
device(ck_time_t time, unsigned kind, uint64_t address, uint32_t stack)
{
    struct ck_stacked record = {.e = {.kind = (uint16_t)kind, .start = time},
                                .address = address,
                                .bytes = stack == 0 ? 0 : stack * SURE,
                                .stack = stack,
                                .mean = 9};
    struct timeline_event event = {
        .record = &record.e, .start = time, .end = time};

    allocplaces_take(places, &event);
}

/* What gives it back has no stack, and may have no record. */
static void memory_of_a_device_is_known_by_its_address(void **state)
{
    (void)state;
    allocplaces_destroy(places);
    places =
        allocplaces_create(world.defs, world.lookback, ALLOCPLACES_DEVICES);
    device(10, CK_KIND_DEVICE_ALLOCATED, 0x100, 1);
    device(20, CK_KIND_DEVICE_ALLOCATED, 0x200, 3); /* the peak: 1 + 3 */
    device(30, CK_KIND_DEVICE_FREED, 0x100, 0);
    device(40, CK_KIND_DEVICE_FREED, 0x100, 0);     /* is there no more */
    device(50, CK_KIND_DEVICE_FREED, 0x300, 0);     /* never was */
    device(60, CK_KIND_DEVICE_ALLOCATED, 0x200, 2); /* the other one is gone */
    device(70, CK_KIND_ALLOCATED, 0x400, 1);        /* the host's */
    allocplaces_report(places, &world.report);
    assert_int_equal(world.report.device_memory.ranks_count, 1);
    assert_int_equal(world.report.device_memory.ranks[0].device, 9);
    assert_int_equal(world.report.device_memory.ranks[0].held.peak, 4 * SURE);
    assert_int_equal(world.report.device_memory.ranks[0].held.last, 2 * SURE);
    assert_int_equal(world.report.device_memory.ranks[0].held.blocks, 3);
    assert_int_equal(world.report.device_memory.places_count, 2);
    assert_string_equal(world.report.device_memory.places[0].place.function,
                        "scan");
    assert_int_equal(world.report.device_memory.places[0].held.peak, 3 * SURE);
    assert_int_equal(world.report.device_memory.places[0].held.last, 0);
}

#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(what_was_live_at_the_peak_is_known_by_function),
        T(a_small_block_represents_many_and_its_error_is_known),
        T(what_is_left_of_a_block_was_not_asked_for_again),
        T(ranks_have_peaks_of_their_own),
        T(processes_of_a_rank_are_counted),
        T(a_template_that_the_place_called_is_not_its_caller),
        T(what_cannot_be_is_left_out),
        T(blocks_larger_than_any_are_damage),
        T(memory_of_a_device_is_known_by_its_address),
    };

    return cmocka_run_group_tests_name("allocplaces", tests, NULL, NULL);
}
