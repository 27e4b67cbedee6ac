/* test_clockstep.c - a step is named on the clock that jumped
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Two to four machines. Machine 0 is the reference, the others probe it each
 * second for a minute; each stores what CLOCK_MONOTONIC reads beside RAW.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "merge/align.h"
#include "tests/merge/clockworld.h"

#define MACHINES_MAX 4
#define SECONDS 60
#define START (1000 * CK_TIME_S)

static struct worldrandom random_state;

struct machines {
    struct cast *cast;
    struct align *align;
    struct worldclock clocks[MACHINES_MAX];
    uint32_t count;
};

static struct machines machines_make(uint32_t count)
{
    struct machines machines = {cast_create(), align_create(), {{0}}, count};

    for (uint8_t i = 0; i < count; i++) {
        uint8_t id[16] = {(uint8_t)(i + 1)};
        uint32_t index = cast_agent_find(machines.cast, id);
        struct cast_agent *agent = &machines.cast->agents[index];
        char lines[200];
        int length = snprintf(lines, sizeof(lines),
                              "boot_id=b%d\ntimens=t\nreference_boot_id=b0\n"
                              "reference_timens=t\n",
                              i);

        agent->identity =
            texts_keep(machines.cast->texts, lines, (size_t)length + 1);
        agent->rank = i;
        agent->size = (int32_t)count;
        (void)cast_process_find(machines.cast, index, 0);
        machines.clocks[i].drift_ppm = world_between(&random_state, -30, 30);
    }
    return machines;
}

static void second_put(struct machines *machines, ck_time_t at, bool has_pairs)
{
    struct worldpath path = {3000, 4000, 0};

    for (uint32_t i = 0; i < machines->count; i++) {
        struct ck_clock_fact fact = {
            .e = {.kind = CK_KIND_CLOCK_PAIR, .start = at + 77 * CK_TIME_S},
            .value = worldclock_at(&machines->clocks[i], at),
            .width = 30,
            .clock = CK_CLOCK_MONOTONIC,
        };
        struct ck_clock_probe probe =
            world_probe(&random_state, &machines->clocks[i],
                        &machines->clocks[0], &path, &path, at, 20);

        if (has_pairs) {
            assert_int_equal(align_fact(machines->align, i, &fact), 0);
        }
        fact = (struct ck_clock_fact){
            .e = {.kind = CK_KIND_CLOCK_PROBE, .start = probe.a1},
            .value = probe.r2,
            .t3 = probe.r3,
            .t4 = probe.a4,
            .width = 20,
        };
        if (i > 0) {
            assert_int_equal(align_fact(machines->align, i, &fact), 0);
        }
    }
}

/* One clock jumps at a random instant: it alone has the fault, of that size,
 * and no clock has another drift because of it. */
static void step_check(uint32_t count, bool has_pairs)
{
    struct machines machines = machines_make(count);
    uint32_t who = (uint32_t)world_between(&random_state, 0, count);
    ck_time_t at = (ck_time_t)world_between(&random_state, 5e9, 55e9);
    ck_time_t step = (ck_time_t)world_between(&random_state, 1e6, 1e9);

    step = world_unit(&random_state) < 0.5 ? step : -step;
    machines.clocks[who].step_at = START + at;
    machines.clocks[who].step = step;
    for (int i = 0; i < SECONDS; i++) {
        second_put(&machines, START + i * CK_TIME_S, has_pairs);
    }
    assert_int_equal(cast_close(machines.cast), 0);
    assert_int_equal(align_close(machines.align, machines.cast), 0);
    assert_int_equal(align_settle(machines.align, NULL), 0);
    for (uint32_t i = 0; i < count; i++) {
        struct calibration_domain clock = align_domain(machines.align, i).clock;
        const struct ck_clock_fault *fault =
            calibration_fault(align_calibration(machines.align), i, 0);
        double drift =
            (machines.clocks[0].drift_ppm - machines.clocks[i].drift_ppm) * 1e3;

        assert_int_equal(clock.band.faults, i == who);
        assert_true(i == 0 || llabs(clock.drift_ppb - (int64_t)drift) < 1500);
        if (i == who) {
            assert_int_equal(fault->kind, CK_CLOCK_FAULT_STEP);
            if (llabs(fault->step + step) > fault->bound) {
                fail_msg("clock %u of %u jumped by %lld, not %lld +- %lld", i,
                         count, (long long)step, -(long long)fault->step,
                         (long long)fault->bound);
            }
        }
    }
    align_destroy(machines.align);
    cast_destroy(machines.cast);
}

static void of_two_clocks_monotonic_tells_which_jumped(void **state)
{
    (void)state;
    for (int round = 0; round < 100; round++) {
        step_check(2, true);
    }
}

static void of_several_clocks_the_others_tell_which_jumped(void **state)
{
    (void)state;
    for (int round = 0; round < 100; round++) {
        step_check(3 + (uint32_t)round % 2, round % 4 < 2);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(of_two_clocks_monotonic_tells_which_jumped),
        cmocka_unit_test(of_several_clocks_the_others_tell_which_jumped),
    };

    worldrandom_init(&random_state, 20261123);
    print_message("CK_SEED=%llu\n", (unsigned long long)random_state.state);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
