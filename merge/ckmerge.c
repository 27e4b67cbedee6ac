/* ckmerge.c - align the ranks of a stored run, explain them, write results
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Reads a run directory or profiles, never a socket:
 *
 *     input -> definitions -> clocks -> region -> timeline -> analysis
 *                                                    |            |
 *                                          chrome, sqlite ...   report
 *                                                                 |
 *                                                          text, json ...
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/resource.h>
#include <unistd.h>

#include "launch/build.h"
#include "launch/cli.h"
#include "launch/format.h"
#include "launch/log.h"
#include "merge/analysis/analysis.h"
#include "merge/analysis/history/lookback.h"
#include "merge/analysis/history/hoststall.h"
#include "merge/analysis/steps/stepdetect.h"
#include "merge/analysis/calls/calls.h"
#include "merge/analysis/totals/chosen.h"
#include "merge/analysis/devices/copyplaces.h"
#include "merge/analysis/totals/counterrates.h"
#include "merge/analysis/devices/devices.h"
#include "merge/analysis/devices/devicewaits.h"
#include "merge/analysis/devices/kernels.h"
#include "merge/analysis/calls/libc.h"
#include "merge/analysis/devices/lines.h"
#include "merge/analysis/totals/cpushortage.h"
#include "merge/analysis/totals/ranges.h"
#include "merge/analysis/totals/ranks.h"
#include "merge/analysis/waits/disagree.h"
#include "merge/analysis/waits/hang.h"
#include "merge/analysis/waits/standings.h"
#include "merge/analysis/waits/peers.h"
#include "merge/baseline.h"
#include "merge/clocks/align.h"
#include "merge/clocks/causality.h"
#include "merge/clocks/clockfacts.h"
#include "merge/clocks/clocktwins.h"
#include "merge/debugpackage.h"
#include "merge/gate.h"
#include "merge/input/indexfile.h"
#include "merge/input/latelookup.h"
#include "merge/input/recover.h"
#include "merge/input/rundir.h"
#include "merge/kernelonly.h"
#include "merge/model/defs.h"
#include "merge/model/comm.h"
#include "merge/model/memory.h"
#include "merge/model/tempfiles.h"
#include "merge/options.h"
#include "merge/overwrite.h"
#include "merge/profiles/profile.h"
#include "merge/results.h"
#include "merge/scalenejoin.h"
#include "merge/timeline/follower.h"
#include "merge/timeline/opencalls.h"
#include "merge/timeline/phase.h"
#include "merge/timeline/region.h"
#include "merge/timeline/timeline.h"
#include "merge/trust.h"
#include "merge/verify.h"
#include "merge/writers.h"
#include "schema/store/frameindex.h"
#include "schema/store/run.h"

#define CONSUMERS (14 + WRITERS_MOST)

/* What consumers take. */
#define OF(class) ((uint32_t)1 << CK_CLASS_##class)
#define OF_DEVICE (OF(KERNEL) | OF(COPY))
#define OF_MPI (OF(MESSAGE) | OF(COLLECTIVE) | OF(COUNTER)) /* what is lost */
#define OF_HOST (OF(MARK) | OF(CALL) | OF(MESSAGE) | OF(COLLECTIVE))
#define OF_RANKS (OF_HOST | OF(COUNTER) | OF(SAMPLE))
/* What shows where ranks are. */
#define OF_CALLS (OF(CALL) | OF(MESSAGE) | OF(COLLECTIVE))
#define WHERE_CLASSES (OF_CALLS | OF(TEXT) | OF(MODULE) | OF(CLOCK) | OF(OPEN))

/* One merge from the run to its report. */
struct job {
    const struct options *options;
    struct defs *defs;
    struct align *align;
    struct rundir *store;
    struct kernelonly *profiles; /* NULL with a run */
    struct devices *devices;
    struct lines *lines;
    struct copyplaces *copyplaces;
    struct scalenejoin *join; /* NULL = no --scalene */
    struct kernels *kernels;
    struct calls *calls;
    struct ranges *ranges;
    struct ranks *ranks;
    struct peers *peers;
    struct hang *hang;         /* NULL = all ranks ended well */
    struct disagree *disagree; /* NULL = no collectives of NCCL */
    struct causality *causality;
    struct clockfacts *clocks; /* NULL = one clock domain */
    struct analysis *blame;
    struct devicewaits *devicewaits;
    struct baseline baseline;
    struct writers writers;
    struct report report;
    bool is_held; /* align_hold() */
    struct rundir_question question;
    bool is_doubtful; /* the answer may be in a frame that was left out */
    bool is_misled;   /* the index of frames is not one of the run */
    struct latelookup_helper *helper; /* NULL = none was started yet */
    uint64_t merged;
};

static void job_fini(struct job *job)
{
    report_fini(&job->report);
    baseline_fini(&job->baseline);
    writers_fini(&job->writers);
    devicewaits_destroy(job->devicewaits);
    analysis_destroy(job->blame);
    causality_destroy(job->causality);
    ranges_destroy(job->ranges);
    ranks_destroy(job->ranks);
    hang_destroy(job->hang);
    disagree_destroy(job->disagree);
    peers_destroy(job->peers);
    calls_destroy(job->calls);
    kernels_destroy(job->kernels);
    lines_destroy(job->lines);
    copyplaces_destroy(job->copyplaces);
    scalenejoin_destroy(job->join);
    devices_destroy(job->devices);
    clockfacts_destroy(job->clocks);
    rundir_destroy(job->store);
    kernelonly_destroy(job->profiles);
    align_destroy(job->align);
    defs_destroy(job->defs);
    latelookup_dismiss(job->helper);
}

/* Last part of the run's path. */
static const char *run_name(struct defs *defs, const char *run)
{
    size_t end = strlen(run);
    size_t start;

    while (end > 1 && run[end - 1] == '/') {
        end--;
    }
    start = end;
    while (start > 0 && run[start - 1] != '/') {
        start--;
    }
    return texts_keep(defs->texts, run + start, end - start);
}

/* Are all profiles of ranks of one run, on one machine? Then its CLOCK_REALTIME
 * is theirs. More than one clock of runs is calibrated without dates. */
static bool is_beside_run(const struct defs *defs, bool *has_runs)
{
    uint32_t domain = DEFS_NONE;
    bool is_beside = true;

    *has_runs = false;
    for (size_t i = 0; i < defs->agents_count; i++) {
        const struct defs_agent *agent = &defs->agents[i];
        uint32_t rank = defs_rank_index(defs, agent->rank);

        if (agent->is_profile) {
            is_beside =
                is_beside && rank != DEFS_NONE && defs->ranks[rank].has_both;
        } else {
            *has_runs =
                *has_runs || (domain != DEFS_NONE && domain != agent->domain);
            domain = agent->domain;
        }
    }
    return is_beside && domain != DEFS_NONE;
}

/* Decide whether the dates of profiles are believed, which makes them one
 * clock. 1 = they are, 0 = they are not, -1 = the clocks' facts could not be
 * read. */
static bool dates_believe(struct job *job)
{
    struct report_dates *report = &job->report.clock_dates;
    struct clockkernels_dates dates;
    ck_time_t *errors;
    bool has_runs, is_beside = is_beside_run(job->defs, &has_runs);

    if (has_runs || job->profiles == NULL ||
        !kernelonly_has_dates(job->profiles) ||
        strcmp(job->options->clock_facts, "all") != 0) {
        return false;
    }
    errors = xcalloc(job->defs->ranks_count + 1, sizeof(*errors));
    clockfacts_dates(job->clocks, &dates, errors);
    *report = (struct report_dates){.kernels = dates.kernels,
                                    .is_refuted = dates.is_refuted,
                                    .worst = dates.worst,
                                    .apart = dates.apart,
                                    .apart_worst = dates.apart_worst};
    report->is_believed = (dates.kernels > 0 || is_beside) && !dates.is_refuted;
    for (size_t i = 0; report->is_believed && i < job->defs->ranks_count; i++) {
        errors[i] += dates.kernels == 0 ? CLOCKKERNELS_STAMPS : 0;
        report->error = errors[i] > report->error ? errors[i] : report->error;
    }
    if (report->is_believed) {
        align_believe(job->align, job->defs, errors);
    }
    free(errors);
    return report->is_believed;
}

/* Kernels that do not show which ranks meet in them move no clock that other
 * facts place. */
static enum clockkernels_assume assume_of(const struct job *job)
{
    if (strcmp(job->options->clock_facts, "kernels") == 0) {
        return CLOCKKERNELS_ALL;
    }
    return job->profiles != NULL && !kernelonly_has_dates(job->profiles)
               ? CLOCKKERNELS_ALIKE
               : CLOCKKERNELS_NONE;
}

/* Read what went between clock domains, in a pass of its own; then make the
 * maps. */
static int job_clocks(struct job *job, struct ck_err *err)
{
    bool is_wanted = strcmp(job->options->clock_facts, "probes") != 0;
    const struct clockedges *edges = NULL;

    if (job->defs->domains_count > 1 && is_wanted) {
        job->clocks = clockfacts_create(job->defs, align_axis(job->align));
        if (clockfacts_read(job->clocks, assume_of(job), job->store, err) !=
            0) {
            return -1;
        }
        edges = dates_believe(job) ? NULL : clockfacts_edges(job->clocks);
    }
    align_settle(job->align, edges);
    return 0;
}

/* The inputs of a kernel-only merge as one store. */
static int profiles_open(struct job *job, struct ck_err *err)
{
    const struct options *options = job->options;
    struct kernelonly_ranks ranks = {options->given.items,
                                     (size_t)options->given.count};
    const char *const *stores;
    size_t count;

    if (options->scalene != NULL) {
        job->join = scalenejoin_create(options->scalene, err);
        if (job->join == NULL) {
            return -1;
        }
    }
    job->profiles =
        kernelonly_create(options->inputs, options->inputs_count, ranks, err);
    if (job->profiles == NULL) {
        return -1;
    }
    stores = kernelonly_stores(job->profiles, &count);
    job->store = rundir_create_all(stores, count, job->defs,
                                   align_taker(job->align), err);
    if (job->store == NULL) {
        return -1;
    }
    kernelonly_report(job->profiles, &job->report);
    return 0;
}

/* Is the only question where all ranks of a running job are? The answer is
 * waited for: nothing else is looked at. */
static bool is_where(const struct options *options)
{
    return options->is_live && options->outputs.count == 1 &&
           options_has(options, CK_FORMAT_WHERE);
}

static int run_open(struct job *job, struct ck_err *err)
{
    if (profile_is_foreign(job->options->run, err)) {
        return -1;
    }
    if (!job->options->is_live) { /* their agents are at work */
        recover_rings(job->options->run);
    }
    job->store = rundir_create_of(job->options->run, job->defs,
                                  align_taker(job->align), &job->question, err);
    job->is_misled = job->question.index != NULL &&
                     (job->store == NULL || rundir_is_misled(job->store));
    if (job->is_misled) {
        return -1;
    }
    return job->store == NULL ? -1 : 0;
}

/* Read the run's manifest and definitions. */
static int job_open(struct job *job, struct ck_err *err)
{
    struct ck_err missing;

    job->writers.options = job->options;
    if (writers_where(&job->writers, err) != 0 ||
        (job->options->baseline != NULL &&
         baseline_read(&job->baseline, job->options->baseline, err) != 0)) {
        return -1;
    }
    job->defs = defs_create();
    job->align = align_create();
    if ((job->options->is_kernel_only ? profiles_open(job, err)
                                      : run_open(job, err)) != 0) {
        return -1;
    }
    if (strcmp(job->options->clock_facts, "messages") == 0 ||
        strcmp(job->options->clock_facts, "kernels") == 0) {
        align_forget_probes(job->align);
    }
    defs_close(job->defs);
    comm_close(job->defs);
    clocktwins_split(job->defs, align_calibration(job->align));
    align_close(job->align, job->defs);
    if (opencalls_check(job->store, job->defs, err) != 0 ||
        (!is_where(job->options) &&
         latelookup_sites(job->store, job->defs, err) != 0) ||
        job_clocks(job, err) != 0) {
        return -1;
    }
    if (job->profiles != NULL && kernelonly_check(job->defs, err) != 0) {
        return -1;
    }
    if (job->join != NULL) {
        scalenejoin_aim(job->join, job->defs, job->align,
                        kernelonly_has_dates(job->profiles));
    }
    job->report.run = job->options->run;
    job->report.name = run_name(job->defs, job->options->run);
    job->report.version = ck_version();
    if (options_ranks(job->options->ranks, job->defs, &missing, err) != 0) {
        return -1;
    }
    if (missing.text[0] != '\0') {
        ck_warn("--ranks %s: %s", job->options->ranks, missing.text);
    }
    job->report.is_filtered = job->defs->is_filtered;
    return 0;
}

/* Profiles whose clocks have a map keep one offset each from here on, so that
 * their lengths stay as they are; the region has the whole of both. */
static void job_hold(struct job *job)
{
    struct report *report = &job->report;
    struct region exact = report->whole;

    job->is_held = align_hold(job->align, job->defs);
    if (job->is_held &&
        region_find(job->defs, align_axis(job->align), report) == 0) {
        report->whole.start = exact.start < report->whole.start
                                  ? exact.start
                                  : report->whole.start;
        report->whole.end =
            exact.end > report->whole.end ? exact.end : report->whole.end;
    }
    /* Steps of the host end before their kernels do. */
    report->region = report->whole;
    report->region_kind = REPORT_REGION_WHOLE;
}

static int job_region(struct job *job, struct ck_err *err)
{
    struct report *report = &job->report;
    const struct options *options = job->options;

    if (region_find(job->defs, align_axis(job->align), report) != 0) {
        report->whole = report->region = (struct region){0, 0};
    }
    if (job->profiles != NULL) {
        job_hold(job);
    }
    if (options->region[0] != '\0') {
        report->region_kind = REPORT_REGION_RANGE;
        report->region_range = options->region;
        if (phase_find(job->store, job->defs, align_axis(job->align),
                       options->region, &report->region, err) != 0) {
            return -1;
        }
    }
    if (options->from < 0 && options->to < 0) {
        return 0;
    }
    if (report->region_kind != REPORT_REGION_RANGE) {
        report->region = report->whole;
        report->region_kind = REPORT_REGION_GIVEN;
    }
    if (options->from >= 0 &&
        report->whole.start + options->from > report->region.start) {
        report->region.start = report->whole.start + options->from;
    }
    if (options->to >= 0 &&
        report->whole.start + options->to < report->region.end) {
        report->region.end = report->whole.start + options->to;
    }
    if (report->region.start >= report->region.end) {
        return ck_err_set(err,
                          "--from and --to leave nothing of the run, "
                          "which is %.3f s long",
                          (double)region_length(report->whole) / 1e9);
    }
    return 0;
}

static int job_consumers(struct job *job, struct ck_err *err)
{
    struct region region = job->report.region;

    region_begins(job->defs, align_axis(job->align), &job->report);
    region_windows(job->defs, align_axis(job->align));
    job->devices = devices_create(job->defs, region, job->report.whole);
    job->kernels =
        kernels_create(job->defs, region, job->options->is_kernel_only);
    job->lines = lines_create(job->defs, region);
    job->calls = calls_create(job->defs, region_calls(&job->report));
    job->ranges = ranges_create(job->defs, region);
    job->ranks = ranks_create(job->defs, region);
    ranks_count(job->ranks, region_calls(&job->report));
    job->causality = causality_create(job->defs, job->align);
    job->blame = analysis_create(job->defs, job->align, region);
    job->copyplaces =
        copyplaces_create(job->defs, analysis_scene(job->blame), region);
    job->peers = peers_create(job->defs, region);
    job->devicewaits =
        devicewaits_create(job->defs, analysis_scene(job->blame), region);
    if (job->clocks != NULL) {
        devicewaits_order(job->devicewaits, clockfacts_kernels(job->clocks),
                          align_axis(job->align),
                          job->report.clock_dates.is_believed);
    }
    if (hang_is_wanted(job->defs)) {
        job->hang = hang_create(job->defs);
        analysis_impasse(job->blame, job->hang);
    }
    if (disagree_is_wanted(job->defs)) {
        job->disagree = disagree_create(job->defs);
    }
    job->writers.defs = job->defs;
    job->writers.align = job->align;
    job->writers.report = &job->report;
    job->writers.lines = job->lines;
    job->writers.copies = job->copyplaces;
    job->writers.is_held = job->is_held;
    return writers_open(&job->writers, job->blame, err);
}

static void progress_show(void *state, double done)
{
    (void)state;
    fprintf(stderr, "\rckmerge: %3.0f %%", done * 100);
}

/* Steps of a run that marks none, in a reading of its own. */
static int job_rhythm(struct job *job, struct ck_err *err)
{
    struct stepdetect *rhythm;
    struct timeline_consumer consumer = {stepdetect_take, NULL, OF(COLLECTIVE),
                                         false};
    struct timeline timeline = {
        .store = job->store,
        .defs = job->defs,
        .axis = align_axis(job->align),
        .consumers = &consumer,
        .consumers_count = 1,
        .witnesses_count = 1,
    };
    uint64_t events;
    int rc;

    if (job->store == NULL || !stepdetect_is_wanted(job->defs)) {
        return 0;
    }
    rhythm = stepdetect_create(job->defs, job->report.region);
    consumer.consumer = rhythm;
    rc = timeline_run(&timeline, &events, err);
    if (rc == 0) {
        stepdetect_report(rhythm, analysis_steps(job->blame), &job->report);
    }
    stepdetect_destroy(rhythm);
    return rc;
}

/* Name the host of a standstill. */
static void standstill_say(struct job *job, const struct hoststall *hoststall)
{
    struct hoststall_part stopped;

    for (size_t i = 0; hoststall_part(hoststall, i, &stopped); i++) {
        for (uint32_t a = 0; a < job->defs->agents_count; a++) {
            if (job->defs->agents[a].domain == stopped.domain) {
                analysis_stopped(job->blame, a, stopped.part);
            }
        }
    }
}

/* Where a host seems to have been halted, two readings of their own. */
static int job_standstill(struct job *job, struct ck_err *err)
{
    struct hoststall *hoststall = hoststall_create(
        job->defs, job->align, lookback_history(analysis_scene(job->blame)));
    struct timeline_consumer consumer = {hoststall_take, hoststall, ~OF_DEVICE,
                                         false};
    struct timeline timeline = {
        .store = job->store,
        .defs = job->defs,
        .axis = align_axis(job->align),
        .consumers = &consumer,
        .consumers_count = 1,
        .witnesses_count = 1,
    };
    uint64_t events;
    int rc = 0;

    if (job->store != NULL && hoststall_is_wanted(hoststall)) {
        rc = timeline_run(&timeline, &events, err);
        hoststall_turn(hoststall);
        if (rc == 0) {
            rc = timeline_run(&timeline, &events, err);
        }
        if (rc == 0) {
            standstill_say(job, hoststall);
        }
    }
    hoststall_destroy(hoststall);
    return rc;
}

/* What compares profiles with each other needs their clocks' maps. */
static int job_across(struct job *job, struct ck_err *err)
{
    struct timeline_consumer consumers[1 + WRITERS_MOST] = {
        {devicewaits_take, job->devicewaits, OF(KERNEL), false}};
    struct timeline timeline = {
        .store = job->store,
        .defs = job->defs,
        .axis = align_axis(job->align),
        .consumers = consumers,
        .consumers_count = writers_across(&job->writers, consumers, 1),
        .witnesses_count = 1,
    };
    uint64_t events;
    int rc;

    align_release(job->align);
    rc = timeline_run(&timeline, &events, err);
    if (rc != 0) {
        writers_failed(&job->writers, err);
    }
    return rc;
}

/* What asks others for what changes, and what may be behind. Witnesses
 * first. */
static size_t
job_takers(struct job *job, struct timeline_consumer *to, size_t *witnesses)
{
    const struct timeline_consumer first[] = {
        {analysis_take, job->blame, 0, false},
        {devices_take, job->devices, OF_DEVICE, true},
        {lines_take, job->lines, OF(KERNEL) | OF(CALL) | OF(MARK), true},
        {ranks_take, job->ranks, OF_RANKS, true},
        {ranges_take, job->ranges, OF(MARK) | OF_DEVICE, true},
    };
    const struct timeline_consumer others[] = {
        {kernels_take, job->kernels, OF_DEVICE, true},
        {copyplaces_take, job->copyplaces, OF(COPY), false},
        {calls_take, job->calls, OF_HOST, true},
    };
    size_t count = sizeof(first) / sizeof(first[0]);

    memcpy(to, first, sizeof(first));
    if (job->hang != NULL) {
        to[count++] =
            (struct timeline_consumer){hang_take, job->hang, OF_CALLS, false};
    }
    if (job->disagree != NULL) {
        to[count++] = (struct timeline_consumer){disagree_take, job->disagree,
                                                 OF_HOST | OF_DEVICE, false};
    }
    if (job->defs->domains_count > 1) {
        to[count++] = (struct timeline_consumer){causality_take, job->causality,
                                                 OF_MPI, false};
    }
    if (peers_is_wanted(job->peers)) {
        to[count++] = (struct timeline_consumer){peers_take, job->peers,
                                                 OF(CALL) | OF(MARK), false};
    }
    if (!job->is_held) {
        to[count++] = (struct timeline_consumer){
            devicewaits_take, job->devicewaits, OF(KERNEL), false};
    }
    *witnesses = count;
    memcpy(&to[count], others, sizeof(others));
    count += sizeof(others) / sizeof(others[0]);
    count = writers_consumers(&job->writers, to, count);
    if (job->join != NULL) {
        to[count++] = (struct timeline_consumer){scalenejoin_take, job->join,
                                                 OF(KERNEL), false};
    }
    return count;
}

/* Threads for all that takes events; NULL = none. A job that still runs has a
 * use for its CPUs. */
static struct follower *job_follower(const struct job *job)
{
    uint64_t records = 0;

    for (size_t i = 0; i < job->defs->agents_count; i++) {
        records += job->defs->agents[i].events;
    }
    return job->options->is_live
               ? NULL
               : follower_create(records, job->defs->threads_count);
}

/* All has been given to the follower: wait for it. 0, or -1 with err. */
static int job_followed(struct job *job, int rc, struct ck_err *err)
{
    if (job->writers.follower != NULL &&
        follower_finish(job->writers.follower) != 0 && rc == 0) {
        rc = ck_err_set(err, "%s", strerror(errno));
    }
    follower_destroy(job->writers.follower);
    job->writers.follower = NULL;
    if (rc != 0) {
        writers_failed(&job->writers, err);
    }
    return rc;
}

static int job_run(struct job *job, struct ck_err *err)
{
    struct timeline_consumer consumers[CONSUMERS];
    struct timeline timeline = {
        .store = job->store,
        .defs = job->defs,
        .axis = align_axis(job->align),
        .consumers = consumers,
    };
    bool has_progress = job->options->has_progress || isatty(STDERR_FILENO);
    int rc;

    timeline.consumers_count =
        job_takers(job, consumers, &timeline.witnesses_count);
    if (has_progress && !job->options->is_quiet) {
        timeline.progress = progress_show;
    }
    timeline.follower = job->writers.follower = job_follower(job);
    rc = job_followed(job, timeline_run(&timeline, &job->merged, err), err);
    if (timeline.progress != NULL) {
        fputs("\r              \r", stderr);
    }
    return rc == 0 && job->is_held ? job_across(job, err) : rc;
}

static int job_report(struct job *job, struct ck_err *err)
{
    struct report *report = &job->report;

    analysis_finish(job->blame);
    devices_report(job->devices, report);
    lines_report(job->lines, report);
    copyplaces_report(job->copyplaces, report);
    kernels_report(job->kernels, report);
    if (job->join != NULL && scalenejoin_report(job->join, report) != 0) {
        return ck_err_set(err, "out of memory");
    }
    calls_waits(job->calls, analysis_waitstates(job->blame));
    calls_report(job->calls, report);
    libc_report(job->defs, job->calls, report);
    peers_report(job->peers, report);
    ranks_report(job->ranks, job->align, report);
    if (job->hang != NULL) {
        hang_report(job->hang, report);
        standings_report(job->defs, align_axis(job->align), job->hang,
                         options_has(job->options, CK_FORMAT_WHERE), report);
    }
    if (job->disagree != NULL) {
        disagree_report(job->disagree, report);
    }
    chosen_keep(job->defs, report);
    ranges_report(job->ranges, report);
    if (analysis_report(job->blame, report) != 0) {
        return ck_err_set(err, "out of memory");
    }
    counterrates_report(job->defs, report);
    cpushortage_report(job->defs, report);
    debugpackage_report(
        job->defs,
        &(struct debugpackage_roots){"/var/lib/dpkg/info", "/var/lib/rpm"},
        &job->report);
    trust_report(job->defs, job->align, job->store, report);
    devicewaits_report(job->devicewaits, report);
    causality_report(job->causality, report);
    if (job->clocks != NULL) {
        clockfacts_report(job->clocks, report);
    }
    return writers_finish(&job->writers, err);
}

static int lookup_take(void *lookup, const struct timeline_event *event)
{
    latelookup_take(lookup, event->process, event->record);
    return 0;
}

/* What output_where() writes, and nothing else of the report. */
static int where_do(struct job *job, struct ck_err *err)
{
    const struct axis *axis = align_axis(job->align);
    struct latelookup *lookup = latelookup_create(job->defs);
    struct timeline_consumer consumers[] = {
        {lookup_take, lookup, OF_CALLS, false},
        {hang_take, NULL, OF_CALLS, false}};
    struct timeline timeline = {.store = job->store,
                                .defs = job->defs,
                                .axis = axis,
                                .consumers = consumers,
                                .consumers_count = 2,
                                .witnesses_count = 2};
    int rc;

    job->hang = hang_create(job->defs);
    job->ranks = ranks_create(job->defs, job->report.region);
    consumers[1].consumer = job->hang;
    rc = timeline_run(&timeline, &job->merged, err);
    job->is_doubtful = rc == 0 && job->question.is_recent &&
                       !job->question.is_longer && hang_is_doubtful(job->hang);
    if (rc == 0 && !job->is_doubtful) {
        latelookup_ask(lookup, job->helper);
        ranks_report(job->ranks, job->align, &job->report);
        hang_report(job->hang, &job->report);
        if (hang_is_wanted(job->defs)) {
            standings_report(job->defs, axis, job->hang, true, &job->report);
        }
        chosen_keep(job->defs, &job->report);
        job->report.is_running = rundir_is_running(job->store);
    }
    latelookup_destroy(lookup);
    return rc;
}

/* All of the report. */
static int report_do(struct job *job, struct ck_err *err)
{
    return job_consumers(job, err) != 0 || job_rhythm(job, err) != 0 ||
                   job_standstill(job, err) != 0 || job_run(job, err) != 0 ||
                   job_report(job, err) != 0
               ? -1
               : 0;
}

/* Read the run, and compute what was asked for. 0, or -1 with err. */
static int job_compute(struct job *job, struct ck_err *err)
{
    return job_open(job, err) != 0 || job_region(job, err) != 0 ||
                   (is_where(job->options) ? where_do(job, err)
                                           : report_do(job, err)) != 0
               ? -1
               : 0;
}

/* Compute again, with another question. 0, or -1 with err. */
static int
job_again(struct job *job, struct rundir_question question, struct ck_err *err)
{
    struct job again = {
        .options = job->options, .helper = job->helper, .question = question};

    job->helper = NULL;
    job_fini(job);
    *job = again;
    return job_compute(job, err);
}

/* What to read where the answer may be in frames that were left out: all
 * behind the tails of the index, or all. */
static struct rundir_question longer(struct rundir_question question)
{
    question.is_longer = question.is_recent =
        question.index != NULL && ck_frameindex_is_cut(question.index);
    question.index = question.is_longer ? question.index : NULL;
    return question;
}

static int where_answer(struct job *job, const void *index, struct ck_err *err)
{
    const struct rundir_question recent = {.classes = WHERE_CLASSES,
                                           .is_recent = true};
    int rc;

    job->question = recent;
    job->question.index = index;
    job->helper = latelookup_help();
    rc = job_compute(job, err);
    while (job->is_misled || job->is_doubtful) {
        if (job->is_misled) {
            ck_warn("the index of frames is not one of %s: the headers of all "
                    "are read",
                    job->options->run);
        }
        rc = job_again(job, job->is_misled ? recent : longer(job->question),
                       err);
    }
    return rc;
}

/* 0, or -1 with err. */
static int job_answer(struct job *job, struct ck_err *err)
{
    const char *frames = job->options->frames;
    void *index = NULL;
    int rc;

    if (!is_where(job->options)) {
        job->question.classes = UINT32_MAX;
        return job_compute(job, err);
    }
    if (frames != NULL && (index = indexfile_read(frames, err)) == NULL) {
        ck_warn("the index of frames cannot be used: %s", err->text);
    }
    rc = where_answer(job, index, err);
    job->question.index = NULL;
    free(index);
    return rc;
}

static int job_do(struct job *job, struct ck_err *err)
{
    struct results results = {.options = job->options, .report = &job->report};
    int rc = job_answer(job, err);
    int code;

    if (rc != 0) {
        return CK_EXIT_FAILED;
    }
    if (job->options->is_verify) {
        return verify_print(&job->report, job->merged, job->report.events,
                            stdout) == 0
                   ? gate_clocks(&job->report, job->options->max_clock_error)
                   : CK_EXIT_PARTIAL;
    }
    results.join = job->join;
    results.baseline = &job->baseline;
    results.lanes = job->writers.lanes;
    results.flames = job->writers.flames;
    results.diff = &job->writers.diff;
    results.defs = job->defs;
    if (results_write(&results, err) != 0) {
        return CK_EXIT_FAILED;
    }
    writers_say(&job->writers);
    code = gate_clocks(&job->report, job->options->max_clock_error);
    if (code != CK_EXIT_DONE) {
        return code;
    }
    return report_is_complete(&job->report) &&
                   (job->profiles == NULL ||
                    !kernelonly_is_partial(job->profiles))
               ? CK_EXIT_DONE
               : CK_EXIT_PARTIAL;
}

/* A run of many ranks has a file for each. */
static void files_raise(void)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
        limit.rlim_cur = limit.rlim_max;
        (void)setrlimit(RLIMIT_NOFILE, &limit);
    }
}

/* Files are mapped: what is shortened meanwhile, or what a disk does not give,
 * is a signal. */
static void file_lost(int number)
{
    static const char text[] =
        "ckmerge: error: a file could not be read: it became shorter "
        "meanwhile, or its disk failed; merge a copy of the run\n";

    (void)number;
    (void)!write(STDERR_FILENO, text, sizeof(text) - 1);
    tempfiles_abandon();
    _exit(CK_EXIT_FAILED);
}

int main(int argc, char **argv)
{
    struct options options = {.from = -1,
                              .to = -1,
                              .max_clock_error = -1,
                              .ranks = "",
                              .region = "",
                              .clock_facts = "all",
                              .has_page = true};
    struct job job = {.options = &options};
    struct ck_err err = {""};
    const struct sigaction lost = {.sa_handler = file_lost};
    enum ck_cli_result result;
    int code;

    memory_large_pages();
    ck_log_init("ckmerge", -1, CK_LOG_INFO);
    ck_cli_facts(ck_build_facts);
    result = options_read(&options, argc, argv, &err);
    if (result == CK_CLI_DONE) {
        code = CK_EXIT_DONE;
    } else if (result == CK_CLI_WRONG) {
        code = CK_EXIT_MISUSE;
    } else {
        files_raise();
        tempfiles_watch();
        (void)sigaction(SIGBUS, &lost, NULL);
        code = job_do(&job, &err);
    }
    if (code == CK_EXIT_FAILED || code == CK_EXIT_MISUSE) {
        ck_error("%s", err.text);
    }
    job_fini(&job);
    free(options.outputs.items);
    free(options.given.items);
    return code;
}
