/* test_textallocations.c - where memory came from, in the text report
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

#include "tests/merge/saying.h"

/* Of damaged records: fifty times that is 34, where it wraps. */
static void the_largest_row_is_shown_however_large(void **state)
{
    const struct report_held held = {.bytes = UINT64_MAX / 50 + 1,
                                     .peak = UINT64_MAX / 50 + 1};
    struct report_allocation row = {
        .place = {"build", "a.c", 10}, .held = held, .ranks = 1};
    struct report_allocation_rank rank = {.held = held};
    struct report report = {.has_ranks = true,
                            .allocations = {.mean = 1000,
                                            .places = &row,
                                            .places_count = 1,
                                            .ranks = &rank,
                                            .ranks_count = 1}};

    (void)state;
    say(page_allocations, &report);
    assert_non_null(strstr(text, "build"));
}

static void peaks_of_several_processes_are_not_one_peak(void **state)
{
    struct report_allocation_rank ranks[] = {
        {.rank = 0, .processes = 1, .held.peak = 1000, .peak_at = 1000000000},
        {.rank = 1, .processes = 2, .held.peak = 1000, .peak_at = 1000000000}};
    struct report report = {
        .has_ranks = true,
        .allocations = {.mean = 1000, .ranks = ranks, .ranks_count = 2}};

    (void)state;
    say(page_allocations, &report);
    assert_non_null(strstr(text,
                           " rank 0 had 1.00 kB of this memory at its peak "
                           "(1.00 s), 0 B at the end.\n"));
    assert_non_null(strstr(text, " 2 processes of rank 1 had 1.00 kB of this "
                                 "memory, their own peaks added up (the "
                                 "largest at 1.00 s),"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(the_largest_row_is_shown_however_large,
                                  teardown),
        cmocka_unit_test_teardown(peaks_of_several_processes_are_not_one_peak,
                                  teardown),
    };

    return cmocka_run_group_tests_name("textallocations", tests, NULL, NULL);
}
