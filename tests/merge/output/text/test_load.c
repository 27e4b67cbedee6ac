/* test_load.c - why threads that were ready to run had no CPU
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

#include "merge/analysis/totals/cpushortage.h"

#define S CK_TIME_S
#define AGENTS_MAX 4

static struct defs_agent agents[AGENTS_MAX];
static struct defs_rank ranks[AGENTS_MAX];
static struct defs defs;
static struct report report;
static char lines[AGENTS_MAX][1024];

static int setup(void **state)
{
    (void)state;
    defs = (struct defs){.agents = agents, .ranks = ranks};
    report = (struct report){.present = 0};
    return 0;
}

struct said {
    const char *cpus;
    ck_time_t busy, host_busy, own, waited;
    int ready_milli;
    const char *cgroup;
    int quota_milli, periods, throttled;
    ck_time_t throttled_ns;
    ck_time_t life, tick, window; /* 0: none, none, 10 s */
};

/* A rank of a host of 4 CPUs, looked at for 10 s. */
static void rank_add(const struct said *said)
{
    size_t i = defs.agents_count++;

    (void)snprintf(lines[i], sizeof(lines[i]),
                   "load_cpus=%s\nload_cgroup=%s\nload_ns=%lld\nload_online=4\n"
                   "load_busy_ns=%lld\nload_host_ns=%lld\nload_own_ns=%lld\n"
                   "load_agent_ns=0\nload_waited_ns=%lld\nload_ready_milli=%d\n"
                   "load_quota_milli=%d\nload_periods=%d\nload_throttled=%d\n"
                   "load_throttled_ns=%lld\nload_life_ns=%lld\n"
                   "load_tick_ns=%lld\n",
                   said->cpus, said->cgroup != NULL ? said->cgroup : "",
                   (long long)(said->window > 0 ? said->window : 10 * S),
                   (long long)said->busy, (long long)said->host_busy,
                   (long long)said->own, (long long)said->waited,
                   said->ready_milli, said->quota_milli, said->periods,
                   said->throttled, (long long)said->throttled_ns,
                   (long long)said->life, (long long)said->tick);
    agents[i] = (struct defs_agent){.exit = lines[i], .host = "vm"};
    ranks[i] = (struct defs_rank){.number = (int32_t)i, .agent = (uint32_t)i};
    defs.ranks_count++;
}

static void near(double value, double expected)
{
    if (value < expected - 0.01 || value > expected + 0.01) {
        fail_msg("%g is not %g", value, expected);
    }
}

static void other_programs_are_named_where_the_ranks_would_fit(void **state)
{
    /* Two ranks that spin on 2 CPUs beside two programs that do so. */
    const struct said said = {.cpus = "0-1",
                              .busy = 20 * S,
                              .host_busy = 20 * S,
                              .own = 5 * S,
                              .waited = 5 * S,
                              .ready_milli = 1000};

    (void)state;
    rank_add(&said);
    rank_add(&said);
    cpushortage_report(&defs, &report);
    assert_int_equal(report.load.verdict, REPORT_LOAD_OTHERS);
    assert_int_equal(report.load.limit, REPORT_LIMIT_AFFINITY);
    near(report.load.cpus, 2);
    near(report.load.ready, 2);
    near(report.load.own, 1);
    near(report.load.others, 1);
    assert_int_equal(report.load.waited, 10 * S);
    assert_int_equal(report.load.ranks, 2);
}

static void more_threads_than_cpus_are_the_job_s_own(void **state)
{
    /* 8 threads on the 4 CPUs of the host, and nothing else there. */
    const struct said said = {.cpus = "0-3",
                              .busy = 40 * S,
                              .host_busy = 40 * S,
                              .own = 40 * S,
                              .waited = 40 * S,
                              .ready_milli = 8000};

    (void)state;
    rank_add(&said);
    cpushortage_report(&defs, &report);
    assert_int_equal(report.load.verdict, REPORT_LOAD_OWN);
    assert_int_equal(report.load.limit, REPORT_LIMIT_HOST);
    near(report.load.ready, 8);
    near(report.load.others, 0);
}

static void ranks_that_are_bound_to_one_cpu_are_together_on_it(void **state)
{
    const struct said said = {.cpus = "3",
                              .busy = 10 * S,
                              .host_busy = 10 * S,
                              .own = 5 * S,
                              .waited = 5 * S,
                              .ready_milli = 1000};
    const struct said apart = {
        .cpus = "0-1", .busy = 5 * S, .host_busy = 10 * S, .own = 5 * S};

    (void)state;
    rank_add(&apart);
    rank_add(&said);
    rank_add(&said);
    cpushortage_report(&defs, &report);
    assert_int_equal(report.load.verdict, REPORT_LOAD_OWN);
    assert_int_equal(report.load.limit, REPORT_LIMIT_AFFINITY);
    assert_int_equal(report.load.ranks, 2);
    near(report.load.cpus, 1);
    near(report.load.ready, 2);
    near(report.load.others, 0);
}

/* What a rank without such records used is not what other programs used. */
static void beside_an_unknown_rank_no_program_is_blamed(void **state)
{
    struct said said = {.cpus = "0-1",
                        .busy = 20 * S,
                        .host_busy = 20 * S,
                        .own = 5 * S,
                        .waited = 5 * S,
                        .ready_milli = 1000};

    (void)state;
    rank_add(&said);
    rank_add(&said);
    agents[1].exit = "status=0\n";
    cpushortage_report(&defs, &report);
    assert_int_equal(report.load.verdict, REPORT_LOAD_UNKNOWN);
}

static void groups_of_a_host_with_one_reason_are_one(void **state)
{
    /* Each rank is bound to a CPU, and shares it with another program. */
    struct said said = {.cpus = "0",
                        .busy = 10 * S,
                        .host_busy = 20 * S,
                        .own = 5 * S,
                        .waited = 5 * S,
                        .ready_milli = 1000};

    (void)state;
    rank_add(&said);
    said.cpus = "1";
    rank_add(&said);
    cpushortage_report(&defs, &report);
    assert_int_equal(report.load.verdict, REPORT_LOAD_OTHERS);
    assert_int_equal(report.load.ranks, 2);
    near(report.load.cpus, 2);
    near(report.load.ready, 2);
    near(report.load.others, 1);
    assert_int_equal(report.load.waited, 10 * S);
}

static void a_quota_that_is_used_up_is_the_reason(void **state)
{
    const struct said said = {.cpus = "0-3",
                              .busy = 5 * S,
                              .host_busy = 5 * S,
                              .own = 5 * S,
                              .waited = S,
                              .ready_milli = 1500,
                              .cgroup = "/sys/fs/cgroup/job",
                              .quota_milli = 500,
                              .periods = 100,
                              .throttled = 97,
                              .throttled_ns = 9 * S};

    (void)state;
    rank_add(&said);
    rank_add(&said);
    cpushortage_report(&defs, &report);
    assert_int_equal(report.load.verdict, REPORT_LOAD_QUOTA);
    assert_int_equal(report.load.limit, REPORT_LIMIT_QUOTA);
    /* One group's quota is one, however many ranks are in it. */
    near(report.load.quota, 0.5);
    near(report.load.cpus, 0.5);
    assert_int_equal(report.load.periods, 100);
    assert_int_equal(report.load.throttled_periods, 97);
}

static void a_quota_that_is_not_used_up_is_none(void **state)
{
    const struct said said = {.cpus = "0-3",
                              .busy = 40 * S,
                              .host_busy = 40 * S,
                              .own = 10 * S,
                              .waited = 9 * S,
                              .ready_milli = 1900,
                              .cgroup = "/sys/fs/cgroup/job",
                              .quota_milli = 3000,
                              .periods = 100,
                              .throttled = 1,
                              .throttled_ns = S / 100};

    (void)state;
    rank_add(&said);
    cpushortage_report(&defs, &report);
    assert_int_equal(report.load.verdict, REPORT_LOAD_OTHERS);
    assert_int_equal(report.load.limit, REPORT_LIMIT_QUOTA);
    near(report.load.others, 3);
}

static void next_to_no_wait_is_no_news(void **state)
{
    const struct said said = {.cpus = "0-3",
                              .busy = 40 * S,
                              .host_busy = 40 * S,
                              .own = 10 * S,
                              .waited = S / 10,
                              .ready_milli = 1010};

    (void)state;
    rank_add(&said);
    cpushortage_report(&defs, &report);
    assert_int_equal(report.load.verdict, REPORT_LOAD_NONE);
}

static void a_wait_without_a_crowd_or_others_is_unclear(void **state)
{
    const struct said said = {.cpus = "0-3",
                              .busy = 10 * S,
                              .host_busy = 10 * S,
                              .own = 10 * S,
                              .waited = 2 * S,
                              .ready_milli = 1200};

    (void)state;
    rank_add(&said);
    cpushortage_report(&defs, &report);
    assert_int_equal(report.load.verdict, REPORT_LOAD_UNCLEAR);
}

/* A quarter of a second of the start of a job of 3 ranks: 15 ticks of 10 ms
 * were worked, and 9 of them by the ranks, and 10 more may be missing. */
static void what_ticks_do_not_show_is_not_blamed_on_others(void **state)
{
    struct said said = {.cpus = "0-1",
                        .busy = 15 * S / 100,
                        .host_busy = 15 * S / 100,
                        .own = 3 * S / 100,
                        .waited = S / 20,
                        .ready_milli = 330,
                        .window = S / 4,
                        .life = S / 3,
                        .tick = S / 100};

    (void)state;
    rank_add(&said);
    rank_add(&said);
    rank_add(&said);
    cpushortage_report(&defs, &report);
    near(report.load.others, 0.24);
    near(report.load.others_error, 0.4);
    assert_int_equal(report.load.verdict, REPORT_LOAD_UNCLEAR);
}

/* One of two ranks was looked at for half of the time: what it worked before is
 * in what all worked. */
static void what_an_agent_did_not_see_of_its_own_is_an_error(void **state)
{
    struct said said = {.cpus = "0-1",
                        .busy = 20 * S,
                        .host_busy = 20 * S,
                        .own = 10 * S,
                        .waited = 5 * S,
                        .ready_milli = 1000};

    (void)state;
    rank_add(&said);
    said.window = 5 * S;
    said.own = 5 * S;
    rank_add(&said);
    cpushortage_report(&defs, &report);
    near(report.load.others, 0.5);
    near(report.load.others_error, 0.5);
    assert_int_equal(report.load.verdict, REPORT_LOAD_UNCLEAR);
}

static void less_than_half_of_a_life_is_unknown(void **state)
{
    struct said said = {.cpus = "0-1",
                        .busy = 20 * S,
                        .host_busy = 20 * S,
                        .own = 5 * S,
                        .waited = 5 * S,
                        .ready_milli = 1000,
                        .life = 19 * S};

    (void)state;
    rank_add(&said);
    cpushortage_report(&defs, &report);
    assert_int_equal(report.load.verdict, REPORT_LOAD_OTHERS);
    said.life = 21 * S;
    rank_add(&said);
    report = (struct report){.present = 0};
    cpushortage_report(&defs, &report);
    assert_int_equal(report.load.verdict, REPORT_LOAD_UNKNOWN);
}

static void a_run_without_these_records_is_unknown(void **state)
{
    (void)state;
    agents[0] = (struct defs_agent){.exit = "status=0\n", .host = "vm"};
    agents[1] = (struct defs_agent){.exit = NULL, .host = "vm"};
    agents[2] =
        (struct defs_agent){.exit = "load_ns=7\nload_cpus=x-\n", .host = "vm"};
    defs.agents_count = 3;
    cpushortage_report(&defs, &report);
    assert_int_equal(report.load.verdict, REPORT_LOAD_UNKNOWN);
}

static void a_number_that_cannot_be_true_is_not_believed(void **state)
{
    struct said said = {.cpus = "0-3",
                        .busy = 40 * S,
                        .host_busy = 40 * S,
                        .own = 40 * S,
                        .waited = 40 * S,
                        .ready_milli = 8000};

    (void)state;
    rank_add(&said);
    said.throttled_ns = INT64_MAX / 2;
    rank_add(&said);
    said.throttled_ns = 0;
    said.waited = INT64_MAX;
    rank_add(&said);
    cpushortage_report(&defs, &report);
    assert_int_equal(report.load.verdict, REPORT_LOAD_OWN);
    assert_int_equal(report.load.waited, 40 * S);
    assert_int_equal(report.load.ranks, 1);
}

static void the_largest_numbers_do_not_overflow(void **state)
{
    const struct said said = {.cpus = "0-3",
                              .busy = INT64_C(1) << 60,
                              .host_busy = INT64_C(1) << 60,
                              .own = INT64_C(1) << 60,
                              .waited = INT64_C(1) << 60,
                              .ready_milli = 8000,
                              .quota_milli = 1,
                              .periods = 100,
                              .throttled = 97,
                              .throttled_ns = INT64_C(1) << 60};

    (void)state;
    for (int i = 0; i < AGENTS_MAX; i++) {
        rank_add(&said);
    }
    cpushortage_report(&defs, &report);
    assert_int_equal(report.load.verdict, REPORT_LOAD_QUOTA);
    assert_int_equal(report.load.waited, INT64_C(1) << 60);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(
            other_programs_are_named_where_the_ranks_would_fit, setup),
        cmocka_unit_test_setup(more_threads_than_cpus_are_the_job_s_own, setup),
        cmocka_unit_test_setup(
            ranks_that_are_bound_to_one_cpu_are_together_on_it, setup),
        cmocka_unit_test_setup(beside_an_unknown_rank_no_program_is_blamed,
                               setup),
        cmocka_unit_test_setup(groups_of_a_host_with_one_reason_are_one, setup),
        cmocka_unit_test_setup(a_quota_that_is_used_up_is_the_reason, setup),
        cmocka_unit_test_setup(a_quota_that_is_not_used_up_is_none, setup),
        cmocka_unit_test_setup(next_to_no_wait_is_no_news, setup),
        cmocka_unit_test_setup(a_wait_without_a_crowd_or_others_is_unclear,
                               setup),
        cmocka_unit_test_setup(what_ticks_do_not_show_is_not_blamed_on_others,
                               setup),
        cmocka_unit_test_setup(what_an_agent_did_not_see_of_its_own_is_an_error,
                               setup),
        cmocka_unit_test_setup(less_than_half_of_a_life_is_unknown, setup),
        cmocka_unit_test_setup(a_run_without_these_records_is_unknown, setup),
        cmocka_unit_test_setup(a_number_that_cannot_be_true_is_not_believed,
                               setup),
        cmocka_unit_test_setup(the_largest_numbers_do_not_overflow, setup),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
