/* region.c - which part of the run a report is about
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "merge/region.h"

/* Widen *region by the stamps of one process. */
static void region_add(const struct align *align,
                       uint32_t agent,
                       const struct stamps *stamps,
                       struct region *region)
{
    ck_time_t first, last;

    if (!align_stamps(align, agent, stamps, &first, &last)) {
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
static void agent_add(const struct cast *cast,
                      const struct align *align,
                      uint32_t index,
                      struct region *region)
{
    const struct cast_agent *agent = &cast->agents[index];
    struct stamps stamps;

    stamps_init(&stamps);
    if (agent->start_raw != 0) {
        stamps_add(&stamps, false, agent->start_raw, agent->start_raw);
    }
    if (agent->exit_time != 0) {
        stamps_add(&stamps, false, agent->exit_time, agent->exit_time);
    }
    region_add(align, index, &stamps, region);
}

/* From when on all is there of all ranks, in *begin. A stamp behind the end of
 * the run is no time. */
static void discarded_add(const struct cast *cast,
                          const struct align *align,
                          uint32_t index,
                          struct report *report,
                          ck_time_t *begin)
{
    const struct cast_agent *agent = &cast->agents[index];
    ck_time_t first, last;

    if (agent->discarded.segments == 0) {
        return;
    }
    report->kept.ranks++;
    report->kept.records += agent->discarded.records;
    report->kept.bytes += agent->discarded.bytes;
    if (align_stamps(align, index, &agent->discarded.until, &first, &last) &&
        last > *begin && last < report->whole.end) {
        *begin = last;
    }
}

/* Cut off what is not there of all ranks any more. */
static void kept_find(const struct cast *cast,
                      const struct align *align,
                      struct report *report)
{
    ck_time_t begin = report->whole.start;

    report->kept = (struct report_kept){.whole = region_length(report->whole)};
    for (uint32_t i = 0; i < cast->agents_count; i++) {
        discarded_add(cast, align, i, report, &begin);
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

int region_find(const struct cast *cast,
                const struct align *align,
                struct report *report)
{
    struct region none = {INT64_MAX, INT64_MIN};
    struct region whole = none, steps = none, mpi = {INT64_MIN, INT64_MAX};

    for (size_t i = 0; i < cast->processes_count; i++) {
        const struct cast_process *process = &cast->processes[i];
        ck_time_t first, last;

        region_add(align, process->agent, &process->whole, &whole);
        region_add(align, process->agent, &process->steps, &steps);
        if (align_stamps(align, process->agent, &process->init, &first,
                         &last) &&
            last > mpi.start) {
            mpi.start = last;
        }
        if (align_stamps(align, process->agent, &process->finalize, &first,
                         &last) &&
            first < mpi.end) {
            mpi.end = first;
        }
    }
    for (uint32_t i = 0; i < cast->agents_count; i++) {
        agent_add(cast, align, i, &whole);
    }
    if (whole.start > whole.end) {
        return -1;
    }
    report->whole = whole;
    report->region = whole;
    report->region_kind = REPORT_REGION_WHOLE;
    if (steps.start < steps.end) {
        report->region = steps;
        report->region_kind = REPORT_REGION_STEPS;
    } else if (mpi.start != INT64_MIN) {
        mpi.end = mpi.end == INT64_MAX ? whole.end : mpi.end;
        if (mpi.start < mpi.end) {
            report->region = mpi;
            report->region_kind = REPORT_REGION_MPI;
        }
    }
    kept_find(cast, align, report);
    return 0;
}
