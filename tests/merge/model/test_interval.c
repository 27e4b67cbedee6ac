/* test_interval.c - unions and shares against a map of single nanoseconds
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "merge/model/interval.h"
#include "merge/analysis/devices/share.h"
#include "tests/merge/chance.h"

#define SPAN 400
#define MOST 40

static int by_start(const void *a, const void *b)
{
    const struct region *left = a;
    const struct region *right = b;

    return (left->start > right->start) - (left->start < right->start);
}

/* Random intervals in order of start. */
static size_t intervals_make(unsigned *seed, struct region *items)
{
    size_t count = (size_t)rand_r(seed) % MOST;

    for (size_t i = 0; i < count; i++) {
        items[i].start = rand_r(seed) % SPAN;
        items[i].end = items[i].start + rand_r(seed) % 30;
    }
    qsort(items, count, sizeof(*items), by_start);
    return count;
}

static void a_union_equals_the_count_of_covered_nanoseconds(void **state)
{
    unsigned seed = chance_rand_seed();

    (void)state;
    for (int round = 0; round < 3000; round++) {
        struct region items[MOST];
        size_t count = intervals_make(&seed, items);
        struct region region = {rand_r(&seed) % 200, 200 + rand_r(&seed) % 250};
        uint8_t covered[SPAN + 64] = {0};
        struct interval_union u;
        ck_time_t busy = 0, core = 0, gap = 0, longest = 0;
        uint64_t gaps = 0;

        interval_union_init(&u, region);
        for (size_t i = 0; i < count; i++) {
            interval_union_add(&u, items[i].start, items[i].end);
            for (ck_time_t t = items[i].start; t < items[i].end; t++) {
                covered[t] = 1;
                core += t >= region.start && t < region.end;
            }
        }
        for (ck_time_t t = region.start; t < region.end; t++) {
            busy += covered[t];
            gap = covered[t] ? 0 : gap + 1;
            gaps += gap == 1;
            longest = gap > longest ? gap : longest;
        }
        assert_int_equal(interval_union_length(&u), busy);
        assert_int_equal(interval_union_idle(&u), region_length(region) - busy);
        assert_int_equal(u.core, core);
        assert_int_equal(interval_union_gaps(&u), gaps);
        assert_int_equal(interval_union_longest_gap(&u), longest);
    }
}

static void nothing_within_the_region_leaves_it_one_gap(void **state)
{
    struct interval_union u;

    (void)state;
    interval_union_init(&u, (struct region){10, 20});
    interval_union_add(&u, 0, 10);
    interval_union_add(&u, 20, 30);
    assert_int_equal(interval_union_length(&u), 0);
    assert_int_equal(interval_union_idle(&u), 10);
    assert_int_equal(interval_union_gaps(&u), 1);
    assert_int_equal(u.count, 0);
}

static void a_point_is_counted_and_covers_nothing(void **state)
{
    struct interval_union u;

    (void)state;
    interval_union_init(&u, (struct region){0, 10});
    interval_union_add(&u, 5, 5);
    assert_int_equal(u.count, 1);
    assert_int_equal(interval_union_length(&u), 0);
    assert_int_equal(interval_union_gaps(&u), 1);
}

static void give(void *state, uint32_t owner, ck_time_t ns)
{
    ((ck_time_t *)state)[owner] += ns;
}

static void shares_add_up_to_the_union_and_differ_by_rounding_only(void **state)
{
    unsigned seed = chance_rand_seed();

    (void)state;
    for (int round = 0; round < 3000; round++) {
        struct region items[MOST];
        size_t count = intervals_make(&seed, items);
        ck_time_t given[MOST] = {0}, sum = 0;
        double fair[MOST] = {0};
        struct share *share = share_create();
        struct interval_union u;

        interval_union_init(&u, (struct region){0, SPAN + 64});
        for (size_t i = 0; i < count; i++) {
            share_add(share, (uint32_t)i, items[i], give, given);
            interval_union_add(&u, items[i].start, items[i].end);
        }
        share_finish(share, give, given);
        for (ck_time_t t = 0; t < SPAN + 64; t++) {
            size_t running = 0;

            for (size_t i = 0; i < count; i++) {
                running += items[i].start <= t && t < items[i].end;
            }
            for (size_t i = 0; i < count; i++) {
                if (items[i].start <= t && t < items[i].end) {
                    fair[i] += 1.0 / (double)running;
                }
            }
        }
        for (size_t i = 0; i < count; i++) {
            sum += given[i];
            /* each elementary interval rounds by less than 1 ns */
            assert_true((double)given[i] - fair[i] < 2.0 * MOST &&
                        fair[i] - (double)given[i] < 2.0 * MOST);
        }
        assert_int_equal(sum, interval_union_length(&u));
        share_destroy(share);
    }
}

static void two_at_once_get_half_each_and_the_first_what_is_left(void **state)
{
    ck_time_t given[2] = {0};
    struct share *share = share_create();

    (void)state;
    share_add(share, 0, (struct region){0, 10}, give, given);
    share_add(share, 1, (struct region){5, 20}, give, given);
    share_finish(share, give, given);
    assert_int_equal(given[0], 5 + 3);
    assert_int_equal(given[1], 2 + 10);
    share_destroy(share);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_union_equals_the_count_of_covered_nanoseconds),
        cmocka_unit_test(nothing_within_the_region_leaves_it_one_gap),
        cmocka_unit_test(a_point_is_counted_and_covers_nothing),
        cmocka_unit_test(
            shares_add_up_to_the_union_and_differ_by_rounding_only),
        cmocka_unit_test(two_at_once_get_half_each_and_the_first_what_is_left),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
