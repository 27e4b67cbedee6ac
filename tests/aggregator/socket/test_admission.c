/* test_admission.c - which tcp connections may stay
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "aggregator/socket/admission.h"
#include "tests/emulator.h"

#define PAIRS (ADMISSION_STRANGERS + 8)

struct place {
    struct admission *admission;
    int listen;
    int near[PAIRS]; /* the gate's side */
    int far[PAIRS];
    int pairs;
};

static int setup(void **state)
{
    struct sockaddr_in at = {.sin_family = AF_INET,
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    struct place *place = calloc(1, sizeof(*place));

    place->admission = admission_create();
    place->listen = socket(AF_INET, SOCK_STREAM, 0);
    *state = place;
    return bind(place->listen, (struct sockaddr *)&at, sizeof(at)) == 0 &&
                   listen(place->listen, 64) == 0
               ? 0
               : -1;
}

static int teardown(void **state)
{
    struct place *place = *state;

    for (int i = 0; i < place->pairs; i++) {
        (void)close(place->near[i]);
        (void)close(place->far[i]);
    }
    (void)close(place->listen);
    admission_destroy(place->admission);
    free(place);
    return 0;
}

/* Number of a new connection; the gate knows it since `now`. */
static int pair_make(struct place *place, ck_time_t now)
{
    struct sockaddr_in at;
    socklen_t length = sizeof(at);
    int i = place->pairs++;

    assert_int_equal(
        getsockname(place->listen, (struct sockaddr *)&at, &length), 0);
    place->far[i] = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(connect(place->far[i], (struct sockaddr *)&at, sizeof(at)),
                     0);
    place->near[i] = accept(place->listen, NULL, NULL);
    assert_true(place->near[i] >= 0);
    admission_open(place->admission, place->near[i], now);
    return i;
}

/* The bytes are sent, and read on the other side. */
static void pass(struct place *place, int i, size_t bytes)
{
    static char some[4096];

    for (size_t done = 0; done < bytes; done += sizeof(some)) {
        assert_int_equal(send(place->far[i], some, sizeof(some), 0),
                         sizeof(some));
        assert_int_equal(recv(place->near[i], some, sizeof(some), MSG_WAITALL),
                         sizeof(some));
    }
}

static bool is_shut(const struct place *place, int i)
{
    struct pollfd look = {.fd = place->far[i], .events = POLLIN};
    char byte;

    return poll(&look, 1, 0) == 1 &&
           recv(place->far[i], &byte, 1, MSG_DONTWAIT) <= 0;
}

static void a_stranger_may_not_hold_more_than_its_share(void **state)
{
    struct place *place = *state;
    int more = pair_make(place, 0);
    int less = pair_make(place, 0);

    EMULATOR_SKIP("no TCP_INFO");
    pass(place, more, ADMISSION_STRANGERS_BYTES / 2 + 4096);
    pass(place, less, ADMISSION_STRANGERS_BYTES / 2 - 4096);
    admission_look(place->admission, ADMISSION_PERIOD);
    assert_true(is_shut(place, more));
    assert_false(is_shut(place, less));
    assert_int_equal(admission_facts(place->admission).shut, 1);
    assert_int_equal(admission_facts(place->admission).strangers, 1);
}

static void what_was_taken_is_not_held(void **state)
{
    struct place *place = *state;
    int i = pair_make(place, 0);

    for (int turn = 1; turn <= 4; turn++) {
        pass(place, i, ADMISSION_STRANGERS_BYTES / 2);
        admission_take(place->admission, place->near[i],
                       ADMISSION_STRANGERS_BYTES / 2);
        admission_look(place->admission, turn * ADMISSION_PERIOD);
    }
    assert_false(is_shut(place, i));
}

static void a_peer_may_be_slow_until_all_hold_too_much(void **state)
{
    struct place *place = *state;
    int slow = pair_make(place, 0);
    int other = pair_make(place, 0);

    EMULATOR_SKIP("no TCP_INFO");
    admission_accept(place->admission, place->near[slow]);
    admission_accept(place->admission, place->near[other]);
    admission_look(place->admission, CK_TIME_S);
    pass(place, slow, ADMISSION_STRANGERS_BYTES * 2);
    admission_look(place->admission, 2 * ADMISSION_PEER_TIME);
    assert_false(is_shut(place, slow));
    pass(place, slow, ADMISSION_PEERS_BYTES);
    pass(place, other, ADMISSION_PEERS_BYTES);
    admission_take(place->admission, place->near[other], ADMISSION_PEERS_BYTES);
    admission_look(place->admission, 3 * ADMISSION_PEER_TIME);
    assert_true(is_shut(place, slow));
    assert_false(is_shut(place, other));
}

static void strangers_that_never_send_hello_leave(void **state)
{
    struct place *place = *state;
    int first = pair_make(place, 0);

    admission_look(place->admission, ADMISSION_STRANGER_TIME_MOST);
    assert_false(is_shut(place, first));
    admission_look(place->admission,
                   ADMISSION_STRANGER_TIME_MOST + ADMISSION_PERIOD);
    assert_true(is_shut(place, first));
}

static void of_too_many_strangers_the_old_ones_leave(void **state)
{
    struct place *place = *state;
    const ck_time_t later = ADMISSION_STRANGER_TIME + ADMISSION_PERIOD;
    int young;

    while (place->pairs < ADMISSION_STRANGERS + 4) {
        pair_make(place, 0);
    }
    young = pair_make(place, later);
    admission_look(place->admission, ADMISSION_PERIOD);
    assert_int_equal(admission_facts(place->admission).shut, 0);
    admission_look(place->admission, later);
    assert_int_equal(admission_facts(place->admission).strangers,
                     ADMISSION_STRANGERS);
    assert_false(is_shut(place, young));
}

static void what_took_over_the_descriptor_is_left_alone(void **state)
{
    struct place *place = *state;
    int first = pair_make(place, 0);
    int second = pair_make(place, 0);

    EMULATOR_SKIP("no TCP_INFO");
    admission_close(place->admission, place->near[second]);
    assert_int_equal(dup2(place->near[second], place->near[first]),
                     place->near[first]);
    admission_look(place->admission, 2 * ADMISSION_STRANGER_TIME_MOST);
    assert_false(is_shut(place, second));
    assert_int_equal(admission_facts(place->admission).shut, 0);
    assert_int_equal(admission_facts(place->admission).strangers, 0);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(a_stranger_may_not_hold_more_than_its_share),
        CASE(what_was_taken_is_not_held),
        CASE(a_peer_may_be_slow_until_all_hold_too_much),
        CASE(strangers_that_never_send_hello_leave),
        CASE(of_too_many_strangers_the_old_ones_leave),
        CASE(what_took_over_the_descriptor_is_left_alone),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
