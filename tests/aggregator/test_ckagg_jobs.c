/* test_ckagg_jobs.c - the real ckagg: jobs, their end, their report
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "launch/child.h"
#include "launch/cli.h"
#include "schema/store/run.h"
#include "schema/time.h"
#include "tests/aggregator/sim.h"

static void ranks_that_are_not_recorded_are_not_waited_for(void **state)
{
    struct sim_place *place = *state;
    const char *const args[] = {"--embedded", "--dir",    place->run,
                                "--listen",   place->url, "--no-merge",
                                "--size",     "1",        NULL};
    struct sim_agg agg;
    struct sim *a;

    assert_int_equal(sim_agg_start(&agg, SIM_CKAGG, place->dir, args), 0);
    a = sim_join(&agg, 0xa0, 0, 4);
    sim_leave_last(a, &agg);
    (void)sim_read(place->run, "manifest.json", place->text);
    assert_non_null(strstr(place->text, "\"end\": \"complete\""));
}

static void a_rank_that_never_came_is_missed(void **state)
{
    struct sim_place *place = *state;
    struct sim *a = sim_join(&place->agg, 0xa0, 0, 2);

    sim_leave(a);
    /* It would be waited for; a signal means that it will not come. */
    assert_int_equal(sim_agg_end(&place->agg, SIGTERM), 3);
    (void)sim_read(place->run, "manifest.json", place->text);
    assert_non_null(strstr(place->text, "\"end\": \"ranks missing\""));
}

static void a_directory_of_another_job_is_left_alone(void **state)
{
    struct sim_place *place = *state;
    const char *const args[] = {"--embedded", "--dir",    place->run,
                                "--listen",   place->url, "--no-merge",
                                "--job",      "key-2",    NULL};
    struct sim *a = sim_join(&place->agg, 0xa0, 0, 1);

    sim_put_identity(a, "rank=0\njob_key=key-1\n");
    sim_put(a, 0, 5);
    assert_true(sim_wait_ack(a, 5));
    sim_leave_last(a, &place->agg);
    assert_int_equal(sim_agg_start(&place->agg, SIM_CKAGG, place->dir, args),
                     -1);
    assert_int_equal(sim_agg_wait(&place->agg), 1);
    (void)sim_read(place->dir, "stderr", place->text);
    assert_non_null(strstr(place->text, "holds the run of another job"));
    (void)sim_read(place->run, "ckagg.log", place->text);
    assert_null(strstr(place->text, "another job"));
}

/* A process that is gone: its pid is free for the moment. */
static pid_t pid_of_the_dead(void)
{
    pid_t pid = fork();
    int status;

    if (pid == 0) {
        _exit(0);
    }
    (void)waitpid(pid, &status, 0);
    return pid;
}

/* Directories ck-* below. */
static int runs_count(const char *dir)
{
    DIR *list = opendir(dir);
    const struct dirent *entry;
    int count = 0;

    while (list && (entry = readdir(list))) {
        count += strncmp(entry->d_name, "ck-", 3) == 0;
    }
    if (list) {
        (void)closedir(list);
    }
    return count;
}

static void a_service_keeps_two_jobs_apart(void **state)
{
    struct sim_place *place = *state;
    const char *const args[] = {"--listen", place->url,   "--dir",
                                place->run, "--no-merge", NULL};
    struct sim_agg agg;
    const struct ck_control *control;
    struct sim *a;
    struct sim *b;
    char dir_a[PATH_MAX] = "";
    char dir_b[PATH_MAX] = "";

    assert_int_equal(sim_agg_start(&agg, SIM_CKAGG, place->dir, args), 0);
    a = sim_create(agg.endpoint, 0xa0);
    b = sim_create(agg.endpoint, 0xb0);
    sim_hello(a, 0, 1, "job_key=one\njob=../../etc/x\n");
    control = sim_wait(a, CK_CONTROL_WELCOME);
    assert_true(ck_lines_get(control->text, control->text_length, "dir", dir_a,
                             sizeof(dir_a)));
    sim_hello(b, 0, 1, "job_key=two\n");
    control = sim_wait(b, CK_CONTROL_WELCOME);
    assert_true(ck_lines_get(control->text, control->text_length, "dir", dir_b,
                             sizeof(dir_b)));
    assert_string_not_equal(dir_a, dir_b);
    assert_int_equal(strncmp(dir_a, place->run, strlen(place->run)), 0);
    assert_null(strstr(dir_a + strlen(place->run) + 1, "/"));
    sim_put(a, 0, 5);
    sim_put(b, 0, 6);
    assert_true(sim_wait_ack(a, 5));
    assert_true(sim_wait_ack(b, 6));
    assert_string_equal(sim_stored(dir_a, sim_agent(a), place->text), "0+5");
    assert_string_equal(sim_stored(dir_b, sim_agent(b), place->text), "0+6");
    sim_leave(a);
    assert_true(sim_wait_text(dir_a, "manifest.json", "\"done\""));
    sim_put(b, 6, 6); /* the other job goes on */
    assert_true(sim_wait_ack(b, 12));
    sim_leave(b);
    assert_true(sim_wait_text(dir_b, "manifest.json", "\"done\""));
    assert_int_equal(runs_count(place->run), 2);
    assert_int_equal(sim_agg_end(&agg, SIGTERM), 0);
}

static void sigterm_stores_and_a_second_ckagg_goes_on(void **state)
{
    struct sim_place *place = *state;
    struct sim *a = sim_join(&place->agg, 0xa0, 0, 1);

    sim_put(a, 0, 100);
    assert_true(sim_wait_ack(a, 100));
    assert_int_equal(sim_agg_end(&place->agg, SIGTERM), 0);
    (void)sim_read(place->run, "manifest.json", place->text);
    assert_non_null(strstr(place->text, "\"state\": \"run\""));
    assert_non_null(strstr(place->text, "\"records\": 100"));
    sim_embedded(place);
    assert_int_equal(sim_return(a), 100);
    sim_leave_last(a, &place->agg);
}

static void an_agent_that_vanished_does_not_keep_the_job(void **state)
{
    struct sim_place *place = *state;
    struct sim *a = sim_join(&place->agg, 0xa0, 0, 2);
    struct sim *b = sim_create(place->agg.endpoint, 0xb0);
    char line[64];

    (void)snprintf(line, sizeof(line), "pid=%d\n", (int)pid_of_the_dead());
    sim_hello(b, 1, 2, line);
    assert_non_null(sim_wait(b, CK_CONTROL_WELCOME));
    sim_put(b, 0, 5);
    assert_true(sim_wait_ack(b, 5));
    sim_destroy(b);
    sim_leave(a);
    assert_int_equal(sim_agg_wait(&place->agg), 3);
    (void)sim_read(place->run, "manifest.json", place->text);
    assert_non_null(strstr(place->text, "\"end\": \"agents died\""));
    assert_non_null(strstr(place->text, "\"state\": \"dead\""));
    assert_non_null(strstr(place->text, "\"state\": \"left\""));
}

static void a_silent_agent_whose_process_lives_is_waited_for(void **state)
{
    struct sim_place *place = *state;
    struct sim *a = sim_join(&place->agg, 0xa0, 0, 1);

    assert_true(
        sim_wait_text(place->run, "manifest.json", "\"state\": \"silent\""));
    sim_control(a, CK_CONTROL_BEAT, "events=1\nlost=0\n");
    sim_put(a, 0, 5);
    assert_true(sim_wait_ack(a, 5));
    sim_leave_last(a, &place->agg);
}

/* ckagg in a folder of its own, with this script as its ckmerge (NULL: none).
 */
static void
alone_with(const struct sim_place *place, const char *script, char *path)
{
    char *argv[] = {"cp", SIM_CKAGG, path, NULL};
    struct ck_child child = {.path = "cp", .argv = argv, .fds = {-1, -1, -2}};
    char merge[PATH_MAX + 16];
    pid_t pid;
    int status;

    (void)snprintf(path, PATH_MAX, "%s/bin", place->dir);
    assert_int_equal(mkdir(path, 0700), 0);
    (void)snprintf(merge, sizeof(merge), "%s/ckmerge", path);
    strcat(path, "/ckagg");
    assert_int_equal(ck_child_start(&child, &pid, NULL), 0);
    (void)waitpid(pid, &status, 0);
    assert_int_equal(status, 0);
    if (script) {
        int fd = open(merge, O_WRONLY | O_CREAT | O_CLOEXEC, 0700);

        assert_true(fd >= 0);
        assert_int_equal(write(fd, script, strlen(script)),
                         (ssize_t)strlen(script));
        (void)close(fd);
    }
}

static int
merged_job(struct sim_place *place, const char *script, const char **report)
{
    char path[PATH_MAX];
    const char *const args[] = {"--embedded", "--dir",    place->run,
                                "--listen",   place->url, "--output",
                                "json",       NULL};
    struct sim_agg agg;
    struct sim *a;

    alone_with(place, script, path);
    assert_int_equal(sim_agg_start(&agg, path, place->dir, args), 0);
    a = sim_join(&agg, 0xa0, 0, 1);
    sim_put(a, 0, 5);
    assert_true(sim_wait_ack(a, 5));
    sim_control(a, CK_CONTROL_REPORT, "");
    sim_control(a, CK_CONTROL_GOODBYE, "status=0\n");
    (void)snprintf(place->text, SIM_TEXT, "%s", sim_text(a, CK_CONTROL_REPORT));
    *report = strstr(place->text, "\n\n");
    assert_non_null(*report);
    *report += 2;
    sim_destroy(a);
    return sim_agg_wait(&agg);
}

static void the_report_goes_to_those_who_wait(void **state)
{
    struct sim_place *place = *state;
    const char *report;

    assert_int_equal(merged_job(place,
                                "#!/bin/sh\n"
                                "test \"$1 $2\" = '--output json' || exit 9\n"
                                "test -f \"$3/manifest.json\" || exit 8\n"
                                "echo THE REPORT\nexit 0\n",
                                &report),
                     0);
    assert_string_equal(report, "THE REPORT\n");
    assert_non_null(strstr(place->text, "exit=0\n"));
    assert_non_null(strstr(place->text, place->run));
}

static void a_failing_merge_leaves_the_run(void **state)
{
    struct sim_place *place = *state;
    const char *report;

    assert_int_equal(merged_job(place, "#!/bin/sh\nexit 1\n", &report), 1);
    assert_non_null(strstr(place->text, "exit=1\n"));
    (void)sim_read(place->run, "ckagg.log", place->text);
    assert_non_null(strstr(place->text, "the run is stored in"));
}

static void a_missing_ckmerge_is_reported(void **state)
{
    struct sim_place *place = *state;
    const char *report;

    assert_int_equal(merged_job(place, NULL, &report), 1);
    assert_string_equal(report, "");
    (void)sim_read(place->run, "ckagg.log", place->text);
    assert_non_null(strstr(place->text, "cannot merge: ckmerge is not in"));
}

/* A job whose report is to go to dir/thesis, merged by the real ckmerge. */
static int job_to_thesis(struct sim_place *place, const char *more)
{
    char output[PATH_MAX];
    const char *const args[] = {"--embedded", "--dir",    place->run,
                                "--listen",   place->url, "--output",
                                output,       more,       NULL};
    struct sim_agg agg;
    struct sim *a;

    (void)snprintf(output, sizeof(output), "json=%s/thesis", place->dir);
    assert_int_equal(sim_agg_start(&agg, SIM_CKAGG, place->dir, args), 0);
    a = sim_join(&agg, 0xa0, 0, 1);
    sim_put(a, 0, 5);
    assert_true(sim_wait_ack(a, 5));
    sim_control(a, CK_CONTROL_REPORT, "");
    sim_control(a, CK_CONTROL_GOODBYE, "status=0\n");
    (void)sim_text(a, CK_CONTROL_REPORT);
    sim_destroy(a);
    return sim_agg_wait(&agg);
}

static void thesis_write(const struct sim_place *place)
{
    char path[PATH_MAX];
    FILE *file;

    (void)snprintf(path, sizeof(path), "%s/thesis", place->dir);
    file = fopen(path, "we");
    assert_non_null(file);
    assert_true(fputs("my thesis\n", file) >= 0);
    assert_int_equal(fclose(file), 0);
}

static void a_file_of_others_is_no_output(void **state)
{
    struct sim_place *place = *state;

    thesis_write(place);
    assert_int_equal(job_to_thesis(place, NULL), CK_EXIT_FAILED);
    assert_string_equal(sim_read(place->dir, "thesis", place->text),
                        "my thesis\n");
    (void)sim_read(place->run, "ckagg.log", place->text);
    assert_non_null(strstr(place->text, "--force"));
}

static void force_replaces_a_file_of_others(void **state)
{
    struct sim_place *place = *state;

    thesis_write(place);
    assert_int_not_equal(job_to_thesis(place, "--force"), CK_EXIT_FAILED);
    (void)sim_read(place->dir, "thesis", place->text);
    assert_non_null(strstr(place->text, "\"ck.report\""));
}

static void stop_ends_a_job_that_goes_on(void **state)
{
    struct sim_place *place = *state;
    struct sim *a = sim_join(&place->agg, 0xa0, 0, 1);

    sim_control(a, CK_CONTROL_STOP, "");
    assert_int_equal(sim_agg_wait(&place->agg), 3);
    sim_destroy(a);
    (void)sim_read(place->run, "manifest.json", place->text);
    assert_non_null(strstr(place->text, "\"end\": \"stopped\""));
}

static void status_lists_all_jobs(void **state)
{
    struct sim_place *place = *state;
    const char *text;
    struct sim *a = sim_join(&place->agg, 0xa0, 0, 1);

    sim_put(a, 0, 5);
    assert_true(sim_wait_ack(a, 5));
    sim_control(a, CK_CONTROL_STATUS, "");
    text = sim_text(a, CK_CONTROL_STATUS);
    assert_non_null(strstr(text, "\"records\": 5"));
    assert_non_null(strstr(text, "\"state\": \"run\""));
    sim_control(a, CK_CONTROL_STATUS, "format=table\n");
    text = sim_text(a, CK_CONTROL_STATUS);
    assert_non_null(strstr(text, "train: run, 1 of 1 ranks"));
    assert_non_null(strstr(text, "     0  here"));
    sim_leave_last(a, &place->agg);
}

/* An empty file of ours. */
static void file_make(const char *path)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

    assert_true(fd >= 0);
    (void)close(fd);
}

/* Call `made` with the path of each run. */
static void runs_walk(const char *runs, void (*made)(const char *run))
{
    DIR *list = opendir(runs);
    const struct dirent *entry;

    assert_non_null(list);
    while ((entry = readdir(list))) {
        char path[PATH_MAX];

        (void)snprintf(path, sizeof(path), "%s/%s", runs, entry->d_name);
        if (strncmp(entry->d_name, "ck-", 3) == 0) {
            made(path);
        }
    }
    (void)closedir(list);
}

/* What a ckagg that was killed left in the run: livedir.h. */
static void live_dir_make(const char *run)
{
    char path[PATH_MAX + 32];

    (void)snprintf(path, sizeof(path), "%s/live", run);
    if (mkdir(path, 0700) == 0) {
        strcat(path, "/report.html.Xy12ab");
        file_make(path);
    }
}

/* Jobs that end one behind the other, in a service that keeps one; `made` is
 * called behind each. */
static void jobs_retain(struct sim_place *place, void (*made)(const char *run))
{
    const char *const args[] = {"--listen",   place->url, "--dir", place->run,
                                "--no-merge", "--retain", "1",     NULL};
    char line[64];
    struct sim_agg agg;

    assert_int_equal(sim_agg_start(&agg, SIM_CKAGG, place->dir, args), 0);
    for (int i = 0; i < 3; i++) {
        struct sim *a = sim_create(agg.endpoint, (uint8_t)(0xa0 + i));

        (void)snprintf(line, sizeof(line), "job_key=job-%d\n", i);
        sim_hello(a, 0, 1, line);
        assert_non_null(sim_wait(a, CK_CONTROL_WELCOME));
        sim_control(a, CK_CONTROL_REPORT, ""); /* answered at the end */
        sim_control(a, CK_CONTROL_GOODBYE, "status=0\n");
        assert_non_null(sim_wait(a, CK_CONTROL_REPORT));
        /* Once it answers, what it removes behind a report is removed. */
        sim_control(a, CK_CONTROL_STATUS, "");
        assert_non_null(sim_wait(a, CK_CONTROL_STATUS));
        sim_destroy(a);
        runs_walk(place->run, made);
    }
    assert_int_equal(sim_agg_end(&agg, SIGTERM), 0);
}

static void hello_pass(struct sim *a, const char *line)
{
    sim_hello(a, 0, 1, line);
    assert_non_null(sim_wait(a, CK_CONTROL_WELCOME));
    sim_control(a, CK_CONTROL_GOODBYE, "status=0\n");
    sim_control(a, CK_CONTROL_REPORT, "");
    assert_non_null(sim_wait(a, CK_CONTROL_REPORT));
    sim_destroy(a);
}

/* A job of one rank, of a launcher that began so many ms from now. */
static void job_pass(const struct sim_agg *agg, uint8_t id, int64_t launcher)
{
    struct sim *a = sim_create(agg->endpoint, id);
    char line[64];

    (void)snprintf(
        line, sizeof(line), "launcher_start=%lld\n",
        (long long)(ck_time_of(CLOCK_REALTIME) + launcher * CK_TIME_MS));
    hello_pass(a, line);
}

/* The same, of a launcher that began so many ms from now by the clock of the
 * boot, in a job whose clock of day was set by an hour since. */
static void
job_pass_set(const struct sim_agg *agg, uint8_t id, int64_t launcher)
{
    const int64_t hour = 3600 * CK_TIME_S;
    struct sim *a = sim_create(agg->endpoint, id);
    int64_t set = launcher > 0 ? -hour : hour;
    char line[128];

    (void)snprintf(
        line, sizeof(line), "launcher_start=%lld\nlauncher_boottime=%lld\n",
        (long long)(ck_time_of(CLOCK_REALTIME) + set),
        (long long)(ck_time_of(CLOCK_BOOTTIME) - ck_time_space("boottime") +
                    launcher * CK_TIME_MS));
    hello_pass(a, line);
}

/* As of --job NAME used again, and of a job that a batch system runs again. */
static void the_next_job_of_a_key_has_a_run_of_its_own(void **state)
{
    struct sim_place *place = *state;
    const char *const args[] = {"--listen", place->url,   "--dir",
                                place->run, "--no-merge", NULL};
    struct sim_agg agg;

    assert_int_equal(sim_agg_start(&agg, SIM_CKAGG, place->dir, args), 0);
    job_pass(&agg, 0xa0, -1000);
    job_pass(&agg, 0xa1, -1000); /* another agent of the same one, late */
    assert_int_equal(runs_count(place->run), 1);
    /* By one clock it began behind the hello of the first. */
    job_pass(&agg, 0xa2, 100);
    assert_int_equal(runs_count(place->run), 2);
    job_pass(&agg, 0xa3, 10000);
    assert_int_equal(runs_count(place->run), 3);
    job_pass(&agg, 0xa4, -1000);
    assert_int_equal(runs_count(place->run), 3);
    assert_int_equal(sim_agg_end(&agg, SIGTERM), 0);
    /* Another ckagg knows them by their files. */
    assert_int_equal(sim_agg_start(&agg, SIM_CKAGG, place->dir, args), 0);
    job_pass(&agg, 0xa5, 20000);
    assert_int_equal(runs_count(place->run), 4);
    assert_int_equal(sim_agg_end(&agg, SIGTERM), 0);
}

/* A step of the clock of day splits no job, and joins none. */
static void within_a_boot_the_launchers_order_counts(void **state)
{
    struct sim_place *place = *state;
    const char *const args[] = {"--listen", place->url,   "--dir",
                                place->run, "--no-merge", NULL};
    struct sim_agg agg;

    assert_int_equal(sim_agg_start(&agg, SIM_CKAGG, place->dir, args), 0);
    job_pass_set(&agg, 0xa0, -5000);
    job_pass_set(&agg, 0xa1, -4000);
    assert_int_equal(runs_count(place->run), 1);
    job_pass_set(&agg, 0xa2, 1);
    assert_int_equal(runs_count(place->run), 2);
    assert_int_equal(sim_agg_end(&agg, SIGTERM), 0);
}

/* A program that starts ckagg with a pipe for stderr that is full. The end that
 * keeps it open. */
static int unread_make(const struct sim_place *place, char program[PATH_MAX])
{
    static const char piece[4096];
    char pipe[PATH_MAX];
    FILE *script;
    int fd;

    (void)snprintf(pipe, sizeof(pipe), "%s/unread", place->dir);
    assert_int_equal(mkfifo(pipe, 0600), 0);
    fd = open(pipe, O_RDWR | O_NONBLOCK | O_CLOEXEC);
    assert_true(fd >= 0);
    while (write(fd, piece, sizeof(piece)) > 0) {
    }
    (void)snprintf(program, PATH_MAX, "%s/start", place->dir);
    script = fopen(program, "we");
    assert_non_null(script);
    (void)fprintf(script, "#!/bin/sh\nexec 2<>'%s'\nexec '%s' \"$@\"\n", pipe,
                  SIM_CKAGG);
    assert_int_equal(fclose(script), 0);
    assert_int_equal(chmod(program, 0700), 0);
    return fd;
}

static void a_service_whose_log_no_one_reads_goes_on(void **state)
{
    struct sim_place *place = *state;
    const char *const args[] = {"--listen", place->url,   "--dir",
                                place->run, "--no-merge", NULL};
    char program[PATH_MAX];
    int fd = unread_make(place, program);
    struct sim_agg agg;

    assert_int_equal(sim_agg_start(&agg, program, place->dir, args), 0);
    job_pass(&agg, 0xa0, -1000);
    assert_int_equal(runs_count(place->run), 1);
    assert_int_equal(sim_agg_end(&agg, SIGTERM), 0);
    (void)close(fd);
}

/* What a killed ckagg and a killed ckmerge leave. */
static void leftovers_put(const char *run)
{
    static const char *const names[] = {
        "report.txt.a1B2c3", "trace.json.ZZZZZZ",
        "facts-000102030405060708090a0b0c0d0e0f.ck.new"};
    char path[PATH_MAX + 64];

    live_dir_make(run);
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        (void)snprintf(path, sizeof(path), "%s/%s", run, names[i]);
        file_make(path);
    }
}

static void old_runs_are_removed_by_retain(void **state)
{
    struct sim_place *place = *state;

    jobs_retain(place, leftovers_put);
    assert_int_equal(runs_count(place->run), 1);
}

/* What a person keeps in a run, which is whole. */
static void thesis_put(const char *run)
{
    char path[PATH_MAX + 32];

    (void)snprintf(path, sizeof(path), "%s/thesis.tex", run);
    file_make(path);
    (void)snprintf(path, sizeof(path), "%s/manifest.json", run);
    assert_int_equal(access(path, F_OK), 0);
}

static void a_run_with_a_strange_file_is_kept_whole(void **state)
{
    struct sim_place *place = *state;

    jobs_retain(place, thesis_put);
    assert_int_equal(runs_count(place->run), 3);
    runs_walk(place->run, thesis_put);
    (void)sim_read(place->dir, "stderr", place->text);
    assert_non_null(strstr(place->text, "thesis.tex in it is not of ck"));
}

/* As the first letters of a file of ck's. */
static void minutes_put(const char *run)
{
    static const char *const names[] = {"report.docx", "trace.md", "spool-1",
                                        "facts-about-it", "endpoint.png"};
    char path[PATH_MAX + 32];

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        (void)snprintf(path, sizeof(path), "%s/%s", run, names[i]);
        file_make(path);
    }
}

static void a_file_whose_name_begins_as_ours_is_strange(void **state)
{
    struct sim_place *place = *state;

    jobs_retain(place, minutes_put);
    assert_int_equal(runs_count(place->run), 3);
}

static void outputs_put(const char *run)
{
    char path[PATH_MAX + 32];

    (void)snprintf(path, sizeof(path), "%s/waits.folded", run);
    file_make(path);
}

static void outputs_of_ckmerge_go_with_the_run(void **state)
{
    struct sim_place *place = *state;

    jobs_retain(place, outputs_put);
    assert_int_equal(runs_count(place->run), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SIM_CASE(a_service_keeps_two_jobs_apart),
        SIM_EMBEDDED(sigterm_stores_and_a_second_ckagg_goes_on),
        SIM_EMBEDDED(an_agent_that_vanished_does_not_keep_the_job),
        SIM_EMBEDDED(a_silent_agent_whose_process_lives_is_waited_for),
        SIM_CASE(the_report_goes_to_those_who_wait),
        SIM_CASE(a_failing_merge_leaves_the_run),
        SIM_CASE(a_missing_ckmerge_is_reported),
        SIM_CASE(a_file_of_others_is_no_output),
        SIM_CASE(force_replaces_a_file_of_others),
        SIM_CASE(ranks_that_are_not_recorded_are_not_waited_for),
        SIM_EMBEDDED(a_rank_that_never_came_is_missed),
        SIM_EMBEDDED(a_directory_of_another_job_is_left_alone),
        SIM_EMBEDDED(stop_ends_a_job_that_goes_on),
        SIM_EMBEDDED(status_lists_all_jobs),
        SIM_CASE(the_next_job_of_a_key_has_a_run_of_its_own),
        SIM_CASE(within_a_boot_the_launchers_order_counts),
        SIM_CASE(a_service_whose_log_no_one_reads_goes_on),
        SIM_CASE(old_runs_are_removed_by_retain),
        SIM_CASE(a_run_with_a_strange_file_is_kept_whole),
        SIM_CASE(a_file_whose_name_begins_as_ours_is_strange),
        SIM_CASE(outputs_of_ckmerge_go_with_the_run),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
