/* test_clocktwins.c - machines that name one clock
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Four agents of four machines, all of one boot id; each probes the reference
 * for a minute, once a second, with delays of 3 to 20 us.
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

#include "merge/clocks/align.h"
#include "merge/clocks/clocktwins.h"
#include "merge/model/comm.h"
#include "tests/merge/clockworld.h"

#define MACHINES 4
#define SECONDS 60
#define START (1000 * CK_TIME_S)

static struct worldrandom random_state;

struct machines {
    struct defs *defs;
    struct align *align;
    struct worldclock clocks[MACHINES];
    bool is_silent[MACHINES];
};

/* `reference`: the boot id of the reference; that of the machines is "b". */
static struct machines machines_make(const char *reference, const char *boot)
{
    struct machines machines = {defs_create(), align_create(), {{0}}, {false}};

    for (uint8_t i = 0; i < MACHINES; i++) {
        uint8_t id[16] = {(uint8_t)(i + 1)};
        uint32_t index = defs_agent_find(machines.defs, id);
        struct defs_agent *agent = &machines.defs->agents[index];
        char lines[200];
        int length = snprintf(lines, sizeof(lines),
                              "boot_id=%s\ntimens=t\nmachine=m%d\n"
                              "reference_boot_id=%s\nreference_timens=t\n",
                              boot, i, reference);

        agent->identity =
            texts_keep(machines.defs->texts, lines, (size_t)length + 1);
        agent->rank = i;
        agent->size = MACHINES;
        agent->start_raw = 1000;
        (void)defs_process_find(machines.defs, index, 0);
    }
    return machines;
}

static void probe_put(struct machines *machines, uint32_t i, ck_time_t at)
{
    static const struct worldclock reference = {0};
    struct worldpath path = {3000, 4000, 0};
    struct ck_clock_probe probe = world_probe(
        &random_state, &machines->clocks[i], &reference, &path, &path, at, 20);
    struct ck_clock_fact fact = {
        .e = {.kind = CK_KIND_CLOCK_PROBE, .start = probe.a1},
        .value = probe.r2,
        .t3 = probe.r3,
        .t4 = probe.a4,
        .width = 20,
    };

    align_fact(machines->align, i, &fact);
}

static void machines_settle(struct machines *machines)
{
    for (ck_time_t at = START; at < START + SECONDS * CK_TIME_S;
         at += CK_TIME_S) {
        for (uint32_t i = 0; i < MACHINES; i++) {
            if (!machines->is_silent[i]) {
                probe_put(machines, i, at);
            }
        }
    }
    defs_close(machines->defs);
    comm_close(machines->defs);
    clocktwins_split(machines->defs, align_calibration(machines->align));
    align_close(machines->align, machines->defs);
    align_settle(machines->align, NULL);
}

static uint32_t domain_of(const struct machines *machines, uint32_t i)
{
    return machines->defs->agents[i].domain;
}

/* Two machines are as far apart as their clocks, within the bound. */
static void pair_check(const struct machines *machines, uint32_t a, uint32_t b)
{
    for (ck_time_t at = START; at < START + SECONDS * CK_TIME_S;
         at += CK_TIME_S / 3) {
        ck_time_t x = worldclock_at(&machines->clocks[a], at);
        ck_time_t y = worldclock_at(&machines->clocks[b], at);
        ck_time_t off = axis_time(align_axis(machines->align), a, false, x) -
                        axis_time(align_axis(machines->align), b, false, y);
        ck_time_t bound;

        assert_int_equal(align_pair_bound(machines->align, a, b,
                                          axis_time(align_axis(machines->align),
                                                    a, false, x),
                                          &bound),
                         0);
        if (llabs(off) > bound + 2) {
            fail_msg("machines %u and %u: %lld ns apart, bound %lld", a, b,
                     (long long)off, (long long)bound);
        }
    }
}

static void machines_fini(struct machines *machines)
{
    align_destroy(machines->align);
    defs_destroy(machines->defs);
}

static void machines_of_one_clock_stay_one_domain(void **state)
{
    (void)state;
    for (int round = 0; round < 2; round++) {
        struct machines machines = machines_make(round == 0 ? "b" : "c", "b");

        for (uint32_t i = 0; round == 1 && i < MACHINES; i++) {
            machines.clocks[i] =
                (struct worldclock){.offset = -5 * CK_TIME_S, .drift_ppm = 20};
        }
        machines_settle(&machines);
        assert_int_equal(machines.defs->domains_count, 1);
        assert_int_equal(machines.defs->domains[0].machines, MACHINES);
        assert_int_equal(machines.defs->domains[0].believed, 0);
        assert_int_equal(machines.defs->domains[0].checked, MACHINES * SECONDS);
        assert_false(machines.defs->domains[0].is_clone);
        machines_fini(&machines);
    }
}

/* Whose clock is another one, and by how much. */
static void clone_check(const char *reference, uint32_t who, ck_time_t offset)
{
    struct machines machines = machines_make(reference, "b");

    machines.clocks[who].offset = offset;
    machines.clocks[who].drift_ppm = 12;
    machines_settle(&machines);
    assert_int_equal(machines.defs->domains_count, 2);
    assert_int_equal(domain_of(&machines, 0), 0);
    for (uint32_t i = 0; i < MACHINES; i++) {
        uint32_t other = (i + 1) % MACHINES;

        assert_int_equal(domain_of(&machines, i) == domain_of(&machines, other),
                         (i == who) == (other == who));
        pair_check(&machines, i, other);
    }
    machines_fini(&machines);
}

static void a_clone_gets_a_clock_of_its_own(void **state)
{
    (void)state;
    for (uint32_t who = 0; who < MACHINES; who++) {
        clone_check("b", who, 5 * CK_TIME_S);
        clone_check("b", who, -CK_TIME_MS);
        clone_check("another", who, 5 * CK_TIME_S);
        clone_check("another", who, -CK_TIME_MS);
    }
}

/* From a step on they are two. */
static void a_clone_may_jump_later(void **state)
{
    struct machines machines = machines_make("b", "b");

    (void)state;
    machines.clocks[2].step_at = START + 40 * CK_TIME_S;
    machines.clocks[2].step = 5 * CK_TIME_MS;
    machines_settle(&machines);
    assert_int_equal(machines.defs->domains_count, 2);
    pair_check(&machines, 1, 2);
    assert_true(machines.defs->domains[domain_of(&machines, 2)].is_clone);
    machines_fini(&machines);
}

static void
a_machine_without_probes_is_believed_until_one_contradicts(void **state)
{
    (void)state;
    for (int round = 0; round < 2; round++) {
        struct machines machines = machines_make("b", "b");

        machines.is_silent[3] = true;
        machines.clocks[1].offset = round * CK_TIME_S;
        machines_settle(&machines);
        assert_int_equal(machines.defs->domains_count, round == 0 ? 1 : 3);
        assert_int_equal(machines.defs->domains[0].believed, round == 0);
        if (round == 1) {
            assert_false(align_domain(machines.align, domain_of(&machines, 3))
                             .is_calibrated);
        }
        machines_fini(&machines);
    }
}

static void a_boot_id_that_cannot_be_read_equals_none(void **state)
{
    struct machines machines = machines_make("", "");

    (void)state;
    machines.clocks[1].offset = 5 * CK_TIME_S;
    machines_settle(&machines);
    assert_int_equal(machines.defs->domains_count, MACHINES);
    pair_check(&machines, 0, 1);
    pair_check(&machines, 2, 3);
    machines_fini(&machines);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(machines_of_one_clock_stay_one_domain),
        cmocka_unit_test(a_clone_gets_a_clock_of_its_own),
        cmocka_unit_test(a_clone_may_jump_later),
        cmocka_unit_test(
            a_machine_without_probes_is_believed_until_one_contradicts),
        cmocka_unit_test(a_boot_id_that_cannot_be_read_equals_none),
    };

    worldrandom_init(&random_state, 20261122);
    print_message("CK_SEED=%llu\n", (unsigned long long)random_state.state);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
