/* test_stamp.c - the kernel's packet stamps on RAW
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <errno.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <arpa/inet.h>
#include <cmocka.h>
#include <netinet/in.h>

#include "schema/clock/stamp.h"
#include "tests/emulator.h"

#define US CK_TIME_US
#define MS CK_TIME_MS
#define S CK_TIME_S

static struct ck_bracket
bracket(int64_t realtime, ck_time_t raw, ck_time_t width)
{
    return (struct ck_bracket){realtime, raw, width};
}

static void a_bracket_is_narrow_and_holds_the_clock(void **state)
{
    ck_time_t before = ck_time_raw();
    struct ck_bracket read;

    (void)state;
    ck_bracket_read(&read);
    assert_in_range(read.raw, before, ck_time_raw());
    assert_in_range(read.width, 0, 100 * US);
}

static void between_two_brackets_the_line_holds(void **state)
{
    /* REALTIME runs 100 ppm fast. */
    struct ck_bracket before = bracket(1000 * S, 0, 20);
    struct ck_bracket after = bracket(1000 * S + 10 * MS + US, 10 * MS, 30);
    ck_time_t raw = 0;
    ck_time_t error = 0;

    (void)state;
    assert_int_equal(
        ck_bracket_raw(&before, &after, 1000 * S + 5 * MS + 500, &raw, &error),
        0);
    assert_int_equal(raw, 5 * MS);
    /* The wider bracket, and what it moved beyond both. */
    assert_int_equal(error, 30 + (1000 - 50) + 1);
}

static void one_bracket_shows_less_the_older_the_stamp(void **state)
{
    struct ck_bracket after = bracket(1000 * S, 7 * S, 25);
    ck_time_t raw = 0;
    ck_time_t near = 0;
    ck_time_t far = 0;

    (void)state;
    assert_int_equal(
        ck_bracket_raw(NULL, &after, 1000 * S - 10 * US, &raw, &near), 0);
    assert_int_equal(raw, 7 * S - 10 * US);
    assert_int_equal(
        ck_bracket_raw(NULL, &after, 1000 * S - 100 * MS, &raw, &far), 0);
    assert_in_range(near, 25, 40);
    assert_in_range(far, 50 * US, 70 * US);
}

static void the_better_of_both_counts(void **state)
{
    /* A quiet second between them: the line is good, the age is not. */
    struct ck_bracket before = bracket(999 * S, 6 * S, 20);
    struct ck_bracket after = bracket(1000 * S, 7 * S, 20);
    ck_time_t raw = 0;
    ck_time_t error = 0;

    (void)state;
    assert_int_equal(
        ck_bracket_raw(&before, &after, 1000 * S - 500 * MS, &raw, &error), 0);
    assert_int_equal(raw, 7 * S - 500 * MS);
    assert_in_range(error, 20, 22);
}

static void a_stamp_across_a_setting_of_realtime_is_refused(void **state)
{
    struct ck_bracket before = bracket(1000 * S, 0, 20);
    struct ck_bracket after = bracket(1003 * S, 10 * MS, 20);
    ck_time_t raw = 4711;
    ck_time_t error = 4711;

    (void)state;
    assert_int_equal(
        ck_bracket_raw(&before, &after, 1000 * S + 5 * MS, &raw, &error), -1);
}

static void steering_is_no_setting(void **state)
{
    struct ck_bracket before = bracket(1000 * S, 5 * S, 20);
    struct ck_bracket steered = bracket(1001 * S + 400 * US, 6 * S, 20);
    struct ck_bracket set = bracket(1001 * S + 700 * US, 6 * S, 20);
    struct ck_bracket set_back = bracket(900 * S, 6 * S, 20);

    (void)state;
    assert_true(ck_bracket_is_steady(&before, &before));
    assert_true(ck_bracket_is_steady(&before, &steered));
    assert_false(ck_bracket_is_steady(&before, &set));
    assert_false(ck_bracket_is_steady(&before, &set_back));
}

static void a_stamp_of_the_future_or_long_ago_is_refused(void **state)
{
    struct ck_bracket after = bracket(1000 * S, 7 * S, 20);
    ck_time_t raw;
    ck_time_t error;

    (void)state;
    assert_int_equal(ck_bracket_raw(NULL, &after, 1000 * S + US, &raw, &error),
                     -1);
    assert_int_equal(ck_bracket_raw(NULL, &after, 900 * S, &raw, &error), -1);
}

/* Send until they are stamped; how many it took. */
static uint32_t stamps_await(int from, int to)
{
    struct ck_arrival arrival = {.realtime = 0};

    for (uint32_t count = 1; count < 5000; count++) {
        struct pollfd item = {.fd = to, .events = POLLIN};
        char byte;

        assert_int_equal(send(from, "x", 1, 0), 1);
        assert_int_equal(poll(&item, 1, 5000), 1);
        assert_int_equal(ck_stamp_receive(to, &byte, 1, &arrival), 1);
        assert_int_equal(ck_stamp_sent(from, &(uint32_t){0}, &(int64_t){0}), 1);
        if (arrival.realtime != 0) {
            return count;
        }
        (void)usleep(1000);
    }
    fail_msg("packets are never stamped");
    return 0;
}

static void datagrams_are_stamped_and_numbered_both_ways(void **state)
{
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof(address);
    int from = socket(AF_INET, SOCK_DGRAM, 0);
    int to = socket(AF_INET, SOCK_DGRAM, 0);
    uint32_t first;

    (void)state;
    EMULATOR_SKIP("no SO_TIMESTAMPING");
    assert_int_equal(bind(to, (void *)&address, length), 0);
    assert_int_equal(getsockname(to, (void *)&address, &length), 0);
    assert_int_equal(connect(from, (void *)&address, length), 0);
    assert_int_equal(ck_stamp_enable(from), 0);
    assert_int_equal(ck_stamp_enable(to), 0);
    first = stamps_await(from, to);
    for (uint32_t i = first; i < first + 5; i++) {
        struct pollfd item = {.fd = to, .events = POLLIN};
        struct ck_bracket before;
        struct ck_bracket after;
        struct ck_arrival arrival;
        char byte = 0;
        uint32_t number = 99;
        int64_t sent = 0;
        ck_time_t sent_raw = 0;
        ck_time_t came_raw = 0;
        ck_time_t error;

        ck_bracket_read(&before);
        assert_int_equal(send(from, "x", 1, 0), 1);
        assert_int_equal(poll(&item, 1, 5000), 1);
        assert_int_equal(ck_stamp_receive(to, &byte, 1, &arrival), 1);
        assert_int_equal(byte, 'x');
        assert_int_equal(ck_stamp_sent(from, &number, &sent), 1);
        assert_int_equal(number, i);
        ck_bracket_read(&after);
        assert_int_equal(
            ck_bracket_raw(&before, &after, sent, &sent_raw, &error), 0);
        assert_int_equal(ck_bracket_raw(&before, &after, arrival.realtime,
                                        &came_raw, &error),
                         0);
        assert_true(before.raw - before.width <= sent_raw + error);
        assert_true(sent_raw <= came_raw + 2 * error);
        assert_true(came_raw <= after.raw + after.width + error);
    }
    assert_int_equal(ck_stamp_sent(from, &(uint32_t){0}, &(int64_t){0}), 0);
    (void)close(from);
    (void)close(to);
}

static void after_a_restart_numbers_begin_anew(void **state)
{
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof(address);
    int fd = socket(AF_INET, SOCK_DGRAM, 0);
    uint32_t number = 99;
    int64_t sent = 0;

    (void)state;
    EMULATOR_SKIP("no SO_TIMESTAMPING");
    assert_int_equal(bind(fd, (void *)&address, length), 0);
    assert_int_equal(getsockname(fd, (void *)&address, &length), 0);
    assert_int_equal(connect(fd, (void *)&address, length), 0);
    assert_int_equal(ck_stamp_enable(fd), 0);
    assert_int_equal(send(fd, "x", 1, 0), 1);
    assert_int_equal(send(fd, "x", 1, 0), 1);
    assert_int_equal(ck_stamp_restart(fd), 0);
    assert_int_equal(ck_stamp_sent(fd, &number, &sent), 0);
    assert_int_equal(send(fd, "x", 1, 0), 1);
    assert_int_equal(ck_stamp_sent(fd, &number, &sent), 1);
    assert_int_equal(number, 0);
    (void)close(fd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_bracket_is_narrow_and_holds_the_clock),
        cmocka_unit_test(between_two_brackets_the_line_holds),
        cmocka_unit_test(one_bracket_shows_less_the_older_the_stamp),
        cmocka_unit_test(the_better_of_both_counts),
        cmocka_unit_test(a_stamp_across_a_setting_of_realtime_is_refused),
        cmocka_unit_test(steering_is_no_setting),
        cmocka_unit_test(a_stamp_of_the_future_or_long_ago_is_refused),
        cmocka_unit_test(datagrams_are_stamped_and_numbered_both_ways),
        cmocka_unit_test(after_a_restart_numbers_begin_anew),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
