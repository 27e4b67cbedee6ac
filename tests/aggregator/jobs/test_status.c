/* test_status.c - the status line
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "aggregator/jobs/status.h"

static void sizes_have_units(void **state)
{
    char text[32];

    (void)state;
    status_bytes(0, text, sizeof(text));
    assert_string_equal(text, "0 B");
    status_bytes(1536, text, sizeof(text));
    assert_string_equal(text, "1.5 KiB");
    status_bytes(UINT64_MAX, text, sizeof(text));
    assert_string_equal(text, "16777216.0 TiB");
    status_count(999, text, sizeof(text));
    assert_string_equal(text, "999");
    status_count(1234567, text, sizeof(text));
    assert_string_equal(text, "1.23 M");
}

static void an_age_has_its_two_largest_units(void **state)
{
    char text[48];

    (void)state;
    status_age(-1, text, sizeof(text));
    assert_string_equal(text, "0 s");
    status_age(185 * CK_TIME_S, text, sizeof(text));
    assert_string_equal(text, "3 min 5 s");
    status_age(7384 * CK_TIME_S, text, sizeof(text));
    assert_string_equal(text, "2 h 3 min");
    status_age(90 * (int64_t)3600 * CK_TIME_S, text, sizeof(text));
    assert_string_equal(text, "3 d 18 h");
}

static void the_rate_is_of_the_time_between_two_looks(void **state)
{
    struct status_rate rate = {.at = 0};
    struct job_totals totals = {.records = 1000, .bytes = 10};

    (void)state;
    status_rate_look(&rate, &totals, CK_TIME_S);
    assert_true(rate.records_per_s == 0);
    totals.records = 3000;
    status_rate_look(&rate, &totals, 3 * CK_TIME_S);
    assert_true(rate.records_per_s == 1000);
}

static void the_line_names_what_counts(void **state)
{
    struct status_rate rate = {.records_per_s = 2500};
    struct job_totals totals = {
        .peers = 4, .active = 3, .records = 123456, .bytes = 4096, .lost = 7};
    char line[256];

    (void)state;
    status_line(&totals, &rate, line, sizeof(line));
    assert_string_equal(line, "3 of 4 ranks at work · 123.46 k records · "
                              "2.50 k/s · 4.0 KiB · 7 lost");
    totals.dead = 1;
    status_line(&totals, &rate, line, sizeof(line));
    assert_non_null(strstr(line, "(some died)"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sizes_have_units),
        cmocka_unit_test(an_age_has_its_two_largest_units),
        cmocka_unit_test(the_rate_is_of_the_time_between_two_looks),
        cmocka_unit_test(the_line_names_what_counts),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
