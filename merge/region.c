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
    if (!cast_is_wanted(cast, agent->rank)) {
        return;
    }
    if (agent->start_raw != 0) {
        stamps_add(&stamps, false, agent->start_raw, agent->start_raw);
    }
    if (agent->exit_time != 0) {
        stamps_add(&stamps, false, agent->exit_time, agent->exit_time);
    }
    region_add(align, index, &stamps, region);
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

        if (!cast_is_wanted(cast, process->rank)) {
            continue;
        }
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
    return 0;
}
