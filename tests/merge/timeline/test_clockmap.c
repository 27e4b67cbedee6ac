/* test_clockmap.c - a map goes through its points, ascends, and has its error
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include <math.h>

#include "merge/timeline/clockmap.h"
#include "merge/timeline/clockparts.h"
#include "tests/merge/clockworld.h"

#define POINTS 2000

static struct worldrandom random_state;

/* An offset that wanders by at most `rate` ppb about a drift. */
static void
points_make(struct clockmap_point *points, int64_t drift_ppb, int64_t rate_ppb)
{
    ck_time_t at = 5 * CK_TIME_S, offset = -1000 * CK_TIME_S;

    for (size_t i = 0; i < POINTS; i++) {
        ck_time_t span = (ck_time_t)world_between(&random_state, 1e5, 2e9);
        double ppb = (double)drift_ppb +
                     world_between(&random_state, -1, 1) * (double)rate_ppb;

        points[i] = (struct clockmap_point){
            .at = at,
            .offset = offset,
            .bound = 300 + (ck_time_t)world_between(&random_state, 0, 50),
            .rate_ppb = rate_ppb};
        at += span;
        offset += (ck_time_t)((double)span * ppb * 1e-9);
    }
}

static void every_point_is_on_the_map(void **state)
{
    struct clockmap_point points[POINTS];
    struct clockmap map = {0};

    (void)state;
    points_make(points, 20000, 1000);
    assert_int_equal(clockmap_make(&map, points, POINTS), 0);
    for (size_t i = 0; i < POINTS; i++) {
        ck_time_t off = clock_map(&map, points[i].at) - points[i].offset;

        assert_true(llabs(off) <= 3);
        assert_true(clockmap_error(&map, points[i].at) >= points[i].bound - 3);
    }
    clockmap_fini(&map);
}

static void what_a_clock_may_do_between_is_inside_the_error(void **state)
{
    struct clockmap_point points[POINTS];
    struct clockmap map = {0};

    (void)state;
    points_make(points, -20000, 1000);
    assert_int_equal(clockmap_make(&map, points, POINTS), 0);
    for (size_t i = 0; i + 1 < POINTS; i++) {
        ck_time_t span = points[i + 1].at - points[i].at;
        double slope =
            (double)(points[i + 1].offset - points[i].offset) / (double)span;
        ck_time_t at = points[i].at + span / 2;
        /* The furthest from the line: all of the rate one way, then back. */
        ck_time_t most = points[i].offset +
                         (ck_time_t)((slope + 0.5e-6) * (double)(span / 2));

        assert_true(llabs(clock_map(&map, at) - most) <=
                    clockmap_error(&map, at));
    }
    clockmap_fini(&map);
}

static void time_ascends_over_the_whole_map(void **state)
{
    struct clockmap_point points[POINTS];
    struct clockmap map = {0};
    ck_time_t last = INT64_MIN;

    (void)state;
    points_make(points, -400000, 1000);
    assert_int_equal(clockmap_make(&map, points, POINTS), 0);
    for (ck_time_t at = 0; at < points[POINTS - 1].at + CK_TIME_S;
         at += 777777) {
        ck_time_t time = at + clock_map(&map, at);

        assert_true(time > last);
        last = time;
    }
    clockmap_fini(&map);
}

static void beyond_its_ends_a_map_goes_on_and_the_error_grows(void **state)
{
    const struct clockmap_point points[] = {
        {.at = 0, .offset = 0, .bound = 100, .rate_ppb = 1000},
        {.at = 10 * CK_TIME_S,
         .offset = 100000,
         .bound = 100,
         .rate_ppb = 1000}};
    struct clockmap map = {0};
    ck_time_t near, far;

    (void)state;
    assert_int_equal(clockmap_make(&map, points, 2), 0);
    assert_true(llabs(clock_map(&map, 20 * CK_TIME_S) - 200000) < 3);
    assert_true(llabs(clock_map(&map, -10 * CK_TIME_S) + 100000) < 3);
    near = clockmap_error(&map, 11 * CK_TIME_S);
    far = clockmap_error(&map, 1000 * CK_TIME_S);
    assert_true(near >= 100 + 1000);
    assert_true(far >= 100 + 990 * 1000);
    clockmap_fini(&map);
}

static void a_jump_is_marked_and_either_side_is_inside(void **state)
{
    const struct clockmap_point points[] = {
        {.at = 0, .offset = 0, .bound = 100, .rate_ppb = 1000},
        {.at = CK_TIME_S,
         .offset = 0,
         .bound = 100,
         .rate_ppb = 1000,
         .is_last = true},
        {.at = 2 * CK_TIME_S,
         .offset = 5000000,
         .bound = 100,
         .rate_ppb = 1000},
        {.at = 3 * CK_TIME_S,
         .offset = 5000000,
         .bound = 100,
         .rate_ppb = 1000}};
    struct clockmap map = {0};
    ck_time_t at = CK_TIME_S + CK_TIME_S / 2;

    (void)state;
    assert_int_equal(clockmap_make(&map, points, 4), 0);
    assert_int_equal(clockmap_seek(&map, at)->flags, CLOCKMAP_FAULT);
    assert_true(llabs(clock_map(&map, at) - 0) <= clockmap_error(&map, at));
    assert_true(llabs(clock_map(&map, at) - 5000000) <=
                clockmap_error(&map, at));
    assert_true(llabs(clock_map(&map, 3 * CK_TIME_S - 1) - 5000000) < 3);
    clockmap_fini(&map);
}

static void without_points_there_is_no_map(void **state)
{
    struct clockmap map = {0};

    (void)state;
    assert_int_equal(clockmap_make(&map, NULL, 0), -1);
}

/* Jumps of up to 50 ms, each after some 100 points. */
static void jumps_make(struct clockmap_point *points)
{
    ck_time_t jumped = 0;

    for (size_t i = 0; i < POINTS; i++) {
        points[i].offset += jumped;
        points[i].bound += (ck_time_t)world_between(&random_state, 0, 1e5);
        if (i % 100 == 50) {
            points[i].is_last = true;
            jumped += (ck_time_t)world_between(&random_state, -5e7, 5e7);
        }
    }
}

static void the_error_of_a_stretch_is_the_largest_of_its_instants(void **state)
{
    (void)state;
    for (int round = 0; round < 20; round++) {
        struct clockmap_point points[POINTS];
        struct clockmap map = {0};
        ck_time_t parts[CLOCKPARTS], most = 0, told = 0, from, to, start, end;

        points_make(points, -20000, 1000);
        jumps_make(points);
        assert_int_equal(clockmap_make(&map, points, POINTS), 0);
        from = points[round].at - round % 2 * 1000 * CK_TIME_S;
        to = points[100 + 80 * round].at;
        start = from + clock_map(&map, from);
        end = to + clock_map(&map, to);
        clockparts_fill(&map, start, end, parts);
        for (int i = 0; i <= 20000; i++) {
            ck_time_t at = from + (ck_time_t)((double)(to - from) * i / 20000);
            ck_time_t time = at + clock_map(&map, at);
            ck_time_t error = clockmap_error(&map, at);
            double part =
                (double)(time - start) * CLOCKPARTS / (double)(end - start);

            if (time < start || time > end) {
                continue;
            }
            assert_true(parts[(int)fmin(part, CLOCKPARTS - 1)] >= error);
            most = error > most ? error : most;
        }
        for (int i = 0; i < CLOCKPARTS; i++) {
            told = parts[i] > told ? parts[i] : told;
        }
        assert_true(told >= most);
        assert_true((double)told <= 1.02 * (double)most);
        clockmap_fini(&map);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_point_is_on_the_map),
        cmocka_unit_test(what_a_clock_may_do_between_is_inside_the_error),
        cmocka_unit_test(time_ascends_over_the_whole_map),
        cmocka_unit_test(beyond_its_ends_a_map_goes_on_and_the_error_grows),
        cmocka_unit_test(a_jump_is_marked_and_either_side_is_inside),
        cmocka_unit_test(without_points_there_is_no_map),
        cmocka_unit_test(the_error_of_a_stretch_is_the_largest_of_its_instants),
    };

    worldrandom_init(&random_state, 20261121);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
