/* test_share.c - shares of a union against a look at each piece
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "merge/analysis/devices/share.h"

#define MANY 3000

struct given {
    ck_time_t ns[MANY];
    size_t calls;
};

static void put(void *state, uint32_t owner, ck_time_t ns)
{
    struct given *given = state;

    assert_true(ns >= 0);
    given->ns[owner] += ns;
    given->calls++;
}

static ck_time_t sum_of(const struct given *given)
{
    ck_time_t sum = 0;

    for (size_t i = 0; i < MANY; i++) {
        sum += given->ns[i];
    }
    return sum;
}

static void
shared(const struct region *parts, size_t count, struct given *given)
{
    struct share *share = share_create();

    memset(given, 0, sizeof(*given));
    for (size_t i = 0; i < count; i++) {
        share_add(share, (uint32_t)i, parts[i], put, given);
    }
    share_finish(share, put, given);
    share_destroy(share);
}

static int by_time(const void *a, const void *b)
{
    ck_time_t left = *(const ck_time_t *)a, right = *(const ck_time_t *)b;

    return (left > right) - (left < right);
}

/* Each part of time that has the same intervals, for all of them; the union. */
static ck_time_t
looked_at(const struct region *parts, size_t count, double *wanted)
{
    ck_time_t *times = calloc(2 * count, sizeof(*times));
    ck_time_t whole = 0;

    for (size_t i = 0; i < count; i++) {
        times[2 * i] = parts[i].start;
        times[2 * i + 1] = parts[i].end;
        wanted[i] = 0;
    }
    qsort(times, 2 * count, sizeof(*times), by_time);
    for (size_t k = 0; k + 1 < 2 * count; k++) {
        double ns = (double)(times[k + 1] - times[k]);
        size_t running = 0;

        for (size_t i = 0; ns > 0 && i < count; i++) {
            running += parts[i].start <= times[k] && parts[i].end > times[k];
        }
        whole += running > 0 ? (ck_time_t)ns : 0;
        for (size_t i = 0; running > 0 && i < count; i++) {
            if (parts[i].start <= times[k] && parts[i].end > times[k]) {
                wanted[i] += ns / (double)running;
            }
        }
    }
    free(times);
    return whole;
}

/* Worlds of few, of many, and of both in turn. */
static void shares_are_what_a_look_at_each_piece_gives(void **state)
{
    static struct region parts[MANY];
    static struct given given;
    static double wanted[MANY];
    unsigned seed = 4711;

    (void)state;
    for (int world = 0; world < 60; world++) {
        size_t count = 200 + (size_t)(rand_r(&seed) % 200);
        int apart = 1 << rand_r(&seed) % 12, most = 1 << rand_r(&seed) % 18;
        ck_time_t start = 0;

        for (size_t i = 0; i < count; i++) {
            start += rand_r(&seed) % apart * (i % 50 == 0 ? 100 : 1);
            parts[i] = (struct region){start, start + rand_r(&seed) % most};
        }
        shared(parts, count, &given);
        assert_true(sum_of(&given) == looked_at(parts, count, wanted));
        for (size_t i = 0; i < count; i++) {
            /* A ns for each piece of it at most, where few run. */
            assert_true(fabs((double)given.ns[i] - wanted[i]) <
                        2 + 2 * (double)count);
            assert_true(parts[i].end > parts[i].start || given.ns[i] == 0);
        }
    }
}

/* All at once: no interval is looked at for each that begins or ends. */
static void many_at_once_cost_no_square(void **state)
{
    static struct region parts[MANY];
    static struct given given;

    (void)state;
    for (size_t i = 0; i < MANY; i++) {
        parts[i] = (struct region){(ck_time_t)i, 1000000 - (ck_time_t)i};
    }
    shared(parts, MANY, &given);
    assert_true(sum_of(&given) == 1000000);
    assert_true(given.calls < 4 * MANY);
    /* The one in the middle has least, the first one most. */
    assert_true(given.ns[0] > given.ns[MANY - 1]);
    assert_in_range(given.ns[MANY - 1], 994001 / MANY, 994001 / MANY + 2);
}

static void times_without_end_fit(void **state)
{
    static struct region parts[MANY];
    static struct given given;

    (void)state;
    for (size_t i = 0; i < MANY; i++) {
        parts[i] = (struct region){0, INT64_MAX};
    }
    shared(parts, MANY, &given);
    assert_true(sum_of(&given) == INT64_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shares_are_what_a_look_at_each_piece_gives),
        cmocka_unit_test(many_at_once_cost_no_square),
        cmocka_unit_test(times_without_end_fit),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
