/* test_clockexchange.c - exchanges of clock probes until they are complete
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

#include "agent/clock/clockexchange.h"
#include "schema/event.h"
#include "tests/agent/said.h"

static struct said said;
static struct exchanges exchanges;

static int setup(void **state)
{
    (void)state;
    said_init(&said);
    memset(&exchanges, 0, sizeof(exchanges));
    exchanges.selfstream = said.selfstream;
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    said_fini(&said);
    return 0;
}

/* Ask and be answered: stamps are the number times 1000, and on from there. */
static void exchange_make(uint64_t number)
{
    ck_time_t base = (ck_time_t)number * 1000;
    struct clocklink_time sent = {base, 3};
    struct clocklink_time came = {base + 400, 5};
    struct ck_probe answer = {.number = number,
                              .received = base + 100,
                              .sent = base + 200,
                              .received_error = 7};

    exchanges_open(&exchanges, &sent);
    assert_non_null(exchanges_answer(&exchanges, &answer, &came));
}

/* What the next probe reports. */
static struct ck_probe told(void)
{
    struct ck_probe ask = {.earlier = 0};

    exchanges_tell(&exchanges, &ask);
    exchanges_told(&exchanges);
    return ask;
}

static void each_answered_exchange_is_reported_once_and_in_order(void **state)
{
    struct ck_probe ask;

    (void)state;
    exchange_make(1);
    exchange_make(2);
    ask = told();
    assert_int_equal(ask.earlier, 1);
    assert_int_equal(ask.earlier_sent, 1000);
    assert_int_equal(ask.earlier_received, 1400);
    assert_int_equal(ask.earlier_error, 5);
    exchange_make(3);
    assert_int_equal(told().earlier, 2);
    assert_int_equal(told().earlier, 3);
    assert_int_equal(told().earlier, 0);
}

static void of_too_many_the_oldest_are_not_reported(void **state)
{
    (void)state;
    for (uint64_t i = 1; i <= EXCHANGES_TELL + 2; i++) {
        exchange_make(i);
    }
    for (uint64_t i = 3; i <= EXCHANGES_TELL + 2; i++) {
        assert_int_equal(told().earlier, i);
    }
    assert_int_equal(told().earlier, 0);
}

static void what_is_not_reported_again_is_recorded_all_the_same(void **state)
{
    const struct ck_clock_fact *fact;

    (void)state;
    exchange_make(1);
    exchanges_record(&exchanges);
    (void)selfstream_flush(said.selfstream);
    said_read(&said);
    fact = said_next(&said, CK_KIND_CLOCK_PROBE, NULL);
    assert_non_null(fact);
    assert_int_equal(fact->e.start, 1000);
    assert_int_equal(fact->value, 1100);
    assert_int_equal(fact->t3, 1200);
    assert_int_equal(fact->t4, 1400);
    assert_int_equal(fact->width, 10);
    assert_null(said_next(&said, CK_KIND_CLOCK_PROBE, fact));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(each_answered_exchange_is_reported_once_and_in_order),
        TEST(of_too_many_the_oldest_are_not_reported),
        TEST(what_is_not_reported_again_is_recorded_all_the_same),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
