/* unknowntail.c - from when on nothing is known of an agent, and why
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "merge/timeline/unknowntail.h"

/* End of the last record that the agent has. */
static ck_time_t
last_known(const struct defs *defs, const struct axis *axis, uint32_t agent)
{
    ck_time_t last = INT64_MIN;

    for (size_t i = 0; i < defs->processes_count; i++) {
        const struct defs_process *process = &defs->processes[i];
        ck_time_t from, to;

        if (process->agent == agent &&
            axis_stamps(axis, agent, &process->whole, &from, &to) &&
            to > last) {
            last = to;
        }
    }
    if (last == INT64_MIN && defs->agents[agent].start_raw != 0) {
        last = axis_time(axis, agent, false, defs->agents[agent].start_raw);
    }
    return last;
}

static enum report_dark reason_of(const struct defs_agent *agent)
{
    bool is_gone = agent->is_told && agent->told > agent->stored;

    if (agent->is_profile && agent->is_cut) {
        return REPORT_DARK_CUT;
    }
    if (agent->is_profile) {
        return agent->is_unclosed ? REPORT_DARK_OPEN : REPORT_DARK_NOT;
    }
    if (agent->limit_at != 0) {
        return REPORT_DARK_LIMIT;
    }
    if (agent->is_tail_lost || (!agent->has_exit && is_gone)) {
        return REPORT_DARK_CUT;
    }
    return agent->has_exit ? REPORT_DARK_NOT : REPORT_DARK_END;
}

struct unknowntail unknowntail_find(const struct defs *defs,
                                    const struct axis *axis,
                                    uint32_t agent)
{
    const struct defs_agent *owner = &defs->agents[agent];
    struct unknowntail dark = {reason_of(owner), {0, INT64_MAX}};

    if (dark.reason == REPORT_DARK_LIMIT) {
        dark.part.start = axis_time(axis, agent, false, owner->limit_at);
    } else if (dark.reason != REPORT_DARK_NOT) {
        dark.part.start = last_known(defs, axis, agent);
    }
    if (owner->exit_time != 0 && !owner->is_profile) {
        dark.part.end = axis_time(axis, agent, false, owner->exit_time);
    }
    return dark;
}

bool unknowntail_ended(const struct defs *defs,
                       const struct axis *axis,
                       uint32_t process,
                       ck_time_t *end)
{
    const struct defs_process *its = &defs->processes[process];
    const struct defs_agent *agent = &defs->agents[its->agent];
    bool has_exit = agent->has_exit && agent->exit_time != 0;

    if (its->ended == 0 && !has_exit) {
        return false;
    }
    *end =
        axis_time(axis, its->agent, false,
                  its->ended == 0 || (has_exit && agent->exit_time < its->ended)
                      ? agent->exit_time
                      : its->ended);
    return true;
}

bool unknowntail_rank_ended(const struct defs *defs,
                            const struct axis *axis,
                            const struct defs_rank *rank,
                            ck_time_t *end)
{
    bool has_mpi = false, is_known = false;

    for (uint32_t p = 0; p < defs->processes_count; p++) {
        const struct defs_process *process = &defs->processes[p];
        bool is_mpi = stamps_has(&process->init);
        ck_time_t its;

        if (process->agent != rank->agent || process->rank != rank->number ||
            process->incarnation == 0 || (has_mpi && !is_mpi)) {
            continue;
        }
        if (is_mpi && !has_mpi) {
            has_mpi = true;
            is_known = false;
        }
        if (process->ended == 0 || !unknowntail_ended(defs, axis, p, &its)) {
            return false;
        }
        *end = !is_known || its > *end ? its : *end;
        is_known = true;
    }
    return is_known;
}

enum cause unknowntail_cause(enum report_dark reason)
{
    return reason == REPORT_DARK_END || reason == REPORT_DARK_OPEN
               ? CAUSE_UNATTRIBUTED
               : CAUSE_LOST_DATA;
}
