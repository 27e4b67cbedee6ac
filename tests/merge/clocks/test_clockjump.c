/* test_clockjump.c - what a map does without next to a clock that was set back
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>

#include "merge/clocks/clockjump.h"
#include "merge/timeline/clockmap.h"

#define SECONDS 60
#define BOUND 1000

/* A point each second, where theta jumps at two of them. */
static void points_make(struct clockmap_point points[SECONDS],
                        const size_t jumps[2],
                        const ck_time_t sizes[2])
{
    ck_time_t offset = 0;

    for (size_t i = 0; i < SECONDS; i++) {
        for (int k = 0; k < 2; k++) {
            offset += i == jumps[k] ? sizes[k] : 0;
        }
        points[i] = (struct clockmap_point){.at = (ck_time_t)i * CK_TIME_S,
                                            .offset = offset,
                                            .bound = BOUND,
                                            .rate_ppb = 1000,
                                            .is_last = i + 1 == jumps[0] ||
                                                       i + 1 == jumps[1]};
    }
}

/* Every point, also one that was left out, is inside of the map's error. */
static void both_jumps_check(const size_t jumps[2], const ck_time_t sizes[2])
{
    struct clockmap_point points[SECONDS], kept[SECONDS];
    struct clockmap map = {0};
    size_t count;

    points_make(points, jumps, sizes);
    points_make(kept, jumps, sizes);
    count = clockjump_clear(kept, SECONDS);
    assert_true(count < SECONDS);
    assert_int_equal(clockmap_make(&map, kept, count), 0);
    for (size_t i = 0; i < SECONDS; i++) {
        ck_time_t off = llabs(clock_map(&map, points[i].at) - points[i].offset);
        ck_time_t error = clockmap_error(&map, points[i].at);

        if (off > error && error != CLOCKMAP_ERROR_UNKNOWN) {
            fail_msg("jumps before %zu and %zu: at %zu s off by %lld, known "
                     "to %lld",
                     jumps[0], jumps[1], i, (long long)off, (long long)error);
        }
    }
    clockmap_fini(&map);
}

static void a_clock_that_was_set_right_again_is_within_its_error(void **state)
{
    const ck_time_t sizes[] = {-4063986435, 4461360685, -1500000000,
                               2500000000,  3500000000, -20000000};

    (void)state;
    for (size_t first = 10; first < 50; first++) {
        for (size_t later = first + 1; later < 55; later++) {
            for (size_t i = 0; i < 6; i++) {
                for (size_t k = 0; k < 6; k++) {
                    const size_t jumps[2] = {first, later};
                    const ck_time_t both[2] = {sizes[i], sizes[k]};

                    if (both[0] > 0 || both[1] > 0) {
                        both_jumps_check(jumps, both);
                    }
                }
            }
        }
    }
}

/* What was not shown twice stays as exact as it was. */
static void far_from_a_jump_nothing_is_wider(void **state)
{
    const size_t jumps[2] = {20, SECONDS};
    const ck_time_t sizes[2] = {3 * CK_TIME_S, 0};
    struct clockmap_point points[SECONDS];
    struct clockmap map = {0};
    size_t count;

    (void)state;
    points_make(points, jumps, sizes);
    count = clockjump_clear(points, SECONDS);
    assert_int_equal(clockmap_make(&map, points, count), 0);
    for (ck_time_t at = 0; at < SECONDS - 1; at++) {
        ck_time_t error = clockmap_error(&map, at * CK_TIME_S + CK_TIME_S / 2);

        if (at < 15 || at > 24) {
            assert_true(error <= 2 * BOUND);
        } else if (at > 16 && at < 23) {
            assert_true(error >= 3 * CK_TIME_S);
        }
    }
    clockmap_fini(&map);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_clock_that_was_set_right_again_is_within_its_error),
        cmocka_unit_test(far_from_a_jump_nothing_is_wider),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
