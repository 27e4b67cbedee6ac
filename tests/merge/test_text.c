/* test_text.c - sentences of the text report, of reports made by hand
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "merge/output/page.h"
#include "merge/report.h"

#define S ((ck_time_t)1000000000)

static char *text;

static int teardown(void **state)
{
    (void)state;
    free(text);
    text = NULL;
    return 0;
}

/* What a part of the page says of that report, in `text`. */
static void say(void (*part)(const struct page *page),
                const struct report *report)
{
    static const struct text_style style = {.columns = 0};
    struct page page = {.report = report, .style = &style};
    size_t length;

    free(text);
    text = NULL;
    page.file = open_memstream(&text, &length);
    assert_non_null(page.file);
    part(&page);
    assert_int_equal(fclose(page.file), 0);
}

static void a_counter_of_the_run_is_held_against_the_run(void **state)
{
    struct report_counter queue = {.name = "run-queue-wait", .value = 1e9};
    struct report report = {.present = 1,
                            .size = 1,
                            .whole = {0, 100 * S},
                            .region = {0, 2 * S},
                            .region_kind = REPORT_REGION_RANGE,
                            .counters = &queue,
                            .counters_count = 1};

    (void)state;
    say(page_host_answer, &report);
    assert_null(strstr(text, "had no CPU"));
    queue.value = 20e9;
    say(page_host_answer, &report);
    assert_non_null(strstr(text, "had no CPU for 20.0 s (whole run): too few"));
    report.region = report.whole;
    report.region_kind = REPORT_REGION_WHOLE;
    say(page_host_answer, &report);
    assert_non_null(strstr(text, "had no CPU for 20.0 s: too few"));
}

static void a_collective_in_which_nobody_waited_is_no_news(void **state)
{
    int32_t ranks[] = {1, 0};
    struct report_impasse still = {.call = "MPI_Bcast",
                                   .comm = "MPI_COMM_WORLD",
                                   .size = 2,
                                   .number = 7,
                                   .ranks = ranks,
                                   .died = 1,
                                   .absent = 1,
                                   .is_sure = true};
    struct report report = {
        .present = 2, .size = 2, .impasses = &still, .impasses_count = 1};

    (void)state;
    say(page_ends, &report);
    assert_string_equal(text, "");
    still.waited = 1;
    still.died = 0;
    say(page_ends, &report);
    assert_non_null(strstr(text, "1 of 2 ranks waited in MPI_Bcast"));
}

static void without_some_ranks_no_loss_of_efficiency_has_a_cause(void **state)
{
    struct report report = {.present = 2,
                            .size = 4,
                            .efficiency = {.ranks = 2,
                                           .region = S,
                                           .parallel = 0.19,
                                           .load_balance = 0.9,
                                           .serialisation = 0.2,
                                           .transfer = 0.95}};

    (void)state;
    say(page_host_answer, &report);
    assert_null(strstr(text, "serialisation"));
    assert_non_null(strstr(text, "Parallel efficiency 0.19 of 2 of 4 ranks"));
    report.present = 4;
    report.efficiency.ranks = 4;
    say(page_host_answer, &report);
    assert_non_null(strstr(text, "(serialisation 0.20)"));
}

static void a_loss_of_samples_is_said_beside_their_shares(void **state)
{
    struct report_hot hot = {
        .place = {"solve", "solver.c", 12}, .ns = 877 * S / 100, .ranks = 1};
    struct report report = {
        .present = 1,
        .size = 1,
        .region = {0, 10 * S},
        .hot = &hot,
        .hot_count = 1,
        .samples = {.total = 10 * S, .count = 1000, .records = 900}};

    (void)state;
    say(page_hot, &report);
    assert_non_null(strstr(text, " 87.7 %"));
    assert_null(strstr(text, "lost"));
    report.samples.records_lost = 100;
    say(page_hot, &report);
    assert_non_null(strstr(text, " 88 %"));
    assert_null(strstr(text, "87.7"));
    assert_non_null(strstr(text, "10.0 % of the sample records were lost"));
    /* Of fewer samples a digit means nothing. */
    report.samples.records_lost = 0;
    report.samples.count = 50;
    say(page_hot, &report);
    assert_null(strstr(text, "87.7"));
    /* What else was lost says nothing of them. */
    report.samples.switches_lost = 27158;
    say(page_hot, &report);
    assert_null(strstr(text, "lost"));
}

/* What a thread did that samples met at half of its time. */
static void half_say(const struct page *page)
{
    const struct report_activity did = {
        .sampled = {2 * S, S, {"solve", "solver.c", 12}}};

    page_activity(page, &did);
}

static void a_loss_of_samples_is_said_with_what_a_rank_did(void **state)
{
    struct report report = {.samples = {.total = 10 * S,
                                        .count = 1000,
                                        .records = 900,
                                        .records_lost = 100}};

    (void)state;
    say(half_say, &report);
    assert_non_null(
        strstr(text, "(50 % of samples, of which 10.0 % are lost)"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(a_loss_of_samples_is_said_beside_their_shares,
                                  teardown),
        cmocka_unit_test_teardown(
            a_loss_of_samples_is_said_with_what_a_rank_did, teardown),
        cmocka_unit_test_teardown(a_counter_of_the_run_is_held_against_the_run,
                                  teardown),
        cmocka_unit_test_teardown(
            a_collective_in_which_nobody_waited_is_no_news, teardown),
        cmocka_unit_test_teardown(
            without_some_ranks_no_loss_of_efficiency_has_a_cause, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
