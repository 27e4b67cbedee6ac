/* test_clockprobe.c - probing a clock: bursts, the ladder, who leads
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * The reference is a clock server of the test's own, played by a thread: it
 * answers with the very clock that is probed, so the true offset is 0, plus
 * what a test adds.
 */
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <arpa/inet.h>
#include <cmocka.h>
#include <netinet/in.h>

#include "agent/clock/clockprobe.h"
#include "schema/event.h"
#include "schema/store/run.h"
#include "tests/agent/said.h"
#include "tests/workdir.h"

extern char **environ;

#define OFFSET (3 * CK_TIME_S)
#define SESSION 0x1234567800000001u

struct server {
    int udp;
    int tcp; /* listening; -1 = none */
    int port;
    ck_time_t offset; /* of its clock */
    atomic_bool is_over;
    atomic_uint asked;
    uint8_t key[CK_AUTH_KEY_BYTES]; /* answers are tagged with it */
    pthread_t thread;
};

static struct said said;
static struct identity identity;
static struct server server = {.offset = OFFSET};
static struct ck_endpoint endpoint;

static void answer_make(const uint8_t *ask, uint8_t *bytes)
{
    struct ck_probe probe;

    assert_int_equal(ck_probe_decode(ask, CK_PROBE_BYTES, &probe), 0);
    probe.type = CK_PROBE_ANSWER;
    probe.received = ck_time_raw() + server.offset;
    probe.sent = ck_time_raw() + server.offset;
    probe.earlier = 0;
    ck_probe_encode(&probe, server.key, bytes);
    server.asked++;
}

static void stream_serve(int fd)
{
    uint8_t ask[CK_PROBE_BYTES];
    uint8_t bytes[CK_PROBE_BYTES];

    while (recv(fd, ask, sizeof(ask), MSG_WAITALL) == CK_PROBE_BYTES) {
        answer_make(ask, bytes);
        (void)send(fd, bytes, sizeof(bytes), MSG_NOSIGNAL);
    }
    (void)close(fd);
}

static void *server_run(void *argument)
{
    (void)argument;
    while (!server.is_over) {
        struct pollfd items[] = {{.fd = server.udp, .events = POLLIN},
                                 {.fd = server.tcp, .events = POLLIN}};
        struct sockaddr_in from;
        socklen_t length = sizeof(from);
        uint8_t ask[CK_PROBE_BYTES];
        uint8_t bytes[CK_PROBE_BYTES];

        (void)poll(items, 2, 10);
        if (items[1].revents != 0) {
            stream_serve(accept(server.tcp, NULL, NULL));
        }
        if (items[0].revents != 0 &&
            recvfrom(server.udp, ask, sizeof(ask), 0, (void *)&from, &length) ==
                CK_PROBE_BYTES) {
            answer_make(ask, bytes);
            (void)sendto(server.udp, bytes, sizeof(bytes), 0, (void *)&from,
                         length);
        }
    }
    return NULL;
}

static int bound(int type, int port)
{
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
                                  .sin_port = htons((uint16_t)port)};
    socklen_t length = sizeof(address);
    int fd = socket(AF_INET, type | SOCK_CLOEXEC, 0);

    assert_int_equal(bind(fd, (void *)&address, length), 0);
    assert_int_equal(getsockname(fd, (void *)&address, &length), 0);
    server.port = ntohs(address.sin_port);
    return fd;
}

static void server_start(bool has_udp, bool has_tcp)
{
    server.udp = has_udp ? bound(SOCK_DGRAM, 0) : -1;
    server.tcp = -1;
    if (has_tcp) {
        server.tcp = bound(SOCK_STREAM, has_udp ? server.port : 0);
        assert_int_equal(listen(server.tcp, 4), 0);
    }
    server.is_over = false;
    server.asked = 0;
    assert_int_equal(pthread_create(&server.thread, NULL, server_run, NULL), 0);
}

static void server_stop(void)
{
    server.is_over = true;
    (void)pthread_join(server.thread, NULL);
    (void)close(server.udp);
    (void)close(server.tcp);
}

static int setup(void **state)
{
    if (workdir_setup(state) != 0 || setenv("XDG_RUNTIME_DIR", work, 1) != 0 ||
        identity_find(&identity, environ, "clocks") != 0) {
        return -1;
    }
    said_init(&said);
    memset(&endpoint, 0, sizeof(endpoint));
    strcpy(endpoint.urls[0], "tcp://127.0.0.1:1");
    endpoint.count = 1;
    return 0;
}

static int teardown(void **state)
{
    said_fini(&said);
    return workdir_teardown(state);
}

/* A probing side that met a stranger's clock at the server. */
static struct clockprobe *met(bool is_stranger)
{
    struct clockprobe *clock = clockprobe_create(&identity, said.selfstream);
    struct clockreference reference = {
        .domain = identity.domain, .port = server.port, .session = SESSION};
    struct clockreference_to to = {&endpoint, 0, server.port, identity.agent};

    assert_non_null(clock);
    assert_int_equal(ck_auth_key_parse(clockprobe_key(clock), server.key), 0);
    if (is_stranger) {
        strcpy(reference.domain.boot_id, "another boot");
    }
    clockprobe_meet(clock, &reference, &to);
    return clock;
}

/* As the collector does, for so long at most or until so many were asked. */
static void turns(struct clockprobe *clock, unsigned asked, ck_time_t limit)
{
    ck_time_t now = ck_time_raw();
    ck_time_t until = now + limit;

    while (now < until && server.asked < asked) {
        ck_time_t due = clockprobe_due(clock);
        ck_time_t wake =
            due < now + 4 * CK_TIME_MS ? due : now + 4 * CK_TIME_MS;
        struct timespec wait = {.tv_nsec = wake > now ? wake - now : 0};
        struct pollfd items[2];

        clockprobe_poll(clock, wake, items);
        (void)ppoll(items, 2, &wait, NULL);
        now = ck_time_raw();
        clockprobe_step(clock, now, items);
    }
}

/* Until the answers to a burst are in, and the next one is far: a busy machine
 * that runs us late then would be taken for one that was stopped. */
static ck_time_t burst_end_wait(struct clockprobe *clock)
{
    ck_time_t now = ck_time_raw();

    while (clockprobe_due(clock) < now + 500 * CK_TIME_MS) {
        turns(clock, UINT32_MAX, 5 * CK_TIME_MS);
        now = ck_time_raw();
    }
    return now;
}

struct census {
    unsigned whole;
    unsigned lost;
};

static struct census census_take(void)
{
    struct census census = {.whole = 0};
    const struct ck_clock_fact *fact = NULL;

    (void)selfstream_flush(said.selfstream);
    said_read(&said);
    while ((fact = said_next(&said, CK_KIND_CLOCK_PROBE, fact)) != NULL) {
        ck_time_t upper = fact->value - fact->e.start + fact->width;
        ck_time_t lower = fact->t3 - fact->t4 - fact->width;

        assert_true((fact->e.flags & CK_FLAG_RAW) != 0);
        if (fact->value == 0) {
            census.lost++;
            continue;
        }
        census.whole++;
        assert_true(lower <= OFFSET && OFFSET <= upper);
    }
    return census;
}

static void the_first_burst_confines_the_truth(void **state)
{
    struct clockprobe *clock;
    struct census census;

    (void)state;
    server_start(true, false);
    clock = met(true);
    turns(clock, CLOCKPROBE_BURST, 100 * CK_TIME_S);
    clockprobe_finish(clock);
    census = census_take();
    assert_in_range(census.whole, CLOCKPROBE_BURST, 3 * CLOCKPROBE_BURST);
    clockprobe_destroy(clock);
    server_stop();
}

static void by_udp_probes_go_in_volleys(void **state)
{
    ck_time_t began = ck_time_raw();
    struct clockprobe *clock;
    struct pollfd items[2];

    (void)state;
    server_start(true, false);
    clock = met(true);
    while (server.asked == 0) {
        clockprobe_poll(clock, began, items);
        clockprobe_step(clock, began, items); /* time does not advance */
    }
    while (server.asked < CLOCKPROBE_VOLLEY &&
           ck_time_raw() < began + 100 * CK_TIME_S) {
    }
    assert_int_equal(server.asked, CLOCKPROBE_VOLLEY);
    assert_in_range(clockprobe_due(clock), began + CLOCKPROBE_GAP_MIN,
                    began + CLOCKPROBE_GAP_MIN + CLOCKPROBE_GAP_SPREAD);
    clockprobe_finish(clock);
    clockprobe_destroy(clock);
    server_stop();
}

/* A machine's clock and its clone's, which is off: from the first burst on that
 * is known, and it is probed as a stranger's. */
static void a_clone_is_probed_as_a_stranger(void **state)
{
    struct clockprobe *clock;

    (void)state;
    server_start(true, false);
    clock = met(false);
    turns(clock, CLOCKPROBE_BURST + 1, 100 * CK_TIME_S);
    assert_true(server.asked > CLOCKPROBE_BURST);
    clockprobe_finish(clock);
    clockprobe_destroy(clock);
    server_stop();
}

/* The same clock is looked after at the start, seldom, and at the end. */
static void one_clock_is_probed_seldom(void **state)
{
    struct clockprobe *clock;
    char lines[512];
    struct ck_lines put = ck_lines_in(lines, sizeof(lines));
    ck_time_t now;

    (void)state;
    server_start(true, false);
    server.offset = 0;
    clock = met(false);
    turns(clock, CLOCKPROBE_BURST, 100 * CK_TIME_S);
    now = burst_end_wait(clock);
    assert_true(clockprobe_due(clock) > now + 5 * CK_TIME_S);
    assert_int_equal(server.asked, CLOCKPROBE_BURST);
    clockprobe_finish(clock);
    server.offset = OFFSET;
    clockprobe_exit(clock, &put);
    assert_non_null(strstr(lines, "reference_boot_id="));
    assert_non_null(strstr(lines, "clock_asked=16"));
    clockprobe_destroy(clock);
    server_stop();
}

static void where_udp_is_refused_tcp_is_tried(void **state)
{
    struct clockprobe *clock;
    char lines[512];
    struct ck_lines put = ck_lines_in(lines, sizeof(lines));
    struct census census;

    (void)state;
    server_start(false, true);
    clock = met(true);
    turns(clock, CLOCKPROBE_BURST, 100 * CK_TIME_S);
    clockprobe_finish(clock);
    clockprobe_exit(clock, &put);
    assert_non_null(strstr(lines, "clock_way=tcp"));
    census = census_take();
    assert_true(census.whole >= CLOCKPROBE_BURST);
    clockprobe_destroy(clock);
    server_stop();
}

static void answers_without_our_tag_are_no_answers(void **state)
{
    struct clockprobe *clock;
    struct census census;

    (void)state;
    server_start(true, false);
    clock = met(true);
    server.key[0] ^= 1;
    turns(clock, CLOCKPROBE_BURST, 100 * CK_TIME_S);
    turns(clock, UINT32_MAX, 50 * CK_TIME_MS);
    clockprobe_finish(clock);
    census = census_take();
    assert_int_equal(census.whole, 0);
    assert_true(census.lost >= CLOCKPROBE_BURST);
    clockprobe_destroy(clock);
    server_stop();
}

static void no_listener_is_reported_and_the_end_does_not_wait(void **state)
{
    struct clockprobe *clock;
    ck_time_t before;
    char why[512];

    (void)state;
    server_start(true, false);
    server_stop(); /* the port is free, and refuses */
    clock = met(true);
    turns(clock, 1, CK_TIME_S);
    before = ck_time_raw();
    clockprobe_finish(clock);
    assert_true(ck_time_raw() - before < 20 * CLOCKPROBE_LAST);
    assert_true(clockprobe_why(clock, why, sizeof(why)));
    assert_non_null(strstr(why, "--clock-port"));
    clockprobe_destroy(clock);
}

static void one_of_two_leads_and_the_other_follows_on(void **state)
{
    struct clockprobe *first;
    struct clockprobe *second;
    unsigned asked;

    (void)state;
    server_start(true, false);
    first = met(true);
    turns(first, CLOCKPROBE_BURST, 100 * CK_TIME_S);
    second = met(true);
    asked = server.asked;
    turns(second, UINT32_MAX, 50 * CK_TIME_MS);
    assert_int_equal(server.asked, asked);
    clockprobe_finish(first); /* its last burst has another key: unanswered */
    asked = server.asked;
    turns(second, asked + CLOCKPROBE_BURST, 100 * CK_TIME_S);
    assert_true(server.asked >= asked + CLOCKPROBE_BURST);
    clockprobe_finish(second);
    clockprobe_destroy(first);
    clockprobe_destroy(second);
    server_stop();
}

static void a_sleep_that_was_meant_is_no_standstill(void **state)
{
    struct clockprobe *clock;
    struct pollfd items[2];
    ck_time_t now;

    (void)state;
    server_start(true, false);
    clock = met(true);
    turns(clock, CLOCKPROBE_BURST, 100 * CK_TIME_S);
    now = burst_end_wait(clock);
    clockprobe_poll(clock, now + 300 * CK_TIME_MS, items);
    clockprobe_step(clock, now + 310 * CK_TIME_MS, items);
    assert_true(clockprobe_due(clock) > now + 310 * CK_TIME_MS);
    clockprobe_poll(clock, now + 320 * CK_TIME_MS, items);
    clockprobe_step(clock, now + 400 * CK_TIME_MS, items);
    assert_in_range(clockprobe_due(clock), now, now + 400 * CK_TIME_MS);
    clockprobe_destroy(clock);
    server_stop();
}

/* Each look would be a system call, at each of the collector's turns. */
static void what_poll_did_not_report_is_not_read(void **state)
{
    ck_time_t now = ck_time_raw();
    struct clockprobe *clock;
    struct pollfd items[2];
    char why[512] = "";

    (void)state;
    server_start(true, false);
    clock = met(true);
    for (int i = 0; i < 1000 && !clockprobe_why(clock, why, sizeof(why)); i++) {
        clockprobe_poll(clock, now, items);
        (void)poll(items, 1, 1);
        items[0].revents = 0;
        now += CK_TIME_MS;
        clockprobe_step(clock, now, items);
    }
    while (server.asked < CLOCKPROBE_BURST &&
           ck_time_raw() < now + 100 * CK_TIME_S) {
    }
    assert_true(server.asked >= CLOCKPROBE_BURST); /* and it answered */
    assert_non_null(strstr(why, "no answer by udp"));
    clockprobe_destroy(clock);
    server_stop();
}

static void a_reference_that_does_not_answer_is_reported(void **state)
{
    struct clockprobe *clock;
    struct pollfd items[2];
    char why[512];

    (void)state;
    server.port = 0;
    clock = met(true);
    clockprobe_poll(clock, ck_time_raw(), items);
    clockprobe_step(clock, ck_time_raw(), items);
    assert_true(clockprobe_due(clock) == INT64_MAX);
    assert_true(clockprobe_why(clock, why, sizeof(why)));
    clockprobe_destroy(clock);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(the_first_burst_confines_the_truth),
        TEST(by_udp_probes_go_in_volleys),
        TEST(a_clone_is_probed_as_a_stranger),
        TEST(one_clock_is_probed_seldom),
        TEST(where_udp_is_refused_tcp_is_tried),
        TEST(answers_without_our_tag_are_no_answers),
        TEST(no_listener_is_reported_and_the_end_does_not_wait),
        TEST(one_of_two_leads_and_the_other_follows_on),
        TEST(a_sleep_that_was_meant_is_no_standstill),
        TEST(what_poll_did_not_report_is_not_read),
        TEST(a_reference_that_does_not_answer_is_reported),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
