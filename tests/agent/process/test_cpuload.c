/* test_cpuload.c - the CPUs that a target may use, and who else used them
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * The target is this process. What others do meanwhile is not known: only what
 * must be so whatever they do is asked for.
 */
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "agent/process/cpuload.h"
#include "schema/store/run.h"
#include "tests/emulator.h"

#define WORK_NS (200 * CK_TIME_MS)
/* /proc counts in these. */
#define TICK (10 * CK_TIME_MS)

static struct proctree *tree;
static struct cpuload *load;
static cpu_set_t before;
static char text[4096];
static struct ck_lines lines;

static int setup(void **state)
{
    (void)state;
    tree = proctree_create(getpid());
    load = tree == NULL ? NULL : cpuload_create(getpid(), tree);
    lines = ck_lines_in(text, sizeof(text));
    return load == NULL || sched_getaffinity(0, sizeof(before), &before) != 0;
}

static int teardown(void **state)
{
    (void)state;
    cpuload_destroy(load);
    proctree_destroy(tree);
    return sched_setaffinity(0, sizeof(before), &before);
}

static void work(void)
{
    struct timespec ts;
    ck_time_t until = 0, now = 0;
    volatile uint64_t sum = 0;

    do {
        for (int i = 0; i < 20000; i++) {
            sum += (uint64_t)i;
        }
        (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
        now = ts.tv_sec * CK_TIME_S + ts.tv_nsec;
        until = until == 0 ? now + WORK_NS : until;
    } while (now < until);
    (void)sum;
}

static void look(void)
{
    (void)proctree_read(tree);
    cpuload_read(load, ck_time_raw());
}

static int64_t number_of(const char *key)
{
    char value[64] = "";

    assert_true(ck_lines_get(text, lines.used, key, value, sizeof(value)));
    return strtoll(value, NULL, 10);
}

static void a_thread_that_works_is_on_the_cpus_that_it_may_use(void **state)
{
    cpu_set_t one;
    char list[64] = "", expected[16];
    int cpu = sched_getcpu();

    (void)state;
    EMULATOR_SKIP("no CPU time in /proc");
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    look();
    assert_int_equal(sched_setaffinity(0, sizeof(one), &one), 0);
    work();
    look();
    cpuload_lines(load, &lines);
    assert_true(
        ck_lines_get(text, lines.used, "load_cpus", list, sizeof(list)));
    (void)snprintf(expected, sizeof(expected), "%d", cpu);
    assert_string_equal(list, expected);
    assert_true(number_of("load_ns") >= WORK_NS);
    assert_true(number_of("load_own_ns") >= WORK_NS - 2 * TICK);
    /* The one CPU did that work, and the host is no less than a CPU. */
    assert_true(number_of("load_busy_ns") >= WORK_NS / 2);
    assert_true(number_of("load_host_ns") >= number_of("load_busy_ns"));
    assert_true(number_of("load_host_ns") <=
                (number_of("load_ns") + 20 * TICK) * number_of("load_online"));
    /* It wanted a CPU all the time, with or without one. */
    assert_true(number_of("load_waited_ns") == 0 ||
                number_of("load_ready_milli") > 500);
}

static void one_look_is_not_enough(void **state)
{
    (void)state;
    look();
    cpuload_lines(load, &lines);
    assert_int_equal(lines.used, 0);
    cpuload_lines(NULL, &lines);
    assert_int_equal(lines.used, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(
            a_thread_that_works_is_on_the_cpus_that_it_may_use, setup,
            teardown),
        cmocka_unit_test_setup_teardown(one_look_is_not_enough, setup,
                                        teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
