/* test_textlate.c - late ranks and CPUs that were short, as the text has them
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

#include "merge/output/text/page.h"

#define S CK_TIME_S

static char *text;

static int teardown(void **state)
{
    (void)state;
    free(text);
    text = NULL;
    return 0;
}

static void print(void (*part)(const struct page *page),
                  const struct report *report)
{
    static const struct text_style style = {.columns = 400};
    struct page_given given = {.count = 0};
    struct page page = {.report = report, .style = &style, .given = &given};
    size_t length;

    free(text);
    text = NULL;
    page.file = open_memstream(&text, &length);
    assert_non_null(page.file);
    part(&page);
    assert_int_equal(fclose(page.file), 0);
}

static bool has(const char *part)
{
    return strstr(text, part) != NULL;
}

/* The same, wherever lines break. */
static bool has_words(const char *part)
{
    size_t used = 0;

    for (const char *c = text; *c != '\0'; c++) {
        bool is_blank = *c == ' ' || *c == '\n';

        if (!is_blank || (used > 0 && text[used - 1] != ' ')) {
            text[used++] = is_blank ? ' ' : *c;
        }
    }
    text[used] = '\0';
    return has(part);
}

/* ---- late ranks --------------------------------------------------------- */

static const struct report_activity locked = {
    .call = "pthread_mutex_lock",
    .place = {"step", "a.c", 20},
    .holder = {.tid = 8, .place = {"hold", "a.c", 12}}};
static const struct report_activity solves = {
    .sampled = {.total = 2 * S,
                .ns = 2 * S,
                .place = {"solve", "solver.c", 12}},
    .before = "MPI_Allreduce"};

static struct report_delay items[2];
static struct report_straggler late;
static struct report report;

/* Rank 1 of 2, late for a lock and for a computation. */
static int setup(void **state)
{
    (void)state;
    items[0] = (struct report_delay){.rank = 1, .did = locked, .ns = 2 * S};
    items[1] = (struct report_delay){.rank = 1, .did = solves, .ns = S};
    late = (struct report_straggler){.rank = 1,
                                     .caused = 3 * S,
                                     .steps = 58,
                                     .of_steps = 143,
                                     .step_median = S / 100,
                                     .slow = {20, 0.95, S / 10},
                                     .delays = {.rank = 1,
                                                .kind = CAUSE_LOCK,
                                                .kind_ns = 2 * S,
                                                .ns = 2 * S,
                                                .did = locked,
                                                .items = items,
                                                .count = 2}};
    report = (struct report){.present = 2,
                             .size = 2,
                             .region = {0, 10 * S},
                             .stragglers = &late,
                             .stragglers_count = 1,
                             .steps = 144,
                             .efficiency = {.ranks = 2, .region = 10 * S}};
    return 0;
}

static void advice_is_below_the_cause_that_it_is_for(void **state)
{
    const char *first, *advice, *second;

    (void)state;
    print(page_mpi, &report);
    first = strstr(text, "held by thread 8");
    advice = strstr(text, "    Try: hold the lock");
    second = strstr(text, "    And 33.3 %:");
    assert_non_null(first);
    assert_non_null(advice);
    assert_non_null(second);
    assert_true(first < advice && advice < second);
}

/* Rank 0 did one thing for 40 %, rank 1 several for 30, 20 and 10 %. */
static void a_smaller_share_is_not_before_a_larger_one(void **state)
{
    struct report_activity other = {.call = "nanosleep",
                                    .place = {"nap", "a.c", 30}};
    struct report_delay all[4] = {
        {.rank = 0, .did = other, .ns = 4 * S},
        {.rank = 1, .did = locked, .ns = 3 * S},
        {.rank = 1, .did = solves, .ns = 2 * S},
        {.rank = 1, .did = other, .ns = S},
    };

    (void)state;
    late.caused = 10 * S;
    late.delays = (struct report_delays){.rank = 1,
                                         .kind = CAUSE_LOCK,
                                         .kind_ns = 3 * S,
                                         .ns = 3 * S,
                                         .did = locked,
                                         .rank_ns = 6 * S,
                                         .items = all,
                                         .count = 4};
    print(page_mpi, &report);
    assert_false(has("(30.0 %"));
    assert_true(has("(60.0 % of that time, by several things),\n"
                    "    the largest part of it (50.0 %) in "
                    "pthread_mutex_lock"));
    assert_true(has("    And 40.0 %: rank 0, in nanosleep"));
    all[0].ns = 3 * S;
    print(page_mpi, &report);
    assert_true(has("(30.0 % of that time)\n    in pthread_mutex_lock"));
    assert_true(has("    And 30.0 %: rank 0, in nanosleep"));
}

/* Of all that a rank did, which is more than I/O: rank 0 has one thing of 25 %,
 * rank 1 reads of 5 % each at four places, and computed for 10 %. */
static void of_several_things_the_largest_is_named(void **state)
{
    struct report_activity reads = {.call = "read",
                                    .place = {"load", "a.c", 30}};
    struct report_delay all[2] = {{.rank = 0, .did = locked, .ns = 25 * S},
                                  {.rank = 1, .did = solves, .ns = 10 * S}};

    (void)state;
    late.caused = 100 * S;
    late.delays = (struct report_delays){
        .rank = 1,
        .kind = CAUSE_IO,
        .kind_ns = 20 * S,
        .ns = 5 * S,
        .did = reads,
        .rank_ns = 30 * S,
        .largest = {1, CAUSE_HOST_COMPUTE, 10 * S, solves},
        .items = all,
        .count = 2};
    print(page_mpi, &report);
    assert_true(has("(30.0 % of that time, by several things),\n"
                    "    the largest part of it (33.3 %) computing in solve"));
    assert_false(has("in read"));
    assert_true(has("    And 25.0 %: rank 0, in pthread_mutex_lock"));
    all[0].ns = 20 * S; /* no more than the I/O */
    print(page_mpi, &report);
    assert_true(has("(20.0 % of that time)\n    in I/O,\n"
                    "    the largest part of it (25.0 %) in read"));
}

/* Larger ones of other ranks fill the list. */
static void what_is_not_listed_is_counted(void **state)
{
    struct report_delay all[8];

    (void)state;
    for (int i = 0; i < 8; i++) {
        all[i] = (struct report_delay){
            .rank = 2 + i, .did = locked, .ns = i == 0 ? 20 * S : 8 * S};
    }
    late.caused = 100 * S;
    late.delays =
        (struct report_delays){.rank = 1,
                               .kind = CAUSE_HOST_COMPUTE,
                               .kind_ns = 22 * S,
                               .ns = S,
                               .did = solves,
                               .rank_ns = 22 * S,
                               .largest = {1, CAUSE_HOST_COMPUTE, S, solves},
                               .items = all,
                               .count = 8};
    print(page_mpi, &report);
    assert_true(has("(22.0 % of that time, by several things),\n"
                    "    the largest part of it (4.5 %) computing in solve"));
}

static void steps_are_those_that_the_table_counts(void **state)
{
    (void)state;
    print(page_mpi, &report);
    assert_true(
        has("for rank 1, 95.0 % of it in 20 of 144 steps (median 100 ms).\n"));
}

static void a_window_is_not_contradicted(void **state)
{
    (void)state;
    late.windows.count = 1;
    late.windows.items[0] = (struct report_window){.has_steps = true,
                                                   .first_step = 40,
                                                   .last_step = 49,
                                                   .of_steps = 144,
                                                   .share = 0.9};
    print(page_mpi, &report);
    assert_false(has("most in"));
    assert_true(
        has("for rank 1.\n    90.0 % of it in steps 40 to 49 (of 144)"));
}

static void a_single_event_has_its_time(void **state)
{
    (void)state;
    late.windows.has_event = true;
    late.windows.event = (struct report_window){.has_steps = true,
                                                .first_step = 57,
                                                .last_step = 57,
                                                .of_steps = 144,
                                                .start = 2 * S,
                                                .end = 4 * S,
                                                .share = 0.96};
    late.windows.outside = 0.04;
    print(page_mpi, &report);
    assert_true(has("for rank 1.\n    96.0 % of it at once, in step 57 (of "
                    "144), from 2.00 s to 4.00 s of the run.\n"));
    assert_false(has("in no step"));
}

static void what_is_before_the_first_step_has_a_line(void **state)
{
    (void)state;
    late.windows.outside = 0.25;
    print(page_mpi, &report);
    assert_true(has("\n    25.0 % of it in no step (before the first one, "));
}

/* Its last sample is in the interrupt that took the CPU away. */
static void who_had_no_cpu_handled_no_faults(void **state)
{
    (void)state;
    late.delays.kind = CAUSE_OFFCPU_RUNNABLE;
    late.delays.did = solves;
    late.delays.did.sampled.faulting = 2 * S;
    late.delays.did.running =
        (struct report_running){.total = S, .preempted = S - S / 1000};
    print(page_mpi, &report);
    assert_true(has("in solve (solver.c:12)"));
    assert_false(has("interrupts"));
    late.delays.did.sampled.minor = 100;
    print(page_mpi, &report);
    assert_true(has("% of it handling page faults (100 minor in all)"));
    late.delays.did.sampled.minor = 0;
    late.delays.did.running.preempted = 0;
    print(page_mpi, &report);
    assert_true(has("% of it handling page faults or interrupts"));
}

static void who_had_no_cpu_did_not_compute(void **state)
{
    (void)state;
    late.delays.kind = CAUSE_OFFCPU_RUNNABLE;
    late.delays.did = solves;
    late.delays.did.running =
        (struct report_running){.total = S, .preempted = S - S / 1000};
    print(page_mpi, &report);
    assert_true(has("ready to run without a CPU (99.9 % of it)\n    in solve "
                    "(solver.c:12)"));
    assert_false(has("computing in solve (solver.c:12) (100 % of samples),\n"
                     "    99.9 %"));
    late.delays.did.running.preempted = S / 5;
    print(page_mpi, &report);
    assert_true(has("computing in solve (solver.c:12)"));
    assert_true(has("20.0 % of it ready to run, without a CPU"));
}

/* ---- CPUs --------------------------------------------------------------- */

static struct report_rank rows[2];

/* Two ranks that wait 4 of 10 s each in MPI, where they spin; beside them other
 * programs. */
static void load_make(void)
{
    for (int i = 0; i < 2; i++) {
        rows[i] = (struct report_rank){
            .number = i, .mpi_calls = 9, .mpi = 4 * S, .waited = 4 * S};
    }
    report.ranks = rows;
    report.ranks_count = 2;
    report.load = (struct report_load){.verdict = REPORT_LOAD_OTHERS,
                                       .limit = REPORT_LIMIT_HOST,
                                       .host = "vm",
                                       .ranks = 2,
                                       .window = 10 * S,
                                       .cpus = 2,
                                       .ready = 2,
                                       .others = 1,
                                       .waited = 3 * S};
}

static void waiting_without_a_cpu_for_others_costs_nothing(void **state)
{
    (void)state;
    load_make();
    print(page_load, &report);
    assert_string_equal(text, "");
}

static void without_a_cpu_outside_of_waits_it_does(void **state)
{
    (void)state;
    load_make();
    report.efficiency.outside.ns[REPORT_OUTSIDE_READY] = S;
    print(page_load, &report);
    assert_true(has("other programs used 1 of 2 CPUs"));
    report.efficiency.outside.ns[REPORT_OUTSIDE_READY] = 0;
    rows[0].waited = 3 * S; /* in MPI for longer than it waited */
    print(page_load, &report);
    assert_true(has("other programs used 1 of 2 CPUs"));
}

/* A thread whose few samples are of tasks did not wait while it had no CPU. */
static void tasks_without_a_cpu_are_no_wait_of_a_team(void **state)
{
    struct report_team_wait wait = {
        .what = "end", .ns = 35 * S, .worked = S, .count = 1};
    struct report_thread thread = {.tid = 9, .team_wait = 35 * S};

    (void)state;
    report.threads.hybrid.outside = 80 * S;
    report.threads.waits = &wait;
    report.threads.waits_count = 1;
    report.threads.threads = &thread;
    report.threads.threads_count = 1;
    print(page_threads_answer, &report);
    assert_true(has(" OpenMP threads waited 35"));
    thread.ready = 33 * S;
    print(page_threads_answer, &report);
    assert_string_equal(text, "");
    wait.worked = S / 10;
    print(page_threads_answer, &report);
    assert_true(has(" OpenMP threads waited 35"));
    thread.ready = 0;
    wait.worked = 4 * S;
    print(page_threads_answer, &report);
    assert_string_equal(text, "");
}

static void threads_beside_the_ranks_are_not_the_ranks(void **state)
{
    (void)state;
    load_make();
    report.load.ready = 4;
    print(page_load, &report);
    assert_true(has("; 4 of the"));
    report.load.ready = 2;
    report.load.waited = 9 * S; /* longer than the ranks were in MPI */
    print(page_load, &report);
    assert_true(has(" The job's threads waited 9.00 s for a CPU"));
}

static void ranks_that_share_no_cpu_with_others_are_left_out(void **state)
{
    (void)state;
    load_make();
    report.efficiency.outside.ns[REPORT_OUTSIDE_READY] = S;
    report.load.ranks = 1;
    report.load.cpus = report.load.ready = 1;
    report.load.limit = REPORT_LIMIT_AFFINITY;
    print(page_load, &report);
    assert_true(has(" The threads of 1 of 2 ranks waited 3.00 s for a CPU"));
    assert_true(has("1 of the job's threads was ready there"));
    report.load.ready = 1.002; /* prints as 1 */
    print(page_load, &report);
    assert_true(has("1 of the job's threads was ready there"));
    report.load.ready = 0.6;
    print(page_load, &report);
    assert_true(has("0.6 of the job's threads were ready there"));
}

static void what_is_of_the_whole_run_is_called_so_in_a_part(void **state)
{
    struct report_counter counter = {.name = "page-faults", .value = 12};

    (void)state;
    load_make();
    report.efficiency.outside.ns[REPORT_OUTSIDE_READY] = S;
    report.region_kind = REPORT_REGION_GIVEN;
    report.counters = &counter;
    report.counters_count = 1;
    print(page_load, &report);
    assert_true(has(" In the whole run the job's threads waited 3.00 s"));
    print(page_counters, &report);
    assert_true(has("COUNTERS    (whole run)\n"));
    report.region_kind = REPORT_REGION_MPI;
    print(page_counters, &report);
    assert_false(has("whole run"));
}

static void what_a_rank_did_outside_of_the_region_is_a_sentence(void **state)
{
    struct report_cause edge = {.cause = CAUSE_MPI_WAIT,
                                .wait = "wait_at_init",
                                .ranks = 1,
                                .ns = 2 * S,
                                .did = {.call = "MPI_Init"},
                                .blamed = 1,
                                .seen_ns = S,
                                .seen = solves};

    (void)state;
    report.whole = (struct region){0, 20 * S};
    report.edges = &edge;
    report.edges_count = 1;
    print(page_mpi, &report);
    assert_true(has(" waited 2.00 s in MPI_Init for rank 1. For 50.0 % of it "
                    "that rank was\n    computing in solve"));
}

static void limits_of_the_delays_are_one_line_of_those_reached(void **state)
{
    (void)state;
    print(page_delay_limits, &report);
    assert_string_equal(text, "");
    report.limits = (struct report_delay_limits){
        .history = 1200, .costs = 1, .costs_ns = 2 * S, .waited_ns = 1999 * S};
    print(page_delay_limits, &report);
    assert_string_equal(text, "             delays are less exact; limits "
                              "reached: history (1,200 waits), causes (1 "
                              "wait)\n");
    report.limits = (struct report_delay_limits){
        .costs = 1, .costs_ns = 2 * S, .waited_ns = 2001 * S};
    print(page_delay_limits, &report);
    assert_string_equal(text, "");
    report.limits = (struct report_delay_limits){.syncs = 12, .holders = 3};
    print(page_delay_limits, &report);
    assert_true(has(" common instants (12 waits), lock holders (3"));
    assert_false(has("history"));
    report.limits = (struct report_delay_limits){.parts = 1, .places = 3};
    print(page_delay_limits, &report);
    assert_true(has("reached: activities (1 interval), code places"));
    report.limits = (struct report_delay_limits){.pairs = 2};
    print(page_delay_limits, &report);
    assert_true(has("reached: causes by wait (2 costs)\n"));
}

/* The same text twice would read like one thing that is printed twice. */
static void two_places_without_symbols_are_two(void **state)
{
    (void)state;
    late.delays.did = (struct report_activity){
        .call = "MPI_Alltoall", .place = {.function = "pw.x+0x4a2c94"}};
    items[0].did = late.delays.did;
    items[1].did = late.delays.did;
    items[1].did.call = items[0].did.call;
    items[1].did.place.function = "pw.x+0x4a2f1d";
    print(page_mpi, &report);
    assert_true(has("    in MPI_Alltoall (pw.x).\n"));
    assert_true(has("%: in MPI_Alltoall (pw.x), called from another place "
                    "there.\n"));
    items[1].did.place.function = "ph.x+0x4a2f1d";
    print(page_mpi, &report);
    assert_true(has("%: in MPI_Alltoall (ph.x).\n"));
}

/* A rank polls for messages. */
static void polls_make(void)
{
    static struct report_function polls = {
        .name = "MPI_Iprobe", .kind = "mpi", .calls = 9};
    static struct report_rank ranks[2] = {{.mpi_calls = 10}, {.number = 1}};

    report.functions = &polls;
    report.functions_count = 1;
    report.ranks = ranks;
    report.ranks_count = 2;
}

/* Which may be between two polls. */
static void a_sleep_of_a_rank_that_polls_is_blamed_with_doubt(void **state)
{
    static const char *const doubt =
        "    Whether it waited for others there is not known.\n";

    (void)state;
    late.delays.did = (struct report_activity){.call = "usleep",
                                               .place = {"wait", "a.c", 20}};
    items[0].did = late.delays.did;
    print(page_mpi, &report);
    assert_true(has("in usleep (a.c:20)"));
    assert_false(has(doubt));
    polls_make();
    print(page_mpi, &report);
    assert_true(has(doubt));
}

/* Several places of one kind are that kind, as below LATE RANKS. */
static void the_answer_names_the_kind_of_several_places(void **state)
{
    (void)state;
    late.delays.kind = CAUSE_IO;
    late.delays.did =
        (struct report_activity){.call = "read", .place = {"load", "a.c", 30}};
    items[0].did = late.delays.did;
    late.delays.ns = S / 2;
    print(page_late_answer, &report);
    assert_true(
        has_words("66.7 % of it because it spent longer in I/O, the largest "
                  "part"));
}

/* What a rank does while others wait is no reason why it came late. */
static void what_was_seen_meanwhile_is_called_that(void **state)
{
    struct report_cause cause = {.cause = CAUSE_MPI_WAIT,
                                 .wait = "wait_at_nxn",
                                 .ns = 3 * S,
                                 .rank = 0,
                                 .ranks = 1,
                                 .last = 1,
                                 .blamed = 1,
                                 .seen = solves,
                                 .seen_ns = 2 * S};
    int32_t rank = 0;
    struct report_device device = {.ranks = &rank, .ranks_count = 1};

    (void)state;
    report.devices = &device;
    report.devices_count = 1;
    report.has_ranks = true;
    cause.delays = late.delays;
    report.all.wall = 20 * S;
    report.causes = &cause;
    report.causes_count = 1;
    print(page_why, &report);
    assert_true(has("came late because it spent longer than the waiting rank "
                    "(66.7 % of that time)\n    in pthread_mutex_lock"));
    assert_true(has("    During the wait it was seen, 66.7 %, computing in "
                    "solve (solver.c:12).\n"));
    cause.seen = locked; /* it is the reason */
    print(page_why, &report);
    assert_false(has("it was seen"));
    report.causes_count = report.devices_count = 0;
    report.waits = &cause;
    report.waits_count = 1;
    late.delays.ns = late.delays.kind_ns = S / 10; /* explains nothing */
    print(page_mpi, &report);
    assert_false(has("because"));
    assert_true(has("    During 66.7 % of the wait it was seen\n    in "
                    "pthread_mutex_lock (a.c:20)"));
}

static void a_call_that_may_hide_waits_is_blamed_with_doubt(void **state)
{
    static const char *const doubt =
        "    Whether it waited for others there is not known.\n";
    static struct report_unknown_wait hides = {
        .place = {"step", "a.c", 20}, .ns = 3 * S, .count = 4};
    static struct report_call call = {.place = {"step", "a.c", 20},
                                      .total = 4 * S};

    (void)state;
    print(page_mpi, &report);
    assert_false(has(doubt));
    hides.call = call.name = locked.call;
    report.unknown_waits = &hides;
    report.unknown_waits_count = 1;
    report.calls = &call;
    report.calls_count = 1;
    print(page_mpi, &report);
    assert_true(has(doubt));
    hides.ns = S; /* of most of them it is known */
    print(page_mpi, &report);
    assert_false(has(doubt));
}

/* The rank, its line and how much of the waiting that explains are among the
 * first sentences. */
static void the_answer_names_who_was_waited_for_and_why(void **state)
{
    (void)state;
    late.delays.did = solves;
    print(page_late_answer, &report);
    assert_true(has_words("Rank 1 was waited for most (3.00 s), 66.7 % of it "
                          "because it spent longer computing in solve "
                          "(solver.c:12). "));
    late.delays.did.running =
        (struct report_running){.total = S, .preempted = S - S / 1000};
    print(page_late_answer, &report);
    assert_true(has_words("spent longer ready to run without a CPU, in solve "
                          "(solver.c:12). "));
    late.delays.did = locked;
    late.delays.did.sampled = solves.sampled;
    late.delays.did.sampled.is_others = true;
    late.delays.rank = 0;
    print(page_late_answer, &report);
    assert_true(
        has_words("because it had waited for rank 0, which spent longer "
                  "in pthread_mutex_lock (a.c:20) while its other "
                  "threads computed in solve (solver.c:12). "));
    late.delays.did.sampled.has_processes = true;
    print(page_late_answer, &report);
    assert_true(has_words("while its other threads or processes computed in"));
    late.delays.rank = 1;
    late.delays.did = solves;
    late.delays.did.running =
        (struct report_running){.total = S, .blocked = S - S / 1000};
    late.delays.did.sampled.is_waits = true;
    late.delays.did.sampled.called = "wait4";
    print(page_late_answer, &report);
    assert_true(has_words("longer blocked in the kernel in wait4, called by "
                          "solve (solver.c:12). "));
    late.delays.ns = late.delays.kind_ns = S / 2; /* next to nothing of it */
    print(page_late_answer, &report);
    assert_string_equal(text, " Rank 1 was waited for most (3.00 s).\n");
    late.ended = 2 * S;
    print(page_late_answer, &report);
    assert_true(has("(3.00 s): it had ended.\n"));
}

static void the_answer_names_no_rank_where_it_is_not_worth_it(void **state)
{
    struct report_straggler both[2];

    (void)state;
    late.error = S;
    both[0] = late;
    both[1] = late;
    both[1].rank = 0;
    both[1].caused = 2 * S;
    report.stragglers = both;
    report.stragglers_count = 2;
    print(page_late_answer, &report);
    assert_string_equal(text, ""); /* which of both is not known */
    both[0].error = both[1].error = 0;
    print(page_late_answer, &report);
    assert_true(has("Rank 1 was waited for most"));
    report.region.end = report.efficiency.region = 40 * S;
    print(page_late_answer, &report);
    assert_string_equal(text, "");
    report.region.end = report.efficiency.region = 10 * S;
    polls_make();
    print(page_late_answer, &report);
    assert_string_equal(text, ""); /* the longest waits may be in polls */
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        CASE(two_places_without_symbols_are_two),
        CASE(what_was_seen_meanwhile_is_called_that),
        CASE(a_sleep_of_a_rank_that_polls_is_blamed_with_doubt),
        CASE(the_answer_names_the_kind_of_several_places),
        CASE(a_call_that_may_hide_waits_is_blamed_with_doubt),
        CASE(advice_is_below_the_cause_that_it_is_for),
        CASE(a_smaller_share_is_not_before_a_larger_one),
        CASE(of_several_things_the_largest_is_named),
        CASE(what_is_not_listed_is_counted),
        CASE(steps_are_those_that_the_table_counts),
        CASE(a_window_is_not_contradicted),
        CASE(a_single_event_has_its_time),
        CASE(what_is_before_the_first_step_has_a_line),
        CASE(who_had_no_cpu_handled_no_faults),
        CASE(who_had_no_cpu_did_not_compute),
        CASE(waiting_without_a_cpu_for_others_costs_nothing),
        CASE(without_a_cpu_outside_of_waits_it_does),
        CASE(tasks_without_a_cpu_are_no_wait_of_a_team),
        CASE(threads_beside_the_ranks_are_not_the_ranks),
        CASE(ranks_that_share_no_cpu_with_others_are_left_out),
        CASE(what_is_of_the_whole_run_is_called_so_in_a_part),
        CASE(what_a_rank_did_outside_of_the_region_is_a_sentence),
        CASE(the_answer_names_who_was_waited_for_and_why),
        CASE(the_answer_names_no_rank_where_it_is_not_worth_it),
        CASE(limits_of_the_delays_are_one_line_of_those_reached),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
