/* test_launchstacks.c - device work by the stack that launched it
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

#include "merge/analysis/devices/launchstacks.h"
#include "merge/clocks/align.h"
#include "merge/model/comm.h"

#define TID 7
#define SITE 100    /* in launch(), called by train() and by check() */
#define OTHER 101   /* in launch(), too */
#define STRANGE 102 /* in a function that no sample met */
#define PYTHON (CK_SITE_TOLD + 5) /* as the program itself has it */
#define SAMPLED_PYTHON (CK_SITE_TOLD + 900)

static struct defs *defs;
static struct align *align;
static struct lookback *lookback;
static struct launchstacks *stacks;
static struct report report;
static uint32_t calls;

static void place_put(uint64_t address, const char *function, uint32_t line)
{
    names_set_place(
        defs->processes[0].names, address,
        (struct place){texts_keep(defs->texts, function, strlen(function)),
                       texts_keep(defs->texts, "a.c", 3), line});
}

/* Addresses, innermost first. */
static void stack_put(uint64_t inner, uint64_t outer)
{
    struct defs_agent *agent = &defs->agents[0];
    struct defs_stack *stack = defs_stack_enter(agent, agent->stacks_last + 1);

    *stack = (struct defs_stack){
        .frames = calloc(3, sizeof(uint64_t)), .count = 3, .depth = 3};
    stack->frames[0] = 1; /* in the driver */
    stack->frames[1] = inner;
    stack->frames[2] = outer;
}

static int setup(void **state)
{
    struct region region = {0, 1000000};
    uint8_t id[16] = {1};
    uint32_t agent;

    (void)state;
    defs = defs_create();
    agent = defs_agent_find(defs, id);
    (void)defs_process_find(defs, agent, 1);
    (void)defs_thread_find(defs, 0, TID);
    assert_int_equal(names_set(defs->processes[0].names, 1,
                               texts_keep(defs->texts, "forward", 7)),
                     0);
    assert_int_equal(names_set(defs->processes[0].names, 2,
                               texts_keep(defs->texts, "backward", 8)),
                     0);
    place_put(SITE, "launch", 10);
    place_put(OTHER, "launch", 11);
    place_put(STRANGE, "never", 50);
    place_put(200, "train", 20);
    place_put(201, "check", 30);
    place_put(PYTHON, "step", 40);
    place_put(SAMPLED_PYTHON, "step", 40);
    stack_put(SITE, 200);
    stack_put(SITE, 201);
    stack_put(SAMPLED_PYTHON, 200);
    defs_close(defs);
    comm_close(defs);
    align = align_create();
    align_close(align, defs);
    lookback = lookback_create(defs, align, 4096);
    stacks = launchstacks_create(defs, lookback, region);
    memset(&report, 0, sizeof(report));
    calls = 0;
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    launchstacks_destroy(stacks);
    lookback_destroy(lookback);
    align_destroy(align);
    defs_destroy(defs);
    report_fini(&report);
    return 0;
}

/* Launches before the first one runs: more than a history keeps. */
#define FAR 20000

static struct timeline_event
event_of(const struct ck_event *record, ck_time_t start, ck_time_t end)
{
    return (struct timeline_event){
        .record = record, .start = start, .end = end};
}

static void call_at(ck_time_t time, uint64_t site)
{
    struct ck_call call = {
        .e = {.kind = CK_KIND_API_CUDA_RUNTIME, .name = 1, .start = time},
        .dur = 5,
        .call = ++calls,
        .site = site};
    struct timeline_event event = event_of(&call.e, time, time + 5);

    assert_int_equal(lookback_take(lookback, &event, 0), 0);
    launchstacks_take(stacks, &event);
}

/* For 10 ns. */
static void kernel_at(ck_time_t time, uint32_t call, uint32_t name)
{
    struct ck_kernel kernel = {
        .e = {.kind = CK_KIND_KERNEL, .name = name, .start = time},
        .dur = 10,
        .tid = TID,
        .call = call};
    struct timeline_event event = event_of(&kernel.e, time, time + 10);

    launchstacks_take(stacks, &event);
}

/* A launch of 5 ns, whose kernel runs for 10. */
static void launch_kernel(ck_time_t time, uint64_t site, uint32_t name)
{
    call_at(time, site);
    kernel_at(time + 10, calls, name);
}

static void launch(ck_time_t time, uint64_t site)
{
    launch_kernel(time, site, 1);
}

static void sample(ck_time_t time, uint64_t stack)
{
    struct ck_sample record = {
        .e = {.kind = CK_KIND_SAMPLE, .name = 1, .start = time},
        .tid = TID,
        .stack = stack,
        .weight = 10};
    struct timeline_event event = event_of(&record.e, time, time);

    launchstacks_take(stacks, &event);
}

static void
launches_have_the_stack_that_most_samples_of_their_call_have(void **state)
{
    const struct report_launch_row *row;

    (void)state;
    launch(100, SITE);
    sample(202, 1);
    launch(200, SITE);
    sample(302, 1);
    sample(303, 1);
    sample(304, 2);
    launch(300, SITE);
    launchstacks_report(stacks, &report);
    assert_int_equal(report.launch_stacks.count, 1);
    row = &report.launch_stacks.rows[0];
    assert_string_equal(row->work, "forward");
    assert_int_equal(row->launches, 3);
    assert_int_equal(row->ns, 30);
    assert_int_equal(row->frames_count, 2);
    assert_string_equal(row->frames[0].function, "train");
    assert_string_equal(row->frames[1].function, "launch");
    assert_true(row->share > 0.74 && row->share < 0.76);
    assert_int_equal(report.launch_stacks.deferred, 2);
    assert_int_equal(report.launch_stacks.matched, 1);
    assert_int_equal(report.launch_stacks.deferred_ns, 20);
    assert_int_equal(report.launch_stacks.matched_ns, 10);
}

/* The thread is far ahead of its device. */
static void a_kernel_is_joined_however_late_it_begins(void **state)
{
    uint32_t first = calls;

    (void)state;
    sample(90, 1);
    for (ck_time_t i = 0; i < FAR; i++) {
        call_at(100 + 10 * i, SITE);
    }
    for (ck_time_t i = 0; i < FAR; i++) {
        kernel_at(100 + 10 * (FAR + i), first + 1 + (uint32_t)i, 1);
    }
    launchstacks_report(stacks, &report);
    assert_int_equal(report.launch_stacks.unknown, 0);
    assert_int_equal(report.launch_stacks.count, 1);
    assert_int_equal(report.launch_stacks.rows[0].launches, FAR);
}

static void a_call_that_no_sample_met_is_counted(void **state)
{
    struct ck_kernel kernel = {
        .e = {.kind = CK_KIND_KERNEL, .name = 1}, .tid = TID, .call = 12345};
    struct timeline_event event = event_of(&kernel.e, 500, 507);

    (void)state;
    sample(90, 1);
    launch(100, STRANGE);
    launchstacks_take(stacks, &event);
    launchstacks_report(stacks, &report);
    assert_int_equal(report.launch_stacks.unmatched, 1);
    assert_int_equal(report.launch_stacks.unmatched_ns, 10);
    assert_int_equal(report.launch_stacks.unknown, 1);
    assert_int_equal(report.launch_stacks.unknown_ns, 7);
    assert_int_equal(report.launch_stacks.rows[0].frames_count, 0);
}

static void
a_call_without_a_sample_has_the_callers_of_its_function(void **state)
{
    struct ck_sample wait = {
        .e = {.kind = CK_KIND_OFF_CPU, .name = 1, .start = 95},
        .tid = TID,
        .stack = 2,
        .weight = 500000000};
    struct timeline_event event = event_of(&wait.e, 95, 95);
    const struct report_launch_row *row;

    (void)state;
    sample(90, 1);
    launchstacks_take(stacks, &event);
    launch(100, OTHER);
    launchstacks_report(stacks, &report);
    assert_int_equal(report.launch_stacks.by_function, 1);
    assert_int_equal(report.launch_stacks.by_function_ns, 10);
    assert_int_equal(report.launch_stacks.unmatched, 0);
    row = &report.launch_stacks.rows[0];
    assert_true(row->is_by_function);
    assert_int_equal(row->frames_count, 2);
    assert_string_equal(row->frames[0].function, "train");
    assert_string_equal(row->frames[1].function, "launch");
    assert_int_equal(row->frames[1].line, 11);
    assert_true(row->share > 0.9); /* a wait outweighs no sample */
}

static void waits_show_who_called_where_no_sample_does(void **state)
{
    struct ck_sample wait = {
        .e = {.kind = CK_KIND_OFF_CPU, .name = 1, .start = 95},
        .tid = TID,
        .stack = 2,
        .weight = 5};
    struct timeline_event event = event_of(&wait.e, 95, 95);

    (void)state;
    launchstacks_take(stacks, &event);
    launch(100, SITE);
    launchstacks_report(stacks, &report);
    assert_int_equal(report.launch_stacks.matched, 1);
    assert_string_equal(report.launch_stacks.rows[0].frames[0].function,
                        "check");
}

/* The stack that a library took of a launch represents so many. */
static void launched(ck_time_t time, uint32_t stack, uint64_t launches)
{
    struct ck_stacked record = {
        .e = {.kind = CK_KIND_LAUNCHED, .name = 1, .start = time},
        .site = SITE,
        .bytes = launches,
        .stack = stack};
    struct timeline_event event = event_of(&record.e, time, time);

    launchstacks_take(stacks, &event);
}

static void work_is_divided_among_the_stacks_of_its_launches(void **state)
{
    const struct report_launch_stacks *found = &report.launch_stacks;

    (void)state;
    sample(90, 2); /* a sample counts for nothing beside these */
    launched(100, 1, 16);
    launched(110, 1, 14);
    launched(120, 2, 10);
    for (int i = 0; i < 4; i++) {
        launch(100 + 10 * i, SITE);
    }
    launchstacks_report(stacks, &report);
    assert_int_equal(found->count, 2);
    assert_int_equal(found->rows[0].ns + found->rows[1].ns, 40);
    assert_int_equal(found->rows[0].ns, 30);
    assert_int_equal(found->rows[0].launches, 3);
    assert_string_equal(found->rows[0].frames[0].function, "train");
    assert_string_equal(found->rows[1].frames[0].function, "check");
    assert_int_equal(found->rows[1].launches, 1);
    assert_int_equal(found->matched, 4);
    assert_int_equal(found->deferred, 0);
}

/* As where one line launches all that a program runs. */
static void
kernels_of_one_line_have_the_stacks_of_their_own_launches(void **state)
{
    const struct report_launch_stacks *found = &report.launch_stacks;

    (void)state;
    for (int i = 0; i < 3; i++) {
        launched(100 + 20 * i, 1, 1);
        launch_kernel(100 + 20 * i, SITE, 1);
        launched(110 + 20 * i, 2, 1);
        launch_kernel(110 + 20 * i, SITE, 2);
    }
    launch_kernel(160, SITE, 1); /* it has no stack of its own */
    launchstacks_report(stacks, &report);
    assert_int_equal(found->count, 2);
    assert_string_equal(found->rows[0].work, "forward");
    assert_string_equal(found->rows[0].frames[0].function, "train");
    assert_int_equal(found->rows[0].launches, 4);
    assert_int_equal(found->rows[0].ns, 40);
    assert_string_equal(found->rows[1].work, "backward");
    assert_string_equal(found->rows[1].frames[0].function, "check");
    assert_int_equal(found->rows[1].launches, 3);
}

static void
work_without_stacks_has_those_of_its_line_with_their_share(void **state)
{
    const struct report_launch_stacks *found = &report.launch_stacks;

    (void)state;
    launched(100, 1, 16);
    launch_kernel(100, SITE, 1);
    launched(120, 1, 14);
    launched(140, 2, 10);
    launch_kernel(160, SITE, 2);
    launchstacks_report(stacks, &report);
    assert_int_equal(found->count, 2);
    for (size_t i = 0; i < 2; i++) {
        bool is_forward = strcmp(found->rows[i].work, "forward") == 0;

        assert_string_equal(found->rows[i].frames[0].function, "train");
        assert_true(found->rows[i].share == (is_forward ? 1 : 0.75));
    }
}

/* A line that has as many callers as launches. */
static void rows_are_bounded_and_the_rest_is_counted(void **state)
{
    const struct report_launch_stacks *found = &report.launch_stacks;
    const uint32_t more = LAUNCHSTACKS_ROWS_MAX + 10;
    uint64_t launches = 0;
    ck_time_t ns = 0;

    (void)state;
    for (uint32_t i = 0; i < more; i++) {
        stack_put(SITE, 1000 + i);
    }
    for (uint32_t i = 0; i < more; i++) {
        launched(20 * (ck_time_t)i, 4 + i, 1);
        launch(20 * (ck_time_t)i, SITE);
    }
    launchstacks_report(stacks, &report);
    assert_int_equal(found->count, LAUNCHSTACKS_ROWS_MAX);
    for (size_t i = 0; i < found->count; i++) {
        launches += found->rows[i].launches;
        ns += found->rows[i].ns;
    }
    assert_int_equal(found->left_out, 10);
    assert_int_equal(launches + found->left_out, more);
    assert_int_equal(ns + found->left_out_ns, 10 * (ck_time_t)more);
}

/* As files that are damaged have them. */
static void numbers_that_no_stack_has_are_left_out(void **state)
{
    (void)state;
    sample(90, (uint64_t)1 << 32);
    sample(91, ((uint64_t)1 << 32) + 1);
    sample(92, UINT32_MAX);
    launch(100, SITE);
    launchstacks_report(stacks, &report);
    assert_int_equal(report.launch_stacks.matched, 0);
    assert_int_equal(report.launch_stacks.unmatched, 1);
    assert_int_equal(report.launch_stacks.rows[0].frames_count, 0);
}

static void a_line_of_python_is_found_by_its_place(void **state)
{
    (void)state;
    sample(90, 3);
    launch(100, PYTHON);
    launchstacks_report(stacks, &report);
    assert_int_equal(report.launch_stacks.matched, 1);
    assert_string_equal(report.launch_stacks.rows[0].frames[1].function,
                        "step");
    assert_int_equal(report.launch_stacks.rows[0].frames[1].line, 40);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(
            launches_have_the_stack_that_most_samples_of_their_call_have, setup,
            teardown),
        cmocka_unit_test_setup_teardown(a_call_that_no_sample_met_is_counted,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(
            a_call_without_a_sample_has_the_callers_of_its_function, setup,
            teardown),
        cmocka_unit_test_setup_teardown(
            waits_show_who_called_where_no_sample_does, setup, teardown),
        cmocka_unit_test_setup_teardown(
            work_is_divided_among_the_stacks_of_its_launches, setup, teardown),
        cmocka_unit_test_setup_teardown(
            kernels_of_one_line_have_the_stacks_of_their_own_launches, setup,
            teardown),
        cmocka_unit_test_setup_teardown(
            work_without_stacks_has_those_of_its_line_with_their_share, setup,
            teardown),
        cmocka_unit_test_setup_teardown(
            rows_are_bounded_and_the_rest_is_counted, setup, teardown),
        cmocka_unit_test_setup_teardown(
            a_kernel_is_joined_however_late_it_begins, setup, teardown),
        cmocka_unit_test_setup_teardown(numbers_that_no_stack_has_are_left_out,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(a_line_of_python_is_found_by_its_place,
                                        setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
