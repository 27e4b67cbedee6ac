/* test_stepdetect.c - which collectives end steps, and which do not
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Each rank's calls are a text: a letter is a call of a place, a digit the
 * time before the next one, in units of 2 to the digit.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "merge/analysis/steps/stepdetect.h"
#include "merge/model/comm.h"

#define RANKS 3
#define PLACES 4 /* A, B, C, and D, which has no place */
#define TEXT 65536

static struct defs *defs;
static struct stepdetect *stepdetect;
static struct steps *steps;
static struct report report;
static struct region region;
static char texts[RANKS][TEXT];

static int setup(void **state)
{
    (void)state;
    defs = defs_create();
    for (int rank = 0; rank < RANKS; rank++) {
        uint8_t id[16] = {(uint8_t)(rank + 1)};
        uint32_t agent = defs_agent_find(defs, id);
        uint32_t process = defs_process_find(defs, agent, 1);
        struct names *names = defs->processes[process].names;

        defs->agents[agent].rank = defs->processes[process].rank = rank;
        defs->agents[agent].events = 1;
        (void)defs_thread_find(defs, process, 1);
        for (uint32_t i = 1; i <= PLACES; i++) {
            char name[16], file[] = "a.c";
            int length = snprintf(name, sizeof(name), "MPI_%u", i);

            assert_int_equal(
                names_set(names, i,
                          texts_keep(defs->texts, name, (size_t)length)),
                0);
            if (i < PLACES) {
                struct place place = {
                    texts_keep(defs->texts, "main", 4),
                    texts_keep(defs->texts, file, sizeof(file) - 1), i};

                names_set_place(names, i, place);
            }
        }
        texts[rank][0] = '\0';
    }
    defs_close(defs);
    comm_close(defs);
    memset(&report, 0, sizeof(report));
    region = (struct region){0, 0};
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    stepdetect_destroy(stepdetect);
    stepdetect = NULL;
    steps_destroy(steps);
    defs_destroy(defs);
    return 0;
}

/* So often, on the ranks of those bits. */
static void say(unsigned ranks, unsigned times, const char *text)
{
    for (int rank = 0; rank < RANKS; rank++) {
        for (unsigned i = 0; (ranks >> rank & 1) != 0 && i < times; i++) {
            assert_true(strlen(texts[rank]) + strlen(text) < TEXT);
            strcat(texts[rank], text);
        }
    }
}

static ck_time_t text_play(int rank, const char *text)
{
    ck_time_t now = 0;

    for (; *text != '\0'; text++) {
        struct ck_collective record = {.e = {.kind = CK_KIND_COLLECTIVE}};
        struct timeline_event event = {.record = &record.e,
                                       .start = now,
                                       .end = now + 1,
                                       .rank = rank,
                                       .process = (uint32_t)rank,
                                       .thread = (uint32_t)rank};

        if (*text >= '0' && *text <= '9') {
            now += (ck_time_t)1000 << (*text - '0');
            continue;
        }
        record.e.name = (uint32_t)(*text - 'A' + 1);
        record.site = record.e.name;
        now++;
        if (stepdetect != NULL) {
            assert_int_equal(stepdetect_take(stepdetect, &event), 0);
        }
    }
    return now;
}

/* How many steps are claimed. */
static size_t found(void)
{
    if (region.end == 0) {
        region.end = text_play(0, texts[0]);
    }
    stepdetect = stepdetect_create(defs, region);
    steps = steps_create(defs, region);
    for (int rank = 0; rank < RANKS; rank++) {
        (void)text_play(rank, texts[rank]);
    }
    stepdetect_report(stepdetect, steps, &report);
    assert_int_equal(report.table.rhythm != NULL, steps_count(steps) > 0);
    return steps_count(steps);
}

static void a_collective_of_a_loop_ends_its_steps(void **state)
{
    struct steps_lengths lengths;

    (void)state;
    say(7, 40, "4A");
    assert_int_equal(found(), 39);
    assert_string_equal(report.table.rhythm, "MPI_1");
    assert_int_equal(report.table.rhythm_place.line, 1);
    for (uint32_t rank = 0; rank < RANKS; rank++) {
        steps_lengths(steps, rank, &lengths);
        assert_int_equal(lengths.count, 39);
        assert_int_equal(lengths.median, 16001);
        assert_int_equal(lengths.longest, 16001);
    }
}

static void eleven_are_no_steps(void **state)
{
    (void)state;
    say(7, 12, "4A");
    assert_int_equal(found(), 0);
}

static void twelve_are(void **state)
{
    (void)state;
    say(7, 13, "4A");
    assert_int_equal(found(), 12);
}

static void a_set_up_of_many_collectives_has_no_steps(void **state)
{
    (void)state;
    say(7, 63, "0A");
    say(7, 1, "99999A");
    assert_int_equal(found(), 0);
}

static void nor_has_a_run_that_they_cover_to_three_quarters(void **state)
{
    (void)state;
    say(7, 48, "4A");
    say(7, 16, "4");
    assert_int_equal(found(), 0);
}

/* 85 %: another run of the program may have less than 80 %. */
static void nor_has_one_that_they_may_cover_too_little_of(void **state)
{
    (void)state;
    say(7, 47, "4A");
    say(7, 7, "4");
    assert_int_equal(found(), 0);
}

static void what_is_clear_of_the_limit_has_steps(void **state)
{
    (void)state;
    say(7, 47, "4A");
    say(7, 3, "4");
    assert_int_equal(found(), 46);
}

static void a_step_longer_than_a_quarter_is_none(void **state)
{
    (void)state;
    say(7, 20, "4A");
    say(7, 1, "8A"); /* 256 of 896 */
    say(7, 20, "4A");
    assert_int_equal(found(), 0);
}

static void
ranks_that_call_other_functions_have_no_steps_in_common(void **state)
{
    (void)state;
    say(7, 20, "4A");
    say(5, 1, "3B3A");
    say(2, 1, "3C3A");
    say(7, 20, "4A");
    assert_int_equal(found(), 0);
}

static void nor_have_ranks_when_one_calls_more_in_a_step(void **state)
{
    (void)state;
    say(7, 20, "4A");
    say(5, 1, "3D3A"); /* a call whose place is not known counts, too */
    say(2, 1, "4A");
    say(7, 20, "4A");
    assert_int_equal(found(), 0);
}

static void steps_may_differ_where_the_ranks_agree(void **state)
{
    (void)state;
    say(7, 20, "4A");
    say(7, 1, "3B3CB3A");
    say(7, 20, "4A");
    assert_int_equal(found(), 40);
}

static void a_rank_that_does_not_call_it_denies_it(void **state)
{
    (void)state;
    say(3, 40, "4A");
    say(4, 40, "4");
    assert_int_equal(found(), 0);
}

static void a_run_cut_short_may_leave_ranks_one_call_ahead(void **state)
{
    (void)state;
    say(7, 40, "4A");
    say(2, 1, "4A");
    assert_int_equal(found(), 39);
}

static void output_in_each_hundredth_step_ends_none(void **state)
{
    (void)state;
    for (int i = 0; i < 15; i++) {
        say(7, 100, "4A");
        say(7, 1, "3B");
    }
    say(7, 37, "4A");
    say(7, 1, "3B"); /* the last one comes when it comes */
    assert_int_equal(found(), 1536);
    assert_string_equal(report.table.rhythm, "MPI_1");
}

static void the_outer_loop_of_a_solver_has_the_steps(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 30; i++) {
        say(7, 10 + i * 7 % 13, "3A");
        say(7, 1, "5B");
    }
    assert_int_equal(found(), 29);
    assert_string_equal(report.table.rhythm, "MPI_2");
}

static void also_where_the_inner_loop_counts_the_same(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 30; i++) {
        say(7, 10, "3A"); /* 80, and outside of it 64 */
        say(7, 1, "6B");
    }
    assert_int_equal(found(), 29);
    assert_string_equal(report.table.rhythm, "MPI_2");
}

static void the_iterations_of_a_few_steps_are_no_steps(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 8; i++) { /* too few to be steps themselves */
        say(7, 20 + i * 7 % 13, "3A");
        say(7, 1, "6B");
    }
    assert_int_equal(found(), 0);
}

static void a_loop_of_some_stages_is_within_a_step(void **state)
{
    (void)state;
    say(7, 30, "4A4A4A4AB");
    assert_int_equal(found(), 29);
    assert_string_equal(report.table.rhythm, "MPI_2");
}

static void a_place_called_several_times_a_step_ends_none(void **state)
{
    (void)state;
    say(7, 40, "6A0A0A");
    assert_int_equal(found(), 0);
}

/* Steps of 1 to 512 us in no order, as a loaded machine makes them: too uneven
 * to be sure of. What each 20th of them ends is no step for that. */
static void output_of_uneven_steps_ends_none(void **state)
{
    unsigned seed = 1;

    (void)state;
    for (int i = 1; i <= 320; i++) {
        static const char *const lengths[] = {"1A", "1A", "2A", "0A",
                                              "1A", "7A", "8A", "9A"};

        seed = seed * 1103515245 + 12345;
        say(7, 1, lengths[seed >> 16 & 7]);
        if (i % 20 == 0) {
            say(7, 1, "0B");
        }
    }
    assert_int_equal(found(), 0);
}

/* But a place called twice in each iteration, which is uneven by itself, denies
 * no loop around it. */
static void the_loop_around_a_place_called_twice_has_the_steps(void **state)
{
    (void)state;
    for (int i = 0; i < 30; i++) {
        say(7, 12, "0A6A");
        say(7, 1, "3B");
    }
    assert_int_equal(found(), 29);
    assert_string_equal(report.table.rhythm, "MPI_2");
}

static void slow_steps_are_steps(void **state)
{
    (void)state;
    say(7, 100, "4A");
    say(7, 20, "8A");
    say(7, 100, "4A");
    assert_int_equal(found(), 219);
}

static void a_part_of_the_run_has_the_numbers_of_the_run(void **state)
{
    (void)state;
    say(7, 40, "4A"); /* the n-th step is from n x 16001 on */
    region = (struct region){10 * 16001 + 5, 30 * 16001 - 5};
    assert_int_equal(found(), 20);
    steps_report(steps, &report);
    assert_int_equal(report.table.items[0].number, 10);
    assert_int_equal(report.table.items[19].number, 29);
    free(report.table.items);
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        CASE(a_collective_of_a_loop_ends_its_steps),
        CASE(eleven_are_no_steps),
        CASE(twelve_are),
        CASE(a_set_up_of_many_collectives_has_no_steps),
        CASE(nor_has_a_run_that_they_cover_to_three_quarters),
        CASE(nor_has_one_that_they_may_cover_too_little_of),
        CASE(what_is_clear_of_the_limit_has_steps),
        CASE(a_step_longer_than_a_quarter_is_none),
        CASE(ranks_that_call_other_functions_have_no_steps_in_common),
        CASE(nor_have_ranks_when_one_calls_more_in_a_step),
        CASE(steps_may_differ_where_the_ranks_agree),
        CASE(a_rank_that_does_not_call_it_denies_it),
        CASE(a_run_cut_short_may_leave_ranks_one_call_ahead),
        CASE(output_in_each_hundredth_step_ends_none),
        CASE(the_outer_loop_of_a_solver_has_the_steps),
        CASE(also_where_the_inner_loop_counts_the_same),
        CASE(the_iterations_of_a_few_steps_are_no_steps),
        CASE(a_loop_of_some_stages_is_within_a_step),
        CASE(a_place_called_several_times_a_step_ends_none),
        CASE(output_of_uneven_steps_ends_none),
        CASE(the_loop_around_a_place_called_twice_has_the_steps),
        CASE(slow_steps_are_steps),
        CASE(a_part_of_the_run_has_the_numbers_of_the_run),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
