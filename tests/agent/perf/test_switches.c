/* test_switches.c - switches of the scheduler as times off the CPU
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "agent/perf/sampler.h"
#include "agent/perf/switches.h"
#include "tests/agent/said.h"

enum what { IN, OUT, PUSHED };

static struct switches *switches;
static struct said said;

static int setup(void **state)
{
    (void)state;
    said_init(&said);
    switches = switches_create();
    return switches == NULL;
}

static int teardown(void **state)
{
    (void)state;
    switches_destroy(switches);
    said_fini(&said);
    return 0;
}

static void see(uint32_t tid, ck_time_t time, enum what what)
{
    switches_add(switches, said.selfstream,
                 &(struct switch_seen){.time = time,
                                       .tid = tid,
                                       .incarnation = 7,
                                       .is_out = what != IN,
                                       .is_preempted = what == PUSHED});
}

static void move(uint32_t tid, ck_time_t time, enum what what, uint32_t cpu)
{
    switches_add(switches, said.selfstream,
                 &(struct switch_seen){.time = time,
                                       .tid = tid,
                                       .incarnation = 7,
                                       .cpu = cpu,
                                       .is_out = what != IN});
}

/* The next interval of the kind is that; none with tid 0. */
static const void *expect(const void *after,
                          enum ck_kind kind,
                          uint32_t tid,
                          ck_time_t start,
                          ck_time_t length)
{
    const struct ck_mark *mark;

    switches_settle(switches, said.selfstream);
    said_read(&said);
    mark = said_next(&said, kind, after);
    if (tid == 0) {
        assert_null(mark);
        return NULL;
    }
    assert_non_null(mark);
    assert_int_equal(mark->e.name, 7);
    assert_int_equal(mark->e.flags, CK_FLAG_RAW);
    assert_int_equal(mark->value, tid);
    assert_int_equal(mark->e.start, start);
    assert_int_equal(mark->dur, length);
    return mark;
}

static void a_wait_and_a_preemption_are_distinguished(void **state)
{
    const void *first;

    (void)state;
    see(1, 100000, OUT);
    see(1, 200000, IN);
    see(1, 300000, PUSHED);
    see(1, 350000, IN);
    first = expect(NULL, CK_KIND_BLOCKED, 1, 100000, 100000);
    (void)expect(first, CK_KIND_BLOCKED, 0, 0, 0);
    (void)expect(NULL, CK_KIND_PREEMPTED, 1, 300000, 50000);
}

static void rings_of_two_cpus_are_put_in_order(void **state)
{
    const void *first;

    (void)state;
    see(1, 500000, IN); /* read from the ring of the second CPU */
    see(2, 100000, OUT);
    see(1, 200000, OUT); /* and from that of the first one */
    see(2, 140000, IN);
    first = expect(NULL, CK_KIND_BLOCKED, 2, 100000, 40000);
    (void)expect(first, CK_KIND_BLOCKED, 1, 200000, 300000);
}

static void a_switch_in_waits_for_its_switch_out(void **state)
{
    (void)state;
    see(1, 500000, IN);
    switches_settle(switches, said.selfstream);
    see(1, 200000, PUSHED); /* a step later */
    (void)expect(NULL, CK_KIND_PREEMPTED, 1, 200000, 300000);
}

static void an_old_switch_in_is_no_end_of_a_later_wait(void **state)
{
    (void)state;
    see(1, 100000, IN); /* its thread's first word */
    switches_settle(switches, said.selfstream);
    see(1, 200000, OUT);
    (void)expect(NULL, CK_KIND_BLOCKED, 0, 0, 0);
    see(1, 300000, IN);
    (void)expect(NULL, CK_KIND_BLOCKED, 1, 200000, 100000);
}

static void short_times_are_not_recorded(void **state)
{
    (void)state;
    see(1, 100000, OUT);
    see(1, 100000 + SAMPLER_OFF_MIN_NS - 1, IN);
    (void)expect(NULL, CK_KIND_BLOCKED, 0, 0, 0);
}

static void a_yield_changes_nothing_for_the_waits_around_it(void **state)
{
    const void *first;

    (void)state;
    see(1, 100000, OUT);
    see(1, 200000, IN);
    see(1, 201000, OUT);
    see(1, 202000, IN);
    see(1, 203000, OUT);
    see(2, 203500, IN); /* between a switch out and in: no yield */
    see(1, 204000, IN);
    see(1, 300000, OUT);
    see(1, 400000, IN);
    first = expect(NULL, CK_KIND_BLOCKED, 1, 100000, 100000);
    first = expect(first, CK_KIND_BLOCKED, 1, 300000, 100000);
    (void)expect(first, CK_KIND_BLOCKED, 0, 0, 0);
}

static void more_switches_than_a_batch_holds_are_all_recorded(void **state)
{
    (void)state;
    for (ck_time_t i = 1; i <= 5000; i++) {
        see(1, i * 100000, OUT);
        see(1, i * 100000 + 50000, IN);
    }
    switches_settle(switches, said.selfstream);
    said_read(&said);
    assert_int_equal(said.bytes, 5000 * CK_UNIT_BYTES);
}

static void a_thread_that_comes_back_elsewhere_has_moved(void **state)
{
    (void)state;
    move(1, 100000, OUT, 0);
    move(1, 200000, IN, 0);
    move(1, 300000, OUT, 0);
    move(2, 310000, OUT, 1);
    move(1, 400000, IN, 1); /* moved */
    move(1, 500000, OUT, 1);
    move(1, 501000, IN, 0); /* moved in a moment */
    switches_settle(switches, said.selfstream);
    assert_int_equal(switches_migrations(switches), 2);
    move(2, 600000, IN, 0); /* read before its switch out on CPU 1 */
    switches_settle(switches, said.selfstream);
    assert_int_equal(switches_migrations(switches), 3);
    move(3, 700000, IN, 0);
    switches_settle(switches, said.selfstream);
    move(3, 650000, OUT, 1);
    switches_settle(switches, said.selfstream);
    assert_int_equal(switches_migrations(switches), 4);
}

/* The stack of a thread as it leaves the CPU. */
static bool stack(uint32_t tid, ck_time_t time, uint32_t number)
{
    bool goes_on;
    bool is_wanted = switches_is_wanted(switches, tid, time, &goes_on);

    switches_stack(switches,
                   &(struct switch_stack){
                       .tid = tid, .time = time, .ip = 70, .stack = number});
    return is_wanted;
}

/* The next OFF_CPU record is that; none with stack 0. */
static const void *
expect_stack(const void *after, uint32_t number, ck_time_t start, ck_time_t ns)
{
    const struct ck_sample *sample;

    switches_put(switches, said.selfstream);
    said_read(&said);
    sample = said_next(&said, CK_KIND_OFF_CPU, after);
    if (number == 0) {
        assert_null(sample);
        return NULL;
    }
    assert_non_null(sample);
    assert_int_equal(sample->stack, number);
    assert_int_equal(sample->ip, 70);
    assert_int_equal(sample->e.start, start);
    assert_int_equal(sample->weight, ns);
    return sample;
}

static void a_long_wait_has_the_stack_of_its_switch(void **state)
{
    const struct ck_mark *mark;
    const void *last;

    (void)state;
    switches_stacks(switches, 100000);
    see(1, 1000000, IN);
    see(1, 2000000, OUT); /* too short for a stack */
    see(1, 2050000, IN);
    see(1, 3000000, OUT);
    see(1, 4000000, IN);
    see(2, 3000000, PUSHED); /* could have run on */
    see(2, 4000000, IN);
    see(3, 5000000, OUT); /* goes on */
    switches_settle(switches, said.selfstream);
    assert_false(stack(1, 1999000, 4));
    assert_true(stack(1, 2999000, 5));
    assert_false(stack(1, 2040000, 6)); /* before it came to the CPU */
    assert_false(stack(2, 2999000, 7));
    assert_true(stack(3, 4999000, 8));
    last = expect_stack(NULL, 5, 3000000, 1000000);
    (void)expect_stack(last, 0, 0, 0);
    see(3, 9000000, IN);
    switches_settle(switches, said.selfstream);
    last = expect_stack(last, 8, 5000000, 4000000);
    (void)expect_stack(last, 0, 0, 0);
    mark = said_next(&said, CK_KIND_BLOCKED, NULL); /* the short one */
    assert_int_equal(mark->e.flags, CK_FLAG_RAW);
    mark = said_next(&said, CK_KIND_BLOCKED, mark);
    assert_int_equal(mark->e.flags, CK_FLAG_RAW | CK_FLAG_STACK);
    assert_int_equal(mark->e.start, 3000000);
    assert_int_equal(switches_tally(switches).waits, 2);
    assert_int_equal(switches_tally(switches).stacks, 2);
}

static void a_stack_before_a_yield_is_of_no_later_wait(void **state)
{
    (void)state;
    switches_stacks(switches, 100000);
    see(1, 1000000, IN);
    see(1, 2000000, OUT); /* a yield: dropped as it comes */
    see(1, 2001000, IN);
    see(1, 2010000, OUT);
    see(1, 3000000, IN);
    switches_settle(switches, said.selfstream);
    assert_false(stack(1, 1999500, 4));
    assert_true(stack(1, 2009500, 5));
    (void)expect_stack(NULL, 5, 2010000, 990000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_long_wait_has_the_stack_of_its_switch,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(
            a_stack_before_a_yield_is_of_no_later_wait, setup, teardown),
        cmocka_unit_test_setup_teardown(
            a_wait_and_a_preemption_are_distinguished, setup, teardown),
        cmocka_unit_test_setup_teardown(rings_of_two_cpus_are_put_in_order,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(a_switch_in_waits_for_its_switch_out,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(
            an_old_switch_in_is_no_end_of_a_later_wait, setup, teardown),
        cmocka_unit_test_setup_teardown(short_times_are_not_recorded, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(
            a_yield_changes_nothing_for_the_waits_around_it, setup, teardown),
        cmocka_unit_test_setup_teardown(
            a_thread_that_comes_back_elsewhere_has_moved, setup, teardown),
        cmocka_unit_test_setup_teardown(
            more_switches_than_a_batch_holds_are_all_recorded, setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
