/* test_ckagg.c - the real ckagg: what it takes, refuses and keeps
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "schema/store/run.h"
#include "tests/aggregator/sim.h"

static void a_job_of_two_ranks_is_stored_and_ends(void **state)
{
    struct sim_place *place = *state;
    struct sim *a = sim_join(&place->agg, 0xa0, 0, 2);
    struct sim *b = sim_join(&place->agg, 0xb0, 1, 2);

    sim_put(a, 0, 100);
    sim_put(a, 100, 50);
    sim_put(b, 0, 10);
    assert_true(sim_wait_ack(a, 150));
    assert_true(sim_wait_ack(b, 10));
    assert_string_equal(sim_stored(place->run, sim_agent(a), place->text),
                        "0+100 100+50");
    sim_leave(a);
    sim_leave_last(b, &place->agg);
    (void)sim_read(place->run, "manifest.json", place->text);
    assert_non_null(strstr(place->text, "\"state\": \"done\""));
    assert_non_null(strstr(place->text, "\"end\": \"complete\""));
    assert_non_null(strstr(place->text, "\"records\": 160"));
    assert_non_null(strstr(place->text, "\"job_key\": \"key-1\""));
}

static void frames_sent_again_are_acknowledged_and_stored_once(void **state)
{
    struct sim_place *place = *state;
    struct sim *a = sim_join(&place->agg, 0xa0, 0, 1);

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
    sim_leave_last(a, &place->agg);
    (void)sim_read(place->run, "manifest.json", place->text);
    assert_non_null(strstr(place->text, "\"repeated_frames\": 2"));
    assert_non_null(strstr(place->text, "\"missing_units\": 0"));
}

static void damaged_frames_are_refused_and_others_unharmed(void **state)
{
    struct sim_place *place = *state;
    struct sim *a = sim_join(&place->agg, 0xa0, 0, 2);
    struct sim *b = sim_join(&place->agg, 0xb0, 1, 2);
    uint8_t *frame;
    size_t bytes;

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
    sim_leave(a);
    sim_leave_last(b, &place->agg);
    (void)sim_read(place->run, "manifest.json", place->text);
    assert_non_null(strstr(place->text, "\"refused_messages\": 7"));
    (void)sim_read(place->run, "ckagg.log", place->text);
    assert_non_null(strstr(place->text, "a frame of another agent"));
}

static void a_frame_cut_at_every_byte_is_refused(void **state)
{
    struct sim_place *place = *state;
    struct sim *a = sim_join(&place->agg, 0xa0, 0, 1);
    uint8_t *frame;
    size_t bytes;

    frame = sim_frame(a, 0, 3, &bytes);
    for (size_t n = 0; n < bytes; n++) {
        sim_send(a, frame, n);
    }
    sim_send(a, frame, bytes);
    assert_true(sim_wait_ack(a, 3));
    assert_string_equal(sim_stored(place->run, sim_agent(a), place->text),
                        "0+3");
    sim_leave_last(a, &place->agg);
}

/* Anything at all, much of it nearly right, from two sides. */
static void random_bytes_do_no_harm(void **state)
{
    struct sim_place *place = *state;
    const char *text = getenv("CK_SEED");
    unsigned seed = text ? (unsigned)atoi(text) : (unsigned)time(NULL);
    struct sim *a = sim_join(&place->agg, 0xa0, 0, 1);
    struct sim *b = sim_create(place->agg.endpoint, 0xb0);
    uint8_t bytes[4096];

    print_message("CK_SEED=%u\n", seed);
    srand(seed);
    for (int i = 0; i < 4000; i++) {
        size_t length = (size_t)rand() % sizeof(bytes);

        for (size_t n = 0; n < length; n++) {
            bytes[n] = (uint8_t)(rand() & 0xff);
        }
        if (length >= 16 && i % 4 == 1) {
            memcpy(bytes, "CKF1", 4);
        } else if (length >= 16 && i % 4 == 2) {
            memcpy(bytes + 4, "CKC1", 4);
        } else if (i % 4 == 3) {
            uint8_t *frame = sim_frame(a, (uint64_t)i, 9, &length);

            frame[(size_t)rand() % length] ^= (uint8_t)(1 << rand() % 8);
            memcpy(bytes, frame, length);
        }
        sim_send(i % 3 ? a : b, bytes, length);
    }
    sim_destroy(b);
    sim_put(a, 100000, 5);
    assert_true(sim_wait_ack(a, 100005));
    sim_leave_last(a, &place->agg);
}

static void a_stranger_is_asked_for_hello_and_goes_on(void **state)
{
    struct sim_place *place = *state;
    struct sim *a = sim_create(place->agg.endpoint, 0xa0);

    sim_put(a, 0, 5);
    assert_string_equal(sim_text(a, CK_CONTROL_REFUSED), "hello first");
    sim_welcome(a, 0, 1);
    sim_put(a, 0, 5);
    assert_true(sim_wait_ack(a, 5));
    sim_leave_last(a, &place->agg);
}

static void a_new_connection_of_an_agent_takes_over(void **state)
{
    struct sim_place *place = *state;
    struct sim *old = sim_join(&place->agg, 0xa0, 0, 1);
    struct sim *a;

    sim_put(old, 0, 5);
    assert_true(sim_wait_ack(old, 5));
    a = sim_create(place->agg.endpoint, 0xa0);
    assert_int_equal(sim_return(a), 5);
    sim_put(old, 5, 5);
    assert_string_equal(sim_text(old, CK_CONTROL_REFUSED), "hello first");
    sim_destroy(old);
    sim_leave_last(a, &place->agg);
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
    struct sim_place *place = *state;
    struct sim *a = sim_create(place->agg.endpoint, 0xa0);

    sim_hello_version(a, CK_FRAME_VERSION + 1);
    assert_non_null(strstr(sim_text(a, CK_CONTROL_REFUSED), "version"));
    sim_destroy(a);
    assert_int_equal(sim_agg_end(&place->agg, SIGTERM), 0);
}

static void another_job_is_refused_by_an_embedded_one(void **state)
{
    struct sim_place *place = *state;
    struct sim *a = sim_join(&place->agg, 0xa0, 0, 1);
    struct sim *b = sim_create(place->agg.endpoint, 0xb0);

    sim_hello(b, 0, 1, "job_key=key-2\n");
    assert_non_null(strstr(sim_text(b, CK_CONTROL_REFUSED), "key-2"));
    sim_destroy(b);
    sim_leave_last(a, &place->agg);
}

static void tcp_beyond_loopback_wants_key_and_token(void **state)
{
    struct sim_place *place = *state;
    const char *const args[] = {"--listen", "tcp://0.0.0.0:0", "--dir",
                                place->run, "--no-merge",      NULL};
    struct sim_agg agg;
    char wrong[9000];
    char *token;
    struct sim *a;
    struct sim *b;

    assert_int_equal(sim_agg_start(&agg, SIM_CKAGG, place->dir, args), 0);
    token = strstr(agg.endpoint, "token=");
    assert_non_null(token);
    assert_non_null(strstr(agg.endpoint, "curve="));
    a = sim_join(&agg, 0xa0, 0, 1);
    strcpy(wrong, agg.endpoint);
    wrong[token - agg.endpoint + 6] = token[6] == '0' ? '1' : '0';
    b = sim_create(wrong, 0xb0);
    sim_hello(b, 1, 1, "");
    assert_non_null(strstr(sim_text(b, CK_CONTROL_REFUSED), "token"));
    sim_control(b, CK_CONTROL_STATUS, "");
    (void)sim_text(b, CK_CONTROL_REFUSED);
    sim_destroy(b);
    sim_leave(a);
    assert_int_equal(sim_agg_end(&agg, SIGTERM), 0);
}

static void insecure_tcp_has_neither(void **state)
{
    struct sim_place *place = *state;
    const char *const args[] = {"--listen", "tcp://0.0.0.0:0", "--dir",
                                place->run, "--no-merge",      "--insecure",
                                NULL};
    struct sim_agg agg;
    struct sim *a;

    assert_int_equal(sim_agg_start(&agg, SIM_CKAGG, place->dir, args), 0);
    assert_null(strstr(agg.endpoint, "curve="));
    a = sim_join(&agg, 0xa0, 0, 1);
    sim_leave(a);
    assert_int_equal(sim_agg_end(&agg, SIGINT), 0);
}

static void the_key_file_is_for_its_owner_alone(void **state)
{
    struct sim_place *place = *state;
    const char *const args[] = {"--listen", "tcp://0.0.0.0:0", "--dir",
                                place->run, "--no-merge",      NULL};
    char path[512];
    struct sim_agg agg;
    struct stat facts;

    (void)snprintf(path, sizeof(path), "%s/key", place->dir);
    assert_int_equal(setenv("CKAGG_KEYFILE", path, 1), 0);
    assert_int_equal(sim_agg_start(&agg, SIM_CKAGG, place->dir, args), 0);
    (void)unsetenv("CKAGG_KEYFILE");
    assert_int_equal(stat(path, &facts), 0);
    assert_int_equal(facts.st_mode & 0777, 0600);
    (void)sim_read(place->dir, "key", place->text);
    place->text[strcspn(place->text, "\n")] = '\0';
    assert_string_equal(place->text, agg.endpoint);
    assert_int_equal(sim_agg_end(&agg, SIGTERM), 0);
}

static void a_port_that_is_taken_is_reported(void **state)
{
    struct sim_place *place = *state;
    const char *args[] = {"--listen", "tcp://127.0.0.1:0", "--dir", place->run,
                          NULL};
    char other[300];
    struct sim_agg agg;
    struct sim_agg second;

    (void)snprintf(other, sizeof(other), "%s/other", place->dir);
    assert_int_equal(sim_agg_start(&agg, SIM_CKAGG, place->dir, args), 0);
    args[1] = agg.endpoint;
    args[3] = other;
    assert_int_equal(sim_agg_start(&second, SIM_CKAGG, place->dir, args), -1);
    assert_int_equal(sim_agg_wait(&second), 1);
    (void)sim_read(place->dir, "stderr", place->text);
    assert_non_null(strstr(place->text, "Address already in use"));
    assert_int_equal(sim_agg_end(&agg, SIGTERM), 0);
}

static void a_socket_that_is_in_use_is_not_stolen(void **state)
{
    struct sim_place *place = *state;
    const char *const args[] = {"--listen", place->url, "--dir", place->dir,
                                NULL};
    struct sim_agg second;
    struct sim *a;

    assert_int_equal(sim_agg_start(&second, SIM_CKAGG, place->dir, args), -1);
    assert_int_equal(sim_agg_wait(&second), 1);
    (void)sim_read(place->dir, "stderr", place->text);
    assert_non_null(strstr(place->text, "another process does already"));
    a = sim_join(&place->agg, 0xa0, 0, 1);
    sim_leave_last(a, &place->agg);
}

static void a_file_in_place_of_a_socket_is_left_alone(void **state)
{
    struct sim_place *place = *state;
    char file[300], url[320];
    const char *const args[] = {"--listen", url, "--dir", place->run, NULL};
    struct sim_agg agg;
    int fd;

    (void)snprintf(file, sizeof(file), "%s/thesis.tex", place->dir);
    (void)snprintf(url, sizeof(url), "ipc://%s", file);
    fd = open(file, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    (void)close(fd);
    assert_int_equal(sim_agg_start(&agg, SIM_CKAGG, place->dir, args), -1);
    assert_int_equal(sim_agg_wait(&agg), 1);
    (void)sim_read(place->dir, "stderr", place->text);
    assert_non_null(strstr(place->text, "which is no socket"));
    assert_int_equal(access(file, F_OK), 0);
}

static void a_directory_that_cannot_be_made_is_reported(void **state)
{
    struct sim_place *place = *state;
    const char *const args[] = {"--listen",          place->url,   "--dir",
                                "/proc/nowhere/run", "--embedded", NULL};
    struct sim_agg agg;

    assert_int_equal(sim_agg_start(&agg, SIM_CKAGG, place->dir, args), -1);
    assert_int_equal(sim_agg_wait(&agg), 1);
    (void)sim_read(place->dir, "stderr", place->text);
    assert_non_null(strstr(place->text, "/proc/nowhere/run"));
}

static void what_was_acknowledged_survives_a_kill(void **state)
{
    struct sim_place *place = *state;
    struct sim *a = sim_join(&place->agg, 0xa0, 0, 1);

    sim_put(a, 0, 100);
    sim_put(a, 100, 100);
    assert_true(sim_wait_ack(a, 200));
    assert_int_equal(sim_agg_end(&place->agg, SIGKILL), 128 + SIGKILL);
    sim_embedded(place);  /* the same directory, the same socket */
    sim_put(a, 200, 100); /* the DEALER has connected again by itself */
    assert_string_equal(sim_text(a, CK_CONTROL_REFUSED), "hello first");
    assert_int_equal(sim_return(a), 200);
    sim_put(a, 100, 100);
    sim_put(a, 200, 100);
    assert_true(sim_wait_ack(a, 300));
    assert_string_equal(sim_stored(place->run, sim_agent(a), place->text),
                        "0+100 100+100 200+100");
    sim_leave_last(a, &place->agg);
}

static void a_torn_tail_is_cut_and_sent_again(void **state)
{
    struct sim_place *place = *state;
    struct sim *a = sim_join(&place->agg, 0xa0, 0, 1);
    char path[PATH_MAX];
    struct stat facts;

    sim_put(a, 0, 100);
    sim_put(a, 100, 100);
    assert_true(sim_wait_ack(a, 200));
    assert_int_equal(sim_agg_end(&place->agg, SIGKILL), 128 + SIGKILL);
    assert_int_equal(ck_run_segment_path(path, place->run, sim_agent(a), false),
                     0);
    assert_int_equal(stat(path, &facts), 0);
    assert_int_equal(truncate(path, facts.st_size - 9), 0);
    sim_embedded(place);
    assert_int_equal(sim_return(a), 100);
    sim_put(a, 100, 100);
    assert_true(sim_wait_ack(a, 200));
    assert_string_equal(sim_stored(place->run, sim_agent(a), place->text),
                        "0+100 100+100");
    sim_leave_last(a, &place->agg);
}

static void a_full_disk_is_reported_and_frames_come_again(void **state)
{
    struct sim_place *place = *state;
    const char *const args[] = {"-c",         "ulimit -f 8; exec \"$0\" \"$@\"",
                                SIM_CKAGG,    "--embedded",
                                "--dir",      place->run,
                                "--listen",   place->url,
                                "--no-merge", NULL};
    struct sim_agg agg;
    struct sim *a;

    assert_int_equal(sim_agg_start(&agg, "/bin/bash", place->dir, args), 0);
    a = sim_join(&agg, 0xa0, 0, 1);
    sim_put(a, 0, 100);
    assert_true(sim_wait_ack(a, 100));
    sim_put(a, 100, 16000); /* larger than a file may be */
    sim_put(a, 16100, 1);   /* must not be stored in front of it */
    assert_string_equal(sim_text(a, CK_CONTROL_REFUSED), "hello first");
    assert_int_equal(sim_return(a), 100);
    sim_put(a, 100, 50); /* this fits */
    assert_true(sim_wait_ack(a, 150));
    assert_string_equal(sim_stored(place->run, sim_agent(a), place->text),
                        "0+100 100+50");
    sim_leave_last(a, &agg);
    (void)sim_read(place->run, "ckagg.log", place->text);
    assert_non_null(strstr(place->text, "not acknowledged"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SIM_EMBEDDED(a_job_of_two_ranks_is_stored_and_ends),
        SIM_EMBEDDED(frames_sent_again_are_acknowledged_and_stored_once),
        SIM_EMBEDDED(damaged_frames_are_refused_and_others_unharmed),
        SIM_EMBEDDED(a_frame_cut_at_every_byte_is_refused),
        SIM_EMBEDDED(random_bytes_do_no_harm),
        SIM_EMBEDDED(a_stranger_is_asked_for_hello_and_goes_on),
        SIM_EMBEDDED(a_new_connection_of_an_agent_takes_over),
        SIM_EMBEDDED(another_version_is_refused_with_its_reason),
        SIM_EMBEDDED(another_job_is_refused_by_an_embedded_one),
        SIM_CASE(tcp_beyond_loopback_wants_key_and_token),
        SIM_CASE(insecure_tcp_has_neither),
        SIM_CASE(the_key_file_is_for_its_owner_alone),
        SIM_CASE(a_port_that_is_taken_is_reported),
        SIM_EMBEDDED(a_socket_that_is_in_use_is_not_stolen),
        SIM_CASE(a_file_in_place_of_a_socket_is_left_alone),
        SIM_CASE(a_directory_that_cannot_be_made_is_reported),
        SIM_EMBEDDED(what_was_acknowledged_survives_a_kill),
        SIM_EMBEDDED(a_torn_tail_is_cut_and_sent_again),
        SIM_CASE(a_full_disk_is_reported_and_frames_come_again),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
