/* test_window.c - windows are found where they were put, and nowhere else
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Random series, with what real ones have: noise with tails, trends, first
 * steps that are slow, checkpoints. CK_SEED repeats a run, CK_WORLDS is how
 * many series of each kind (400).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "merge/analysis/steps/window.h"
#include "tests/merge/chance.h"

#define CHANCE 1e-3
#define VALUES_MAX 4000
#define UNIT 1e6

static ck_time_t values[VALUES_MAX];
static size_t count;
static struct window found[WINDOWS_MAX];
static size_t found_count;

static int setup(void **state)
{
    (void)state;
    chance_seed(chance_rand_seed() + 1ull);
    return 0;
}

static long series_each(void)
{
    const char *text = getenv("CK_WORLDS");

    return text != NULL ? atol(text) : 400;
}

/* Above 0, below 1. */
static double uniform(void)
{
    return ((double)chance_below(1 << 30) + 0.5) / (1 << 30);
}

static double normal(void)
{
    return sqrt(-2 * log(uniform())) * cos(2 * M_PI * uniform());
}

static double exponential(void)
{
    return -log(uniform());
}

static double pareto(double tail)
{
    return pow(uniform(), -1 / tail);
}

static void put(size_t i, double value)
{
    values[i] = (ck_time_t)(value > 0 ? value * UNIT : 0);
}

static void find(void)
{
    window_find(values, count, CHANCE, found, &found_count);
}

static size_t count_any(void)
{
    static const size_t counts[] = {40, 100, 300, 1000, VALUES_MAX};

    return counts[chance_below(5)];
}

/* ---- series without a window -------------------------------------------- */

typedef double value_f(size_t i, double other);

static double half_normal(size_t i, double other)
{
    (void)i, (void)other;
    return fabs(normal());
}

static double heavy(size_t i, double other)
{
    (void)i;
    return pareto(1.1 + other);
}

static double heavy_now_and_then(size_t i, double other)
{
    (void)i;
    return uniform() < 0.02 + 0.1 * other ? pareto(1.2) : 0;
}

static double log_normal(size_t i, double other)
{
    (void)i;
    return exp((0.5 + 1.5 * other) * normal());
}

static double half_the_steps(size_t i, double other)
{
    (void)i, (void)other;
    return uniform() < 0.5 ? 0 : exponential();
}

static double always_the_same(size_t i, double other)
{
    (void)i;
    return 20 + other * normal();
}

static double rising(size_t i, double other)
{
    return (double)i / (double)count + 0.3 * other * fabs(normal());
}

static double rising_in_noise(size_t i, double other)
{
    (void)other;
    return (double)i / (double)count + 0.3 * fabs(normal());
}

static double falling(size_t i, double other)
{
    return 1 - (double)i / (double)count + 0.3 * other * fabs(normal());
}

static double rising_fast(size_t i, double other)
{
    return exp(6 * other * (double)i / (double)count) + 0.2 * fabs(normal());
}

static double slow_at_first(size_t i, double other)
{
    return (i < 1 + (size_t)(10 * other) ? 20 : 0) + fabs(normal());
}

static double warming_up(size_t i, double other)
{
    return 20 * exp(-(double)i / (1 + 10 * other)) + fabs(normal());
}

static double each_tenth(size_t i, double other)
{
    return (i % 10 == 9 ? 20 + 20 * other : 0) + fabs(normal());
}

static double rare_outliers(size_t i, double other)
{
    (void)i, (void)other;
    return uniform() < 0.003 ? 300 * uniform() : fabs(normal());
}

static double all_of_it(size_t i, double other)
{
    return each_tenth(i, other) + slow_at_first(i, other) + rising(i, other);
}

/* Each value resembles the one before, as where a machine is busy for a while:
 * the series is a first-order autoregression, bent. */
static double resembling_bent(double bend, double like, double *last)
{
    *last = like * *last + sqrt(1 - like * like) * normal();
    return bend == 0 ? fabs(*last) : exp(bend * *last);
}

static void what_resembles_what_was_before_is_none(void **state)
{
    static const double likes[] = {0.9, 0.95, 0.98};
    long each = series_each() / 4, all = 0;

    (void)state;
    chance_seed(29);
    for (size_t k = 0; k < 3 * sizeof(likes) / sizeof(likes[0]); k++) {
        long claimed = 0;

        for (long n = 0; n < each; n++) {
            double last = normal();

            count = count_any();
            for (size_t i = 0; i < count; i++) {
                put(i, resembling_bent((double)(k % 3), likes[k / 3], &last));
            }
            find();
            claimed += found_count > 0;
        }
        print_message("r %g, bend %zu: claimed in %ld of %ld\n", likes[k / 3],
                      k % 3, claimed, each);
        all += claimed;
    }
    assert_true(all * 50 <= 9 * each);
}

static void what_is_none_is_none(void **state)
{
    static value_f *const kinds[] = {
        half_normal,   heavy,          heavy_now_and_then,
        log_normal,    half_the_steps, always_the_same,
        rising,        falling,        rising_fast,
        slow_at_first, warming_up,     each_tenth,
        rare_outliers, all_of_it,      rising_in_noise};
    long each = series_each();

    (void)state;
    for (size_t k = 0; k < sizeof(kinds) / sizeof(kinds[0]); k++) {
        long claimed = 0;

        for (long n = 0; n < each; n++) {
            double other = uniform();

            count = count_any();
            for (size_t i = 0; i < count; i++) {
                put(i, kinds[k](i, other));
            }
            find();
            claimed += found_count > 0;
        }
        print_message("kind %zu: claimed in %ld of %ld\n", k, claimed, each);
        assert_true(claimed * 20 <= each);
    }
}

/* ---- series with windows ------------------------------------------------ */

/* Noise below, tails above; 10 more in [first, first + length). */
static void background(double noise)
{
    for (size_t i = 0; i < count; i++) {
        put(i, noise * (uniform() < 0.5 ? 0 : exponential()));
    }
}

static void plant(size_t first, size_t length, double noise)
{
    for (size_t i = first; i < first + length; i++) {
        put(i, (double)values[i] / UNIT + 10 * (1 + noise * 0.2 * normal()));
    }
}

static bool is_near(size_t a, size_t b)
{
    return a > b ? a - b <= 2 : b - a <= 2;
}

static bool is_found(size_t n, size_t first, size_t length)
{
    return found_count > n && is_near(found[n].first, first) &&
           is_near(found[n].last, first + length - 1);
}

/* In how many of the series the one window is right, of each percent. */
static void place_check(const char *text, int place)
{
    long each = series_each(), right = 0, wrong = 0;

    for (long n = 0; n < each; n++) {
        double noise = 0.05 + 0.95 * uniform();
        size_t length, first;

        count = count_any();
        count = count < 100 ? 100 : count;
        /* From a tenth, with most of all waiting, to 45 %. */
        length = (size_t)((0.1 + 0.35 * uniform()) * (double)count);
        length = length < 12 ? 12 : length;
        first = (size_t)chance_below((int64_t)(count - length - 6)) + 3;
        first = place < 0 ? 0 : place > 0 ? count - length : first;
        background(noise);
        plant(first, length, noise);
        find();
        right += found_count == 1 && is_found(0, first, length);
        wrong += found_count > 0 && !is_found(0, first, length);
    }
    print_message("%s: right in %ld, wrong in %ld of %ld\n", text, right, wrong,
                  each);
    assert_true(right * 100 >= each * 97);
    assert_true(wrong * 100 <= each * 2);
}

static void a_window_is_found_wherever_it_is(void **state)
{
    (void)state;
    place_check("anywhere", 0);
    place_check("at the start", -1);
    place_check("at the end", 1);
}

static void fifty_of_a_thousand_are_found(void **state)
{
    long each = series_each(), right = 0;

    (void)state;
    for (long n = 0; n < each; n++) {
        count = 1000;
        background(0.5);
        plant(100, 50, 0.5);
        find();
        right += found_count == 1 && is_found(0, 100, 50);
    }
    assert_true(right * 100 >= each * 98);
}

/* As where a machine does something else once or twice, and what is usual goes
 * up and down by little, each value like the one before. */
static void hiccups_elsewhere_hide_no_window(void **state)
{
    long each = series_each(), right = 0;

    (void)state;
    for (long n = 0; n < each; n++) {
        size_t first = 30 + (size_t)chance_below(50);
        double last = normal();

        count = 120;
        for (size_t i = 0; i < count; i++) {
            bool is_in = i >= first && i < first + 30;

            last = 0.9 * last + sqrt(1 - 0.9 * 0.9) * normal();
            put(i, (is_in ? 20 + 0.5 * fabs(normal()) : 0) + 0.2 * fabs(last));
        }
        put((size_t)chance_below(10), 10 + 80 * uniform());
        put(first + 32 + (size_t)chance_below(8), 15);
        find();
        right += found_count == 1 && is_found(0, first, 30);
    }
    print_message("beside hiccups: right in %ld of %ld\n", right, each);
    assert_true(right * 100 >= each * 98);
}

/* As where other programs share the CPU of a rank that is late: each step of
 * the window takes 20, and now and then, for some steps, far longer. */
/* A run of train: other programs made the rank late by a few milliseconds in
 * the first steps, and once by more. That is far below what makes a window, and
 * however alike these steps are, they cannot have made it. */
static void what_others_did_before_hides_no_window(void **state)
{
    static const int seen[] = {
        /* each 10 us */
        2887, 233,  119,  121,  14,   242,  170,  250,  136,  276,  119,  97,
        61,   437,  1,    20,   176,  317,  0,    276,  271,  3,    385,  179,
        473,  25,   179,  30,   223,  179,  206,  154,  0,    178,  195,  4,
        362,  290,  113,  362,  230,  230,  107,  0,    164,  0,    316,  140,
        327,  0,    0,    0,    0,    0,    0,    0,    0,    0,    0,    7,
        2101, 1899, 2514, 2024, 2002, 2298, 2236, 2015, 2790, 2013, 2024, 2009,
        2001, 1993, 2008, 2000, 2150, 2006, 2000, 2004, 2003, 2009, 1994, 2111,
        2003, 1994, 1993, 2048, 2010, 2005, 0,    0,    4,    0,    0,    0,
        0,    2,    1,    0,    10,   7,    9,    5,    1,    0,    0,    0,
        0,    0,    0,    1,    1,    3,    0,    0,    6,    8,    5,    4};

    (void)state;
    count = sizeof(seen) / sizeof(seen[0]);
    for (size_t i = 0; i < count; i++) {
        values[i] = (ck_time_t)seen[i] * 10000;
    }
    find();
    assert_int_equal(found_count, 1);
    assert_true(is_found(0, 60, 30));
}

static void a_window_may_be_higher_in_its_course(void **state)
{
    long each = series_each(), right = 0, wrong = 0;

    (void)state;
    for (long n = 0; n < each; n++) {
        size_t first = 10 + (size_t)chance_below(70);
        double last = normal();

        count = 120;
        for (size_t i = 0; i < count; i++) {
            bool is_in = i >= first && i < first + 30;
            double more;

            last = 0.8 * last + sqrt(1 - 0.8 * 0.8) * normal();
            more = last > -0.5 ? 20 * (last + 0.5) : 0;
            put(i, is_in ? 20 + more : 0.2 * fabs(normal()));
        }
        find();
        right += found_count == 1 && is_found(0, first, 30);
        wrong += found_count > 0 && !is_found(0, first, 30);
    }
    print_message("of several levels: right in %ld, wrong in %ld of %ld\n",
                  right, wrong, each);
    assert_true(right * 100 >= each * 93);
    assert_true(wrong * 100 <= each * 4);
}

static void a_few_steps_are_found_where_they_are_most(void **state)
{
    long each = series_each(), right = 0;

    (void)state;
    for (long n = 0; n < each; n++) {
        size_t first = 5 + (size_t)chance_below(480);

        count = 500;
        background(0.05);
        plant(first, 5, 0.5);
        find();
        right += found_count == 1 && is_found(0, first, 5);
    }
    assert_true(right * 100 >= each * 98);
}

/* How many series of two windows have both, and how many have one. */
static void two_check(long each, long *right, long *wrong)
{
    *right = *wrong = 0;
    for (long n = 0; n < each; n++) {
        size_t length = 30 + (size_t)chance_below(60);
        size_t first = 20 + (size_t)chance_below(200);
        size_t other = 500 + (size_t)chance_below(350);

        count = 1000;
        background(0.5);
        plant(first, length, 0.5);
        plant(other, length, 0.5);
        find();
        *right += found_count == 2 && is_found(0, first, length) &&
                  is_found(1, other, length);
        *wrong += found_count == 1;
    }
}

static void two_windows_are_found(void **state)
{
    long each = series_each(), right, wrong;

    (void)state;
    two_check(each, &right, &wrong);
    print_message("two: right in %ld, one claimed in %ld of %ld\n", right,
                  wrong, each);
    assert_true(right * 100 >= each * 97);
    assert_true(wrong * 100 <= each * 1);
}

/* Series in which low noise between them made one of them. */
static void two_windows_are_not_one(void **state)
{
    long right, wrong;

    (void)state;
    chance_seed(17);
    two_check(400, &right, &wrong);
    assert_int_equal(wrong, 0);
}

static void shares_are_of_all_values(void **state)
{
    (void)state;
    count = 100;
    for (size_t i = 0; i < count; i++) {
        values[i] = i >= 40 && i < 60 ? 40 : 10;
    }
    find();
    assert_int_equal(found_count, 1);
    assert_int_equal(found[0].first, 40);
    assert_int_equal(found[0].last, 59);
    assert_true(fabs(found[0].share - 0.5) < 1e-9);
}

static void what_holds_less_than_half_of_all_is_none(void **state)
{
    (void)state;
    count = 100;
    for (size_t i = 0; i < count; i++) {
        values[i] = i >= 40 && i < 60 ? 39 : 10;
    }
    find();
    assert_int_equal(found_count, 0);
}

static void more_than_half_of_the_steps_are_none(void **state)
{
    (void)state;
    count = 100;
    for (size_t i = 0; i < count; i++) {
        values[i] = i >= 20 && i < 71 ? 100 : 1;
    }
    find();
    assert_int_equal(found_count, 0);
}

/* Three of 40 values are side by side in one of 260 orders, of 1,000 in one of
 * 166,500. */
static void what_may_be_chance_is_none(void **state)
{
    (void)state;
    for (count = 40; count <= 1000; count += 960) {
        for (size_t i = 0; i < count; i++) {
            values[i] = i >= 20 && i < 23 ? 100000 : 1 + (ck_time_t)i % 2;
        }
        find();
        assert_int_equal(found_count, count == 40 ? 0 : 1);
    }
}

static void few_values_have_none(void **state)
{
    (void)state;
    count = WINDOW_VALUES_MIN - 1;
    for (size_t i = 0; i < count; i++) {
        values[i] = i >= 10 && i < 20 ? 100 : 1;
    }
    find();
    assert_int_equal(found_count, 0);
    memset(values, 0, sizeof(values));
    count = VALUES_MAX;
    find();
    assert_int_equal(found_count, 0);
}

/* In steps 30 to 59 of 90 a rank computed 12 ms longer, while other programs
 * had most of two CPUs: what others waited for it, in ms. */
static void a_busy_machine_hides_no_window(void **state)
{
    static const uint8_t measured[][90] = {
        {0,  13, 13, 5,  0,  0,  0,  0,  0,  0,  13, 0,  0,  9,  0,  7,  9,  0,
         14, 5,  0,  0,  0,  0,  0,  0,  0,  0,  0,  15, 43, 41, 40, 43, 39, 32,
         37, 39, 42, 35, 47, 44, 31, 37, 27, 44, 34, 49, 28, 20, 21, 12, 22, 13,
         35, 23, 17, 24, 23, 22, 0,  0,  3,  1,  0,  15, 11, 0,  2,  10, 8,  9,
         6,  0,  21, 0,  0,  11, 6,  4,  0,  4,  12, 4,  0,  11, 0,  0,  0,  0},
        {0,  0,  0,  0,  0,  0,  0,  0,  0,  0,  0,  0,  0,  0,  0,
         0,  0,  0,  2,  0,  0,  0,  0,  0,  0,  0,  0,  0,  0,  0,
         15, 15, 16, 14, 15, 16, 15, 21, 22, 22, 22, 22, 22, 19, 22,
         22, 22, 26, 22, 18, 22, 22, 22, 22, 21, 21, 18, 21, 22, 22,
         4,  4,  4,  4,  4,  4,  0,  4,  4,  4,  0,  0,  0,  0,  4,
         5,  5,  0,  0,  3,  0,  0,  4,  4,  4,  4,  4,  4,  0,  0}};

    (void)state;
    count = 90;
    for (size_t k = 0; k < sizeof(measured) / sizeof(measured[0]); k++) {
        for (size_t i = 0; i < count; i++) {
            put(i, measured[k][i]);
        }
        find();
        assert_int_equal(found_count, 1);
        assert_true(is_found(0, 30, 30));
    }
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup(name, setup)
    const struct CMUnitTest tests[] = {
        CASE(what_is_none_is_none),
        CASE(what_resembles_what_was_before_is_none),
        CASE(a_window_is_found_wherever_it_is),
        CASE(fifty_of_a_thousand_are_found),
        CASE(hiccups_elsewhere_hide_no_window),
        CASE(what_others_did_before_hides_no_window),
        CASE(a_window_may_be_higher_in_its_course),
        CASE(a_few_steps_are_found_where_they_are_most),
        CASE(two_windows_are_found),
        CASE(two_windows_are_not_one),
        CASE(shares_are_of_all_values),
        CASE(what_holds_less_than_half_of_all_is_none),
        CASE(more_than_half_of_the_steps_are_none),
        CASE(what_may_be_chance_is_none),
        CASE(few_values_have_none),
        CASE(a_busy_machine_hides_no_window),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
