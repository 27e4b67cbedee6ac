/* test_clockwatch.c - steps, slews, sleep and pauses are found, and only they
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "merge/clocks/clockwatch.h"

#define SECONDS 60

struct world {
    struct clockwatch_reading readings[3 * SECONDS];
    size_t count;
};

/* One reading a second of each clock; MONOTONIC runs 12 ppm beside RAW. */
static struct world world_make(void)
{
    struct world world = {.count = 0};

    for (int s = 0; s < SECONDS; s++) {
        ck_time_t raw = 1000 * CK_TIME_S + s * CK_TIME_S;
        ck_time_t mono = 247680000 + (ck_time_t)s * 12000;

        world.readings[world.count++] = (struct clockwatch_reading){
            1, CK_CLOCK_REALTIME, raw, 1700000000 * CK_TIME_S + mono, 15};
        world.readings[world.count++] =
            (struct clockwatch_reading){1, CK_CLOCK_MONOTONIC, raw, mono, 15};
        world.readings[world.count++] =
            (struct clockwatch_reading){1, CK_CLOCK_BOOTTIME, raw, mono, 15};
    }
    return world;
}

/* What is found, as long as it is one thing. */
static struct clockwatch_event only(struct world *world)
{
    struct clockwatch_event *events, event;
    size_t count;

    clockwatch_find(world->readings, world->count, 1, &events, &count);
    assert_int_equal(count, 1);
    event = events[0];
    free(events);
    return event;
}

static void a_quiet_host_has_nothing_to_report(void **state)
{
    struct world world = world_make();
    struct clockwatch_event *events;
    size_t count;

    (void)state;
    clockwatch_find(world.readings, world.count, 1, &events, &count);
    assert_int_equal(count, 0);
    free(events);
    clockwatch_find(world.readings, world.count, 7, &events, &count);
    assert_int_equal(count, 0);
    free(events);
}

static void a_realtime_that_is_set_back_is_a_step(void **state)
{
    struct world world = world_make();
    struct clockwatch_event event;

    (void)state;
    for (size_t i = 0; i < world.count; i++) {
        if (world.readings[i].clock == CK_CLOCK_REALTIME && i >= 90) {
            world.readings[i].offset -= 5 * CK_TIME_S;
        }
    }
    event = only(&world);
    assert_int_equal(event.kind, CLOCKWATCH_STEP);
    assert_int_equal(event.step, -5 * CK_TIME_S + 12000);
    assert_int_equal(event.from, 1029 * CK_TIME_S);
    assert_int_equal(event.to, 1030 * CK_TIME_S);
}

static void another_rate_of_monotonic_is_a_slew(void **state)
{
    struct world world = world_make();
    struct clockwatch_event event;

    (void)state;
    for (size_t i = 0; i < world.count; i++) {
        if (world.readings[i].clock == CK_CLOCK_MONOTONIC && i >= 90) {
            world.readings[i].offset +=
                (world.readings[i].raw - 1030 * CK_TIME_S) / 20000;
        }
    }
    event = only(&world);
    assert_int_equal(event.kind, CLOCKWATCH_SLEW);
    assert_int_equal(event.rate_ppb, 50000);
}

static void boottime_that_goes_on_alone_is_sleep(void **state)
{
    struct world world = world_make();
    struct clockwatch_event event;

    (void)state;
    for (size_t i = 0; i < world.count; i++) {
        if (world.readings[i].clock == CK_CLOCK_BOOTTIME && i >= 60) {
            world.readings[i].offset += 3600 * CK_TIME_S;
        }
    }
    event = only(&world);
    assert_int_equal(event.kind, CLOCKWATCH_SUSPEND);
    assert_int_equal(event.step, 3600 * CK_TIME_S + 12000);
}

static void readings_that_stay_away_are_a_pause(void **state)
{
    struct world world = world_make();
    struct clockwatch_event event;
    size_t kept = 0;

    (void)state;
    for (size_t i = 0; i < world.count; i++) {
        if (i < 60 || i >= 75) {
            world.readings[kept++] = world.readings[i];
        }
    }
    world.count = kept;
    event = only(&world);
    assert_int_equal(event.kind, CLOCKWATCH_PAUSE);
    assert_int_equal(event.from, 1019 * CK_TIME_S);
    assert_int_equal(event.step, 5 * CK_TIME_S);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_quiet_host_has_nothing_to_report),
        cmocka_unit_test(a_realtime_that_is_set_back_is_a_step),
        cmocka_unit_test(another_rate_of_monotonic_is_a_slew),
        cmocka_unit_test(boottime_that_goes_on_alone_is_sleep),
        cmocka_unit_test(readings_that_stay_away_are_a_pause),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
