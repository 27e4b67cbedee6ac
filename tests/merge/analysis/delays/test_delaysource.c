/* test_delaysource.c - what a late thread did more than those who waited
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

#include "merge/analysis/delays/delaysource.h"
#include "merge/clocks/align.h"
#include "merge/model/comm.h"

#define TID 7
#define FILL 1 /* the stack */

static struct defs *defs;
static struct align *align;
static struct lookback *lookback;
static struct delaykeys *keys;
static struct delaysources *sources;
static uint32_t late;

static int setup(void **state)
{
    uint8_t id[16] = {1};
    uint64_t address = CK_SITE_TOLD + 1;
    struct delay_deed deed;
    struct defs_stack *stack;

    (void)state;
    defs = defs_create();
    (void)defs_process_find(defs, defs_agent_find(defs, id), 1);
    (void)defs_thread_find(defs, 0, TID);
    stack = defs_stack_enter(&defs->agents[0], 1);
    *stack = (struct defs_stack){
        .frames = calloc(1, sizeof(uint64_t)), .count = 1, .depth = 1};
    stack->frames[0] = address;
    names_set_place(defs->processes[0].names, address,
                    (struct place){texts_keep(defs->texts, "fill", 4),
                                   texts_keep(defs->texts, "a.c", 3), 10});
    defs_close(defs);
    comm_close(defs);
    align = align_create();
    align_close(align, defs);
    lookback = lookback_create(defs, align, 4096);
    keys = delaykeys_create(lookback);
    sources = delaysources_create(lookback, keys);
    delaykeys_deed(keys, &(struct history_state){.is_known = true}, HISTORY_ON,
                   &deed);
    late = (uint32_t)delaysources_find(
        sources, &(struct delay_source){.key = deed.key}, deed.did);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    delaysources_destroy(sources);
    delaykeys_destroy(keys);
    lookback_destroy(lookback);
    align_destroy(align);
    defs_destroy(defs);
    return 0;
}

/* The late thread had so much of fill(), or, below zero, another. */
static void weigh(bool is_faulting, double ns)
{
    struct history_sample sample = {
        .stack = FILL, .weight = 1, .is_faulting = is_faulting};
    struct delay_line line;

    delaykeys_line(keys, 0, &sample, &line);
    delaysources_weigh(
        sources, late,
        &(struct delay_part){.part = line.number, .is_line = true}, ns);
}

static struct report_sampled found(void)
{
    struct report_sampled sampled;

    assert_int_equal(delaysources_functions(sources, late, &sampled, 1), 1);
    assert_string_equal(sampled.place.function, "fill");
    return sampled;
}

static void page_faults_are_a_part_of_what_the_thread_did_more(void **state)
{
    (void)state;
    weigh(true, 600);
    weigh(false, 400);
    assert_int_equal(found().ns, 1000);
    assert_int_equal(found().faulting, 600);
}

/* Others were there, too, without any. */
static void page_faults_are_no_more_than_all_of_it(void **state)
{
    (void)state;
    weigh(true, 1000);
    weigh(false, -400);
    assert_int_equal(found().ns, 600);
    assert_int_equal(found().faulting, 600);
}

static void page_faults_of_others_are_none_of_it(void **state)
{
    (void)state;
    weigh(true, -400);
    weigh(false, 1000);
    assert_int_equal(found().ns, 600);
    assert_int_equal(found().faulting, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(
            page_faults_are_a_part_of_what_the_thread_did_more, setup,
            teardown),
        cmocka_unit_test_setup_teardown(page_faults_are_no_more_than_all_of_it,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(page_faults_of_others_are_none_of_it,
                                        setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
