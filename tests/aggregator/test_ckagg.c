/* test_ckagg.c - the real ckagg against simulated agents
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "launch/child.h"
#include "schema/run.h"
#include "tests/aggregator/sim.h"

#define CKAGG CK_TEST_BIN "/ckagg"

struct place {
    char dir[256];
    char run[300];
    char url[300]; /* ipc */
    char text[SIM_TEXT];
};

static int setup(void **state)
{
    struct place *place = calloc(1, sizeof(*place));

    strcpy(place->dir, "/tmp/ckagg-test-XXXXXX");
    if (!mkdtemp(place->dir)) {
        return -1;
    }
    (void)snprintf(place->run, sizeof(place->run), "%s/run", place->dir);
    (void)snprintf(place->url, sizeof(place->url), "ipc://%s/s", place->dir);
    *state = place;
    return 0;
}

static int teardown(void **state)
{
    struct place *place = *state;
    char *argv[] = {"rm", "-rf", place->dir, NULL};
    struct ck_child child = {.path = "rm", .argv = argv, .fds = {-1, -1, -2}};
    pid_t pid;
    int status;

    if (ck_child_start(&child, &pid, NULL) == 0) {
        (void)waitpid(pid, &status, 0);
    }
    free(place);
    return 0;
}

/* An embedded ckagg that only stores. */
static void embedded(struct sim_agg *agg, const struct place *place)
{
    const char *const args[] = {"--embedded",     "--dir",    place->run,
                                "--listen",       place->url, "--no-merge",
                                "--beat-timeout", "500ms",    NULL};

    assert_int_equal(sim_agg_start(agg, CKAGG, place->dir, args), 0);
}

static void welcome(struct sim *sim, int rank, int size)
{
    sim_hello(sim, rank, size, "");
    assert_non_null(sim_wait(sim, CK_CONTROL_WELCOME));
}

static void leave(struct sim *sim)
{
    sim_control(sim, CK_CONTROL_GOODBYE, "status=0\nevents=7\nlost=0\n");
    assert_non_null(sim_wait(sim, CK_CONTROL_FAREWELL));
    sim_destroy(sim);
}

static void a_job_of_two_ranks_is_stored_and_ends(void **state)
{
    struct place *place = *state;
    struct sim_agg agg;
    struct sim *a;
    struct sim *b;

    embedded(&agg, place);
    a = sim_create(agg.endpoint, 0xa0);
    b = sim_create(agg.endpoint, 0xb0);
    welcome(a, 0, 2);
    welcome(b, 1, 2);
    sim_put(a, 0, 100);
    sim_put(a, 100, 50);
    sim_put(b, 0, 10);
    assert_true(sim_wait_ack(a, 150));
    assert_true(sim_wait_ack(b, 10));
    assert_string_equal(sim_stored(place->run, sim_agent(a), place->text),
                        "0+100 100+50");
    leave(a);
    leave(b);
    assert_int_equal(sim_agg_wait(&agg), 0);
    (void)sim_read(place->run, "manifest.json", place->text);
    assert_non_null(strstr(place->text, "\"state\": \"done\""));
    assert_non_null(strstr(place->text, "\"end\": \"complete\""));
    assert_non_null(strstr(place->text, "\"records\": 160"));
    assert_non_null(strstr(place->text, "\"job_key\": \"key-1\""));
}

static void frames_sent_again_are_acknowledged_and_stored_once(void **state)
{
    struct place *place = *state;
    struct sim_agg agg;
    struct sim *a;

    embedded(&agg, place);
    a = sim_create(agg.endpoint, 0xa0);
    welcome(a, 0, 1);
    sim_put(a, 0, 100);
    sim_put(a, 100, 100);
    sim_put(a, 0, 100);
    sim_put(a, 50, 100); /* cut anew, nothing new in it */
    assert_true(sim_wait_ack(a, 200));
    sim_put(a, 150, 100); /* overlaps */
    assert_true(sim_wait_ack(a, 250));
    sim_put(a, 300, 10); /* leaves a gap */
    assert_true(sim_wait_ack(a, 310));
    sim_put(a, 250, 50); /* which is closed late */
    sim_put(a, 310, 1);
    assert_true(sim_wait_ack(a, 311));
    assert_string_equal(sim_stored(place->run, sim_agent(a), place->text),
                        "0+100 100+100 150+100 300+10 250+50 310+1");
    leave(a);
    assert_int_equal(sim_agg_wait(&agg), 0);
    (void)sim_read(place->run, "manifest.json", place->text);
    assert_non_null(strstr(place->text, "\"repeated_frames\": 2"));
    assert_non_null(strstr(place->text, "\"missing_units\": 0"));
}

static void damaged_frames_are_refused_and_others_unharmed(void **state)
{
    struct place *place = *state;
    struct sim_agg agg;
    struct sim *a;
    struct sim *b;
    uint8_t *frame;
    size_t bytes;

    embedded(&agg, place);
    a = sim_create(agg.endpoint, 0xa0);
    b = sim_create(agg.endpoint, 0xb0);
    welcome(a, 0, 2);
    welcome(b, 1, 2);
    frame = sim_frame(a, 0, 100, &bytes);
    frame[bytes / 2] ^= 1;
    sim_send(a, frame, bytes);     /* wrong crc */
    sim_send(a, frame, bytes / 2); /* cut off */
    sim_send(a, "x", 1);
    sim_send(a, "", 0);
    frame = sim_frame(b, 0, 100, &bytes);
    sim_send(a, frame, bytes); /* of another agent */
    frame = sim_frame(a, 0, 100, &bytes);
    sim_send(a, frame, bytes + 8); /* longer than its frame */
    frame = sim_frame(a, UINT64_MAX - 3, 100, &bytes);
    sim_send(a, frame, bytes); /* beyond all positions */
    sim_put(a, 0, 5);
    sim_put(b, 0, 6);
    assert_true(sim_wait_ack(a, 5));
    assert_true(sim_wait_ack(b, 6));
    assert_string_equal(sim_stored(place->run, sim_agent(a), place->text),
                        "0+5");
    assert_string_equal(sim_stored(place->run, sim_agent(b), place->text),
                        "0+6");
    leave(a);
    leave(b);
    assert_int_equal(sim_agg_wait(&agg), 0);
    (void)sim_read(place->run, "manifest.json", place->text);
    assert_non_null(strstr(place->text, "\"refused_messages\": 7"));
    (void)sim_read(place->run, "ckagg.log", place->text);
    assert_non_null(strstr(place->text, "a frame of another agent"));
}

static void a_frame_cut_at_every_byte_is_refused(void **state)
{
    struct place *place = *state;
    struct sim_agg agg;
    struct sim *a;
    uint8_t *frame;
    size_t bytes;

    embedded(&agg, place);
    a = sim_create(agg.endpoint, 0xa0);
    welcome(a, 0, 1);
    frame = sim_frame(a, 0, 3, &bytes);
    for (size_t n = 0; n < bytes; n++) {
        sim_send(a, frame, n);
    }
    sim_send(a, frame, bytes);
    assert_true(sim_wait_ack(a, 3));
    assert_string_equal(sim_stored(place->run, sim_agent(a), place->text),
                        "0+3");
    leave(a);
    assert_int_equal(sim_agg_wait(&agg), 0);
}

static void a_stranger_is_told_to_say_hello_and_goes_on(void **state)
{
    struct place *place = *state;
    struct sim_agg agg;
    const struct ck_control *control;
    struct sim *a;

    embedded(&agg, place);
    a = sim_create(agg.endpoint, 0xa0);
    sim_put(a, 0, 5);
    control = sim_wait(a, CK_CONTROL_REFUSED);
    assert_non_null(control);
    assert_string_equal(control->text, "hello first");
    welcome(a, 0, 1);
    sim_put(a, 0, 5);
    assert_true(sim_wait_ack(a, 5));
    leave(a);
    assert_int_equal(sim_agg_wait(&agg), 0);
}

static void a_new_connection_of_an_agent_takes_over(void **state)
{
    struct place *place = *state;
    struct sim_agg agg;
    const struct ck_control *control;
    struct sim *old;
    struct sim *a;

    embedded(&agg, place);
    old = sim_create(agg.endpoint, 0xa0);
    welcome(old, 0, 1);
    sim_put(old, 0, 5);
    assert_true(sim_wait_ack(old, 5));
    a = sim_create(agg.endpoint, 0xa0);
    sim_hello(a, 0, 1, "");
    control = sim_wait(a, CK_CONTROL_WELCOME);
    assert_int_equal(sim_position(control), 5);
    sim_put(old, 5, 5);
    control = sim_wait(old, CK_CONTROL_REFUSED);
    assert_non_null(control);
    assert_string_equal(control->text, "hello first");
    sim_destroy(old);
    leave(a);
    assert_int_equal(sim_agg_wait(&agg), 0);
    assert_string_equal(
        sim_stored(place->run,
                   (const uint8_t *)"\xa0\xa0\xa0"
                                    "\xa0\xa0\xa0\xa0\xa0\xa0\xa0\xa0\xa0\xa0"
                                    "\xa0\xa0\xa0",
                   place->text),
        "0+5");
}

static void another_version_is_refused_with_its_reason(void **state)
{
    struct place *place = *state;
    struct sim_agg agg;
    const struct ck_control *control;
    struct sim *a;

    embedded(&agg, place);
    a = sim_create(agg.endpoint, 0xa0);
    sim_hello_version(a, CK_FRAME_VERSION + 1);
    control = sim_wait(a, CK_CONTROL_REFUSED);
    assert_non_null(control);
    assert_non_null(strstr(control->text, "version"));
    sim_destroy(a);
    assert_int_equal(sim_agg_end(&agg, SIGTERM), 0);
}

static void another_job_is_refused_by_an_embedded_one(void **state)
{
    struct place *place = *state;
    struct sim_agg agg;
    const struct ck_control *control;
    struct sim *a;
    struct sim *b;

    embedded(&agg, place);
    a = sim_create(agg.endpoint, 0xa0);
    b = sim_create(agg.endpoint, 0xb0);
    welcome(a, 0, 1);
    sim_hello(b, 0, 1, "job_key=key-2\n");
    control = sim_wait(b, CK_CONTROL_REFUSED);
    assert_non_null(control);
    assert_non_null(strstr(control->text, "key-2"));
    sim_destroy(b);
    leave(a);
    assert_int_equal(sim_agg_wait(&agg), 0);
}

static void tcp_beyond_loopback_wants_key_and_token(void **state)
{
    struct place *place = *state;
    const char *const args[] = {"--listen", "tcp://0.0.0.0:0", "--dir",
                                place->run, "--no-merge",      NULL};
    struct sim_agg agg;
    const struct ck_control *control;
    char wrong[9000];
    char *token;
    struct sim *a;
    struct sim *b;

    assert_int_equal(sim_agg_start(&agg, CKAGG, place->dir, args), 0);
    token = strstr(agg.endpoint, "token=");
    assert_non_null(token);
    assert_non_null(strstr(agg.endpoint, "curve="));
    a = sim_create(agg.endpoint, 0xa0);
    welcome(a, 0, 1);
    strcpy(wrong, agg.endpoint);
    wrong[token - agg.endpoint + 6] ^= 1;
    b = sim_create(wrong, 0xb0);
    sim_hello(b, 1, 1, "");
    control = sim_wait(b, CK_CONTROL_REFUSED);
    assert_non_null(control);
    assert_non_null(strstr(control->text, "token"));
    sim_control(b, CK_CONTROL_STATUS, "");
    control = sim_wait(b, CK_CONTROL_REFUSED);
    assert_non_null(control);
    sim_destroy(b);
    leave(a);
    assert_int_equal(sim_agg_end(&agg, SIGTERM), 0);
}

static void insecure_tcp_has_neither(void **state)
{
    struct place *place = *state;
    const char *const args[] = {"--listen", "tcp://0.0.0.0:0", "--dir",
                                place->run, "--no-merge",      "--insecure",
                                NULL};
    struct sim_agg agg;
    struct sim *a;

    assert_int_equal(sim_agg_start(&agg, CKAGG, place->dir, args), 0);
    assert_null(strstr(agg.endpoint, "curve="));
    a = sim_create(agg.endpoint, 0xa0);
    welcome(a, 0, 1);
    leave(a);
    assert_int_equal(sim_agg_end(&agg, SIGINT), 0);
}

static void the_key_file_is_for_its_owner_alone(void **state)
{
    struct place *place = *state;
    const char *const args[] = {"--listen", "tcp://0.0.0.0:0", "--dir",
                                place->run, "--no-merge",      NULL};
    char path[512];
    struct sim_agg agg;
    struct stat facts;

    (void)snprintf(path, sizeof(path), "%s/key", place->dir);
    assert_int_equal(setenv("CKAGG_KEYFILE", path, 1), 0);
    assert_int_equal(sim_agg_start(&agg, CKAGG, place->dir, args), 0);
    (void)unsetenv("CKAGG_KEYFILE");
    assert_int_equal(stat(path, &facts), 0);
    assert_int_equal(facts.st_mode & 0777, 0600);
    (void)sim_read(place->dir, "key", place->text);
    place->text[strcspn(place->text, "\n")] = '\0';
    assert_string_equal(place->text, agg.endpoint);
    assert_int_equal(sim_agg_end(&agg, SIGTERM), 0);
}

static void a_port_that_is_taken_is_said(void **state)
{
    struct place *place = *state;
    const char *args[] = {"--listen", "tcp://127.0.0.1:0", "--dir", place->run,
                          NULL};
    char other[300];
    struct sim_agg agg;
    struct sim_agg second;

    (void)snprintf(other, sizeof(other), "%s/other", place->dir);
    assert_int_equal(sim_agg_start(&agg, CKAGG, place->dir, args), 0);
    args[1] = agg.endpoint;
    args[3] = other;
    assert_int_equal(sim_agg_start(&second, CKAGG, place->dir, args), -1);
    assert_int_equal(sim_agg_wait(&second), 1);
    (void)sim_read(place->dir, "stderr", place->text);
    assert_non_null(strstr(place->text, "Address already in use"));
    assert_int_equal(sim_agg_end(&agg, SIGTERM), 0);
}

static void a_socket_that_is_in_use_is_not_stolen(void **state)
{
    struct place *place = *state;
    const char *const args[] = {"--listen", place->url, "--dir", place->dir,
                                NULL};
    struct sim_agg agg;
    struct sim_agg second;
    struct sim *a;

    embedded(&agg, place);
    assert_int_equal(sim_agg_start(&second, CKAGG, place->dir, args), -1);
    assert_int_equal(sim_agg_wait(&second), 1);
    (void)sim_read(place->dir, "stderr", place->text);
    assert_non_null(strstr(place->text, "somebody does already"));
    a = sim_create(agg.endpoint, 0xa0);
    welcome(a, 0, 1);
    leave(a);
    assert_int_equal(sim_agg_wait(&agg), 0);
}

static void a_directory_that_cannot_be_made_is_said(void **state)
{
    struct place *place = *state;
    const char *const args[] = {"--listen",          place->url,   "--dir",
                                "/proc/nowhere/run", "--embedded", NULL};
    struct sim_agg agg;

    assert_int_equal(sim_agg_start(&agg, CKAGG, place->dir, args), -1);
    assert_int_equal(sim_agg_wait(&agg), 1);
    (void)sim_read(place->dir, "stderr", place->text);
    assert_non_null(strstr(place->text, "/proc/nowhere/run"));
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
    struct place *place = *state;
    const char *const args[] = {"--listen", place->url,   "--dir",
                                place->run, "--no-merge", NULL};
    struct sim_agg agg;
    const struct ck_control *control;
    struct sim *a;
    struct sim *b;
    char dir_a[PATH_MAX] = "";
    char dir_b[PATH_MAX] = "";

    assert_int_equal(sim_agg_start(&agg, CKAGG, place->dir, args), 0);
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
    leave(a);
    assert_true(sim_wait_text(dir_a, "manifest.json", "\"done\""));
    sim_put(b, 6, 6); /* the other job goes on */
    assert_true(sim_wait_ack(b, 12));
    leave(b);
    assert_true(sim_wait_text(dir_b, "manifest.json", "\"done\""));
    assert_int_equal(runs_count(place->run), 2);
    assert_int_equal(sim_agg_end(&agg, SIGTERM), 0);
}

static void what_was_acknowledged_survives_a_kill(void **state)
{
    struct place *place = *state;
    struct sim_agg agg;
    const struct ck_control *control;
    struct sim *a;

    embedded(&agg, place);
    a = sim_create(agg.endpoint, 0xa0);
    welcome(a, 0, 1);
    sim_put(a, 0, 100);
    sim_put(a, 100, 100);
    assert_true(sim_wait_ack(a, 200));
    assert_int_equal(sim_agg_end(&agg, SIGKILL), 128 + SIGKILL);
    embedded(&agg, place); /* the same directory, the same socket */
    sim_put(a, 200, 100);  /* the DEALER has connected again by itself */
    control = sim_wait(a, CK_CONTROL_REFUSED);
    assert_non_null(control);
    assert_string_equal(control->text, "hello first");
    sim_hello(a, 0, 1, "");
    control = sim_wait(a, CK_CONTROL_WELCOME);
    assert_int_equal(sim_position(control), 200);
    sim_put(a, 100, 100);
    sim_put(a, 200, 100);
    assert_true(sim_wait_ack(a, 300));
    assert_string_equal(sim_stored(place->run, sim_agent(a), place->text),
                        "0+100 100+100 200+100");
    leave(a);
    assert_int_equal(sim_agg_wait(&agg), 0);
}

static void a_torn_tail_is_cut_and_sent_again(void **state)
{
    struct place *place = *state;
    struct sim_agg agg;
    const struct ck_control *control;
    struct sim *a;
    char path[PATH_MAX];
    struct stat facts;

    embedded(&agg, place);
    a = sim_create(agg.endpoint, 0xa0);
    welcome(a, 0, 1);
    sim_put(a, 0, 100);
    sim_put(a, 100, 100);
    assert_true(sim_wait_ack(a, 200));
    assert_int_equal(sim_agg_end(&agg, SIGKILL), 128 + SIGKILL);
    assert_int_equal(ck_run_segment_path(path, place->run, sim_agent(a), false),
                     0);
    assert_int_equal(stat(path, &facts), 0);
    assert_int_equal(truncate(path, facts.st_size - 9), 0);
    embedded(&agg, place);
    sim_hello(a, 0, 1, "");
    control = sim_wait(a, CK_CONTROL_WELCOME);
    assert_int_equal(sim_position(control), 100);
    sim_put(a, 100, 100);
    assert_true(sim_wait_ack(a, 200));
    assert_string_equal(sim_stored(place->run, sim_agent(a), place->text),
                        "0+100 100+100");
    leave(a);
    assert_int_equal(sim_agg_wait(&agg), 0);
}

static void sigterm_stores_and_a_second_ckagg_goes_on(void **state)
{
    struct place *place = *state;
    struct sim_agg agg;
    struct sim *a;

    embedded(&agg, place);
    a = sim_create(agg.endpoint, 0xa0);
    welcome(a, 0, 1);
    sim_put(a, 0, 100);
    assert_true(sim_wait_ack(a, 100));
    assert_int_equal(sim_agg_end(&agg, SIGTERM), 0);
    (void)sim_read(place->run, "manifest.json", place->text);
    assert_non_null(strstr(place->text, "\"state\": \"run\""));
    assert_non_null(strstr(place->text, "\"records\": 100"));
    embedded(&agg, place);
    sim_hello(a, 0, 1, "");
    assert_int_equal(sim_position(sim_wait(a, CK_CONTROL_WELCOME)), 100);
    leave(a);
    assert_int_equal(sim_agg_wait(&agg), 0);
}

/* A process that is gone: its pid is nobody's for the moment. */
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

static void an_agent_that_vanished_does_not_keep_the_job(void **state)
{
    struct place *place = *state;
    struct sim_agg agg;
    struct sim *a;
    struct sim *b;
    char line[64];

    embedded(&agg, place);
    a = sim_create(agg.endpoint, 0xa0);
    b = sim_create(agg.endpoint, 0xb0);
    welcome(a, 0, 2);
    (void)snprintf(line, sizeof(line), "pid=%d\n", (int)pid_of_the_dead());
    sim_hello(b, 1, 2, line);
    assert_non_null(sim_wait(b, CK_CONTROL_WELCOME));
    sim_put(b, 0, 5);
    assert_true(sim_wait_ack(b, 5));
    sim_destroy(b);
    leave(a);
    assert_int_equal(sim_agg_wait(&agg), 0);
    (void)sim_read(place->run, "manifest.json", place->text);
    assert_non_null(strstr(place->text, "\"state\": \"dead\""));
    assert_non_null(strstr(place->text, "\"state\": \"left\""));
}

static void a_silent_agent_whose_process_lives_is_waited_for(void **state)
{
    struct place *place = *state;
    struct sim_agg agg;
    struct sim *a;

    embedded(&agg, place);
    a = sim_create(agg.endpoint, 0xa0);
    welcome(a, 0, 1);
    assert_true(
        sim_wait_text(place->run, "manifest.json", "\"state\": \"silent\""));
    sim_control(a, CK_CONTROL_BEAT, "events=1\nlost=0\n");
    sim_put(a, 0, 5);
    assert_true(sim_wait_ack(a, 5));
    leave(a);
    assert_int_equal(sim_agg_wait(&agg), 0);
}

static void a_full_disk_is_said_and_frames_come_again(void **state)
{
    struct place *place = *state;
    const char *const args[] = {"-c",         "ulimit -f 8; exec \"$0\" \"$@\"",
                                CKAGG,        "--embedded",
                                "--dir",      place->run,
                                "--listen",   place->url,
                                "--no-merge", NULL};
    struct sim_agg agg;
    const struct ck_control *control;
    struct sim *a;

    assert_int_equal(sim_agg_start(&agg, "/bin/bash", place->dir, args), 0);
    a = sim_create(agg.endpoint, 0xa0);
    welcome(a, 0, 1);
    sim_put(a, 0, 100);
    assert_true(sim_wait_ack(a, 100));
    sim_put(a, 100, 16000); /* larger than a file may be */
    sim_put(a, 16100, 1);   /* must not be stored in front of it */
    control = sim_wait(a, CK_CONTROL_REFUSED);
    assert_non_null(control);
    assert_string_equal(control->text, "hello first");
    sim_hello(a, 0, 1, "");
    control = sim_wait(a, CK_CONTROL_WELCOME);
    assert_int_equal(sim_position(control), 100);
    sim_put(a, 100, 50); /* this fits */
    assert_true(sim_wait_ack(a, 150));
    assert_string_equal(sim_stored(place->run, sim_agent(a), place->text),
                        "0+100 100+50");
    leave(a);
    assert_int_equal(sim_agg_wait(&agg), 0);
    (void)sim_read(place->run, "ckagg.log", place->text);
    assert_non_null(strstr(place->text, "not acknowledged"));
}

/* ckagg in a folder of its own, with this script as its ckmerge (NULL: none).
 */
static void
alone_with(const struct place *place, const char *script, char *path)
{
    char *argv[] = {"cp", CKAGG, path, NULL};
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
merged_job(struct place *place, const char *script, const char **report)
{
    char path[PATH_MAX];
    const char *const args[] = {"--embedded", "--dir",    place->run,
                                "--listen",   place->url, "--output",
                                "json",       NULL};
    struct sim_agg agg;
    const struct ck_control *control;
    struct sim *a;

    alone_with(place, script, path);
    assert_int_equal(sim_agg_start(&agg, path, place->dir, args), 0);
    a = sim_create(agg.endpoint, 0xa0);
    welcome(a, 0, 1);
    sim_put(a, 0, 5);
    assert_true(sim_wait_ack(a, 5));
    sim_control(a, CK_CONTROL_REPORT, "");
    sim_control(a, CK_CONTROL_GOODBYE, "status=0\n");
    control = sim_wait(a, CK_CONTROL_REPORT);
    assert_non_null(control);
    (void)snprintf(place->text, SIM_TEXT, "%s", control->text);
    *report = strstr(place->text, "\n\n");
    assert_non_null(*report);
    *report += 2;
    sim_destroy(a);
    return sim_agg_wait(&agg);
}

static void the_report_goes_to_those_who_wait(void **state)
{
    struct place *place = *state;
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
    struct place *place = *state;
    const char *report;

    assert_int_equal(merged_job(place, "#!/bin/sh\nexit 1\n", &report), 1);
    assert_non_null(strstr(place->text, "exit=1\n"));
    (void)sim_read(place->run, "ckagg.log", place->text);
    assert_non_null(strstr(place->text, "the run is stored in"));
}

static void a_missing_ckmerge_is_said(void **state)
{
    struct place *place = *state;
    const char *report;

    assert_int_equal(merged_job(place, NULL, &report), 1);
    assert_string_equal(report, "");
    (void)sim_read(place->run, "ckagg.log", place->text);
    assert_non_null(strstr(place->text, "cannot merge: ckmerge is not in"));
}

static void stop_ends_a_job_that_goes_on(void **state)
{
    struct place *place = *state;
    struct sim_agg agg;
    struct sim *a;

    embedded(&agg, place);
    a = sim_create(agg.endpoint, 0xa0);
    welcome(a, 0, 1);
    sim_control(a, CK_CONTROL_STOP, "");
    assert_int_equal(sim_agg_wait(&agg), 3);
    sim_destroy(a);
    (void)sim_read(place->run, "manifest.json", place->text);
    assert_non_null(strstr(place->text, "\"end\": \"stopped\""));
}

static void status_tells_of_all_jobs(void **state)
{
    struct place *place = *state;
    struct sim_agg agg;
    const struct ck_control *control;
    struct sim *a;

    embedded(&agg, place);
    a = sim_create(agg.endpoint, 0xa0);
    welcome(a, 0, 1);
    sim_put(a, 0, 5);
    assert_true(sim_wait_ack(a, 5));
    sim_control(a, CK_CONTROL_STATUS, "");
    control = sim_wait(a, CK_CONTROL_STATUS);
    assert_non_null(control);
    assert_non_null(strstr(control->text, "\"records\": 5"));
    assert_non_null(strstr(control->text, "\"state\": \"run\""));
    leave(a);
    assert_int_equal(sim_agg_wait(&agg), 0);
}

static void old_runs_are_removed_by_retain(void **state)
{
    struct place *place = *state;
    const char *const args[] = {"--listen",   place->url, "--dir", place->run,
                                "--no-merge", "--retain", "1",     NULL};
    char line[64];
    struct sim_agg agg;

    assert_int_equal(sim_agg_start(&agg, CKAGG, place->dir, args), 0);
    for (int i = 0; i < 3; i++) {
        struct sim *a = sim_create(agg.endpoint, (uint8_t)(0xa0 + i));

        (void)snprintf(line, sizeof(line), "job_key=job-%d\n", i);
        sim_hello(a, 0, 1, line);
        assert_non_null(sim_wait(a, CK_CONTROL_WELCOME));
        sim_control(a, CK_CONTROL_REPORT, ""); /* answered at the end */
        sim_control(a, CK_CONTROL_GOODBYE, "status=0\n");
        assert_non_null(sim_wait(a, CK_CONTROL_REPORT));
        sim_destroy(a);
    }
    assert_int_equal(sim_agg_end(&agg, SIGTERM), 0);
    assert_int_equal(runs_count(place->run), 1);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(a_job_of_two_ranks_is_stored_and_ends),
        CASE(frames_sent_again_are_acknowledged_and_stored_once),
        CASE(damaged_frames_are_refused_and_others_unharmed),
        CASE(a_frame_cut_at_every_byte_is_refused),
        CASE(a_stranger_is_told_to_say_hello_and_goes_on),
        CASE(a_new_connection_of_an_agent_takes_over),
        CASE(another_version_is_refused_with_its_reason),
        CASE(another_job_is_refused_by_an_embedded_one),
        CASE(tcp_beyond_loopback_wants_key_and_token),
        CASE(insecure_tcp_has_neither),
        CASE(the_key_file_is_for_its_owner_alone),
        CASE(a_port_that_is_taken_is_said),
        CASE(a_socket_that_is_in_use_is_not_stolen),
        CASE(a_directory_that_cannot_be_made_is_said),
        CASE(a_service_keeps_two_jobs_apart),
        CASE(what_was_acknowledged_survives_a_kill),
        CASE(a_torn_tail_is_cut_and_sent_again),
        CASE(sigterm_stores_and_a_second_ckagg_goes_on),
        CASE(an_agent_that_vanished_does_not_keep_the_job),
        CASE(a_silent_agent_whose_process_lives_is_waited_for),
        CASE(a_full_disk_is_said_and_frames_come_again),
        CASE(the_report_goes_to_those_who_wait),
        CASE(a_failing_merge_leaves_the_run),
        CASE(a_missing_ckmerge_is_said),
        CASE(stop_ends_a_job_that_goes_on),
        CASE(status_tells_of_all_jobs),
        CASE(old_runs_are_removed_by_retain),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
