/* sums.c - union, gaps and ledger of profiles alone, without reading them
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 *     bench_sums PROFILE...
 *
 * The profiles are imported first. What is timed is what pandas does with its
 * frames: busy time and its kinds, gaps, and the cause of each idle
 * nanosecond. Prints CPU seconds and the sums, which profiles.py compares.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "merge/analysis/analysis.h"
#include "merge/analysis/devices/devices.h"
#include "merge/clocks/align.h"
#include "merge/input/rundir.h"
#include "merge/kernelonly.h"
#include "merge/model/comm.h"
#include "merge/timeline/region.h"
#include "merge/timeline/timeline.h"

#define OF(class) ((uint32_t)1 << CK_CLASS_##class)

struct bench {
    struct defs *defs;
    struct align *align;
    struct kernelonly *profiles;
    struct rundir *store;
    struct report report;
    uint64_t events;
};

static int fail(const char *what)
{
    (void)fprintf(stderr, "bench_sums: %s\n", what);
    return -1;
}

static int bench_open(struct bench *bench, int argc, char **argv)
{
    struct kernelonly_ranks none = {NULL, 0};
    struct ck_err err = {"out of memory"};
    const char *const *stores;
    size_t count;

    bench->defs = defs_create();
    bench->align = align_create();
    bench->profiles = kernelonly_create((const char *const *)argv + 1,
                                        (size_t)argc - 1, none, &err);
    if (bench->profiles == NULL) {
        return fail(err.text);
    }
    stores = kernelonly_stores(bench->profiles, &count);
    bench->store = rundir_create_all(stores, count, bench->defs,
                                     align_taker(bench->align), &err);
    if (bench->store == NULL) {
        return fail(err.text);
    }
    defs_close(bench->defs);
    comm_close(bench->defs);
    align_close(bench->align, bench->defs);
    align_settle(bench->align, NULL);
    if (region_find(bench->defs, align_axis(bench->align), &bench->report) !=
        0) {
        return fail(err.text);
    }
    bench->report.region = bench->report.whole;
    return 0;
}

static int bench_sum(struct bench *bench)
{
    struct region region = bench->report.region;
    struct devices *devices = devices_create(bench->defs, region, region);
    struct analysis *blame = analysis_create(bench->defs, bench->align, region);
    const struct timeline_consumer consumers[] = {
        {analysis_take, blame, 0, false},
        {devices_take, devices, OF(KERNEL) | OF(COPY), false}};
    const struct timeline timeline = {.store = bench->store,
                                      .defs = bench->defs,
                                      .axis = align_axis(bench->align),
                                      .consumers = consumers,
                                      .consumers_count = 2};
    struct ck_err err = {"out of memory"};
    int rc = 0;

    if (timeline_run(&timeline, &bench->events, &err) != 0) {
        rc = fail(err.text);
        goto out;
    }
    devices_report(devices, &bench->report);
    analysis_finish(blame);
    if (analysis_report(blame, &bench->report) != 0) {
        rc = fail(err.text);
    }
out:
    analysis_destroy(blame);
    devices_destroy(devices);
    return rc;
}

int main(int argc, char **argv)
{
    struct bench bench = {.events = 0};
    const struct report_device *all = &bench.report.all;
    const ck_time_t *causes = all->causes;
    clock_t start;
    int rc = 1;

    if (argc < 2) {
        (void)fprintf(stderr, "usage: bench_sums PROFILE...\n");
        return 2;
    }
    if (bench_open(&bench, argc, argv) == 0) {
        start = clock();
        rc = bench_sum(&bench) != 0;
        printf("%.4f %llu %lld %lld %lld %lld %lld %lld\n",
               (double)(clock() - start) / CLOCKS_PER_SEC,
               (unsigned long long)bench.events, (long long)all->busy,
               (long long)all->compute, (long long)all->kernel_busy,
               (long long)causes[CAUSE_KERNEL_GAP],
               (long long)causes[CAUSE_LAUNCH_LATENCY],
               (long long)(causes[CAUSE_HOST_COMPUTE] + causes[CAUSE_GPU_API] +
                           causes[CAUSE_GPU_SYNC]));
    }
    report_fini(&bench.report);
    rundir_destroy(bench.store);
    kernelonly_destroy(bench.profiles);
    align_destroy(bench.align);
    defs_destroy(bench.defs);
    return rc;
}
