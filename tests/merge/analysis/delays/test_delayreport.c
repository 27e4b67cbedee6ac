/* test_delayreport.c - where a late thread was, by few samples
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "merge/analysis/delays/delayreport.h"

#define PERIOD (10 * CK_TIME_MS)

/* 600 ms without a CPU, and two samples of what came once before. */
static void few_samples_do_not_show_where_it_had_no_cpu(void **state)
{
    struct report_running running = {.total = 600 * CK_TIME_MS,
                                     .preempted = 599 * CK_TIME_MS};

    (void)state;
    assert_false(delayreport_is_seen(&running, 2 * PERIOD, PERIOD));
    assert_true(delayreport_is_seen(&running, 5 * PERIOD, PERIOD));
    running.preempted = 300 * CK_TIME_MS;
    assert_true(delayreport_is_seen(&running, PERIOD, PERIOD));
    running.blocked = 299 * CK_TIME_MS;
    assert_false(delayreport_is_seen(&running, PERIOD, PERIOD));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(few_samples_do_not_show_where_it_had_no_cpu),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
