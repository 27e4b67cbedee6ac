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

#include "merge/output/text/advice.h"
#include "merge/output/text/text.h"
#include "tests/merge/saying.h"

#define S ((ck_time_t)1000000000)

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
    say(page_load, &report);
    assert_string_equal(text, "");
    queue.value = 20e9;
    say(page_load, &report);
    assert_non_null(
        strstr(text, "waited at least 20.0 s for a CPU (whole run); what"));
    report.region = report.whole;
    report.region_kind = REPORT_REGION_WHOLE;
    say(page_load, &report);
    assert_non_null(
        strstr(text, "waited at least 20.0 s for a CPU; what used"));
}

static void many_small_causes_are_summed_by_kind(void **state)
{
    struct report_device device = {.wall = 100 * S};
    struct report report = {.devices = &device, .devices_count = 1};

    (void)state;
    report.all.wall = 100 * S;
    say(page_why, &report);
    assert_non_null(strstr(text, "No cause above 1 % of device time.\n"));
    assert_null(strstr(text, "By kind"));
    report.all.causes[CAUSE_HOST_COMPUTE] = 20 * S;
    report.all.causes[CAUSE_MPI_WAIT] = 30 * S;
    report.all.causes[CAUSE_STARTUP] = 20 * S;
    report.all.causes[CAUSE_LOCK] = 5 * S;
    report.all.causes[CAUSE_SLEEP] = S / 2;
    say(page_why, &report);
    assert_non_null(
        strstr(text, "\n By kind, on all devices: mpi_wait 30.0 %, "));
    assert_non_null(strstr(text, "host_compute 20.0 %"));
    assert_non_null(strstr(text, "startup 20.0 %"));
    assert_null(strstr(text, "lock"));
    assert_null(strstr(text, "sleep"));
}

static void who_had_the_cpus_is_one_sentence(void **state)
{
    struct report_load *load;
    struct report report = {.present = 2,
                            .size = 2,
                            .load = {.verdict = REPORT_LOAD_OWN,
                                     .limit = REPORT_LIMIT_AFFINITY,
                                     .host = "vm",
                                     .ranks = 2,
                                     .window = 10 * S,
                                     .cpus = 2,
                                     .ready = 8,
                                     .waited = 60 * S}};

    (void)state;
    load = &report.load;
    say(page_load, &report);
    assert_string_equal(text, " The job's threads waited 60.0 s for a CPU: 8 "
                              "of them were ready at a time on 2 CPUs "
                              "(allowed by\n   affinity on vm).\n");
    load->others = 0.5;
    say(page_load, &report);
    assert_non_null(strstr(text, "other programs used 0.5 of these"));
    load->verdict = REPORT_LOAD_OTHERS;
    load->limit = REPORT_LIMIT_HOST;
    load->ready = 2;
    say(page_load, &report);
    assert_non_null(strstr(text, "other programs used 0.5 of 2 CPUs"));
    assert_null(strstr(text, "affinity"));
    load->verdict = REPORT_LOAD_QUOTA;
    load->quota = 0.5;
    load->periods = 100;
    load->throttled_periods = 88;
    say(page_load, &report);
    assert_string_equal(text, " A cgroup's quota of 0.5 CPUs stopped the "
                              "ranks: it was used up in 88 of 100 periods.\n");
    load->verdict = REPORT_LOAD_NONE;
    say(page_load, &report);
    assert_string_equal(text, "");
}

static void the_same_advice_is_printed_once(void **state)
{
    static const char once[] = "sleep less.";
    static const struct text_style style = {.columns = 0};
    const struct report report = {.present = 1};
    struct page_given given = {.count = 0};
    struct page page = {.report = &report, .style = &style, .given = &given};
    size_t length;

    (void)state;
    free(text);
    text = NULL;
    page.file = open_memstream(&text, &length);
    assert_non_null(page.file);
    page_advice(&page, once);
    page_advice(&page, "wait less.");
    page_advice(&page, once);
    assert_int_equal(fclose(page.file), 0);
    assert_string_equal(text, "    Try: sleep less.\n    Try: wait less.\n");
}

/* Rank 0 ended at 2 s, rank 1 began again at 3 s. */
static void a_pause_between_two_clocks_has_their_errors(void **state)
{
    struct report_rank rows[2] = {
        {.number = 0,
         .incarnations = {{0, S, 2 * S, 0, 0}, {1, 4 * S, 0, 0, 0}},
         .incarnations_count = 2},
        {.number = 1,
         .incarnations = {{0, S, 5 * S / 2, 1, CK_TIME_MS},
                          {1, 3 * S, 0, 1, CK_TIME_MS}},
         .incarnations_count = 2}};
    struct report report = {.present = 2,
                            .size = 2,
                            .ranks = rows,
                            .ranks_count = 2,
                            .whole = {0, 9 * S}};

    (void)state;
    say(page_ends, &report);
    assert_non_null(
        strstr(text, " ranks 0 and 1 were started again at 3.00 s (restart 1), "
                     "1.00 s +- 1.00 ms after the first of them ended\n"));
    rows[1].incarnations[1].error = 2 * S; /* which was first is not known */
    say(page_ends, &report);
    assert_non_null(strstr(text, " again at 3.00 s (restart 1)\n"));
    rows[1].incarnations[1].error = -1;
    say(page_ends, &report);
    assert_null(strstr(text, "after"));
    rows[1].incarnations[1].domain = 0;
    say(page_ends, &report);
    assert_non_null(strstr(text, ", 1.00 s after the first of them ended\n"));
}

static void where_no_rank_is_in_a_call_there_is_a_sentence(void **state)
{
    static const struct text_style style = {.columns = 0};
    struct report report = {.present = 1, .size = 1};
    size_t length;
    FILE *file;

    (void)state;
    for (int i = 0; i < 2; i++) {
        report.is_running = i == 1;
        free(text);
        text = NULL;
        file = open_memstream(&text, &length);
        assert_non_null(file);
        output_where(&report, &style, file);
        assert_int_equal(fclose(file), 0);
        assert_non_null(strstr(text, i == 0
                                         ? "\n The job has ended, and no rank"
                                         : "\n The job is running; no rank"));
    }
}

static void a_collective_in_which_no_rank_waited_is_no_news(void **state)
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
    assert_non_null(strstr(text, "1 of 2 ranks had waited in MPI_Bcast"));
}

/* Two ranks that wait for each other's message for so long, in a job that
 * usually takes 10 ms from one collective to the next, and end so. */
static void circle_say_of(ck_time_t time, const struct report_rank *end)
{
    static int32_t first[] = {0}, second[] = {1};
    static struct report_awaited awaited[] = {
        {.call = "MPI_Recv", .peer = 1, .tag = 7, .ranks = first},
        {.call = "MPI_Recv", .peer = 0, .tag = 7, .ranks = second}};
    static struct report_rank rows[2];
    struct report report = {.present = 2,
                            .size = 2,
                            .ranks = rows,
                            .ranks_count = 2,
                            .awaited = awaited,
                            .awaited_count = 2,
                            .usual = {.of = "collectives",
                                      .median = 10 * CK_TIME_MS,
                                      .longest = 40 * CK_TIME_MS}};

    for (int i = 0; i < 2; i++) {
        awaited[i].ranks_count = 1;
        awaited[i].comm = "MPI_COMM_WORLD";
        rows[i] = *end;
        rows[i].number = i;
        rows[i].open = "MPI_Recv";
        rows[i].is_open_api = true;
        rows[i].open_ns = time;
    }
    say(page_ends, &report);
}

static void circle_say(ck_time_t time, int signal)
{
    struct report_rank end = {.end = REPORT_END_SIGNAL, .code = signal};

    circle_say_of(time, &end);
}

static void a_healthy_job_that_was_interrupted_is_in_no_deadlock(void **state)
{
    (void)state;
    circle_say(30 * CK_TIME_MS, SIGINT);
    assert_non_null(strstr(text, " When it was interrupted:\n"));
    assert_non_null(strstr(text, "rank 0 had waited in MPI_Recv for rank 1"));
    assert_non_null(strstr(text, "for 30.0 ms\n"));
    assert_non_null(strstr(text, "No sign of a hang"));
    assert_null(strstr(text, "circle"));
    assert_null(strstr(text, "deadlock"));
}

static void a_deadlock_of_12_s_is_shown_and_not_claimed(void **state)
{
    (void)state;
    circle_say(12 * CK_TIME_S, SIGTERM);
    assert_non_null(
        strstr(text, "ranks 0 and 1 had waited for each other in a circle for "
                     "12.0 s\n"));
    assert_non_null(strstr(text,
                           "12.0 s is 1,200 times the median interval between "
                           "collectives (10.0 ms).\n"));
    assert_null(strstr(text, "hung"));
}

static void a_hang_is_claimed_from_30_s_on(void **state)
{
    (void)state;
    circle_say(29 * CK_TIME_S, SIGINT);
    assert_null(strstr(text, "hung"));
    assert_null(strstr(text, "deadlock"));
    circle_say(31 * CK_TIME_S, SIGINT);
    assert_non_null(strstr(text, "in a circle for 31.0 s: a deadlock\n"));
    assert_non_null(strstr(text, "(10.0 ms): the job hung.\n"));
}

/* Each has entered a collective of two of them that the next one has not. */
static void collectives_may_be_in_a_circle_too(void **state)
{
    static int32_t pairs[][2] = {{0, 1}, {1, 2}, {2, 0}};
    struct report_impasse still[3];
    struct report_rank rows[3];
    struct report report = {.present = 3,
                            .size = 3,
                            .ranks = rows,
                            .ranks_count = 3,
                            .impasses = still,
                            .impasses_count = 3,
                            .usual = {.of = "collectives",
                                      .median = 10 * CK_TIME_MS,
                                      .longest = 40 * CK_TIME_MS}};

    (void)state;
    for (int i = 0; i < 3; i++) {
        still[i] = (struct report_impasse){.call = "MPI_Barrier",
                                           .size = 2,
                                           .number = 1,
                                           .ranks = pairs[i],
                                           .waited = 1,
                                           .absent = 1,
                                           .is_sure = true};
        rows[i] = (struct report_rank){.number = i,
                                       .end = REPORT_END_SIGNAL,
                                       .code = SIGINT,
                                       .open = "MPI_Barrier",
                                       .is_open_api = true,
                                       .open_ns = 12 * CK_TIME_S};
    }
    say(page_ends, &report);
    assert_non_null(strstr(
        text, "ranks 0-2 had waited for each other in a circle for 12.0 s\n"));
    still[2].is_sure = false;
    say(page_ends, &report);
    assert_null(strstr(text, "circle"));
}

static void where_a_rank_died_the_others_waited_for_it(void **state)
{
    (void)state;
    circle_say(12 * CK_TIME_S, SIGSEGV);
    assert_null(strstr(text, "interrupted"));
    assert_non_null(strstr(text, " rank 0 waited in MPI_Recv for rank 1"));
}

static void ranks_that_ended_when_they_were_asked_did_not_die(void **state)
{
    struct report_rank lost = {
        .end = REPORT_END_EXITED, .code = 195, .is_unfinalized = true};
    struct report_rank caught = {.end = REPORT_END_EXITED,
                                 .code = 3,
                                 .asked = SIGTERM,
                                 .is_unfinalized = true};

    (void)state;
    circle_say_of(2 * CK_TIME_S, &lost);
    assert_non_null(strstr(text, " When it was interrupted:\n"));
    assert_non_null(
        strstr(text, "lost its mpirun and was ended by Open MPI (status 195)"));
    circle_say_of(2 * CK_TIME_S, &caught);
    assert_non_null(strstr(text, " When it was interrupted:\n"));
    assert_non_null(strstr(text, " was interrupted by signal 15 "
                                 "(Terminated), ended with status 3"));
    caught.asked = 0;
    circle_say_of(2 * CK_TIME_S, &caught);
    assert_null(strstr(text, "interrupted"));
    assert_non_null(strstr(text, " ended with status 3 without"));
}

static void one_rank_is_named_and_waits_for_no_other(void **state)
{
    struct report_rank rank = {
        .number = 0, .mpi_calls = 1, .mpi = S, .waited = S};
    struct report report = {.present = 1,
                            .size = 1,
                            .whole = {0, 10 * S},
                            .region = {0, 10 * S},
                            .region_kind = REPORT_REGION_WHOLE,
                            .ranks = &rank,
                            .ranks_count = 1,
                            .efficiency = {.ranks = 1,
                                           .parallel = 0.9,
                                           .load_balance = 1,
                                           .communication = 0.9,
                                           .useful = 9 * S,
                                           .region = 10 * S}};

    (void)state;
    say(page_host_answer, &report);
    assert_non_null(strstr(text, " Rank 0 was outside MPI 90.0 % of its time "
                                 "(9.00 s of 10.0 s) and waited 10.0 % in "
                                 "MPI.\n"));
    report.size = 4;
    say(page_host_answer, &report);
    assert_non_null(strstr(text, " 1 of 4 ranks was outside MPI 90.0 % of "));
}

static void
what_is_spawned_and_not_recorded_has_its_command_and_line(void **state)
{
    struct report_call calls[2] = {
        {.name = "MPI_Barrier"},
        {.name = "MPI_Comm_spawn",
         .place = {.function = "start", .file = "master.c", .line = 41}}};
    struct report_rank ranks[2] = {{.number = 0}, {.number = 1}};
    struct report report = {.present = 2,
                            .size = 2,
                            .ranks = ranks,
                            .ranks_count = 2,
                            .calls = calls,
                            .calls_count = 2,
                            .spawned = 3,
                            .spawned_command = "./bin/worker --fast"};

    (void)state;
    say(page_spawned, &report);
    assert_non_null(strstr(text, " MPI_Comm_spawn (master.c:41) started 3 "
                                 "processes of worker that are not"));
    report.spawned = 1;
    report.spawned_command = NULL;
    report.calls_count = 1;
    say(page_spawned, &report);
    assert_non_null(strstr(text, " MPI_Comm_spawn started 1 process that is "));
    ranks[1].is_shared = true;
    say(page_spawned, &report);
    assert_null(strstr(text, "not recorded"));
}

static void late_rank(const struct page *page)
{
    page_late_rank(page, 0);
}

static void what_is_not_known_of_waits_is_not_zero(void **state)
{
    struct report_straggler late = {.rank = 0, .caused = 160 * CK_TIME_MS};
    struct report_rank rows[] = {{.number = 0, .mpi_calls = 1, .host = "a"},
                                 {.number = 1, .mpi_calls = 1, .host = "b"}};
    struct report report = {.present = 2,
                            .size = 2,
                            .region = {0, CK_TIME_S},
                            .ranks = rows,
                            .ranks_count = 2,
                            .stragglers = &late,
                            .stragglers_count = 1,
                            .efficiency = {.ranks = 2,
                                           .region = CK_TIME_S,
                                           .useful = CK_TIME_S,
                                           .parallel = 0.5}};

    (void)state;
    rows[0].end = rows[1].end = REPORT_END_EXITED;
    rows[1].waited_unknown = CK_TIME_S;
    say(page_host_answer, &report);
    assert_null(strstr(text, "waited 0.0 %"));
    assert_non_null(strstr(text, "unknown: 50.0 %"));
    assert_non_null(strstr(text, "MPI calls whose waits are not\n"
                                 "     recorded.\n"));
    say(page_hosts, &report);
    assert_non_null(strstr(text, "  unknown "));
    say(late_rank, &report);
    assert_non_null(strstr(text, "Others waited at least 160 ms for rank 0"));
    rows[1].waited_unknown = 0;
    say(page_host_answer, &report);
    assert_non_null(strstr(text, "waited 0.0 %"));
    say(late_rank, &report);
    assert_non_null(strstr(text, "Others waited 160 ms for rank 0"));
}

static void without_steps_none_are_counted(void **state)
{
    struct report_rank row = {.mpi_calls = 1, .host = "a"};
    struct report_straggler late = {
        .caused = S, .slow = {20, 0.95, S / 10}, .delays = {.rank = 0}};
    struct report report = {.present = 1,
                            .size = 1,
                            .region = {0, S},
                            .ranks = &row,
                            .ranks_count = 1,
                            .stragglers = &late,
                            .stragglers_count = 1,
                            .efficiency = {.ranks = 1, .region = S}};

    (void)state;
    row.end = REPORT_END_EXITED;
    late.slow.steps = 0;
    say(page_hosts, &report);
    assert_null(strstr(text, "STEP"));
    say(page_mpi, &report);
    assert_null(strcasestr(text, "step"));
    row.steps = 144;
    report.steps = 144;
    late.slow.steps = 20;
    say(page_hosts, &report);
    assert_non_null(strstr(text, "STEP"));
    say(page_mpi, &report);
    assert_non_null(strstr(text, "95.0 % of it in 20 of 144 steps"));
}

static void a_rank_of_a_job_that_runs_was_still_running(void **state)
{
    struct report_rank row = {.end = REPORT_END_UNKNOWN, .mpi_calls = 1};
    struct report report = {.present = 1,
                            .size = 1,
                            .has_ranks = true,
                            .is_running = true,
                            .ranks = &row,
                            .ranks_count = 1};

    (void)state;
    say(page_running, &report);
    assert_non_null(strstr(text, " rank 0 was still running"));
    say(page_ends, &report);
    assert_null(strstr(text, "recorded end"));
    report.is_running = false;
    say(page_ends, &report);
    assert_non_null(strstr(text, " rank 0 has no recorded end"));
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

static void equal_losses_are_both_named(void **state)
{
    struct report report = {.present = 4,
                            .size = 4,
                            .efficiency = {.ranks = 4,
                                           .region = S,
                                           .parallel = 0.25,
                                           .load_balance = 0.5,
                                           .serialisation = 0.502,
                                           .transfer = 0.995}};

    (void)state;
    say(page_host_answer, &report);
    assert_non_null(strstr(text, "(load balance 0.50)\n   and ranks that are "
                                 "late in turn (serialisation 0.50).\n"));
    report.efficiency.serialisation = 0.9;
    say(page_host_answer, &report);
    assert_non_null(strstr(text, "(load balance 0.50).\n"));
}

static void work_without_a_cpu_is_not_called_good(void **state)
{
    struct report report = {
        .present = 2,
        .size = 2,
        .efficiency = {.ranks = 2,
                       .region = S,
                       .parallel = 0.95,
                       .useful = 2 * S,
                       .outside = {.ns[REPORT_OUTSIDE_READY] = S},
                       .load_balance = 0.98,
                       .serialisation = 0.97,
                       .transfer = 1}};

    (void)state;
    say(page_host_answer, &report);
    assert_null(strstr(text, "little to gain"));
    assert_non_null(strstr(text, "0.95, but ranks had no CPU for 50.0 % of"));
    report.efficiency.outside.ns[REPORT_OUTSIDE_READY] = S / 10;
    say(page_host_answer, &report);
    assert_non_null(strstr(text, "0.95: little to gain"));
}

/* pthread_join and a barrier are no locks. */
static void who_waits_for_a_thread_does_not_wait_for_a_lock(void **state)
{
    struct report report = {
        .present = 2,
        .size = 2,
        .efficiency = {.ranks = 2,
                       .region = S,
                       .parallel = 0.5,
                       .useful = S,
                       .outside = {.ns[REPORT_OUTSIDE_LOCK] = S}}};

    (void)state;
    say(page_host_answer, &report);
    assert_non_null(
        strstr(text, "Outside MPI: 1.00 s waiting for locks or threads.\n"));
}

/* Four ranks that did the same, and what is not the same. */
static void the_same_on_several_ranks_is_listed_once(void **state)
{
    struct report_activity launch = {.call = "launch",
                                     .place = {.file = "a.c", .line = 7},
                                     .range = "forward"};
    struct report_activity other = launch;
    struct report_cause causes[] = {
        {.cause = CAUSE_LAUNCH_LATENCY, .rank = 3, .ns = 10 * S, .did = launch},
        {.cause = CAUSE_LAUNCH_LATENCY, .rank = 0, .ns = 9 * S, .did = launch},
        {.cause = CAUSE_LAUNCH_LATENCY, .rank = 1, .ns = 9 * S, .did = launch},
        {.cause = CAUSE_LAUNCH_LATENCY, .rank = 4, .ns = 8 * S, .did = other},
        {.cause = CAUSE_GPU_API, .rank = 1, .ns = 7 * S, .did = launch},
        {.cause = CAUSE_LAUNCH_LATENCY, .rank = 2, .ns = 5 * S, .did = launch},
        {.cause = CAUSE_LAUNCH_LATENCY,
         .rank = 5,
         .ns = 5 * S - 1,
         .did = launch}};
    struct report_device device = {.wall = 100 * S};
    struct report report = {.devices = &device,
                            .devices_count = 1,
                            .all.wall = 100 * S,
                            .causes = causes,
                            .causes_count = 7};
    size_t listed[PAGE_FINDINGS];
    const char *first, *second;

    (void)state;
    causes[3].did.place.line = 8;
    assert_int_equal(page_findings(&report, listed), 4);
    assert_int_equal(listed[0], 0);
    assert_int_equal(listed[1], 3);
    assert_int_equal(listed[2], 4);
    assert_int_equal(listed[3], 6);
    say(page_why, &report);
    first = strstr(text, "The same on ranks 0-2: 23.0 % more (23.0 s).");
    assert_non_null(first);
    second = strstr(text, " 2. ");
    assert_non_null(second);
    assert_true(first < second);
    assert_null(strstr(second, "The same on"));
    assert_non_null(strstr(text, " 4. 5.0 % of all device time"));
}

static void a_long_wait_for_the_start_is_not_called_good(void **state)
{
    struct report_cause edge = {
        .cause = CAUSE_MPI_WAIT, .wait = "wait_at_init", .ns = S};
    struct report report = {.present = 2,
                            .size = 2,
                            .whole = {0, 3 * S},
                            .region = {S, 3 * S},
                            .edges = &edge,
                            .edges_count = 1,
                            .efficiency = {.ranks = 2,
                                           .region = 2 * S,
                                           .parallel = 0.99,
                                           .useful = 4 * S,
                                           .load_balance = 1,
                                           .serialisation = 0.99,
                                           .transfer = 1}};

    (void)state;
    say(page_host_answer, &report);
    assert_null(strstr(text, "little to gain"));
    assert_non_null(strstr(text, "ranks waited 1.00 s there (16.7 % of"));
    edge.ns = S / 10;
    say(page_host_answer, &report);
    assert_non_null(strstr(text, "0.99: little to gain"));
}

static void ranks_that_poll_may_wait_for_others(void **state)
{
    struct report_rank ranks[] = {{.number = 0, .mpi_calls = 400},
                                  {.number = 1, .mpi_calls = 100}};
    struct report_function functions[] = {
        {.name = "MPI_Test", .kind = "mpi", .calls = 300},
        {.name = "MPI_Isend", .kind = "mpi", .calls = 200},
    };
    struct report report = {.size = 2,
                            .present = 2,
                            .ranks = ranks,
                            .ranks_count = 2,
                            .functions = functions,
                            .functions_count = 2,
                            .region = {0, 1000},
                            .efficiency = {.ranks = 2,
                                           .region = 1000,
                                           .useful = 1990,
                                           .parallel = 0.995,
                                           .load_balance = 1,
                                           .serialisation = 1,
                                           .transfer = 1}};

    (void)state;
    say(page_host_answer, &report);
    assert_non_null(
        strstr(text, "Ranks polled 300 times (most with MPI_Test)"));
    assert_null(strstr(text, "waited 0.0 %"));
    assert_null(strstr(text, "little to gain"));
    functions[0].calls = 3;
    say(page_host_answer, &report);
    assert_non_null(strstr(text, "little to gain"));
}

static void the_first_sentence_fits_the_page(void **state)
{
    struct report_rank rows[] = {{.number = 0, .mpi_calls = 1},
                                 {.number = 1, .mpi_calls = 1}};
    struct report report = {.present = 2,
                            .size = 2,
                            .region = {0, 12345 * CK_TIME_MS},
                            .ranks = rows,
                            .ranks_count = 2,
                            .efficiency = {.ranks = 2,
                                           .region = 12345 * CK_TIME_MS,
                                           .useful = 12344 * CK_TIME_MS,
                                           .parallel = 0.5}};

    (void)state;
    rows[1].mpi = rows[1].waited = 11111 * CK_TIME_MS;
    say(page_host_answer, &report);
    assert_non_null(strstr(text, "and waited 45.0 %"));
    for (const char *line = text; *line != '\0';) {
        size_t length = strcspn(line, "\n");

        assert_true(length <= PAGE_COLUMNS);
        line += length + (line[length] == '\n');
    }
}

static void a_loss_of_samples_is_printed_beside_their_shares(void **state)
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
    /* What else was lost does not count for them. */
    report.samples.switches_lost = 27158;
    say(page_hot, &report);
    assert_null(strstr(text, "lost"));
}

/* What a thread did that samples met at half of its time. */
static void trust_say(const struct page *page)
{
    output_text_part(page->report, page->style, TEXT_TRUST, page->file);
}

/* Each line of the part has at most 100 columns; they are ASCII here. */
static void assert_fits(void)
{
    for (const char *at = text; *at != '\0';) {
        size_t length = strcspn(at, "\n");

        assert_in_range(length, 0, 100);
        at += length + (at[length] == '\n');
    }
}

static void stacks_of_samples_fit_the_page(void **state)
{
    struct report report = {.present = 1,
                            .size = 1,
                            .samples.stacks = {.count = 1234567,
                                               .whole = 1100000,
                                               .cut = 50000,
                                               .unknown = 40000,
                                               .wrong = 30000,
                                               .deep = 14567,
                                               .pointers = 90000,
                                               .frames = 99999999,
                                               .deepest = 1023,
                                               .bytes = 32768}};
    const char *at;

    (void)state;
    say(trust_say, &report);
    at = strstr(text, "stacks of 1234567 samples unwound: ");
    assert_non_null(at);
    assert_in_range(strcspn(at, "\n"), 1, 100 - 13);
    assert_non_null(strstr(at, "in part by frame pointers"));
}

#define LONG_NAME "a_function_whose_name_is_rather_long_in_all"

static void tables_of_long_names_fit_the_page(void **state)
{
    struct place place = {LONG_NAME, LONG_NAME ".c", 1234};
    struct report_memory memory = {
        .rank = 0, .minor = 1, .major = 1000000, .sampled = S, .faulting = S};
    struct report_fault_place fault = {.place = place,
                                       .callers.caller = place,
                                       .minor = 4001,
                                       .major = 17,
                                       .ranks = 1};
    struct report_launch_row launch = {.work = LONG_NAME,
                                       .place = place,
                                       .frames_count = 6,
                                       .share = 0.5,
                                       .ns = S};
    struct report report = {.has_ranks = true,
                            .memory = &memory,
                            .memory_count = 1,
                            .fault_places = &fault,
                            .fault_places_count = 1,
                            .launch_stacks = {.rows = &launch,
                                              .count = 1,
                                              .matched = 1234567890,
                                              .deferred = 1234567890,
                                              .unmatched = 1234567890,
                                              .unknown = 1234567890,
                                              .matched_ns = S}};

    (void)state;
    for (size_t i = 0; i < launch.frames_count; i++) {
        launch.frames[i] = place;
    }
    say(page_memory, &report);
    assert_non_null(strstr(text, "PAGE FAULTS"));
    assert_fits();
    fault.minor = fault.major = 0;
    say(page_memory, &report);
    assert_null(strstr(text, "PAGE FAULTS"));
    say(page_launch_stacks, &report);
    assert_non_null(strstr(text, "LAUNCHED BY"));
    assert_fits();
    report.has_ranks = false;
    say(page_launch_stacks, &report);
    assert_null(strstr(text, "rank 0"));
    assert_fits();
}

/* GROMACS without symbols: eight regions of one library. A thread of a program
 * without ranks has none, and where no table has a row there is no gap. */
static void regions_of_a_file_without_symbols_have_addresses(void **state)
{
    struct report_team_region regions[] = {
        {.place = {"libgromacs_mpi.so.7.0.0+0x44b990", NULL, 0},
         .count = 5,
         .threads = 2,
         .wall = S},
        {.place = {"libgromacs_mpi.so.7.0.0+0x463d30", NULL, 0},
         .count = 5,
         .threads = 2,
         .wall = S}};
    struct report_thread thread = {.tid = 77, .number = 0, .lock_wait = S};
    struct report_lock lock = {.count = 1};
    struct report report = {.region = {0, 2 * S},
                            .threads = {.regions = regions,
                                        .regions_count = 2,
                                        .threads = &thread,
                                        .threads_count = 1}};

    (void)state;
    say(page_threads, &report);
    assert_non_null(strstr(text, " libgromacs_mpi.so+0x44b990 "));
    assert_non_null(strstr(text, " libgromacs_mpi.so+0x463d30 "));
    assert_non_null(strstr(text, "\n    -       77    0 "));
    assert_fits();
    report.threads = (struct report_threads){.locks = &lock, .locks_count = 1};
    say(page_threads, &report);
    assert_string_equal(text, "");
}

static void half_say(const struct page *page)
{
    const struct report_activity did = {
        .sampled = {
            .total = 2 * S, .ns = S, .place = {"solve", "solver.c", 12}}};

    page_activity(page, &did);
}

static void a_loss_of_samples_is_printed_with_what_a_rank_did(void **state)
{
    struct report report = {.samples = {.total = 10 * S,
                                        .count = 1000,
                                        .records = 900,
                                        .records_lost = 100}};

    (void)state;
    say(half_say, &report);
    assert_non_null(
        strstr(text, "(50 % of samples; 10.0 % of all samples were lost)"));
}

static uint64_t minor_faults;

static void faulting_say(const struct page *page)
{
    const struct report_activity did = {
        .sampled = {.total = 2 * S,
                    .ns = S,
                    .place = {"fill", "fill.c", 12},
                    .faulting = S / 2,
                    .minor = minor_faults}};

    page_activity(page, &did);
}

/* The kernel runs for an interrupt, too, where no system call led. */
static void page_faults_are_claimed_where_some_were_sampled(void **state)
{
    struct report report = {
        .samples = {.total = 10 * S, .count = 1000, .records = 1000}};

    (void)state;
    minor_faults = 0;
    say(faulting_say, &report);
    assert_non_null(
        strstr(text, "50 % of it handling page faults or interrupts"));
    minor_faults = 4001;
    say(faulting_say, &report);
    assert_non_null(
        strstr(text, "50 % of it handling page faults (4,001 minor in all)"));
}

static struct report_activity waiting;

static void waiting_say(const struct page *page)
{
    page_activity(page, &waiting);
}

static void where_it_waited_is_by_what_it_called(void **state)
{
    struct report report = {.present = 1};

    (void)state;
    waiting = (struct report_activity){
        .running = {.total = S, .blocked = S / 10 * 9},
        .sampled = {.total = S,
                    .ns = S,
                    .place = {"run_filter", "filter.c", 2},
                    .is_waits = true,
                    .called = "wait4"}};
    say(waiting_say, &report);
    assert_string_equal(text,
                        "blocked in the kernel (90.0 % of it)\n"
                        "    in wait4 for a child process, called by "
                        "run_filter (filter.c:2) (100.0 % of waits with a "
                        "stack)");
    waiting.sampled.called = "msgrcv";
    say(waiting_say, &report);
    assert_non_null(strstr(text, "in msgrcv, called by run_filter"));
    waiting.sampled.called = NULL;
    say(waiting_say, &report);
    assert_non_null(strstr(text, "    in run_filter (filter.c:2)"));
    assert_null(strstr(text, "called by"));
}

/* It slept: 5 of 6 ms. */
static void one_sample_is_no_computation(void **state)
{
    struct report_rank rank = {.end = REPORT_END_SIGNAL,
                               .code = SIGTERM,
                               .end_time = 2 * S,
                               .last = "MPI_Barrier",
                               .last_end = 2 * S - 6 * CK_TIME_MS,
                               .after = {.total = 10 * CK_TIME_MS,
                                         .ns = 10 * CK_TIME_MS,
                                         .place = {"nap", "a.c", 7}}};
    struct report report = {.size = 1,
                            .present = 1,
                            .whole = {0, 2 * S},
                            .samples = {.count = 100, .total = S},
                            .ranks = &rank,
                            .ranks_count = 1};

    (void)state;
    say(page_ends, &report);
    assert_non_null(strstr(text, "its last call was MPI_Barrier"));
    assert_null(strstr(text, "computed"));
    rank.last_end = S;
    rank.after.total = rank.after.ns = 50 * CK_TIME_MS;
    say(page_ends, &report);
    assert_non_null(strstr(text, "then it computed in nap"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(one_sample_is_no_computation, teardown),
        cmocka_unit_test_teardown(the_same_on_several_ranks_is_listed_once,
                                  teardown),
        cmocka_unit_test_teardown(many_small_causes_are_summed_by_kind,
                                  teardown),
        cmocka_unit_test_teardown(
            a_healthy_job_that_was_interrupted_is_in_no_deadlock, teardown),
        cmocka_unit_test_teardown(a_deadlock_of_12_s_is_shown_and_not_claimed,
                                  teardown),
        cmocka_unit_test_teardown(a_hang_is_claimed_from_30_s_on, teardown),
        cmocka_unit_test_teardown(collectives_may_be_in_a_circle_too, teardown),
        cmocka_unit_test_teardown(where_it_waited_is_by_what_it_called,
                                  teardown),
        cmocka_unit_test_teardown(where_a_rank_died_the_others_waited_for_it,
                                  teardown),
        cmocka_unit_test_teardown(
            ranks_that_ended_when_they_were_asked_did_not_die, teardown),
        cmocka_unit_test_teardown(what_is_not_known_of_waits_is_not_zero,
                                  teardown),
        cmocka_unit_test_teardown(
            a_loss_of_samples_is_printed_beside_their_shares, teardown),
        cmocka_unit_test_teardown(
            a_loss_of_samples_is_printed_with_what_a_rank_did, teardown),
        cmocka_unit_test_teardown(who_had_the_cpus_is_one_sentence, teardown),
        cmocka_unit_test_teardown(the_same_advice_is_printed_once, teardown),
        cmocka_unit_test_teardown(a_counter_of_the_run_is_held_against_the_run,
                                  teardown),
        cmocka_unit_test_teardown(
            a_collective_in_which_no_rank_waited_is_no_news, teardown),
        cmocka_unit_test_teardown(
            what_is_spawned_and_not_recorded_has_its_command_and_line,
            teardown),
        cmocka_unit_test_teardown(one_rank_is_named_and_waits_for_no_other,
                                  teardown),
        cmocka_unit_test_teardown(
            without_some_ranks_no_loss_of_efficiency_has_a_cause, teardown),
        cmocka_unit_test_teardown(without_steps_none_are_counted, teardown),
        cmocka_unit_test_teardown(a_rank_of_a_job_that_runs_was_still_running,
                                  teardown),
        cmocka_unit_test_teardown(equal_losses_are_both_named, teardown),
        cmocka_unit_test_teardown(work_without_a_cpu_is_not_called_good,
                                  teardown),
        cmocka_unit_test_teardown(
            who_waits_for_a_thread_does_not_wait_for_a_lock, teardown),
        cmocka_unit_test_teardown(a_long_wait_for_the_start_is_not_called_good,
                                  teardown),
        cmocka_unit_test_teardown(the_first_sentence_fits_the_page, teardown),
        cmocka_unit_test_teardown(
            page_faults_are_claimed_where_some_were_sampled, teardown),
        cmocka_unit_test_teardown(stacks_of_samples_fit_the_page, teardown),
        cmocka_unit_test_teardown(tables_of_long_names_fit_the_page, teardown),
        cmocka_unit_test_teardown(
            regions_of_a_file_without_symbols_have_addresses, teardown),
        cmocka_unit_test_teardown(ranks_that_poll_may_wait_for_others,
                                  teardown),
        cmocka_unit_test_teardown(a_pause_between_two_clocks_has_their_errors,
                                  teardown),
        cmocka_unit_test_teardown(
            where_no_rank_is_in_a_call_there_is_a_sentence, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
