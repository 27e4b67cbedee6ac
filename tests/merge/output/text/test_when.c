/* test_when.c - time by step, by stretches of time, and in little memory
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "merge/analysis/steps/when.h"
#include "merge/model/comm.h"

#define RANKS 2
#define STEPS 1000
#define LENGTH 100 /* of a step */
#define FEW 40

static struct defs *defs;
static struct steps *steps;
static struct when *when;
static struct report_windows windows;
static const struct region region = {500, 500 + STEPS *LENGTH};
static const uint32_t thing[] = {3, 5};

static int setup(void **state)
{
    (void)state;
    defs = defs_create();
    for (int rank = 0; rank < RANKS; rank++) {
        uint8_t id[16] = {(uint8_t)(rank + 1)};
        uint32_t agent = defs_agent_find(defs, id);

        defs->agents[agent].rank = rank;
    }
    defs_close(defs);
    comm_close(defs);
    steps = steps_create(defs, region);
    return steps == NULL;
}

static int teardown(void **state)
{
    (void)state;
    when_destroy(when);
    steps_destroy(steps);
    defs_destroy(defs);
    return 0;
}

static ck_time_t step_start(int64_t step)
{
    return region.start + step * LENGTH;
}

/* Both ranks make steps, so many times as wide; their numbers begin anew at
 * `anew`. */
static void steps_make(int64_t anew, int64_t wide)
{
    for (uint32_t rank = 0; rank < RANKS; rank++) {
        for (int64_t i = 0; i < STEPS / wide; i++) {
            struct region part = {step_start(i * wide),
                                  step_start((i + 1) * wide)};

            steps_add(steps, rank, part, i % anew);
        }
    }
}

/* In steps 100 to 149 the thing takes half of the step, else a fiftieth. */
static void ill_make(uint32_t number, int64_t first, int64_t end, size_t limit)
{
    if (when == NULL) {
        when = when_create(steps, region, limit);
    }
    for (int64_t i = first; i < end; i++) {
        bool is_ill = i >= 100 && i < 150;
        struct region part = {step_start(i) + 10,
                              step_start(i) + (is_ill ? 60 : 12)};

        when_add(when, number, 1, part);
    }
}

static int teardown_all(void **state)
{
    int rc = teardown(state);

    when = NULL;
    return rc;
}

static void a_window_has_the_numbers_and_times_of_its_steps(void **state)
{
    (void)state;
    steps_make(STEPS, 1);
    ill_make(3, 0, STEPS, 0);
    when_windows(when, thing, 1, &windows);
    assert_int_equal(windows.count, 1);
    assert_true(windows.items[0].has_steps);
    assert_int_equal(windows.items[0].first_step, 100);
    assert_int_equal(windows.items[0].last_step, 149);
    assert_int_equal(windows.items[0].of_steps, STEPS);
    assert_int_equal(windows.items[0].start, step_start(100));
    assert_int_equal(windows.items[0].end, step_start(150));
    assert_int_equal((int)(windows.items[0].share * 1000 + 0.5),
                     50 * 50 * 1000 / (50 * 50 + 950 * 2));
}

static void things_are_looked_at_together(void **state)
{
    (void)state;
    steps_make(STEPS, 1);
    ill_make(3, 0, 120, 0);
    ill_make(5, 120, STEPS, 0);
    when_windows(when, thing, 2, &windows);
    assert_int_equal(windows.count, 1);
    assert_int_equal(windows.items[0].first_step, 100);
    assert_int_equal(windows.items[0].last_step, 149);
    when_windows(when, thing, 1, &windows);
    assert_int_equal(windows.items[0].last_step, 119);
}

static void what_comes_out_of_order_counts_too(void **state)
{
    (void)state;
    steps_make(STEPS, 1);
    ill_make(3, 130, STEPS, 0);
    ill_make(3, 0, 130, 0);
    when_windows(when, thing, 1, &windows);
    assert_int_equal(windows.items[0].first_step, 100);
    assert_int_equal(windows.items[0].last_step, 149);
}

static void a_part_of_many_steps_is_shared_out(void **state)
{
    struct region part = {step_start(200), step_start(260)};

    (void)state;
    steps_make(STEPS, 1);
    when = when_create(steps, region, 0);
    when_add(when, 3, 0, part);
    when_windows(when, thing, 1, &windows);
    assert_int_equal(windows.count, 1);
    assert_int_equal(windows.items[0].first_step, 200);
    assert_int_equal(windows.items[0].last_step, 259);
    assert_true(windows.items[0].share > 0.999);
}

static void half_of_its_time_has_passed_by_the_end_of_its_median(void **state)
{
    static const struct {
        int64_t step;
        ck_time_t ns;
    } pieces[] = {{10, 20}, {500, 15}, {700, 30}, {900, 10}};

    (void)state;
    steps_make(STEPS, 1);
    when = when_create(steps, region, 0);
    for (size_t i = 0; i < sizeof(pieces) / sizeof(pieces[0]); i++) {
        ck_time_t start = step_start(pieces[i].step) + 1;
        struct region part = {start, start + pieces[i].ns};

        when_add(when, 3, 0, part);
    }
    when_windows(when, thing, 1, &windows);
    assert_int_equal(windows.median.start, step_start(700));
    assert_int_equal(windows.median.end, step_start(701));
}

/* 250 cells for two things of 1000 steps: 8 steps a cell. */
static void in_little_memory_borders_are_coarse_and_sums_are_not(void **state)
{
    (void)state;
    steps_make(STEPS, 1);
    ill_make(3, 0, STEPS, 250);
    ill_make(5, 0, STEPS, 250);
    when_windows(when, thing, 2, &windows);
    assert_int_equal(windows.count, 1);
    assert_in_range(windows.items[0].first_step, 96, 104);
    assert_in_range(windows.items[0].last_step, 143, 151);
    assert_true(windows.items[0].share > 0.5);
    assert_true(windows.items[0].share < 0.6);
}

/* Cells hold 4.29 s until there is more: 10 s in each of the window's. */
static void cells_hold_any_time_before_and_after_they_are_folded(void **state)
{
    static const size_t limits[] = {0, 300};
    const ck_time_t second = 1000000000;
    const struct region wide = {0, 1000 * second};

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        when_destroy(when);
        when = when_create(steps, wide, limits[i]);
        for (int64_t piece = 0; piece < 100000; piece++) {
            ck_time_t at = piece * second / 100;
            bool is_ill = piece >= 40000 && piece < 50000;
            struct region part = {at,
                                  at + (is_ill ? second / 10 : second / 1000)};

            when_add(when, 3, 1, part);
        }
        when_windows(when, thing, 1, &windows);
        assert_int_equal(windows.count, 1);
        assert_in_range(windows.items[0].start, 395 * second, 405 * second);
        assert_in_range(windows.items[0].end, 495 * second, 505 * second);
        assert_in_range((int)(windows.items[0].share * 1000 + 0.5), 905, 925);
    }
}

static void numbers_that_begin_anew_are_not_reported(void **state)
{
    (void)state;
    steps_make(125, 1);
    ill_make(3, 0, STEPS, 0);
    when_windows(when, thing, 1, &windows);
    assert_int_equal(windows.count, 1);
    assert_false(windows.items[0].has_steps);
    assert_int_equal(windows.items[0].start, step_start(100));
    assert_int_equal(windows.items[0].end, step_start(150));
}

/* 1000 pieces of two ranks give 128 stretches. */
static void without_steps_a_window_has_times(void **state)
{
    ck_time_t stretch = STEPS * LENGTH / 128;

    (void)state;
    ill_make(3, 0, STEPS, 0);
    when_windows(when, thing, 1, &windows);
    assert_int_equal(windows.count, 1);
    assert_false(windows.items[0].has_steps);
    assert_in_range(windows.items[0].start, step_start(100) - stretch,
                    step_start(100) + stretch);
    assert_in_range(windows.items[0].end, step_start(150) - stretch,
                    step_start(150) + stretch);
}

static void a_few_pieces_have_no_window(void **state)
{
    (void)state;
    when = when_create(steps, region, 0);
    for (int64_t i = 0; i < 20; i++) {
        struct region part = {step_start(300 + i), step_start(301 + i)};

        when_add(when, 3, 1, part);
    }
    when_windows(when, thing, 1, &windows);
    assert_int_equal(windows.count, 0);
}

static void what_is_out_of_the_region_is_not_asked(void **state)
{
    struct region before = {0, 500}, behind = {region.end, region.end + 10};

    (void)state;
    steps_make(STEPS, 1);
    ill_make(3, 0, STEPS, 0);
    when_add(when, 3, 0, before);
    when_add(when, 3, 0, behind);
    when_windows(when, thing, 1, &windows);
    assert_int_equal(windows.items[0].first_step, 100);
}

/* Both ranks make steps, one of them so much longer. */
static void steps_make_long(int64_t longer, ck_time_t more)
{
    for (uint32_t rank = 0; rank < RANKS; rank++) {
        for (int64_t i = 0; i < STEPS; i++) {
            ck_time_t later = i > longer ? more : 0;
            struct region part = {step_start(i) + later,
                                  step_start(i + 1) + later};

            part.end += i == longer ? more : 0;
            steps_add(steps, rank, part, i);
        }
    }
}

/* A hundredth of each step, and 40 of step 700 of each rank. */
static void hiccup_make(void)
{
    when = when_create(steps, region, 0);
    for (int64_t i = 0; i < STEPS; i++) {
        for (uint32_t rank = 0; rank < RANKS; rank++) {
            ck_time_t begin = step_start(i) + (i > 700 ? 4000 : 0) + 10;
            struct region part = {begin + rank,
                                  i == 700 ? begin + 4000 : begin + rank + 1};

            when_add(when, 3, rank, part);
        }
    }
}

static void a_single_event_has_its_step_and_time(void **state)
{
    (void)state;
    steps_make_long(700, 4000);
    hiccup_make();
    when_windows(when, thing, 1, &windows);
    assert_int_equal(windows.count, 0);
    assert_true(windows.has_event);
    assert_true(windows.event.has_steps);
    assert_int_equal(windows.event.first_step, 700);
    assert_int_equal(windows.event.last_step, 700);
    assert_int_equal(windows.event.of_steps, STEPS);
    assert_int_equal(windows.event.start, step_start(700) + 10);
    assert_int_equal(windows.event.end, step_start(700) + 4010);
    assert_true(windows.event.share > 0.75);
}

static void without_steps_it_has_its_time(void **state)
{
    (void)state;
    hiccup_make();
    when_windows(when, thing, 1, &windows);
    assert_true(windows.has_event);
    assert_false(windows.event.has_steps);
    assert_int_equal(windows.event.start, step_start(700) + 10);
}

static void what_is_in_no_step_is_counted(void **state)
{
    struct region before = {step_start(0), step_start(0) + 4500};

    (void)state;
    for (int64_t i = 50; i < STEPS; i++) {
        struct region part = {step_start(i), step_start(i + 1)};

        steps_add(steps, 0, part, i);
    }
    when = when_create(steps, region, 0);
    for (int64_t i = 50; i < STEPS; i++) {
        struct region part = {step_start(i), step_start(i) + 10};

        when_add(when, 3, 0, part);
    }
    when_windows(when, thing, 1, &windows);
    assert_true(windows.outside == 0);
    when_add(when, 3, 0, before);
    when_windows(when, thing, 1, &windows);
    assert_int_equal((int)(windows.outside * 1000 + 0.5),
                     4500 * 1000 / (4500 + 9500));
}

/* Every fifth step takes 50, the others 2. */
static void most_of_the_time_is_in_the_slow_steps(void **state)
{
    struct report_slow slow;

    (void)state;
    steps_make(STEPS, 1);
    when = when_create(steps, region, 0);
    for (int64_t i = 0; i < STEPS; i++) {
        struct region part = {step_start(i),
                              step_start(i) + (i % 5 == 0 ? 50 : 2)};

        when_add(when, 3, 1, part);
    }
    when_slow(when, 3, &slow);
    assert_int_equal(slow.steps, STEPS / 5);
    assert_int_equal(slow.median, 50);
    assert_int_equal((int)(slow.share * 1000 + 0.5), 862);
    when_slow(when, 4, &slow);
    assert_int_equal(slow.steps, 0);
}

static void steps_that_share_a_cell_are_not_counted(void **state)
{
    struct report_slow slow;

    (void)state;
    steps_make(STEPS, 1);
    ill_make(3, 0, STEPS, STEPS / 2);
    when_slow(when, 3, &slow);
    assert_int_equal(slow.steps, 0);
}

/* Three of 40 steps are side by side in one of 260 orders: that may be chance,
 * six are not. */
static void what_may_be_chance_is_no_window(void **state)
{
    (void)state;
    steps_make(STEPS, STEPS / FEW);
    when = when_create(steps, region, 0);
    for (uint32_t number = 3; number <= 6; number += 3) {
        for (int64_t i = 0; i < FEW; i++) {
            ck_time_t start = step_start(i * (STEPS / FEW));
            bool is_slow = i >= 20 && i < 20 + number;
            struct region part = {start, start + (is_slow ? 2000 : 1 + i % 2)};

            when_add(when, number, 1, part);
        }
        when_windows(when, &number, 1, &windows);
        assert_int_equal(windows.count, number == 3 ? 0 : 1);
    }
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown_all)
    const struct CMUnitTest tests[] = {
        CASE(a_window_has_the_numbers_and_times_of_its_steps),
        CASE(things_are_looked_at_together),
        CASE(what_comes_out_of_order_counts_too),
        CASE(a_part_of_many_steps_is_shared_out),
        CASE(half_of_its_time_has_passed_by_the_end_of_its_median),
        CASE(in_little_memory_borders_are_coarse_and_sums_are_not),
        CASE(cells_hold_any_time_before_and_after_they_are_folded),
        CASE(numbers_that_begin_anew_are_not_reported),
        CASE(without_steps_a_window_has_times),
        CASE(a_few_pieces_have_no_window),
        CASE(what_is_out_of_the_region_is_not_asked),
        CASE(a_single_event_has_its_step_and_time),
        CASE(without_steps_it_has_its_time),
        CASE(what_is_in_no_step_is_counted),
        CASE(most_of_the_time_is_in_the_slow_steps),
        CASE(steps_that_share_a_cell_are_not_counted),
        CASE(what_may_be_chance_is_no_window),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
