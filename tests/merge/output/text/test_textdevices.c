/* test_textdevices.c - idle devices, copies and failed work, as the text has
 * them
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "merge/output/text/page.h"

#define S CK_TIME_S

static char *text;
static const int32_t program = 0;
static struct report_device devices[2];
static struct report_cause cause;
static struct report report;

/* A program without ranks, and two devices of one name. */
static int setup(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        devices[i] = (struct report_device){.physical = (uint32_t)i,
                                            .number = i,
                                            .name = "cpu",
                                            .uuid = "",
                                            .ranks = &program,
                                            .ranks_count = 1};
    }
    cause = (struct report_cause){.ranks = 1, .ns = 4 * S, .count = 5};
    report = (struct report){.present = 1,
                             .size = 1,
                             .devices = devices,
                             .devices_count = 2,
                             .causes = &cause,
                             .causes_count = 1,
                             .all = {.wall = 10 * S}};
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    free(text);
    text = NULL;
    return 0;
}

static void print(void (*part)(const struct page *page))
{
    static const struct text_style style = {.columns = 400};
    struct page_given given = {.count = 0};
    struct page page = {.report = &report, .style = &style, .given = &given};
    size_t length;

    free(text);
    text = NULL;
    page.file = open_memstream(&text, &length);
    assert_non_null(page.file);
    part(&page);
    assert_int_equal(fclose(page.file), 0);
}

static bool has(const char *part)
{
    return strstr(text, part) != NULL;
}

static void devices_of_one_name_have_numbers(void **state)
{
    (void)state;
    cause.cause = CAUSE_DEP_REMOTE;
    cause.device = 1;
    cause.awaited = 0;
    cause.did_ns = 4 * S;
    cause.did.kernel = "spin";
    print(page_why);
    assert_true(has("40.0 % of all device time (4.00 s of 10.0 s): device cpu "
                    "#1 of the program, dep_remote"));
    assert_true(has("for spin\n    on device cpu #0"));
    assert_false(has("Try: make fewer"));
}

static void without_ranks_there_is_no_rank_0(void **state)
{
    (void)state;
    cause.cause = CAUSE_HOST_COMPUTE;
    print(page_why);
    assert_true(has(" of the program, host_compute"));
    assert_false(has("rank 0"));
    report.has_ranks = true;
    print(page_why);
    assert_true(has(" of rank 0, host_compute"));
}

static void a_startup_is_shown_with_what_it_was(void **state)
{
    (void)state;
    cause.cause = CAUSE_STARTUP;
    cause.parts_count = 2;
    cause.parts[0].ns = 3 * S;
    cause.parts[0].did.call = "clBuildProgram";
    cause.parts[1].ns = S;
    cause.parts[1].did.call = "nanosleep";
    print(page_why);
    assert_true(has("    75.0 % of it in clBuildProgram,\n"
                    "    25.0 % of it in nanosleep.\n"));
    assert_true(has("Try: build each program once"));
}

static void copies_that_bound_a_run_are_a_first_sentence(void **state)
{
    struct report_copy_place place = {.name = "h2d",
                                      .place = {"fill", "a.c", 7},
                                      .calls = 16,
                                      .bytes = 1 << 27,
                                      .total = S};

    (void)state;
    report.all.busy = 5 * S;
    report.all.copy = 4 * S;
    report.all.compute = S;
    print(page_copies_answer);
    assert_string_equal(text, " Of all device time they spent 40.0 % copying "
                              "with no kernel beside it, and 10.0 % "
                              "computing.\n");
    report.all.copy = S / 2;
    print(page_copies_answer);
    assert_string_equal(text, "");
    report.copy_places = &place;
    report.copy_places_count = 1;
    print(page_copies);
    assert_true(has(" host to device             16     134 MB"));
    assert_true(has("a.c:7\n"));
}

static void what_failed_has_a_line(void **state)
{
    struct report_failure failures[] = {
        {.name = "add", .error = -5, .count = 3},
        {.name = "clEnqueueNDRangeKernel",
         .is_call = true,
         .error = -54,
         .count = 2},
    };

    (void)state;
    report.failures = failures;
    report.failures_count = 2;
    print(page_failures);
    assert_true(has("failed: 3 times add"));
    assert_true(has("failed: 2 times clEnqueueNDRangeKernel"));
    assert_true(has("error -54 (CL_INVALID_WORK_GROUP_SIZE)"));
}

static void work_that_never_ended_is_the_alarm(void **state)
{
    struct report_undone undone = {
        .name = "spin", .count = 3, .since = 2 * S, .device = "cpu"};

    (void)state;
    undone.device_number = -1;
    report.undone = &undone;
    report.undone_count = 1;
    print(page_undone);
    assert_true(has(" never ended: spin at 2.00 s,\n   on cpu; 2 more commands "
                    "were queued behind it.\n"));
    undone.is_waiting = true;
    print(page_undone);
    assert_true(has("it waited for a user event that was never set"));
    report.all.causes[CAUSE_UNFINISHED] = 3 * S;
    print(page_undone_answer);
    assert_true(has(" For 30.0 % (3.00 s) they had work that never ended"));
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        CASE(devices_of_one_name_have_numbers),
        CASE(without_ranks_there_is_no_rank_0),
        CASE(a_startup_is_shown_with_what_it_was),
        CASE(copies_that_bound_a_run_are_a_first_sentence),
        CASE(what_failed_has_a_line),
        CASE(work_that_never_ended_is_the_alarm),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
