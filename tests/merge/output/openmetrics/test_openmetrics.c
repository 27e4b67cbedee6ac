/* test_openmetrics.c - what is known has a sample, what is not has none
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

#include "merge/output/openmetrics/openmetrics.h"

static void assert_has(const char *text, const char *line)
{
    if (strstr(text, line) == NULL) {
        fail_msg("no line %sin\n%s", line, text);
    }
}

static void an_empty_report_has_no_zeros(void **state)
{
    const struct report report = {.name = "run"};
    size_t length;
    char *text = output_openmetrics(&report, &length);

    (void)state;
    assert_non_null(text);
    assert_int_equal(strlen(text), length);
    assert_string_equal(text,
                        "# TYPE ck_lost_records counter\n"
                        "# HELP ck_lost_records Records that are missing in "
                        "the run, at least.\n"
                        "ck_lost_records_total{run=\"run\"} 0\n"
                        "# EOF\n");
    free(text);
}

static void steps_are_counted_when_all_ranks_have_ended_them(void **state)
{
    struct report_step steps[] = {
        {.start = 0, .end = 40 * CK_TIME_MS, .ranks = 2},
        {.start = 40 * CK_TIME_MS, .end = 90 * CK_TIME_MS, .ranks = 2},
        {.start = 90 * CK_TIME_MS, .end = 91 * CK_TIME_MS, .ranks = 1},
        {.start = CK_TIME_S, .end = 2001 * CK_TIME_S, .ranks = 2},
    };
    struct report report = {.name = "run",
                            .present = 2,
                            .realtime = 1000 * CK_TIME_S,
                            .table = {.items = steps, .count = 4, .ranks = 2}};
    size_t length;
    char *text = output_openmetrics(&report, &length);

    (void)state;
    assert_non_null(text);
    assert_has(text, "ck_job_steps_total{run=\"run\"} 3\n");
    assert_has(text, "ck_job_step_seconds_bucket{run=\"run\",le=\"0.02\"} 0\n");
    /* A bound is part of its bucket. */
    assert_has(text, "ck_job_step_seconds_bucket{run=\"run\",le=\"0.05\"} 2\n");
    assert_has(text,
               "ck_job_step_seconds_bucket{run=\"run\",le=\"1000.0\"} 2\n");
    assert_has(text, "ck_job_step_seconds_bucket{run=\"run\",le=\"+Inf\"} 3\n");
    assert_has(text, "ck_job_step_seconds_count{run=\"run\"} 3\n");
    assert_has(text, "ck_job_step_seconds_sum{run=\"run\"} 2000.09\n");
    assert_has(text, "ck_job_last_step_timestamp_seconds{run=\"run\"} 3001\n");
    free(text);
}

static void idle_time_of_devices_has_all_causes(void **state)
{
    struct report_device device = {.wall = 1};
    struct report report = {.name = "a \"b\"\n",
                            .devices = &device,
                            .devices_count = 1,
                            .all = {.busy = 2 * CK_TIME_S}};
    size_t length;
    char *text;

    (void)state;
    report.all.causes[CAUSE_IO] = 1500 * CK_TIME_MS;
    text = output_openmetrics(&report, &length);
    assert_non_null(text);
    assert_has(text, "ck_device_busy_seconds_total{run=\"a \\\"b\\\"?\"} 2\n");
    assert_has(text, "ck_device_idle_seconds_total{run=\"a \\\"b\\\"?\","
                     "cause=\"io\"} 1.5\n");
    assert_has(text, "cause=\"sleep\"} 0\n");
    free(text);
}

static void only_the_worst_ranks_are_named(void **state)
{
    struct report_rank ranks[40];
    struct report report = {.name = "run", .ranks = ranks, .ranks_count = 40};
    size_t length, count = 0;
    char *text;

    (void)state;
    memset(ranks, 0, sizeof(ranks));
    for (int i = 0; i < 40; i++) {
        ranks[i].number = i;
        ranks[i].caused = i * CK_TIME_S;
    }
    text = output_openmetrics(&report, &length);
    assert_non_null(text);
    for (const char *at = strstr(text, "rank=\""); at != NULL;
         at = strstr(at + 1, "rank=\"")) {
        count++;
    }
    assert_int_equal(count, OPENMETRICS_RANKS);
    assert_has(text, "{run=\"run\",rank=\"39\"} 39\n");
    assert_has(text, "{run=\"run\",rank=\"8\"} 8\n");
    assert_null(strstr(text, "rank=\"7\""));
    free(text);
}

static void an_open_collective_has_an_age_and_absent_ranks(void **state)
{
    int32_t who[] = {0, 2, 1, 3};
    struct report_impasse impasse = {.ranks = who, .waited = 2, .absent = 2};
    struct report_rank ranks[] = {
        {.number = 0, .open_ns = 3 * CK_TIME_S},
        {.number = 1, .open_ns = 9 * CK_TIME_S},
        {.number = 2, .open_ns = 5 * CK_TIME_S},
    };
    struct report report = {.name = "run",
                            .ranks = ranks,
                            .ranks_count = 3,
                            .impasses = &impasse,
                            .impasses_count = 1};
    size_t length;
    char *text = output_openmetrics(&report, &length);

    (void)state;
    assert_non_null(text);
    assert_has(text, "ck_collective_open_age_seconds{run=\"run\"} 5\n");
    assert_has(text, "ck_collective_missing_ranks{run=\"run\"} 2\n");
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_empty_report_has_no_zeros),
        cmocka_unit_test(steps_are_counted_when_all_ranks_have_ended_them),
        cmocka_unit_test(idle_time_of_devices_has_all_causes),
        cmocka_unit_test(only_the_worst_ranks_are_named),
        cmocka_unit_test(an_open_collective_has_an_age_and_absent_ranks),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
