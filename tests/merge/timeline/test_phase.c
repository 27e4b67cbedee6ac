/* test_phase.c - a range of the program as the region, and its idle time
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Two ranks, in ms: rank 0 is in "solve" [1,3), within it again [1.5,2), and
 * [5,6); rank 1 in [1.2,3.5) and [5.5,7.5), between them in "io" [4,5). Rank
 * 0's device works [1,1.1) and [5.3,5.5), what is launched at 5.2, and, while
 * no rank is in a range, [8,9); rank 1's [8.5,8.8).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/merge/program.h"
#include "tests/merge/synth.h"

#define US ((int64_t)1000)

enum name { NAME_SOLVE = 1, NAME_IO, NAME_KERNEL, NAME_LAUNCH };

static char *dir;
static char *text;

static void range(struct synth *synth, enum name name, int64_t from, int64_t to)
{
    struct ck_mark mark = {
        .e = {.kind = CK_KIND_RANGE, .name = name, .start = from * US},
        .dur = (to - from) * US};

    synth_put(synth, &mark);
}

static void rank_put(int rank)
{
    struct synth_rank who = {.rank = rank,
                             .size = 2,
                             .host = "node",
                             .timens = "t",
                             .clock = CK_CLOCK_RAW};
    static const char *const names[] = {"solve", "io", "kernel",
                                        "clEnqueueNDRangeKernel"};
    struct synth *synth = synth_create(dir, (unsigned)rank, &who);

    synth_text(synth, CK_KIND_PROCESS, 1, 100, 0, "solver", 6);
    synth_stream(synth, 1, 0, 100);
    for (uint32_t i = 0; i < 4; i++) {
        synth_text(synth, CK_KIND_NAME, i + 1, 0, 0, names[i],
                   strlen(names[i]));
    }
    synth_text(synth, CK_KIND_DEVICE, 1, 0, 0, "name=d\nscope=process\n", 21);
    if (rank == 0) {
        synth_kernel(synth, NAME_KERNEL, 1000 * US, 100 * US, 100, 1);
        range(synth, NAME_SOLVE, 1000, 3000);
        range(synth, NAME_SOLVE, 1500, 2000);
        range(synth, NAME_SOLVE, 5000, 6000);
        synth_call(synth, CK_KIND_API_OPENCL, NAME_LAUNCH, 5200 * US, 10 * US,
                   1, 2);
        synth_kernel(synth, NAME_KERNEL, 5300 * US, 200 * US, 100, 2);
        synth_kernel(synth, NAME_KERNEL, 8000 * US, 1000 * US, 0, 0);
    } else {
        range(synth, NAME_SOLVE, 1200, 3500);
        range(synth, NAME_IO, 4000, 5000);
        range(synth, NAME_SOLVE, 5500, 7500);
        synth_kernel(synth, NAME_KERNEL, 8500 * US, 300 * US, 0, 0);
    }
    synth_exit(synth, 0, 9000 * US, 1000);
    synth_destroy(synth);
}

static int setup(void **state)
{
    (void)state;
    dir = synth_dir();
    rank_put(0);
    rank_put(1);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    synth_remove(dir);
    free(text);
    return 0;
}

static void region_is(const char *what, int64_t start, int64_t end)
{
    char wanted[128];

    assert_int_equal(
        program_merge(&text, "/", "--region %s -o json %s", what, dir), 0);
    (void)snprintf(wanted, sizeof(wanted),
                   "\"start_ns\": %lld,\n    \"end_ns\": %lld,",
                   (long long)(start * US), (long long)(end * US));
    assert_non_null(strstr(strstr(text, "\"region\""), wanted));
    (void)snprintf(wanted, sizeof(wanted), "\"range\": \"%s\"", what);
    assert_non_null(strstr(text, wanted));
}

static void all_ranges_of_a_name_are_the_region(void **state)
{
    (void)state;
    region_is("solve", 1000, 7500);
    region_is("io", 4000, 5000);
}

static void the_nth_of_each_rank_is_the_region(void **state)
{
    (void)state;
    region_is("solve#1", 1000, 3500);
    /* The one within the first does not count. */
    region_is("solve#2", 5000, 7500);
}

static void from_and_to_cut_the_range(void **state)
{
    (void)state;
    /* The run begins with the first record, at 1 ms. */
    assert_int_equal(program_merge(&text, "/",
                                   "--region solve --from 1ms --to 3ms -o json "
                                   "%s",
                                   dir),
                     0);
    assert_non_null(strstr(strstr(text, "\"region\""),
                           "\"start_ns\": 2000000,\n"
                           "    \"end_ns\": 4000000,"));
}

static void what_is_not_there_is_refused_with_what_is(void **state)
{
    (void)state;
    assert_int_equal(program_merge(&text, "/", "--region soolve %s", dir), 1);
    assert_non_null(strstr(text, "no such range"));
    assert_non_null(strstr(text, "solve, io"));
    assert_int_equal(program_merge(&text, "/", "--region solve#3 %s", dir), 1);
    assert_non_null(strstr(text, "that many of it, 2 at most"));
}

static void idle_time_belongs_to_the_range_of_the_host(void **state)
{
    (void)state;
    assert_int_equal(program_merge(&text, "/", "-o json %s", dir), 0);
    /* [1.1,3) and [5,5.3), with the launch as the last 0.1. */
    assert_non_null(strstr(text, "\"idle_ns\": 2200000,\n"
                                 "      \"idle\": {\n"
                                 "        \"launch_latency\": 100000,\n"
                                 "        \"host_compute\": 2100000\n"));
}

static void a_range_shows_how_busy_devices_were_in_it(void **state)
{
    (void)state;
    assert_int_equal(program_merge(&text, "/", "-o json %s", dir), 0);
    /* On any rank [1,3.5) and [5,7.5); of rank 0's device [1,3) and [5,6), of
     * rank 1's [1.2,3.5) and [5.5,7.5). */
    assert_non_null(strstr(text, "\"wall_ns\": 5000000,\n"
                                 "      \"device_ns\": 7300000,\n"
                                 "      \"device_busy_ns\": 300000,\n"));
    /* Rank 1's device does nothing. */
    assert_non_null(strstr(text, "\"wall_ns\": 1000000,\n"
                                 "      \"device_ns\": 1000000,\n"
                                 "      \"device_busy_ns\": 0,\n"));
}

static void devices_are_busy_for_queues_ranks_hosts_and_the_job(void **state)
{
    static const char *const wanted[] = {
        /* Rank 0 [1,1.1), [5.3,5.5) and [8,9), rank 1 [8.5,8.8). */
        "\"of\": \"job\",\n      \"host\": null,\n      \"rank\": null,\n"
        "      \"operations\": 4,\n      \"busy_ns\": 1300000,\n"
        "      \"core_ns\": 1600000\n",
        "\"of\": \"host\",\n      \"host\": \"node\",\n"
        "      \"rank\": null,\n      \"operations\": 4,\n"
        "      \"busy_ns\": 1300000,\n",
        "\"of\": \"rank\",\n      \"host\": \"node\",\n      \"rank\": 1,\n"
        "      \"operations\": 1,\n      \"busy_ns\": 300000,\n",
        "\"queue_id\": 1,\n      \"operations\": 3,\n"
        "      \"busy_ns\": 1300000,\n",
    };

    (void)state;
    assert_int_equal(program_merge(&text, "/", "-o json %s", dir), 0);
    for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
        assert_non_null(strstr(text, wanted[i]));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_ranges_of_a_name_are_the_region),
        cmocka_unit_test(the_nth_of_each_rank_is_the_region),
        cmocka_unit_test(from_and_to_cut_the_range),
        cmocka_unit_test(what_is_not_there_is_refused_with_what_is),
        cmocka_unit_test(idle_time_belongs_to_the_range_of_the_host),
        cmocka_unit_test(a_range_shows_how_busy_devices_were_in_it),
        cmocka_unit_test(devices_are_busy_for_queues_ranks_hosts_and_the_job),
    };

    return cmocka_run_group_tests(tests, setup, teardown);
}
