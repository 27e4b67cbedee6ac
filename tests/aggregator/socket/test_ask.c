/* test_ask.c - `ckagg --where` asks those who answer, and those who do not
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
#include <sys/stat.h>
#include <time.h>

#include <zmq.h>

#include "schema/batch/wire.h"
#include "schema/store/owner.h"
#include "schema/store/run.h"
#include "tests/aggregator/sim.h"

/* Less than the time that a merge may take. */
#define SOON_S "30"

/* Begin to ask; its output with what it reports. */
static FILE *ask_begin(const char *whom)
{
    char command[1024];
    FILE *output;

    (void)snprintf(
        command, sizeof(command),
        "exec timeout -k 5 " SOON_S " " SIM_CKAGG " --where '%s' 2>&1", whom);
    output = popen(command, "r");
    assert_non_null(output);
    return output;
}

/* The run has the address of its ckagg soon after its first agent came. */
static void address_wait(const char *run)
{
    const struct timespec pause = {.tv_nsec = 10000000};
    struct ck_owner owner;

    for (int i = 0; i < 6000; i++) {
        if (ck_owner_read(run, &owner) && owner.endpoint[0] != '\0') {
            return;
        }
        (void)nanosleep(&pause, NULL);
    }
    fail_msg("%s has no address after 60 s", run);
}

/* All that it printed; its exit status. */
static int ask_end(FILE *output, char text[SIM_TEXT])
{
    size_t length = fread(text, 1, SIM_TEXT - 1, output);

    text[length] = '\0';
    return WEXITSTATUS(pclose(output));
}

static void nothing_is_waited_for_where_no_ckagg_listens(void **state)
{
    struct sim_place *place = *state;
    FILE *output = ask_begin(place->url);

    assert_int_equal(ask_end(output, place->text), 1);
    assert_non_null(strstr(place->text, "nothing answers there"));
}

static void a_ckagg_that_is_killed_is_not_waited_for(void **state)
{
    struct sim_place *place = *state;
    struct sim *a = sim_join(&place->agg, 0xa0, 0, 1);
    FILE *output;

    address_wait(place->run);
    output = ask_begin(place->run);
    assert_non_null(sim_wait(a, CK_CONTROL_WHERE)); /* it does not answer */
    (void)sim_agg_end(&place->agg, SIGKILL);
    assert_int_equal(ask_end(output, place->text), 1);
    assert_non_null(strstr(place->text, "it ended"));
    sim_destroy(a);
}

static void a_manifest_that_is_a_fifo_is_not_waited_for(void **state)
{
    struct sim_place *place = *state;
    char path[400];

    (void)snprintf(path, sizeof(path), "%s/" CK_RUN_MANIFEST, place->dir);
    assert_int_equal(mkfifo(path, 0600), 0);
    assert_int_equal(ask_end(ask_begin(place->dir), place->text), 2);
    assert_non_null(strstr(place->text, "no job is running there"));
}

/* Answer one question at the URL. */
static void answer(const char *url, const char *text)
{
    void *context = zmq_ctx_new();
    void *socket = zmq_socket(context, ZMQ_ROUTER);
    struct ck_batch_writer *writer = ck_batch_writer_create();
    struct ck_control control = {.version = CK_FRAME_VERSION,
                                 .type = CK_CONTROL_WHERE,
                                 .text = text,
                                 .text_length = strlen(text)};
    char id[64], asked[4096];
    const void *bytes;
    size_t length;
    int wait = SIM_WAIT_MS;
    int id_length;

    (void)zmq_setsockopt(socket, ZMQ_RCVTIMEO, &wait, sizeof(wait));
    assert_int_equal(zmq_bind(socket, url), 0);
    id_length = zmq_recv(socket, id, sizeof(id), 0);
    assert_true(id_length > 0);
    assert_true(zmq_recv(socket, asked, sizeof(asked), 0) > 0);
    assert_int_equal(ck_control_encode(writer, &control, &bytes, &length, NULL),
                     0);
    assert_true(zmq_send(socket, id, (size_t)id_length, ZMQ_SNDMORE) > 0);
    assert_true(zmq_send(socket, bytes, length, 0) > 0);
    (void)zmq_close(socket);
    (void)zmq_ctx_term(context);
    ck_batch_writer_destroy(writer);
}

static void no_control_character_of_an_answer_is_printed(void **state)
{
    struct sim_place *place = *state;
    FILE *output = ask_begin(place->url);

    answer(place->url, "a\033]0;b\007\n\tc\r\302\2332Jd\177 \303\251\n");
    assert_int_equal(ask_end(output, place->text), 0);
    assert_string_equal(place->text, "a?]0;b?\n?c???2Jd? \303\251\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SIM_CASE(nothing_is_waited_for_where_no_ckagg_listens),
        SIM_EMBEDDED(a_ckagg_that_is_killed_is_not_waited_for),
        SIM_CASE(no_control_character_of_an_answer_is_printed),
        SIM_CASE(a_manifest_that_is_a_fifo_is_not_waited_for),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
