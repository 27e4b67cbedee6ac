/* test_hotspots.c - where the ranks' threads computed, by samples
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

#include "merge/analysis/samples/hotspots.h"
#include "merge/clocks/align.h"
#include "merge/model/comm.h"

#define TID 7

static struct defs *defs;
static struct align *align;
static struct lookback *lookback;
static struct hotspots *hotspots;
static struct report report;

static void name_put(uint32_t process, uint32_t id, const char *text)
{
    assert_int_equal(names_set(defs->processes[process].names, id,
                               texts_keep(defs->texts, text, strlen(text))),
                     0);
}

/* Frames of one address each: the stack's number. */
static void stack_put(uint32_t process, const struct place *place)
{
    struct defs_agent *agent = &defs->agents[defs->processes[process].agent];
    uint64_t address = agent->stacks_last + 1;
    struct defs_stack *stack = defs_stack_enter(agent, agent->stacks_last + 1);

    *stack = (struct defs_stack){
        .frames = calloc(1, sizeof(uint64_t)), .count = 1, .depth = 1};
    stack->frames[0] = address;
    names_set_place(defs->processes[process].names, address, *place);
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
        const char *file = texts_keep(defs->texts, "a.c", 3);
        struct place work = {texts_keep(defs->texts, "work", 4), file, 10};
        struct place other = {texts_keep(defs->texts, "other", 5), file, 90};

        defs->agents[agent].rank = defs->processes[process].rank = rank;
        defs->processes[process].pid = TID;
        (void)defs_thread_find(defs, process, TID);
        name_put(process, 1, "MPI_Recv");
        name_put(process, 2, "solve");
        stack_put(process, &work);
        work.line = 11;
        stack_put(process, &work);
        stack_put(process, &other);
    }
    defs_close(defs);
    comm_close(defs);
    align = align_create();
    align_close(align, defs);
    lookback = lookback_create(defs, align, 4096);
    hotspots = hotspots_create(defs, lookback, region);
    memset(&report, 0, sizeof(report));
    return lookback == NULL || hotspots == NULL;
}

static int teardown(void **state)
{
    (void)state;
    hotspots_destroy(hotspots);
    lookback_destroy(lookback);
    align_destroy(align);
    defs_destroy(defs);
    report_fini(&report);
    return 0;
}

static void
take(int rank, const struct ck_event *record, ck_time_t start, ck_time_t end)
{
    struct timeline_event event = {.record = record,
                                   .start = start,
                                   .end = end,
                                   .rank = rank,
                                   .process = (uint32_t)rank,
                                   .thread = (uint32_t)rank};

    assert_int_equal(lookback_take(lookback, &event, 0), 0);
    hotspots_take(hotspots, &event);
}

static void sample(int rank, ck_time_t time, uint64_t stack)
{
    struct ck_sample record = {
        .e = {.kind = CK_KIND_SAMPLE, .name = 1, .start = time},
        .tid = TID,
        .stack = stack,
        .weight = 10};

    take(rank, &record.e, time, time);
}

static void call(int rank, ck_time_t start, ck_time_t end)
{
    struct ck_call record = {
        .e = {.kind = CK_KIND_MPI_CALL, .name = 1, .start = start},
        .dur = end - start,
        .call = 1};

    take(rank, &record.e, start, end);
}

static void functions_are_hot_by_their_samples_outside_mpi(void **state)
{
    struct ck_mark range = {
        .e = {.kind = CK_KIND_RANGE, .name = 2, .start = 300}, .dur = 200};

    (void)state;
    sample(0, 50, 3); /* before the region */
    sample(0, 150, 1);
    call(0, 200, 300);
    sample(0, 250, 3); /* in the call */
    sample(0, 300, 3);
    take(0, &range.e, 300, 500);
    sample(0, 310, 2);
    sample(0, 320, 2);
    sample(0, 340, 2);
    sample(1, 350, 1);
    hotspots_report(hotspots, &report);
    assert_int_equal(report.samples.total, 70);
    assert_int_equal(report.samples.mpi, 10);
    assert_int_equal(report.hot_count, 2);
    assert_string_equal(report.hot[0].place.function, "work");
    assert_int_equal(report.hot[0].ns, 50);
    assert_int_equal(report.hot[0].line_ns, 30);
    assert_int_equal(report.hot[0].ranks, 2);
    assert_int_equal(report.hot[0].rank, 0);
    assert_int_equal(report.hot[0].rank_ns, 40);
    assert_string_equal(report.hot[0].after, "MPI_Recv");
    assert_string_equal(report.hot[0].range, "solve");
    assert_int_equal(report.hot[0].place.line, 11);
    assert_string_equal(report.hot[1].place.function, "other");
    assert_int_equal(report.hot[1].ns, 10);
    assert_null(report.hot[1].range);
}

/* Of the call that its row names; of an earlier one nothing. */
static void a_rank_computes_behind_its_last_call(void **state)
{
    struct report_rank rows[2] = {
        {.number = 0, .last = "MPI_Recv", .last_end = 300},
        {.number = 1, .last = "MPI_Recv", .last_end = 999}};

    (void)state;
    call(0, 120, 130);
    sample(0, 140, 3);
    sample(0, 150, 3);
    call(0, 200, 300);
    sample(0, 310, 1);
    sample(0, 320, 2);
    sample(0, 330, 3);
    call(1, 340, 350);
    sample(1, 360, 1);
    report.ranks = rows;
    report.ranks_count = 2;
    hotspots_report(hotspots, &report);
    report.ranks = NULL;
    report.ranks_count = 0;
    assert_int_equal(rows[0].after.total, 30);
    assert_int_equal(rows[0].after.ns, 20);
    assert_string_equal(rows[0].after.place.function, "work");
    assert_int_equal(rows[1].after.total, 0);
}

static void a_process_without_a_rank_is_none_of_the_ranks(void **state)
{
    (void)state;
    defs->processes[1].rank = DEFS_RANK_UNKNOWN;
    sample(0, 200, 1);
    sample(1, 300, 1);
    sample(1, 400, 1);
    sample(1, 500, 3);
    hotspots_report(hotspots, &report);
    assert_string_equal(report.hot[0].place.function, "work");
    assert_int_equal(report.hot[0].ranks, 1);
    assert_int_equal(report.hot[0].rank, DEFS_RANK_UNKNOWN);
    assert_int_equal(report.hot[0].rank_ns, 20);
    assert_string_equal(report.hot[1].place.function, "other");
    assert_int_equal(report.hot[1].ranks, 0);
}

static void samples_in_cks_libraries_are_no_hot_spots(void **state)
{
    struct defs_process *process = &defs->processes[0];

    (void)state;
    process->modules = calloc(1, sizeof(*process->modules));
    assert_non_null(process->modules);
    /* Stack 3 of it is at address 3. */
    process->modules[0] =
        (struct defs_module){.is_own = true, .start = 2, .end = 3};
    process->modules_count = process->modules_room = 1;
    sample(0, 200, 1);
    sample(0, 300, 3);
    sample(0, 400, 3);
    call(0, 500, 600);
    sample(0, 550, 3); /* of MPI */
    sample(1, 600, 3); /* of another process */
    hotspots_report(hotspots, &report);
    assert_int_equal(report.samples.total, 50);
    assert_int_equal(report.samples.mpi, 10);
    assert_int_equal(report.samples.own, 20);
    assert_int_equal(report.hot_count, 2);
    assert_int_equal(report.hot[0].ns, 10);
    assert_int_equal(report.hot[1].ns, 10);
}

static void without_samples_nothing_is_hot(void **state)
{
    (void)state;
    call(0, 200, 300);
    hotspots_report(hotspots, &report);
    assert_int_equal(report.hot_count, 0);
    assert_int_equal(report.samples.total, 0);
}

/* work() and helper() below main(); helper() is called by remesh() alone. */
static void a_hot_function_names_the_caller_that_explains_it(void **state)
{
    struct defs_process *process = &defs->processes[0];
    struct defs_agent *agent = &defs->agents[process->agent];
    const char *file = texts_keep(defs->texts, "/src/a.c", 8);
    const char *names[] = {"main", "remesh", "helper", "work"};
    uint64_t of[4];

    (void)state;
    process->modules = calloc(1, sizeof(*process->modules));
    process->modules_count = process->modules_room = 1;
    process->modules[0] = (struct defs_module){
        .path = file, .build_id = "", .start = 1, .end = 1 << 20};
    for (uint64_t i = 0; i < 4; i++) {
        struct place place = {
            texts_keep(defs->texts, names[i], strlen(names[i])), file,
            (uint32_t)i + 1};

        of[i] = 1000 + i;
        names_set_place(process->names, of[i], place);
    }
    for (int deep = 0; deep < 2; deep++) {
        struct defs_stack *stack = defs_stack_enter(agent, (uint32_t)deep + 1);

        free(stack->frames);
        stack->frames = calloc(3, sizeof(uint64_t));
        stack->count = stack->depth = deep ? 3 : 2;
        stack->frames[0] = deep ? of[2] : of[3];
        stack->frames[1] = deep ? of[1] : of[0];
        stack->frames[2] = of[0];
    }
    for (int i = 0; i < 30; i++) {
        sample(0, 200 + i, i < 10 ? 1 : 2);
    }
    hotspots_report(hotspots, &report);
    assert_string_equal(report.hot[0].place.function, "helper");
    assert_string_equal(report.hot[0].caller.function, "remesh");
    assert_string_equal(report.hot[1].place.function, "work");
    assert_null(report.hot[1].caller.function);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(
            functions_are_hot_by_their_samples_outside_mpi, setup, teardown),
        cmocka_unit_test_setup_teardown(a_rank_computes_behind_its_last_call,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(
            a_process_without_a_rank_is_none_of_the_ranks, setup, teardown),
        cmocka_unit_test_setup_teardown(
            samples_in_cks_libraries_are_no_hot_spots, setup, teardown),
        cmocka_unit_test_setup_teardown(
            a_hot_function_names_the_caller_that_explains_it, setup, teardown),
        cmocka_unit_test_setup_teardown(without_samples_nothing_is_hot, setup,
                                        teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
