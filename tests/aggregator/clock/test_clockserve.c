/* test_clockserve.c - the thread that answers clock probes, over real sockets
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <errno.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <arpa/inet.h>
#include <cmocka.h>
#include <netinet/in.h>

#include "aggregator/clock/clockserve.h"
#include "schema/clock/stamp.h"

#define WAIT_MS 100000
#define HELD 400 /* of some 28,000 ports */

static const uint8_t agent[16] = {1};
static const uint8_t key[CK_AUTH_KEY_BYTES] = {11};
static struct clockserve *serve;
static uint64_t session;

static int setup(void **state)
{
    struct clocksockets_options options = {.port = 0};
    struct ck_err err;

    (void)state;
    serve = clockserve_create(&options, &err);
    if (serve == NULL) {
        print_error("%s\n", err.text);
        return -1;
    }
    session = clocksessions_open(clockserve_sessions(serve), agent, key);
    return session == 0;
}

static int teardown(void **state)
{
    (void)state;
    clockserve_destroy(serve);
    return 0;
}

static int connected(int type)
{
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
                                  .sin_port =
                                      htons((uint16_t)clockserve_port(serve))};
    int fd = socket(AF_INET, type | SOCK_CLOEXEC, 0);

    assert_int_equal(connect(fd, (void *)&address, sizeof(address)), 0);
    return fd;
}

static void ask_send(int fd, uint64_t number)
{
    struct ck_probe ask = {
        .type = CK_PROBE_ASK, .session = session, .number = number};
    uint8_t bytes[CK_PROBE_BYTES];

    ck_probe_encode(&ask, key, bytes);
    assert_int_equal(send(fd, bytes, sizeof(bytes), MSG_NOSIGNAL),
                     sizeof(bytes));
}

static struct ck_probe answer_wait(int fd)
{
    struct pollfd item = {.fd = fd, .events = POLLIN};
    uint8_t bytes[CK_PROBE_BYTES];
    struct ck_probe answer;

    assert_int_equal(poll(&item, 1, WAIT_MS), 1);
    assert_int_equal(recv(fd, bytes, sizeof(bytes), MSG_WAITALL),
                     sizeof(bytes));
    assert_int_equal(ck_probe_decode(bytes, sizeof(bytes), &answer), 0);
    assert_int_equal(ck_probe_check(bytes, key), 0);
    return answer;
}

static void datagrams_are_answered_in_the_order_of_time(void **state)
{
    int fd = connected(SOCK_DGRAM);

    (void)state;
    for (uint64_t i = 1; i <= 20; i++) {
        ck_time_t before = ck_time_raw();
        struct ck_probe answer;

        ask_send(fd, i);
        answer = answer_wait(fd);
        assert_int_equal(answer.number, i);
        assert_true(answer.received + answer.received_error >= before);
        assert_true(answer.sent >= answer.received - answer.received_error);
        assert_true(answer.sent <= ck_time_raw());
    }
    (void)close(fd);
}

static void the_kernels_stamp_of_an_answer_comes_with_the_next(void **state)
{
    int fd = connected(SOCK_DGRAM);
    struct ck_probe first;
    struct ck_probe second;

    (void)state;
    if (!clockserve_is_stamped(serve)) {
        print_message("no kernel stamps here\n");
        skip();
    }
    ask_send(fd, 1);
    first = answer_wait(fd);
    ask_send(fd, 2);
    second = answer_wait(fd);
    assert_int_equal(second.earlier, 1);
    assert_true(second.earlier_sent + second.earlier_error >= first.sent);
    assert_true(second.earlier_sent - second.earlier_error <= ck_time_raw());
    (void)close(fd);
}

/* Ten milliseconds of work at once: the last ones wait long. */
static void waiting_costs_an_arrival_no_accuracy(void **state)
{
    int fd = connected(SOCK_DGRAM);
    uint32_t worst = 0;
    uint64_t answered = 0;
    int room = 4 << 20;

    (void)state;
    if (!clockserve_is_stamped(serve)) {
        print_message("no kernel stamps here\n");
        skip();
    }
    (void)setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &room, sizeof(room));
    for (uint64_t i = 1; i <= 1000; i++) {
        ask_send(fd, i);
    }
    while (answered < 1000) {
        struct ck_probe answer = answer_wait(fd);

        answered = answer.number;
        worst = answer.received_error > worst ? answer.received_error : worst;
    }
    assert_in_range(worst, 1, 2 * CK_TIME_US);
    (void)close(fd);
}

/* What is seen of the answers to a crowd. */
struct seen {
    uint8_t answers[8192]; /* by number */
    uint8_t stamps[8192];
    size_t shared; /* datagrams with several answers */
};

static void pieces_take(int fd, struct seen *seen)
{
    uint8_t bytes[CK_PROBE_PIECES * CK_PROBE_BYTES + 1];
    struct pollfd item = {.fd = fd, .events = POLLIN};
    ssize_t length;

    assert_int_equal(poll(&item, 1, WAIT_MS), 1);
    length = recv(fd, bytes, sizeof(bytes), 0);
    assert_true(length > 0 && length % CK_PROBE_BYTES == 0);
    seen->shared += length > CK_PROBE_BYTES;
    for (ssize_t at = 0; at < length; at += CK_PROBE_BYTES) {
        struct ck_probe answer;

        assert_int_equal(ck_probe_decode(bytes + at, CK_PROBE_BYTES, &answer),
                         0);
        assert_int_equal(ck_probe_check(bytes + at, key), 0);
        assert_true(answer.received <= answer.sent + answer.received_error);
        assert_in_range(answer.number, 1, sizeof(seen->answers) - 1);
        assert_true(answer.earlier < answer.number);
        seen->answers[answer.number]++;
        seen->stamps[answer.earlier]++;
    }
}

/* Bursts of 8 for a quarter of a second, as many as there is time for. */
static void a_crowd_is_answered_together_each_once(void **state)
{
    struct seen *seen = calloc(1, sizeof(*seen));
    ck_time_t until = ck_time_raw() + 250 * CK_TIME_MS;
    int fd = connected(SOCK_DGRAM);
    uint64_t number = 0;
    size_t stamped = 0;

    (void)state;
    assert_non_null(seen);
    while (ck_time_raw() < until && number + 8 < sizeof(seen->answers)) {
        uint64_t first = number;

        while (number < first + 8) {
            ask_send(fd, ++number);
        }
        while (memchr(&seen->answers[first + 1], 0, 8) != NULL) {
            pieces_take(fd, seen);
        }
    }
    for (uint64_t i = 1; i <= number; i++) {
        assert_int_equal(seen->answers[i], 1);
        stamped += seen->stamps[i] > 0;
    }
    assert_true(seen->shared > 0);
    /* Of a burst at least one more than the one before is stamped. */
    assert_true(!clockserve_is_stamped(serve) || stamped >= number / 8);
    free(seen);
    (void)close(fd);
}

static void a_stream_is_answered_even_in_pieces(void **state)
{
    struct ck_probe ask = {
        .type = CK_PROBE_ASK, .session = session, .number = 2};
    int fd = connected(SOCK_STREAM);
    uint8_t bytes[CK_PROBE_BYTES];

    (void)state;
    ask_send(fd, 1);
    assert_int_equal(answer_wait(fd).number, 1);
    ck_probe_encode(&ask, key, bytes);
    for (size_t i = 0; i < sizeof(bytes); i += 22) {
        assert_int_equal(send(fd, bytes + i, 22, MSG_NOSIGNAL), 22);
    }
    assert_int_equal(answer_wait(fd).number, 2);
    (void)close(fd);
}

static void a_stream_of_rubbish_is_closed(void **state)
{
    int fd = connected(SOCK_STREAM);
    struct pollfd item = {.fd = fd, .events = POLLIN};
    uint8_t bytes[CK_PROBE_BYTES] = {0};

    (void)state;
    assert_int_equal(send(fd, bytes, sizeof(bytes), MSG_NOSIGNAL),
                     sizeof(bytes));
    assert_int_equal(poll(&item, 1, WAIT_MS), 1);
    assert_true(recv(fd, bytes, sizeof(bytes), 0) <= 0);
    (void)close(fd);
}

/* What came before the good one was taken before it. */
static void a_storm_of_rubbish_gets_no_answer_and_stops_nothing(void **state)
{
    int fd = connected(SOCK_DGRAM);
    struct ck_probe ask = {
        .type = CK_PROBE_ASK, .session = session, .number = 1};
    struct clocksession_facts facts;
    uint8_t bytes[2048];

    (void)state;
    for (unsigned i = 0; i < 64; i++) {
        memset(bytes, (int)i, sizeof(bytes));
        (void)send(fd, bytes, i * 31, 0);
    }
    ck_probe_encode(&ask, key, bytes);
    bytes[80] ^= 1;
    (void)send(fd, bytes, CK_PROBE_BYTES, 0);
    ask.session ^= (uint64_t)1 << 60;
    ck_probe_encode(&ask, key, bytes);
    (void)send(fd, bytes, CK_PROBE_BYTES, 0);
    ask_send(fd, 7);
    assert_int_equal(answer_wait(fd).number, 7);
    ask_send(fd, 7);
    ask_send(fd, 8);
    assert_int_equal(answer_wait(fd).number, 8);
    facts = clocksessions_facts(clockserve_sessions(serve));
    assert_int_equal(facts.verdicts[CLOCKSESSION_MALFORMED], 64);
    assert_int_equal(facts.verdicts[CLOCKSESSION_UNTAGGED], 1);
    assert_int_equal(facts.verdicts[CLOCKSESSION_FOREIGN], 1);
    assert_int_equal(facts.verdicts[CLOCKSESSION_REPLAYED], 1);
    assert_int_equal(facts.answered, 2);
    (void)close(fd);
}

static void more_streams_than_places_push_out_the_silent_ones(void **state)
{
    int fds[CLOCKSERVE_STREAMS + 8];
    const size_t count = sizeof(fds) / sizeof(fds[0]);

    (void)state;
    for (size_t i = 0; i < count; i++) {
        fds[i] = connected(SOCK_STREAM);
    }
    ask_send(fds[count - 1], 1);
    assert_int_equal(answer_wait(fds[count - 1]).number, 1);
    for (size_t i = 0; i < count; i++) {
        (void)close(fds[i]);
    }
}

static void a_port_that_is_taken_is_reported(void **state)
{
    struct clocksockets_options same = {.port = clockserve_port(serve)};
    struct ck_err err = {""};

    (void)state;
    assert_null(clockserve_create(&same, &err));
    assert_non_null(strstr(err.text, "UDP port"));
}

/* Others on a machine hold many TCP ports: one that is free for both is found.
 */
static void a_port_has_tcp_though_others_hold_many(void **state)
{
    struct clocksockets_options options = {.port = 0};
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    struct clockserve *first = serve;
    int held[HELD];

    (void)state;
    for (size_t i = 0; i < HELD; i++) {
        held[i] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        assert_int_equal(bind(held[i], (void *)&address, sizeof(address)), 0);
        assert_int_equal(listen(held[i], 1), 0);
    }
    for (size_t i = 0; i < HELD; i++) {
        serve = clockserve_create(&options, NULL);
        assert_non_null(serve);
        (void)close(connected(SOCK_STREAM));
        clockserve_destroy(serve);
    }
    for (size_t i = 0; i < HELD; i++) {
        (void)close(held[i]);
    }
    serve = first;
}

static void the_wide_one_answers_on_loopback_too(void **state)
{
    struct clocksockets_options options = {.is_wide = true};
    struct clockserve *narrow = serve;
    int fd;

    (void)state;
    serve = clockserve_create(&options, NULL);
    assert_non_null(serve);
    session = clocksessions_open(clockserve_sessions(serve), agent, key);
    fd = connected(SOCK_DGRAM);
    ask_send(fd, 1);
    assert_int_equal(answer_wait(fd).number, 1);
    (void)close(fd);
    clockserve_destroy(serve);
    serve = narrow;
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(datagrams_are_answered_in_the_order_of_time),
        TEST(the_kernels_stamp_of_an_answer_comes_with_the_next),
        TEST(waiting_costs_an_arrival_no_accuracy),
        TEST(a_crowd_is_answered_together_each_once),
        TEST(a_stream_is_answered_even_in_pieces),
        TEST(a_stream_of_rubbish_is_closed),
        TEST(a_storm_of_rubbish_gets_no_answer_and_stops_nothing),
        TEST(more_streams_than_places_push_out_the_silent_ones),
        TEST(a_port_that_is_taken_is_reported),
        TEST(a_port_has_tcp_though_others_hold_many),
        TEST(the_wide_one_answers_on_loopback_too),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
