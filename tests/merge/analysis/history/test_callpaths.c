/* test_callpaths.c - which caller explains what was sampled
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

#include "merge/analysis/history/callpaths.h"

static struct defs *defs;
static struct callpaths *paths;

static const char *const functions[] = {"main",    "step",   "remesh",
                                        "compute", "kernel", "library"};
enum { MAIN, STEP, REMESH, COMPUTE, KERNEL, LIBRARY, FUNCTIONS };

/* Places named by the process itself: those of its files are the user's. */
static uint64_t frame(int function)
{
    return CK_SITE_TOLD + (uint64_t)function;
}

static struct place place(int function)
{
    const char *file =
        function == LIBRARY ? "/usr/lib/python3/dist-packages/l.py" : "a.c";

    return (struct place){texts_keep(defs->texts, functions[function],
                                     strlen(functions[function])),
                          texts_keep(defs->texts, file, strlen(file)), 0};
}

static int setup(void **state)
{
    uint8_t id[16] = {1};
    uint32_t agent;

    (void)state;
    defs = defs_create();
    agent = defs_agent_find(defs, id);
    (void)defs_process_find(defs, agent, 1);
    for (int i = 0; i < FUNCTIONS; i++) {
        names_set_place(defs->processes[0].names, frame(i), place(i));
    }
    paths = callpaths_create(defs);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    callpaths_destroy(paths);
    defs_destroy(defs);
    return 0;
}

/* The path of a stack of these functions, innermost first, -1 at its end. */
static uint32_t path(const int *stack)
{
    struct defs_agent *agent = &defs->agents[0];
    struct defs_stack *at;
    uint32_t count = 0;

    while (stack[count] >= 0) {
        count++;
    }
    at = defs_stack_enter(agent, agent->stacks_last + 1);
    *at = (struct defs_stack){calloc(count, sizeof(uint64_t)), count, count, 0};
    for (uint32_t i = 0; i < count; i++) {
        at->frames[i] = frame(stack[i]);
    }
    return callpaths_number(paths, 0, agent->stacks_last);
}

#define PATH(...) path((const int[]){__VA_ARGS__, -1})

static void expect(const struct callpaths_part *parts,
                   size_t count,
                   const char *caller,
                   const char *called_from)
{
    struct report_callers found =
        callpaths_explain(paths, place(KERNEL), parts, count);

    if (caller == NULL) {
        assert_null(found.caller.function);
    } else {
        assert_string_equal(found.caller.function, caller);
    }
    if (called_from == NULL) {
        assert_null(found.called_from.function);
    } else {
        assert_string_equal(found.called_from.function, called_from);
    }
}

static void equal_stacks_are_one_path_and_libraries_are_none_of_it(void **state)
{
    (void)state;
    assert_int_equal(PATH(KERNEL, STEP, MAIN), PATH(KERNEL, STEP, MAIN));
    assert_int_equal(PATH(LIBRARY, KERNEL, LIBRARY, STEP, MAIN),
                     PATH(KERNEL, STEP, MAIN));
    assert_int_equal(PATH(KERNEL, STEP, KERNEL, STEP, MAIN),
                     PATH(KERNEL, STEP, MAIN));
    assert_int_not_equal(PATH(STEP, KERNEL, MAIN), PATH(KERNEL, STEP, MAIN));
    assert_int_equal(PATH(LIBRARY), CALLPATHS_NONE);
    assert_int_equal(callpaths_number(paths, 0, 0), CALLPATHS_NONE);
    assert_int_equal(callpaths_number(paths, 0, 1000), CALLPATHS_NONE);
}

/* Only the late rank was in remesh; both computed the same elsewhere. */
static void what_only_the_late_one_was_in_explains_it(void **state)
{
    const struct callpaths_part parts[] = {
        {PATH(KERNEL, REMESH, STEP, MAIN), true, 70, 0},
        {PATH(KERNEL, COMPUTE, STEP, MAIN), true, 30, 30},
    };

    (void)state;
    expect(parts, 2, "remesh", "step");
}

/* What both did was sampled more often in the late one, by chance. */
static void chance_hides_no_explanation(void **state)
{
    const struct callpaths_part parts[] = {
        {PATH(KERNEL, REMESH, STEP, MAIN), true, 80, 0},
        {PATH(KERNEL, COMPUTE, STEP, MAIN), true, 40, 22},
    };

    (void)state;
    expect(parts, 2, "remesh", "step");
}

/* All are in it, the late one for longer: it does little else. */
static void what_takes_longer_explains_itself(void **state)
{
    const struct callpaths_part parts[] = {
        {PATH(KERNEL, COMPUTE, STEP, MAIN), true, 90, 30},
        {PATH(STEP, MAIN), false, 60, 60},
    };

    (void)state;
    expect(parts, 2, "compute", "step");
}

static void who_did_many_things_is_not_named(void **state)
{
    const struct callpaths_part parts[] = {
        {PATH(KERNEL, STEP, MAIN), true, 50, 10},
        {PATH(COMPUTE, STEP, MAIN), false, 50, 50},
    };

    (void)state;
    expect(parts, 2, NULL, "step"); /* kernel itself, called from step */
}

/* Without others to compare with, what has little but that. */
static void alone_the_outermost_that_does_nothing_else_is_named(void **state)
{
    const struct callpaths_part parts[] = {
        {PATH(KERNEL, REMESH, COMPUTE, STEP, MAIN), true, 90, 0},
        {PATH(REMESH, COMPUTE, STEP, MAIN), false, 10, 0},
        {PATH(LIBRARY, STEP, MAIN), false, 80, 0},
    };

    (void)state;
    expect(parts, 3, "compute", "step");
}

static void two_callers_that_share_it_explain_nothing(void **state)
{
    const struct callpaths_part parts[] = {
        {PATH(KERNEL, REMESH, MAIN), true, 50, 0},
        {PATH(KERNEL, COMPUTE, MAIN), true, 50, 0},
    };

    (void)state;
    expect(parts, 2, NULL, NULL);
}

static void no_samples_have_no_caller(void **state)
{
    (void)state;
    expect(NULL, 0, NULL, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(
            equal_stacks_are_one_path_and_libraries_are_none_of_it, setup,
            teardown),
        cmocka_unit_test_setup_teardown(
            what_only_the_late_one_was_in_explains_it, setup, teardown),
        cmocka_unit_test_setup_teardown(chance_hides_no_explanation, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(what_takes_longer_explains_itself,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(who_did_many_things_is_not_named, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(
            alone_the_outermost_that_does_nothing_else_is_named, setup,
            teardown),
        cmocka_unit_test_setup_teardown(
            two_callers_that_share_it_explain_nothing, setup, teardown),
        cmocka_unit_test_setup_teardown(no_samples_have_no_caller, setup,
                                        teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
