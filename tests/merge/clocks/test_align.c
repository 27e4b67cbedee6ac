/* test_align.c - ticks to nanoseconds, domains on one axis
 *
 * SPDX-License-Identifier: Apache-2.0
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
#include "merge/model/comm.h"

static uint32_t agent_make(struct defs *defs,
                           uint8_t id,
                           int32_t rank,
                           const char *timens,
                           int64_t realtime)
{
    uint8_t bytes[16] = {id};
    uint32_t index = defs_agent_find(defs, bytes);
    struct defs_agent *agent = &defs->agents[index];
    char lines[128];

    (void)snprintf(lines, sizeof(lines), "boot_id=b\ntimens=%s\n", timens);
    agent->identity = texts_keep(defs->texts, lines, sizeof(lines));
    agent->rank = rank;
    agent->size = 4;
    agent->start_raw = 1000;
    agent->start_realtime = realtime;
    (void)defs_process_find(defs, index, 0);
    return index;
}

static void
pair_put(struct align *align, uint32_t agent, int64_t ticks, int64_t raw)
{
    struct ck_clock_fact fact = {
        .e = {.kind = CK_KIND_CLOCK_PAIR, .start = ticks},
        .value = raw,
        .width = 15,
        .clock = CK_CLOCK_TSC,
    };

    align_fact(align, agent, &fact);
}

static void ticks_follow_a_counter_whose_rate_changes(void **state)
{
    struct defs *defs = defs_create();
    struct align *align = align_create();
    uint32_t agent = agent_make(defs, 1, 0, "t", 0);

    (void)state;
    /* 2 ticks a ns for two seconds, then 2.5: points on the bends. */
    pair_put(align, agent, -2000000000, -999995000);
    pair_put(align, agent, 0, 5000);
    pair_put(align, agent, 2000000000, 1000005000);
    pair_put(align, agent, 4500000000, 2000005000);
    pair_put(align, agent, 7000000000, 3000005000);
    defs_close(defs);
    comm_close(defs);
    align_close(align, defs);
    align_settle(align, NULL);
    assert_int_equal(axis_time(align_axis(align), agent, true, 1000000000),
                     500005000);
    assert_int_equal(axis_time(align_axis(align), agent, true, 3250000000),
                     1500005000);
    assert_int_equal(axis_time(align_axis(align), agent, true, 0), 5000);
    assert_int_equal(axis_time(align_axis(align), agent, false, 77), 77);
    /* Brackets of 15 ns, and what they leave open of a rate. */
    assert_in_range(align_domain(align, 0).bound, 15, 250);
    assert_int_equal(align_domain(align, 0).pairs, 5);
    align_destroy(align);
    defs_destroy(defs);
}

/* Sums of such would wrap. */
static void a_pair_that_no_clock_can_read_is_left_out(void **state)
{
    struct defs *defs = defs_create();
    struct align *align = align_create();
    uint32_t agent = agent_make(defs, 1, 0, "t", 0);

    (void)state;
    for (int64_t i = 0; i < 4; i++) {
        pair_put(align, agent, 2 * i * CK_TIME_S, i * CK_TIME_S);
    }
    pair_put(align, agent, INT64_MIN, 4 * CK_TIME_S);
    pair_put(align, agent, 8 * CK_TIME_S, INT64_MAX);
    defs_close(defs);
    comm_close(defs);
    align_close(align, defs);
    align_settle(align, NULL);
    assert_int_equal(align_domain(align, 0).pairs, 4);
    assert_int_equal(axis_time(align_axis(align), agent, true, 3 * CK_TIME_S),
                     1500000000);
    /* A stamp may be as wrong. */
    (void)axis_time(align_axis(align), agent, true, INT64_MIN);
    assert_true(axis_time(align_axis(align), agent, true, INT64_MAX) > 0);
    align_destroy(align);
    defs_destroy(defs);
}

/* 2.8 ms were off and 15 ns were stated: of two clocks, and of one. */
static void a_jump_of_the_counter_is_in_every_bound(void **state)
{
    const ck_time_t stretch[2] = {0, 10000000000};
    struct defs *defs = defs_create();
    struct align *align = align_create();
    uint32_t first = agent_make(defs, 1, 0, "t", 0);
    uint32_t second = agent_make(defs, 2, 1, "t", 0);
    ck_time_t parts[CLOCKPARTS], bound, worst = 0;

    (void)state;
    for (int64_t i = 0; i <= 10; i++) {
        pair_put(align, first, 2000000000 * i + (i > 5 ? 5600000 : 0),
                 1000000000 * i);
    }
    defs_close(defs);
    comm_close(defs);
    align_close(align, defs);
    align_settle(align, NULL);
    assert_int_equal(align_bound(align, first, true, 11000000000, &bound), 0);
    assert_true(bound >= 2800000);
    assert_int_equal(align_bound(align, first, true, 5000000000, &bound), 0);
    assert_true(bound < 250);
    assert_int_equal(align_pair_bound(align, first, second, 5500000000, &bound),
                     0);
    assert_true(bound >= 2800000);
    assert_int_equal(align_pair_bound(align, first, second, 2500000000, &bound),
                     0);
    assert_int_equal(bound, 0);
    assert_int_equal(align_bound_parts(align, first, stretch, parts), 0);
    for (size_t i = 0; i < CLOCKPARTS; i++) {
        worst = parts[i] > worst ? parts[i] : worst;
    }
    assert_true(worst >= 2800000);
    assert_true(align_domain(align, 0).bound >= 2800000);
    align_destroy(align);
    defs_destroy(defs);
}

/* The error that is assumed of a date is in each part of a stretch. */
static void a_believed_date_is_as_wrong_in_each_part(void **state)
{
    const ck_time_t stretch[2] = {0, 10000000000};
    const ck_time_t errors[2] = {50, 7000};
    struct defs *defs = defs_create();
    struct align *align = align_create();
    uint32_t near = agent_make(defs, 1, 0, "near", 90000);
    uint32_t far = agent_make(defs, 2, 1, "far", 90000);
    ck_time_t parts[CLOCKPARTS];

    (void)state;
    defs_close(defs);
    comm_close(defs);
    align_close(align, defs);
    align_believe(align, defs, errors);
    align_settle(align, NULL);
    assert_int_equal(align_bound_parts(align, near, stretch, parts), 0);
    for (size_t i = 0; i < CLOCKPARTS; i++) {
        assert_int_equal(parts[i], 50);
    }
    assert_int_equal(align_bound_parts(align, far, stretch, parts), 0);
    for (size_t i = 0; i < CLOCKPARTS; i++) {
        assert_int_equal(parts[i], 7000);
    }
    align_destroy(align);
    defs_destroy(defs);
}

static void stamps_never_step_back_over_the_points(void **state)
{
    unsigned seed = (unsigned)ck_time_raw();
    struct defs *defs = defs_create();
    struct align *align = align_create();
    uint32_t agent = agent_make(defs, 1, 0, "t", 0);
    int64_t ticks = 1000000, raw = 400000, last = INT64_MIN;

    (void)state;
    print_message("seed %u\n", seed);
    for (int i = 0; i < 200; i++) {
        pair_put(align, agent, ticks, raw);
        int64_t ns = 1000000 + rand_r(&seed) % 1000000;

        raw += ns;
        ticks += 2 * ns + rand_r(&seed) % 200;
    }
    defs_close(defs);
    comm_close(defs);
    align_close(align, defs);
    align_settle(align, NULL);
    for (int64_t at = -5000000; at < ticks + 5000000;
         at += 1 + rand_r(&seed) % 20000) {
        ck_time_t time = axis_time(align_axis(align), agent, true, at);

        assert_true(time >= last);
        last = time;
    }
    align_destroy(align);
    defs_destroy(defs);
}

static void ranks_of_one_domain_share_the_lowest_ranks_map(void **state)
{
    struct defs *defs = defs_create();
    struct align *align = align_create();
    uint32_t second = agent_make(defs, 2, 1, "t", 0);
    uint32_t first = agent_make(defs, 1, 0, "t", 0);

    (void)state;
    pair_put(align, first, 0, 0);
    pair_put(align, first, 2000000000, 1000000000);
    /* Off by 7 ns inside the leader's span, and the only one beyond it. */
    pair_put(align, second, 1000000000, 500000007);
    pair_put(align, second, 4000000000, 2000000000);
    defs_close(defs);
    comm_close(defs);
    align_close(align, defs);
    align_settle(align, NULL);
    assert_int_equal(axis_time(align_axis(align), second, true, 1000000000),
                     500000000);
    assert_int_equal(axis_time(align_axis(align), first, true, 3000000000),
                     1500000000);
    assert_int_equal(align_domain(align, 0).pairs, 3);
    align_destroy(align);
    defs_destroy(defs);
}

static void
another_domain_is_placed_by_realtime_and_not_calibrated(void **state)
{
    struct defs *defs = defs_create();
    struct align *align = align_create();
    uint32_t near = agent_make(defs, 1, 0, "near", 90000);
    uint32_t far = agent_make(defs, 2, 1, "far", 93000);

    (void)state;
    defs_close(defs);
    comm_close(defs);
    align_close(align, defs);
    align_settle(align, NULL);
    assert_int_equal(defs->domains_count, 2);
    assert_int_equal(axis_time(align_axis(align), near, false, 1000), 1000);
    assert_int_equal(axis_time(align_axis(align), far, false, 1000), 4000);
    assert_true(align_domain(align, 0).is_calibrated);
    assert_false(align_domain(align, 1).is_calibrated);
    assert_true(align_domain(align, 1).has_place);
    align_destroy(align);
    defs_destroy(defs);
}

static void ticks_without_pairs_are_reported(void **state)
{
    struct defs *defs = defs_create();
    struct align *align = align_create();
    uint32_t agent = agent_make(defs, 1, 0, "t", 0);

    (void)state;
    defs_close(defs);
    comm_close(defs);
    align_close(align, defs);
    align_settle(align, NULL);
    assert_false(align_domain(align, 0).lacks_pairs);
    (void)axis_time(align_axis(align), agent, true, 1000);
    assert_true(align_domain(align, 0).lacks_pairs);
    align_destroy(align);
    defs_destroy(defs);
}

static void a_records_times_all_move_and_unknown_ones_stay(void **state)
{
    struct defs *defs = defs_create();
    struct align *align = align_create();
    uint32_t agent = agent_make(defs, 1, 0, "t", 0);
    struct ck_kernel kernel = {
        .e = {.kind = CK_KIND_KERNEL, .start = 2000},
        .dur = 600,
        .submitted = 1000,
    };
    struct ck_kernel raw = kernel;

    (void)state;
    pair_put(align, agent, 0, 10000);
    pair_put(align, agent, 2000000000, 1000010000);
    defs_close(defs);
    comm_close(defs);
    align_close(align, defs);
    align_settle(align, NULL);
    axis_record(align_axis(align), agent, true, &kernel.e);
    assert_int_equal(kernel.e.start, 11000);
    assert_int_equal(kernel.dur, 300);
    assert_int_equal(kernel.submitted, 10500);
    assert_int_equal(kernel.queued, 0);
    raw.e.flags = CK_FLAG_RAW;
    axis_record(align_axis(align), agent, true, &raw.e);
    assert_int_equal(raw.e.start, 2000);
    assert_int_equal(raw.dur, 600);
    align_destroy(align);
    defs_destroy(defs);
}

/* theta = 5 s + 20 ppm; delays of 3 us each way. */
static int64_t probed_theta(int64_t raw)
{
    return 5000000000 + raw / 50000;
}

static void probes_put(struct align *align, uint32_t agent, bool answers)
{
    for (int64_t at = 1000000000; at < 60000000000; at += 1000000000) {
        struct ck_clock_fact fact = {
            .e = {.kind = CK_KIND_CLOCK_PROBE, .start = at},
            .value = at + probed_theta(at) + 3000,
            .width = 20,
        };

        if (answers) {
            fact.t3 = fact.value + 2000;
            fact.t4 = fact.t3 + 3000 - probed_theta(at);
        }
        align_fact(align, agent, &fact);
    }
}

static uint32_t
reference_make(struct defs *defs, const char *reference, int64_t realtime)
{
    uint32_t agent = agent_make(defs, 1, 0, "t", realtime);
    char lines[200];

    (void)snprintf(lines, sizeof(lines),
                   "boot_id=b\ntimens=t\nreference_boot_id=b\n"
                   "reference_timens=%s\n",
                   reference);
    defs->agents[agent].identity =
        texts_keep(defs->texts, lines, sizeof(lines));
    return agent;
}

static void a_probed_domain_is_put_on_the_references_axis(void **state)
{
    struct defs *defs = defs_create();
    struct align *align = align_create();
    uint32_t first = reference_make(defs, "t", 0);
    uint32_t second = agent_make(defs, 2, 1, "u", 0);
    struct align_domain domain;
    int64_t last = INT64_MIN;
    ck_time_t bound;

    (void)state;
    probes_put(align, second, true);
    defs_close(defs);
    comm_close(defs);
    align_close(align, defs);
    align_settle(align, NULL);
    assert_true(align_domain(align, 0).is_calibrated);
    assert_int_equal(align_bound(align, first, false, 77, &bound), 0);
    assert_int_equal(bound, 0);
    assert_int_equal(axis_time(align_axis(align), first, false, 77), 77);
    for (int64_t at = 500000000; at < 61000000000; at += 777777) {
        ck_time_t time = axis_time(align_axis(align), second, false, at);
        ck_time_t truth = at + probed_theta(at);

        assert_int_equal(align_bound(align, second, false, at, &bound), 0);
        assert_true(bound < 9000);
        assert_true(llabs(time - truth) <= bound);
        assert_true(llabs(time - truth) <= 1000);
        assert_true(time > last);
        last = time;
    }
    domain = align_domain(align, 1);
    assert_int_equal(domain.clock.method, CALIBRATION_FACTS);
    assert_int_equal(domain.clock.band.probes, 59);
    assert_int_equal(domain.clock.lost, 0);
    assert_int_equal(domain.clock.band.rtt_min, 6000);
    assert_true(llabs(domain.clock.band.drift_ppb - 20000) < 500);
    align_destroy(align);
    defs_destroy(defs);
}

static void probes_without_answers_calibrate_nothing(void **state)
{
    struct defs *defs = defs_create();
    struct align *align = align_create();
    uint32_t second = agent_make(defs, 2, 1, "u", 0);
    ck_time_t bound;

    (void)state;
    (void)reference_make(defs, "t", 0);
    probes_put(align, second, false);
    defs_close(defs);
    comm_close(defs);
    align_close(align, defs);
    align_settle(align, NULL);
    assert_false(align_domain(align, 1).is_calibrated);
    assert_int_equal(align_domain(align, 1).clock.lost, 59);
    assert_int_equal(align_bound(align, second, false, 77, &bound), -1);
    align_destroy(align);
    defs_destroy(defs);
}

/* The lowest rank's domain is no party: nothing is relative to it. */
static void
a_reference_that_the_first_rank_cannot_reach_calibrates_nobody(void **state)
{
    struct defs *defs = defs_create();
    struct align *align = align_create();
    uint32_t first = reference_make(defs, "elsewhere", 9000);
    uint32_t second = agent_make(defs, 2, 1, "u", 0);

    (void)state;
    probes_put(align, second, true);
    defs_close(defs);
    comm_close(defs);
    align_close(align, defs);
    align_settle(align, NULL);
    assert_true(align_domain(align, 0).is_calibrated);
    assert_int_equal(axis_time(align_axis(align), first, false, 77), 77);
    assert_false(align_domain(align, 1).is_calibrated);
    align_destroy(align);
    defs_destroy(defs);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ticks_follow_a_counter_whose_rate_changes),
        cmocka_unit_test(a_jump_of_the_counter_is_in_every_bound),
        cmocka_unit_test(a_believed_date_is_as_wrong_in_each_part),
        cmocka_unit_test(a_pair_that_no_clock_can_read_is_left_out),
        cmocka_unit_test(stamps_never_step_back_over_the_points),
        cmocka_unit_test(ranks_of_one_domain_share_the_lowest_ranks_map),
        cmocka_unit_test(
            another_domain_is_placed_by_realtime_and_not_calibrated),
        cmocka_unit_test(ticks_without_pairs_are_reported),
        cmocka_unit_test(a_probed_domain_is_put_on_the_references_axis),
        cmocka_unit_test(probes_without_answers_calibrate_nothing),
        cmocka_unit_test(
            a_reference_that_the_first_rank_cannot_reach_calibrates_nobody),
        cmocka_unit_test(a_records_times_all_move_and_unknown_ones_stay),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
