/* test_sendpolicy.c - when a collector exchanges messages with its aggregator
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

#include "agent/collector/sendpolicy.h"
#include "schema/frame.h"

#define MS CK_TIME_MS
#define AREA ((size_t)64 << 10)
#define MEMORY_BYTES (sizeof(struct outbox_head) + AREA)
#define NOW (10000 * MS)

struct fixture {
    void *memory;
    struct outbox outbox;
};

static int setup(void **state)
{
    struct fixture *fixture = calloc(1, sizeof(*fixture));

    fixture->memory = aligned_alloc(4096, MEMORY_BYTES);
    memset(fixture->memory, 0, MEMORY_BYTES);
    *state = fixture;
    return outbox_init(&fixture->outbox, fixture->memory, MEMORY_BYTES);
}

static int teardown(void **state)
{
    struct fixture *fixture = *state;

    free(fixture->memory);
    free(fixture);
    return 0;
}

static void fill(struct fixture *fixture, size_t bytes)
{
    struct ck_frame_header header = {.units = 1};
    void *room = outbox_reserve(&fixture->outbox, bytes);

    assert_non_null(room);
    memset(room, 0, bytes);
    memcpy(room, &header, sizeof(header));
    outbox_commit(&fixture->outbox, bytes);
}

static struct sendpolicy_look look_of(struct fixture *fixture,
                                      enum session_state session)
{
    return (struct sendpolicy_look){.state = session,
                                    .outbox = &fixture->outbox};
}

static void a_little_waits_for_the_next_lot(void **state)
{
    struct fixture *fixture = *state;
    struct sendpolicy_look look = look_of(fixture, SESSION_SENDING);
    struct sendpolicy sendpolicy = {0};
    ck_time_t now = NOW;

    assert_true(sendpolicy_is_due(&sendpolicy, &look, now));
    fill(fixture, 1024);
    assert_false(sendpolicy_is_due(&sendpolicy, &look, now + 4 * MS));
    while (!sendpolicy_is_due(&sendpolicy, &look, now)) {
        now += 4 * MS;
    }
    assert_in_range(now - NOW, SENDPOLICY_PAUSE_SENDING / 8,
                    2 * SENDPOLICY_PAUSE_SENDING);
}

static void much_goes_at_once(void **state)
{
    struct fixture *fixture = *state;
    struct sendpolicy_look look = look_of(fixture, SESSION_SENDING);
    struct sendpolicy sendpolicy = {0};

    (void)sendpolicy_is_due(&sendpolicy, &look, NOW);
    fill(fixture, AREA / 16);
    assert_false(sendpolicy_is_due(&sendpolicy, &look, NOW + 1 * MS));
    fill(fixture, AREA / 8);
    assert_true(sendpolicy_is_due(&sendpolicy, &look, NOW + 2 * MS));
}

static void at_the_end_nothing_waits(void **state)
{
    struct fixture *fixture = *state;
    struct sendpolicy_look look = look_of(fixture, SESSION_SENDING);
    struct sendpolicy sendpolicy = {0};

    (void)sendpolicy_is_due(&sendpolicy, &look, NOW);
    fill(fixture, 1024);
    look.is_urgent = true;
    assert_true(sendpolicy_is_due(&sendpolicy, &look, NOW + 1 * MS));
}

static void who_greets_looks_often(void **state)
{
    struct fixture *fixture = *state;
    struct sendpolicy_look look = look_of(fixture, SESSION_GREETING);
    struct sendpolicy sendpolicy = {0};

    assert_true(sendpolicy_is_due(&sendpolicy, &look, NOW));
    assert_false(
        sendpolicy_is_due(&sendpolicy, &look, NOW + SENDPOLICY_PAUSE - 1));
    assert_true(sendpolicy_is_due(&sendpolicy, &look, NOW + SENDPOLICY_PAUSE));
    look.state = SESSION_AWAY;
    assert_true(
        sendpolicy_is_due(&sendpolicy, &look, NOW + SENDPOLICY_PAUSE + 1));
}

static void what_came_is_read_at_once(void **state)
{
    struct fixture *fixture = *state;
    struct sendpolicy_look look = look_of(fixture, SESSION_SENDING);
    struct sendpolicy sendpolicy = {0};

    fill(fixture, AREA / 8);
    fill(fixture, AREA / 4);
    (void)sendpolicy_is_due(&sendpolicy, &look, NOW);
    outbox_sent(&fixture->outbox);
    outbox_sent(&fixture->outbox);
    assert_false(sendpolicy_is_due(&sendpolicy, &look, NOW + 1 * MS));
    sendpolicy.has_mail = true;
    assert_true(sendpolicy_is_due(&sendpolicy, &look, NOW + 2 * MS));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_little_waits_for_the_next_lot, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(much_goes_at_once, setup, teardown),
        cmocka_unit_test_setup_teardown(at_the_end_nothing_waits, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(who_greets_looks_often, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(what_came_is_read_at_once, setup,
                                        teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
