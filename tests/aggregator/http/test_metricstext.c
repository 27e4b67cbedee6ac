/* test_metricstext.c - metrics of several jobs as one text, and counters rise
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

#include "aggregator/http/metricstext.h"

static void samples_of_a_family_follow_each_other(void **state)
{
    static const char *const texts[] = {
        "# TYPE ck_a counter\n# HELP ck_a A.\nck_a_total{run=\"1\"} 5\n"
        "# TYPE ck_b gauge\n# HELP ck_b B.\nck_b{run=\"1\"} 6\n# EOF\n",
        "",
        "# TYPE ck_c gauge\nck_c{run=\"2\"} 7\n"
        "# TYPE ck_a counter\n# HELP ck_a A.\nck_a_total{run=\"2\"} 8\n# EOF\n",
    };
    static const char expected[] =
        "# TYPE ck_a counter\n# HELP ck_a A.\n"
        "ck_a_total{run=\"1\"} 5\nck_a_total{run=\"2\"} 8\n"
        "# TYPE ck_b gauge\n# HELP ck_b B.\nck_b{run=\"1\"} 6\n"
        "# TYPE ck_c gauge\nck_c{run=\"2\"} 7\n";
    char *text = NULL;
    size_t length;
    FILE *out = open_memstream(&text, &length);

    (void)state;
    assert_non_null(out);
    metricstext_join(out, texts, 3);
    assert_int_equal(fclose(out), 0);
    assert_string_equal(text, expected);
    free(text);
}

static void a_family_is_no_longer_one_that_begins_alike(void **state)
{
    static const char *const texts[] = {"# TYPE ck_a gauge\nck_a{} 1\n",
                                        "# TYPE ck_ab gauge\nck_ab{} 2\n"};
    char *text = NULL;
    size_t length;
    FILE *out = open_memstream(&text, &length);

    (void)state;
    assert_non_null(out);
    metricstext_join(out, texts, 2);
    assert_int_equal(fclose(out), 0);
    assert_string_equal(text, "# TYPE ck_a gauge\nck_a{} 1\n"
                              "# TYPE ck_ab gauge\nck_ab{} 2\n");
    free(text);
}

static void counters_never_fall_and_gauges_may(void **state)
{
    static const char before[] =
        "# TYPE ck_a counter\nck_a_total{x=\"1\"} 5\nck_a_total{x=\"2\"} 5\n"
        "# TYPE ck_h histogram\nck_h_bucket{le=\"1.0\"} 9\nck_h_sum{} 9.5\n"
        "# TYPE ck_g gauge\nck_g{} 5\n# EOF\n";
    static const char now[] =
        "# TYPE ck_a counter\nck_a_total{x=\"1\"} 4\nck_a_total{x=\"2\"} 6\n"
        "ck_a_total{x=\"3\"} 1\n"
        "# TYPE ck_h histogram\nck_h_bucket{le=\"1.0\"} 8\nck_h_sum{} 9.75\n"
        "# TYPE ck_g gauge\nck_g{} 4\n# EOF\n";
    static const char expected[] =
        "# TYPE ck_a counter\nck_a_total{x=\"1\"} 5\nck_a_total{x=\"2\"} 6\n"
        "ck_a_total{x=\"3\"} 1\n"
        "# TYPE ck_h histogram\nck_h_bucket{le=\"1.0\"} 9\nck_h_sum{} 9.75\n"
        "# TYPE ck_g gauge\nck_g{} 4\n# EOF\n";
    char *text = metricstext_rise(before, now);

    (void)state;
    assert_string_equal(text, expected);
    free(text);
    text = metricstext_rise("", now);
    assert_string_equal(text, now);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(samples_of_a_family_follow_each_other),
        cmocka_unit_test(a_family_is_no_longer_one_that_begins_alike),
        cmocka_unit_test(counters_never_fall_and_gauges_may),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
