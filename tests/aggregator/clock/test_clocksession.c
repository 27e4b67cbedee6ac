/* test_clocksession.c - which probes are answered, and what becomes of them
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "aggregator/clock/clocksession.h"

static const uint8_t agent_a[16] = {1};
static const uint8_t agent_b[16] = {2};
static const uint8_t key_a[CK_AUTH_KEY_BYTES] = {11};
static const uint8_t key_b[CK_AUTH_KEY_BYTES] = {22};

static struct clocksessions *sessions;

static int setup(void **state)
{
    (void)state;
    sessions = clocksessions_create();
    return sessions == NULL;
}

static int teardown(void **state)
{
    (void)state;
    clocksessions_destroy(sessions);
    return 0;
}

static enum clocksession_verdict
bytes_put(const void *bytes, size_t length, uint8_t answer[CK_PROBE_BYTES])
{
    struct clocksession_arrival arrival = {bytes, length, 5000, 40};

    return clocksessions_answer(sessions, &arrival, answer);
}

static enum clocksession_verdict
ask_put(const struct ck_probe *ask, const uint8_t *key, struct ck_probe *answer)
{
    uint8_t bytes[CK_PROBE_BYTES];
    uint8_t answered[CK_PROBE_BYTES];
    enum clocksession_verdict verdict;

    ck_probe_encode(ask, key, bytes);
    verdict = bytes_put(bytes, sizeof(bytes), answered);
    if (verdict == CLOCKSESSION_GOOD) {
        assert_int_equal(ck_probe_check(answered, key), 0);
        assert_int_equal(ck_probe_decode(answered, CK_PROBE_BYTES, answer), 0);
    }
    return verdict;
}

static enum clocksession_verdict ask_number(uint64_t session, uint64_t number)
{
    struct ck_probe ask = {
        .type = CK_PROBE_ASK, .session = session, .number = number};
    struct ck_probe answer;

    return ask_put(&ask, key_a, &answer);
}

static void a_good_probe_is_answered_with_both_times(void **state)
{
    uint64_t session = clocksessions_open(sessions, agent_a, key_a);
    struct ck_probe ask = {
        .type = CK_PROBE_ASK, .session = session, .number = 1};
    struct ck_probe answer;

    (void)state;
    assert_true(session != 0);
    assert_int_equal(ask_put(&ask, key_a, &answer), CLOCKSESSION_GOOD);
    assert_int_equal(answer.type, CK_PROBE_ANSWER);
    assert_true(answer.session == session);
    assert_int_equal(answer.number, 1);
    assert_int_equal(answer.received, 5000);
    assert_int_equal(answer.received_error, 40);
    assert_true(answer.sent > 5000);
    assert_int_equal(answer.earlier, 0);
}

static void the_kernels_time_of_an_answer_goes_with_the_next(void **state)
{
    uint64_t session = clocksessions_open(sessions, agent_a, key_a);
    struct ck_probe ask = {
        .type = CK_PROBE_ASK, .session = session, .number = 1};
    struct ck_probe first;
    struct ck_probe second;

    (void)state;
    assert_int_equal(ask_put(&ask, key_a, &first), CLOCKSESSION_GOOD);
    clocksessions_sent(sessions, session, 1, first.sent + 300, 20);
    ask.number = 2;
    assert_int_equal(ask_put(&ask, key_a, &second), CLOCKSESSION_GOOD);
    assert_int_equal(second.earlier, 1);
    assert_int_equal(second.earlier_sent, first.sent + 300);
    assert_int_equal(second.earlier_error, 20);
}

static void a_time_before_the_answer_was_made_is_not_believed(void **state)
{
    uint64_t session = clocksessions_open(sessions, agent_a, key_a);
    struct ck_probe ask = {
        .type = CK_PROBE_ASK, .session = session, .number = 1};
    struct ck_probe answer;

    (void)state;
    assert_int_equal(ask_put(&ask, key_a, &answer), CLOCKSESSION_GOOD);
    clocksessions_sent(sessions, session, 1, answer.sent - 300, 20);
    ask.number = 2;
    assert_int_equal(ask_put(&ask, key_a, &answer), CLOCKSESSION_GOOD);
    assert_int_equal(answer.earlier, 0);
}

static void what_is_wrong_is_dropped_and_counted_by_reason(void **state)
{
    uint64_t session = clocksessions_open(sessions, agent_a, key_a);
    uint64_t other = clocksessions_open(sessions, agent_b, key_b);
    struct ck_probe ask = {
        .type = CK_PROBE_ASK, .session = session, .number = 1};
    uint8_t bytes[CK_PROBE_BYTES] = {0};
    uint8_t answer[CK_PROBE_BYTES];
    struct ck_probe taken;
    struct clocksession_facts facts;

    (void)state;
    /* malformed: rubbish, too short, too long, an answer */
    assert_int_equal(bytes_put(bytes, sizeof(bytes), answer),
                     CLOCKSESSION_MALFORMED);
    ck_probe_encode(&ask, key_a, bytes);
    assert_int_equal(bytes_put(bytes, sizeof(bytes) - 1, answer),
                     CLOCKSESSION_MALFORMED);
    assert_int_equal(bytes_put(bytes, sizeof(bytes) + 1, answer),
                     CLOCKSESSION_MALFORMED);
    ask.type = CK_PROBE_ANSWER;
    assert_int_equal(ask_put(&ask, key_a, &taken), CLOCKSESSION_MALFORMED);
    ask.type = CK_PROBE_ASK;
    /* untagged: another agent's key, a flipped bit */
    assert_int_equal(ask_put(&ask, key_b, &taken), CLOCKSESSION_UNTAGGED);
    bytes[60] ^= 1;
    assert_int_equal(bytes_put(bytes, sizeof(bytes), answer),
                     CLOCKSESSION_UNTAGGED);
    /* foreign: no such session, another place, 0 */
    ask.session = session ^ ((uint64_t)1 << 63);
    assert_int_equal(ask_put(&ask, key_a, &taken), CLOCKSESSION_FOREIGN);
    ask.session = session + 5;
    assert_int_equal(ask_put(&ask, key_a, &taken), CLOCKSESSION_FOREIGN);
    ask.session = 0;
    assert_int_equal(ask_put(&ask, key_a, &taken), CLOCKSESSION_FOREIGN);
    /* a session with another one's key */
    ask.session = other;
    assert_int_equal(ask_put(&ask, key_a, &taken), CLOCKSESSION_UNTAGGED);
    /* and the good one still is */
    ask.session = session;
    assert_int_equal(ask_put(&ask, key_a, &taken), CLOCKSESSION_GOOD);
    assert_int_equal(ask_put(&ask, key_a, &taken), CLOCKSESSION_REPLAYED);
    facts = clocksessions_facts(sessions);
    assert_int_equal(facts.verdicts[CLOCKSESSION_MALFORMED], 4);
    assert_int_equal(facts.verdicts[CLOCKSESSION_UNTAGGED], 3);
    assert_int_equal(facts.verdicts[CLOCKSESSION_FOREIGN], 3);
    assert_int_equal(facts.verdicts[CLOCKSESSION_REPLAYED], 1);
    assert_int_equal(facts.verdicts[CLOCKSESSION_GOOD], 1);
    assert_int_equal(facts.answered, 1);
    assert_int_equal(facts.sessions, 2);
}

static void out_of_order_is_no_replay_within_the_window(void **state)
{
    uint64_t session = clocksessions_open(sessions, agent_a, key_a);

    (void)state;
    assert_int_equal(ask_number(session, 70), CLOCKSESSION_GOOD);
    assert_int_equal(ask_number(session, 69), CLOCKSESSION_GOOD);
    assert_int_equal(ask_number(session, 7), CLOCKSESSION_GOOD);
    assert_int_equal(ask_number(session, 7), CLOCKSESSION_REPLAYED);
    assert_int_equal(ask_number(session, 6), CLOCKSESSION_REPLAYED);
    assert_int_equal(ask_number(session, 70), CLOCKSESSION_REPLAYED);
    assert_int_equal(ask_number(session, UINT64_MAX), CLOCKSESSION_GOOD);
    assert_int_equal(ask_number(session, 71), CLOCKSESSION_REPLAYED);
}

static void a_second_hello_ends_the_first_session(void **state)
{
    uint64_t first = clocksessions_open(sessions, agent_a, key_a);
    uint64_t second = clocksessions_open(sessions, agent_a, key_a);

    (void)state;
    assert_true(first != second);
    assert_int_equal(ask_number(first, 1), CLOCKSESSION_FOREIGN);
    assert_int_equal(ask_number(second, 1), CLOCKSESSION_GOOD);
    assert_int_equal(clocksessions_facts(sessions).sessions, 1);
}

static void
after_goodbye_the_place_is_free_and_nothing_is_answered(void **state)
{
    uint64_t session = clocksessions_open(sessions, agent_a, key_a);
    uint64_t next;

    (void)state;
    clocksessions_close(sessions, agent_a);
    assert_int_equal(ask_number(session, 1), CLOCKSESSION_FOREIGN);
    assert_int_equal(clocksessions_facts(sessions).sessions, 0);
    next = clocksessions_open(sessions, agent_b, key_b);
    assert_true((next & 0xfffff) == (session & 0xfffff));
    assert_int_equal(ask_number(session, 1), CLOCKSESSION_FOREIGN);
}

static void reported_times_complete_an_exchange(void **state)
{
    static struct clocksession_look look;
    uint64_t session = clocksessions_open(sessions, agent_a, key_a);
    struct ck_probe ask = {
        .type = CK_PROBE_ASK, .session = session, .number = 1};
    struct ck_probe answer;

    (void)state;
    assert_int_equal(clocksessions_look(sessions, 0, &look), -1);
    assert_int_equal(ask_put(&ask, key_a, &answer), CLOCKSESSION_GOOD);
    ask = (struct ck_probe){.type = CK_PROBE_ASK,
                            .session = session,
                            .number = 2,
                            .earlier = 1,
                            .earlier_sent = 100,
                            .earlier_received = 900,
                            .earlier_error = 7};
    assert_int_equal(ask_put(&ask, key_a, &answer), CLOCKSESSION_GOOD);
    assert_int_equal(clocksessions_look(sessions, 0, &look), 0);
    assert_memory_equal(look.agent, agent_a, 16);
    assert_int_equal(look.asked, 2);
    assert_int_equal(look.count, 1);
    assert_int_equal(look.probes[0].a1, 100);
    assert_int_equal(look.probes[0].r2, 5000);
    assert_int_equal(look.probes[0].a4, 900);
    assert_int_equal(look.probes[0].error, 47);
    assert_int_equal(clocksessions_look(sessions, 1, &look), -1);
}

static void only_the_latest_probes_are_kept_oldest_first(void **state)
{
    static struct clocksession_look look;
    uint64_t session = clocksessions_open(sessions, agent_a, key_a);

    (void)state;
    for (uint64_t i = 1; i <= 1000; i++) {
        struct ck_probe ask = {.type = CK_PROBE_ASK,
                               .session = session,
                               .number = i,
                               .earlier = i - 1,
                               .earlier_sent = (ck_time_t)i,
                               .earlier_received = (ck_time_t)i + 1};
        struct ck_probe answer;

        assert_int_equal(ask_put(&ask, key_a, &answer), CLOCKSESSION_GOOD);
    }
    assert_int_equal(clocksessions_look(sessions, 0, &look), 0);
    assert_int_equal(look.complete, 999);
    assert_int_equal(look.count, CLOCKSESSION_PROBES);
    assert_int_equal(look.probes[look.count - 1].a1, 1000);
    assert_int_equal(look.probes[0].a1, 1000 - CLOCKSESSION_PROBES + 1);
}

static void times_that_would_overflow_a_sum_are_malformed(void **state)
{
    uint64_t session = clocksessions_open(sessions, agent_a, key_a);
    struct ck_probe ask = {.type = CK_PROBE_ASK,
                           .session = session,
                           .number = 1,
                           .earlier = 1,
                           .earlier_sent = INT64_MIN,
                           .earlier_received = INT64_MAX};
    struct ck_probe answer;

    (void)state;
    assert_int_equal(ask_put(&ask, key_a, &answer), CLOCKSESSION_MALFORMED);
}

static void thousands_of_agents_each_have_a_session(void **state)
{
    uint64_t last = 0;

    (void)state;
    for (unsigned i = 0; i < 3000; i++) {
        uint8_t agent[16] = {(uint8_t)i, (uint8_t)(i >> 8), 9};

        last = clocksessions_open(sessions, agent, key_a);
        assert_true(last != 0);
    }
    assert_int_equal(clocksessions_facts(sessions).sessions, 3000);
    assert_int_equal(ask_number(last, 1), CLOCKSESSION_GOOD);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_good_probe_is_answered_with_both_times),
        TEST(the_kernels_time_of_an_answer_goes_with_the_next),
        TEST(a_time_before_the_answer_was_made_is_not_believed),
        TEST(what_is_wrong_is_dropped_and_counted_by_reason),
        TEST(out_of_order_is_no_replay_within_the_window),
        TEST(a_second_hello_ends_the_first_session),
        TEST(after_goodbye_the_place_is_free_and_nothing_is_answered),
        TEST(reported_times_complete_an_exchange),
        TEST(only_the_latest_probes_are_kept_oldest_first),
        TEST(times_that_would_overflow_a_sum_are_malformed),
        TEST(thousands_of_agents_each_have_a_session),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
