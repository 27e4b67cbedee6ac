/* test_report.c - which figures of a report are known well enough to be shown
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "merge/report/report.h"

/* Of 4 ranks that took 60 ms, and would take `ideal` on an ideal network: is
 * what they lost split, if of that many ms it is not known what they were? */
static bool is_split(double ideal, double unknown)
{
    struct report report = {.efficiency = {
                                .ranks = 4,
                                .region = 60 * CK_TIME_MS,
                                .useful = CK_TIME_MS,
                                .ideal = (ck_time_t)(ideal * CK_TIME_MS),
                                .unknown = (ck_time_t)(unknown * CK_TIME_MS),
                                .communication = 0.01,
                            }};

    return report_knows_transfer(&report);
}

/* What is unknown keeps its length in the replay: it is all of the ideal run
 * where that is short, and little where it is long. */
static void losses_are_split_only_if_the_replay_knows_them(void **unused)
{
    (void)unused;
    assert_true(is_split(1, 0));
    assert_true(is_split(50, 9));
    assert_false(is_split(50, 50));
    assert_false(is_split(9, 9));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(losses_are_split_only_if_the_replay_knows_them),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
