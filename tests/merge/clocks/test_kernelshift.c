/* test_kernelshift.c - which collective kernels of two ranks are the same
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "merge/clocks/kernelshift.h"
#include "tests/merge/chance.h"

#define KERNELS 60

static int64_t chance_in(int64_t least, int64_t most)
{
    return least + chance_below(most - least + 1);
}

/* When kernels end: in steps of one length and up to `jitter` more. */
static void kernels_end(ck_time_t *ends, ck_time_t length, int64_t jitter)
{
    ck_time_t now = 5 * CK_TIME_S;

    for (size_t k = 0; k < KERNELS; k++) {
        now += length + (jitter > 0 ? chance_in(0, jitter) : 0);
        ends[k] = now;
    }
}

/* The same kernels on another rank: another clock, and ends apart by up to that
 * much. */
static void
kernels_shift(const ck_time_t *ends, int64_t apart, ck_time_t *other)
{
    ck_time_t off = chance_in(-3600 * CK_TIME_S, 3600 * CK_TIME_S);

    for (size_t k = 0; k < KERNELS; k++) {
        other[k] =
            ends[k] + off + chance_in(0, apart) + (ends[k] - ends[0]) / 50000;
    }
}

static struct kernelshift_ends
part(const ck_time_t *ends, size_t from, size_t to)
{
    return (struct kernelshift_ends){ends + from, to - from};
}

static void kernels_are_found_wherever_profiles_begin(void **state)
{
    (void)state;
    for (int round = 0; round < 2000; round++) {
        ck_time_t a[KERNELS], b[KERNELS];
        size_t from = (size_t)chance_in(0, 20), skip = (size_t)chance_in(0, 20);
        size_t less = (size_t)chance_in(0, 20);
        int shift = 99;

        kernels_end(a, chance_in(CK_TIME_US, 10 * CK_TIME_MS), CK_TIME_MS);
        kernels_shift(a, 20 * CK_TIME_US, b);
        assert_true(kernelshift_find(part(a, from, KERNELS - less),
                                     part(b, skip, KERNELS), &shift));
        assert_int_equal(shift, (int)from - (int)skip);
    }
}

/* One step looks like the next. */
static void kernels_of_equal_steps_are_not_distinguished(void **state)
{
    ck_time_t a[KERNELS], b[KERNELS];
    int shift;

    (void)state;
    kernels_end(a, 10 * CK_TIME_MS, 20 * CK_TIME_US);
    kernels_shift(a, 0, b);
    assert_false(
        kernelshift_find(part(a, 0, KERNELS), part(b, 0, KERNELS), &shift));
}

static void kernels_that_never_met_are_not_paired(void **state)
{
    ck_time_t a[KERNELS], b[KERNELS];
    int shift;

    (void)state;
    kernels_end(a, CK_TIME_MS, 10 * CK_TIME_MS);
    kernels_end(b, CK_TIME_MS, 10 * CK_TIME_MS);
    assert_false(
        kernelshift_find(part(a, 0, KERNELS), part(b, 0, KERNELS), &shift));
}

static void a_few_kernels_prove_nothing(void **state)
{
    ck_time_t a[KERNELS], b[KERNELS];
    int shift;

    (void)state;
    kernels_end(a, CK_TIME_MS, 10 * CK_TIME_MS);
    kernels_shift(a, 0, b);
    assert_false(kernelshift_find(part(a, 0, KERNELSHIFT_PAIRS - 1),
                                  part(b, 0, KERNELS), &shift));
    assert_false(kernelshift_find(part(a, 0, 0), part(b, 0, 0), &shift));
    assert_true(kernelshift_find(part(a, 0, KERNELSHIFT_PAIRS),
                                 part(b, 0, KERNELS), &shift));
}

int main(void)
{
    const struct CMUnitTest cases[] = {
        cmocka_unit_test(kernels_are_found_wherever_profiles_begin),
        cmocka_unit_test(kernels_of_equal_steps_are_not_distinguished),
        cmocka_unit_test(kernels_that_never_met_are_not_paired),
        cmocka_unit_test(a_few_kernels_prove_nothing),
    };

    chance_seed(CHANCE_SEED);
    return cmocka_run_group_tests(cases, NULL, NULL);
}
