/* region.c - which part of the run a report is about
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "merge/timeline/region.h"

#include "merge/timeline/opencalls.h"
#include "merge/timeline/unknowntail.h"

/* 73 years from the start of the axis. */
#define TIME_MOST ((ck_time_t)1 << 61)

/* Widen *region by the stamps of one process. */
static void region_add(const struct axis *axis,
                       uint32_t agent,
                       const struct stamps *stamps,
                       struct region *region)
{
    ck_time_t first, last;

    if (!axis_stamps(axis, agent, stamps, &first, &last)) {
        return;
    }
    if (first < region->start) {
        region->start = first;
    }
    if (last > region->end) {
        region->end = last;
    }
}

/* A run begins with its first agent and ends with its last target, even if
 * nothing else was recorded. */
static void agent_add(const struct defs *defs,
                      const struct axis *axis,
                      uint32_t index,
                      struct region *region)
{
    const struct defs_agent *agent = &defs->agents[index];
    struct stamps stamps;

    stamps_init(&stamps);
    if (agent->start_raw != 0) {
        stamps_add(&stamps, false, agent->start_raw, agent->start_raw);
    }
    if (agent->exit_time != 0) {
        stamps_add(&stamps, false, agent->exit_time, agent->exit_time);
    }
    region_add(axis, index, &stamps, region);
}

/* From when on all is there of all ranks, in *begin. A stamp behind the end of
 * the run is no time. */
static void discarded_add(const struct defs *defs,
                          const struct axis *axis,
                          uint32_t index,
                          struct report *report,
                          ck_time_t *begin)
{
    const struct defs_agent *agent = &defs->agents[index];
    ck_time_t first, last;

    if (agent->discarded.segments == 0) {
        return;
    }
    report->kept.ranks++;
    report->kept.records += agent->discarded.records;
    report->kept.bytes += agent->discarded.bytes;
    if (axis_stamps(axis, index, &agent->discarded.until, &first, &last) &&
        last > *begin && last < report->whole.end) {
        *begin = last;
    }
}

/* Cut off what is not there of all ranks any more. */
static void kept_find(const struct defs *defs,
                      const struct axis *axis,
                      struct report *report)
{
    ck_time_t begin = report->whole.start;

    report->kept = (struct report_kept){.whole = region_length(report->whole)};
    for (uint32_t i = 0; i < defs->agents_count; i++) {
        discarded_add(defs, axis, i, report, &begin);
    }
    if (begin == report->whole.start) {
        return;
    }
    report->whole.start = begin;
    if (report->region_kind != REPORT_REGION_STEPS) {
        report->region_kind = REPORT_REGION_KEPT;
    }
    if (report->region.start < begin) {
        report->region.start = begin;
    }
    if (report->region.end <= begin) {
        report->region = report->whole;
        report->region_kind = REPORT_REGION_KEPT;
    }
}

/* Of MPI, or a step: what a region that the program marks goes on with. */
static bool is_going_on(unsigned kind)
{
    switch (kind) {
    case CK_KIND_MPI_CALL:
    case CK_KIND_SEND:
    case CK_KIND_RECV:
    case CK_KIND_PROBE:
    case CK_KIND_SENDRECV:
    case CK_KIND_COLLECTIVE:
    case CK_KIND_ICOLLECTIVE:
    case CK_KIND_STEP:
        return true;
    default:
        return false;
    }
}

/* Until when a process is known to have been in calls that it never left.
 * INT64_MIN: in none, or its program ended well all the same. */
static ck_time_t open_until(const struct defs *defs,
                            const struct axis *axis,
                            const struct defs_process *process)
{
    const struct defs_agent *agent = &defs->agents[process->agent];
    ck_time_t until = INT64_MIN;

    for (size_t i = 0; i < agent->opens_count && !defs_ended_well(agent); i++) {
        const struct defs_open *open = &agent->opens[i];
        struct region part;

        if (open->is_completed || !is_going_on(open->open.kind) ||
            open->open.incarnation != process->incarnation) {
            continue;
        }
        part = opencalls_part(axis, defs, process->agent, open);
        until = part.end > until ? part.end : until;
    }
    return until;
}

/* What the ranks' MPI covers: from the first return of MPI_Init to the last
 * call of MPI_Finalize. A process that made none is in it to its end, and where
 * that is not known to the run's. */
static void mpi_add(const struct defs *defs,
                    const struct axis *axis,
                    uint32_t number,
                    struct region *mpi)
{
    const struct defs_process *process = &defs->processes[number];
    ck_time_t first, last, end;

    if (!axis_stamps(axis, process->agent, &process->init, &first, &last)) {
        return;
    }
    mpi->start = last < mpi->start ? last : mpi->start;
    if (axis_stamps(axis, process->agent, &process->finalize, &first, &last)) {
        end = first;
    } else if (!unknowntail_ended(defs, axis, number, &end)) {
        end = INT64_MAX;
    }
    mpi->end = end > mpi->end ? end : mpi->end;
}

/* The marked steps, with one that was begun and what went on behind them, if
 * the process never left it. */
static void steps_add(const struct defs *defs,
                      const struct axis *axis,
                      const struct defs_process *process,
                      struct region *steps)
{
    ck_time_t until;

    if (!stamps_has(&process->steps)) {
        return;
    }
    region_add(axis, process->agent, &process->steps, steps);
    until = open_until(defs, axis, process);
    steps->end = until > steps->end ? until : steps->end;
}

/* A program may overwrite the times of its records: no run is so long that the
 * length has no room. What is beyond counts as any other record that is outside
 * of the region. */
static struct region bounded(struct region region)
{
    return (struct region){
        region.start > -TIME_MOST ? region.start : -TIME_MOST,
        region.end < TIME_MOST ? region.end : TIME_MOST,
    };
}

int region_find(const struct defs *defs,
                const struct axis *axis,
                struct report *report)
{
    struct region none = {INT64_MAX, INT64_MIN};
    struct region whole = none, steps = none, mpi = none;

    for (size_t i = 0; i < defs->processes_count; i++) {
        const struct defs_process *process = &defs->processes[i];

        region_add(axis, process->agent, &process->whole, &whole);
        steps_add(defs, axis, process, &steps);
        mpi_add(defs, axis, (uint32_t)i, &mpi);
    }
    for (uint32_t i = 0; i < defs->agents_count; i++) {
        agent_add(defs, axis, i, &whole);
    }
    whole = bounded(whole);
    steps = bounded(steps);
    mpi = bounded(mpi);
    if (whole.start > whole.end) {
        return -1;
    }
    report->whole = whole;
    report->region = whole;
    report->region_kind = REPORT_REGION_WHOLE;
    mpi.end = mpi.end < whole.end ? mpi.end : whole.end;
    if (steps.start < steps.end) {
        report->region = steps;
        report->region_kind = REPORT_REGION_STEPS;
    } else if (mpi.start < mpi.end) {
        report->region = mpi;
        report->region_kind = REPORT_REGION_MPI;
    }
    kept_find(defs, axis, report);
    return 0;
}

void region_begins(struct defs *defs,
                   const struct axis *axis,
                   const struct report *report)
{
    for (size_t i = 0; i < defs->processes_count; i++) {
        struct defs_process *process = &defs->processes[i];
        ck_time_t first, last;

        process->begin = 0;
        if (report->region_kind == REPORT_REGION_MPI &&
            axis_stamps(axis, process->agent, &process->init, &first, &last)) {
            process->begin = last;
        }
    }
}

/* The window of a profile: its recording, and all that is in it. */
static void window_add(const struct defs *defs,
                       const struct axis *axis,
                       const struct defs_process *process,
                       struct defs_physical *physical)
{
    struct region window = {physical->from, physical->to};

    physical->has_window =
        physical->has_window && defs->agents[process->agent].is_profile;
    agent_add(defs, axis, process->agent, &window);
    region_add(axis, process->agent, &process->whole, &window);
    physical->from = window.start;
    physical->to = window.end;
}

void region_windows(struct defs *defs, const struct axis *axis)
{
    for (size_t i = 0; i < defs->physicals_count; i++) {
        struct defs_physical *physical = &defs->physicals[i];

        physical->has_window = true;
        physical->from = INT64_MAX;
        physical->to = INT64_MIN;
    }
    for (size_t i = 0; i < defs->processes_count; i++) {
        const struct defs_process *process = &defs->processes[i];

        for (size_t k = 0; k < process->devices_count; k++) {
            window_add(defs, axis, process,
                       &defs->physicals[process->devices[k].physical]);
        }
    }
    for (size_t i = 0; i < defs->physicals_count; i++) {
        defs->physicals[i].has_window =
            defs->physicals[i].has_window &&
            defs->physicals[i].from < defs->physicals[i].to;
    }
}

struct region region_calls(const struct report *report)
{
    struct region always = {INT64_MIN, INT64_MAX};

    return report_is_run(report) ? always : report->region;
}
