/* test_quantile.c - the middle value, exact and in buckets
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>

#include "merge/model/quantile.h"
#include "schema/time.h"

#define MANY 20000

static int by_value(const void *a, const void *b)
{
    int64_t left = *(const int64_t *)a;
    int64_t right = *(const int64_t *)b;

    return (left > right) - (left < right);
}

static void few_values_are_exact(void **state)
{
    struct quantile q;

    (void)state;
    quantile_init(&q);
    assert_int_equal(quantile_at(&q, 0.5), 0);
    for (int64_t i = 100; i > 0; i--) {
        quantile_add(&q, i);
    }
    assert_true(quantile_is_exact(&q));
    assert_int_equal(quantile_at(&q, 0.5), 50);
    assert_int_equal(quantile_at(&q, 1), 100);
    assert_int_equal(quantile_at(&q, 0), 1);
    quantile_fini(&q);
}

static void many_values_are_within_one_in_a_hundred(void **state)
{
    static int64_t values[MANY];
    unsigned seed = (unsigned)ck_time_raw();
    struct quantile q;

    (void)state;
    print_message("seed %u\n", seed);
    quantile_init(&q);
    for (size_t i = 0; i < MANY; i++) {
        int shift = rand_r(&seed) % 50;

        values[i] = ((int64_t)rand_r(&seed) << 20 | rand_r(&seed)) >> shift;
        quantile_add(&q, values[i]);
    }
    assert_false(quantile_is_exact(&q));
    qsort(values, MANY, sizeof(*values), by_value);
    for (int percent = 1; percent < 100; percent++) {
        int64_t truth = values[MANY / 100 * percent - 1];
        int64_t got = quantile_at(&q, percent / 100.0);
        int64_t off = got > truth ? got - truth : truth - got;

        assert_true(off <= truth / 100 + 1);
    }
    quantile_fini(&q);
}

static void zeros_and_negative_values_are_zero(void **state)
{
    struct quantile q;

    (void)state;
    quantile_init(&q);
    for (size_t i = 0; i < MANY; i++) {
        quantile_add(&q, i % 4 == 0 ? -5 : 0);
    }
    assert_int_equal(quantile_at(&q, 0.99), 0);
    quantile_fini(&q);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(few_values_are_exact),
        cmocka_unit_test(many_values_are_within_one_in_a_hundred),
        cmocka_unit_test(zeros_and_negative_values_are_zero),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
