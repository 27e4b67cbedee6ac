/* test_kernelonly.c - a run of ck and a foreign profile in one merge
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
#include <unistd.h>

#include "merge/clocks/align.h"
#include "merge/input/rundir.h"
#include "merge/kernelonly.h"
#include "merge/model/comm.h"
#include "merge/timeline/region.h"
#include "tests/merge/synth.h"

#define MS ((int64_t)1000000)
#define DATE ((int64_t)1774592172 * 1000000000)

/* Rank 0: a kernel of 10 ms, 5 ms after the start of its recording. */
static void run_make(const char *dir)
{
    struct synth_rank who = {.rank = 0,
                             .size = 2,
                             .host = "node",
                             .timens = "t",
                             .clock = CK_CLOCK_RAW,
                             .start_raw = 7 * MS,
                             .start_realtime = DATE};
    struct synth *synth = synth_create(dir, 1, &who);

    synth_stream(synth, 1, 0, 100);
    synth_kernel(synth, 0, 12 * MS, 10 * MS, 100, 0);
    synth_exit(synth, 0, 40 * MS, 0);
    synth_destroy(synth);
}

/* Rank 1, an nkipy profile of one execution from `start` on. */
static char *profile_make(const char *dir, int64_t start)
{
    char *path = malloc(4096);
    FILE *file;

    (void)snprintf(path, 4096, "%s/rank1.json", dir);
    file = fopen(path, "we");
    assert_non_null(file);
    fprintf(file,
            "{\"kernel_calls\":[],\"events_json\":\"[{\\\"event_type\\\":"
            "\\\"nc_exec_running\\\",\\\"phase\\\":\\\"start\\\",\\\"tracking_"
            "id\\\":1,\\\"timestamp_ns\\\":%lld},{\\\"event_type\\\":\\\"nc_"
            "exec_running\\\",\\\"phase\\\":\\\"stop\\\",\\\"tracking_id\\\":"
            "1,\\\"timestamp_ns\\\":%lld}]\",\"wall_start_ns\":%lld,"
            "\"wall_stop_ns\":%lld}",
            (long long)(start + MS), (long long)(start + 2 * MS),
            (long long)start, (long long)(start + 30 * MS));
    assert_int_equal(fclose(file), 0);
    return path;
}

/* Merge both; the length of the whole in *whole. */
static bool merge_both(int64_t start, ck_time_t *whole)
{
    char *run = synth_dir();
    char *other = synth_dir();
    char *path = profile_make(other, start);
    const char *inputs[] = {run, path};
    struct kernelonly_ranks none = {NULL, 0};
    struct defs *defs = defs_create();
    struct align *align = align_create();
    struct report report = {0};
    struct ck_err err = {""};
    struct kernelonly *all;
    struct rundir *store;
    const char *const *stores;
    size_t count;
    bool has_dates;

    run_make(run);
    all = kernelonly_create(inputs, 2, none, &err);
    assert_string_equal(err.text, "");
    assert_non_null(all);
    stores = kernelonly_stores(all, &count);
    assert_int_equal(count, 2);
    store = rundir_create_all(stores, count, defs, align_taker(align), &err);
    assert_non_null(store);
    defs_close(defs);
    comm_close(defs);
    align_close(align, defs);
    align_settle(align, NULL);
    assert_int_equal(defs->ranks_count, 2);
    assert_int_equal(kernelonly_check(defs, &err), 0);
    assert_int_equal(region_find(defs, align_axis(align), &report), 0);
    *whole = report.whole.end - report.whole.start;
    has_dates = kernelonly_has_dates(all);
    rundir_destroy(store);
    align_destroy(align);
    defs_destroy(defs);
    kernelonly_destroy(all);
    free(path);
    synth_remove(run);
    synth_remove(other);
    return has_dates;
}

static void a_run_and_a_profile_are_put_together_by_date(void **state)
{
    ck_time_t whole;

    (void)state;
    /* The run is from 0 to 33 ms, the profile from 20 to 50 ms. */
    assert_true(merge_both(DATE + 20 * MS, &whole));
    assert_int_equal(whole, 50 * MS);
}

static void recordings_of_different_days_start_together(void **state)
{
    ck_time_t whole;

    (void)state;
    assert_false(merge_both(DATE + 86400 * 1000 * MS, &whole));
    assert_int_equal(whole, 33 * MS);
}

static void a_rank_is_found_in_a_files_name(void **state)
{
    static const struct {
        const char *name;
        int32_t rank;
    } cases[] = {
        {"/x/rank7/trace_rank3.json", 3},
        {"kernel_profile_rank12.json.gz", 12},
        {"rank-0.json", 0},
        {"RANK_5.json", 5},
        {"trace.r4.json", 4},
        {"a/r0-of-8.json", 0},
        {"kernel_profile.json", -1},
        {"frank3x.json", -1},
        {"bar3.json", -1},
        {"rank1_rank2.json", -1},
        {"rank1_rank1.json", 1},
        {"rank99999999999999999.json", -1},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        if (profile_name_rank(cases[i].name) != cases[i].rank) {
            fail_msg("%s: rank %d", cases[i].name,
                     profile_name_rank(cases[i].name));
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_run_and_a_profile_are_put_together_by_date),
        cmocka_unit_test(recordings_of_different_days_start_together),
        cmocka_unit_test(a_rank_is_found_in_a_files_name),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
