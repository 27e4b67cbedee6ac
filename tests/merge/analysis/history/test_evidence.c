/* test_evidence.c - what is known of an activity beyond calls and ranges
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

#include "merge/analysis/history/evidence.h"

#define ACTIVITY 3
/* Lines of Python: of the program, and of an installed package. */
#define STEP (CK_SITE_TOLD + 1)
#define PACKAGE (CK_SITE_TOLD + 2)
#define DEEP 12 /* frames of a library */

static struct defs *defs;
static struct evidence *evidence;

/* A stack of one process; its first frame is innermost. */
static void stack_put(uint64_t first, uint64_t second)
{
    struct defs_agent *agent = &defs->agents[0];
    struct defs_stack *stack = defs_stack_enter(agent, agent->stacks_last + 1);

    *stack = (struct defs_stack){
        .frames = calloc(2, sizeof(uint64_t)), .count = 2, .depth = 2};
    stack->frames[0] = first;
    stack->frames[1] = second;
}

/* Frames of a library in front of two of Python. */
static void deep_stack_put(uint64_t second, uint64_t last)
{
    struct defs_agent *agent = &defs->agents[0];
    struct defs_stack *stack = defs_stack_enter(agent, agent->stacks_last + 1);

    *stack = (struct defs_stack){.frames = calloc(DEEP + 2, sizeof(uint64_t)),
                                 .count = 8,
                                 .depth = DEEP + 2};
    for (int i = 0; i < DEEP; i++) {
        stack->frames[i] = 0x20;
    }
    stack->frames[DEEP] = second;
    stack->frames[DEEP + 1] = last;
}

static void
place_put(uint64_t address, const char *function, const char *file, int line)
{
    struct place place = {
        texts_keep(defs->texts, function, strlen(function)),
        file == NULL ? NULL : texts_keep(defs->texts, file, strlen(file)),
        (uint32_t)line};

    names_set_place(defs->processes[0].names, address, place);
}

/* A library of ck's in the process. */
static void own_put(uint64_t start, uint64_t end)
{
    struct defs_process *process = &defs->processes[0];

    process->modules = calloc(1, sizeof(*process->modules));
    assert_non_null(process->modules);
    process->modules[0] =
        (struct defs_module){.is_own = true, .start = start, .end = end};
    process->modules_count = process->modules_room = 1;
}

static int setup(void **state)
{
    static const uint8_t id[16] = {1};

    (void)state;
    defs = defs_create();
    (void)defs_process_find(defs, defs_agent_find(defs, id), 1);
    place_put(0x10, "work", "a.c", 10);
    place_put(0x11, "work", "a.c", 11);
    place_put(0x20, "other", "a.c", 90);
    place_put(0x30, "libz.so.1+0x77", NULL, 0);
    place_put(0x31, "libz.so.1+0x88", NULL, 0);
    stack_put(0x10, 0);    /* 1 */
    stack_put(0x11, 0);    /* 2 */
    stack_put(0x20, 0);    /* 3 */
    stack_put(0x30, 0);    /* 4 */
    stack_put(0x31, 0);    /* 5 */
    stack_put(0x30, 0x20); /* 6: a library called by other() */
    place_put(0x1010, "point_put", "ring.c", 5);
    own_put(0x1000, 0x2000);
    stack_put(0x1010, 0x20);   /* 7: ck called by other() */
    stack_put(0x30, 0x1010);   /* 8: a library called by ck */
    stack_put(0x2001, 0x1000); /* 9: behind ck's library, and before it */
    place_put(STEP, "step", "train.py", 7);
    place_put(PACKAGE, "dumps", "/usr/lib/python3/json/__init__.py", 234);
    deep_stack_put(PACKAGE, STEP); /* 10: an extension that Python called */
    evidence = evidence_create(defs);
    return evidence == NULL;
}

static int teardown(void **state)
{
    (void)state;
    evidence_destroy(evidence);
    defs_destroy(defs);
    return 0;
}

static void sample(uint32_t stack, int64_t weight)
{
    struct evidence_item item = {.activity = ACTIVITY,
                                 .kind = EVIDENCE_SAMPLE,
                                 .b = stack,
                                 .weight = weight};

    evidence_add(evidence, &item);
}

static void lines_of_a_function_count_together(void **state)
{
    struct report_sampled seen;

    (void)state;
    sample(1, 30);
    sample(2, 40);
    sample(3, 50); /* more than each line of work() */
    seen = evidence_sampled(evidence, ACTIVITY);
    assert_string_equal(seen.place.function, "work");
    assert_int_equal(seen.place.line, 11);
    assert_int_equal(seen.ns, 70);
    assert_int_equal(seen.total, 120);
}

static void a_library_without_symbols_is_one_place(void **state)
{
    struct report_sampled seen;

    (void)state;
    sample(4, 30);
    sample(5, 30);
    sample(1, 50);
    seen = evidence_sampled(evidence, ACTIVITY);
    assert_string_equal(seen.place.function, "libz.so.1");
    assert_int_equal(seen.ns, 60);
}

static void the_line_that_called_a_library_is_the_place(void **state)
{
    struct report_sampled seen;

    (void)state;
    sample(6, 30);
    seen = evidence_sampled(evidence, ACTIVITY);
    assert_string_equal(seen.place.function, "other");
    assert_int_equal(seen.place.line, 90);
}

static void
the_line_of_python_is_the_place_however_deep_its_extension(void **state)
{
    struct report_sampled seen;

    (void)state;
    sample(10, 30);
    seen = evidence_sampled(evidence, ACTIVITY);
    assert_string_equal(seen.place.function, "step");
    assert_int_equal(seen.place.line, 7);
}

static bool is_own(uint32_t stack)
{
    struct evidence_item item = {.kind = EVIDENCE_SAMPLE, .b = stack};

    return evidence_is_own(defs, &item);
}

static void a_sample_is_cks_where_its_innermost_frame_is(void **state)
{
    (void)state;
    assert_true(is_own(7));
    assert_false(is_own(6));
    assert_false(is_own(8));
    assert_false(is_own(9));
    assert_false(is_own(0)); /* no stack */
}

static void cks_frames_are_no_places(void **state)
{
    struct evidence_item item = {.kind = EVIDENCE_SAMPLE, .b = 7};

    (void)state;
    assert_string_equal(evidence_place(defs, &item).function, "other");
    item.b = 8;
    assert_string_equal(evidence_place(defs, &item).function, "libz.so.1");
}

static void samples_without_a_place_count_in_the_total(void **state)
{
    struct report_sampled seen;

    (void)state;
    sample(0, 60);
    sample(99, 10);
    sample(1, 30);
    seen = evidence_sampled(evidence, ACTIVITY);
    assert_string_equal(seen.place.function, "work");
    assert_int_equal(seen.ns, 30);
    assert_int_equal(seen.total, 100);
}

static void activities_are_kept_apart(void **state)
{
    struct evidence_item item = {
        .activity = 7, .kind = EVIDENCE_PATH, .b = 5, .weight = 10};
    struct evidence_item top;

    (void)state;
    sample(1, 30);
    evidence_add(evidence, &item);
    item.b = 6;
    item.weight = 4;
    evidence_add(evidence, &item);
    evidence_add(evidence, &item);
    evidence_add(evidence, &item);
    assert_int_equal(evidence_sampled(evidence, 7).total, 0);
    assert_true(evidence_top(evidence, 7, EVIDENCE_PATH, &top));
    assert_int_equal(top.b, 6);
    assert_int_equal(top.weight, 12);
    assert_false(evidence_top(evidence, ACTIVITY, EVIDENCE_PATH, &top));
    assert_false(evidence_top(evidence, 1000000, EVIDENCE_PATH, &top));
}

static void times_without_a_cpu_are_added_up(void **state)
{
    static const struct {
        enum evidence_off off;
        int64_t ns;
    } parts[] = {{EVIDENCE_ON, 50},
                 {EVIDENCE_PREEMPTED, 30},
                 {EVIDENCE_BLOCKED, 15},
                 {EVIDENCE_PREEMPTED, 5}};
    struct report_running running;

    (void)state;
    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
        struct evidence_item item = {.activity = ACTIVITY,
                                     .kind = EVIDENCE_OFF,
                                     .a = parts[i].off,
                                     .weight = parts[i].ns};

        evidence_add(evidence, &item);
    }
    running = evidence_running(evidence, ACTIVITY);
    assert_int_equal(running.total, 100);
    assert_int_equal(running.preempted, 35);
    assert_int_equal(running.blocked, 15);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(lines_of_a_function_count_together,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(a_library_without_symbols_is_one_place,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(
            the_line_that_called_a_library_is_the_place, setup, teardown),
        cmocka_unit_test_setup_teardown(
            the_line_of_python_is_the_place_however_deep_its_extension, setup,
            teardown),
        cmocka_unit_test_setup_teardown(
            samples_without_a_place_count_in_the_total, setup, teardown),
        cmocka_unit_test_setup_teardown(
            a_sample_is_cks_where_its_innermost_frame_is, setup, teardown),
        cmocka_unit_test_setup_teardown(cks_frames_are_no_places, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(activities_are_kept_apart, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(times_without_a_cpu_are_added_up, setup,
                                        teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
