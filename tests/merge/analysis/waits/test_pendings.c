/* test_pendings.c - calls by end and by thread, against a list of all
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "merge/analysis/waits/pendings.h"
#include "tests/merge/chance.h"

#define THREADS 7
#define CALLS 4000

/* All calls that are pending, in the order in which they were added. */
static struct pending all[CALLS];
static size_t count;

/* The first of the thread (THREADS = of any) behind `after`, by end and then by
 * order; `count` = none. */
static size_t first_behind(uint32_t thread, size_t after)
{
    size_t best = count;

    for (size_t i = 0; i < count; i++) {
        bool is_behind = after == count ||
                         all[i].call.end > all[after].call.end ||
                         (all[i].call.end == all[after].call.end && i > after);

        if ((thread == THREADS || all[i].thread == thread) && is_behind &&
            (best == count || all[i].call.end < all[best].call.end)) {
            best = i;
        }
    }
    return best;
}

static void list_is_equal(const struct pendings *pendings, uint32_t thread)
{
    const struct pending *have = pendings_of(pendings, thread);
    size_t want = first_behind(thread, count);

    for (; have != NULL && want < count; have = pendings_next(pendings, have)) {
        assert_int_equal(have->call.call, all[want].call.call);
        want = first_behind(thread, want);
    }
    assert_null(have);
    assert_int_equal(want, count);
}

static ck_time_t earliest_start(ck_time_t now)
{
    for (size_t i = 0; i < count; i++) {
        now = all[i].call.start < now ? all[i].call.start : now;
    }
    return now;
}

static void is_equal(const struct pendings *pendings)
{
    const struct pending *have = pendings_first(pendings);
    size_t want = first_behind(THREADS, count);

    for (uint32_t i = 0; i < THREADS; i++) {
        list_is_equal(pendings, i);
    }
    assert_int_equal(pendings_horizon(pendings, 1000), earliest_start(1000));
    if (want == count) {
        assert_null(have);
        assert_int_equal(pendings_due(pendings), INT64_MAX);
        return;
    }
    assert_int_equal(have->call.call, all[want].call.call);
    assert_int_equal(pendings_due(pendings), all[want].call.end);
}

static void pop(struct pendings *pendings)
{
    size_t gone = first_behind(THREADS, count);

    pendings_pop(pendings);
    for (size_t i = gone; i + 1 < count; i++) {
        all[i] = all[i + 1];
    }
    count--;
}

static void calls_go_by_end_and_are_found_by_thread(void **state)
{
    unsigned seed = chance_rand_seed();
    struct pendings *pendings = pendings_create(THREADS);

    (void)state;
    assert_non_null(pendings);
    for (uint32_t i = 1; i <= CALLS; i++) {
        ck_time_t start = rand_r(&seed) % 2000;
        struct pending one = {.thread = (uint32_t)rand_r(&seed) % THREADS,
                              .call = {.start = start,
                                       .end = start + rand_r(&seed) % 40,
                                       .call = i}};

        all[count++] = one;
        assert_non_null(pendings_add(pendings, &one));
        is_equal(pendings);
        while (count > 60 || (count > 0 && rand_r(&seed) % 2 == 0)) {
            pop(pendings);
            is_equal(pendings);
        }
    }
    pendings_destroy(pendings);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(calls_go_by_end_and_are_found_by_thread),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
