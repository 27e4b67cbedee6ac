/* report.c - all results of a merge, for any output
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "merge/report/report.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

#define LOST_LAUNCHER 195 /* -61 */
/* Time in MPI with an unknown n-th cannot be split up. */
#define UNKNOWN_SHARE 5
#define WHOLE 0.99

static void causes_fini(struct report_cause *causes, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        free(causes[i].delays.items);
    }
    free(causes);
}

/* What has lists of ranks. */
static void lists_free(struct report *report)
{
    for (size_t i = 0; i < report->programs_of_ranks_count; i++) {
        free(report->programs_of_ranks[i].ranks);
    }
    free(report->programs_of_ranks);
    for (size_t i = 0; i < report->launchers_count; i++) {
        free(report->launchers[i].ranks);
    }
    free(report->launchers);
    for (size_t i = 0; i < report->impasses_count; i++) {
        free(report->impasses[i].ranks);
        free(report->impasses[i].others);
    }
    free(report->impasses);
    for (size_t i = 0; i < report->disagreements_count; i++) {
        for (size_t k = 0; k < report->disagreements[i].parts_count; k++) {
            free(report->disagreements[i].parts[k].ranks);
        }
    }
    free(report->disagreements);
    for (size_t i = 0; i < report->standings_count; i++) {
        free(report->standings[i].frames);
        free(report->standings[i].is_users);
    }
    free(report->standings);
    for (size_t i = 0; i < report->deaths_count; i++) {
        free(report->deaths[i].frames);
        free(report->deaths[i].is_users);
    }
    free(report->deaths);
    for (size_t i = 0; i < report->awaited_count; i++) {
        free(report->awaited[i].ranks);
    }
    free(report->awaited);
}

static void memory_fini(struct report *report)
{
    free(report->launch_stacks.rows);
    free(report->blocked);
    free(report->faults);
    free(report->fault_places);
    free(report->allocations.places);
    free(report->allocations.ranks);
    free(report->device_memory.places);
    free(report->device_memory.ranks);
    for (size_t i = 0; i < report->memory_count; i++) {
        free(report->memory[i].points);
    }
    free(report->memory);
}

void report_fini(struct report *report)
{
    free(report->ranks);
    lists_free(report);
    free(report->devices);
    free(report->subs);
    free(report->undone);
    free(report->failures);
    free(report->copy_places);
    causes_fini(report->causes, report->causes_count);
    causes_fini(report->waits, report->waits_count);
    causes_fini(report->edges, report->edges_count);
    free(report->unknown_waits);
    free(report->table.items);
    for (size_t i = 0; i < report->stragglers_count; i++) {
        free(report->stragglers[i].delays.items);
    }
    free(report->stragglers);
    free(report->delays.items);
    free(report->levels);
    free(report->ranges);
    free(report->kernels);
    free(report->inputs);
    free(report->lines);
    free(report->copies);
    free(report->calls);
    free(report->functions);
    free(report->traffic.pairs);
    free(report->traffic.waits);
    free(report->traffic.sizes);
    free(report->threads.ranks);
    free(report->threads.regions);
    free(report->threads.waits);
    free(report->threads.locks);
    free(report->threads.threads);
    free(report->libc);
    free(report->peers);
    free(report->hot);
    free(report->callers);
    memory_fini(report);
    free(report->counters);
    free(report->rates);
    free(report->losses);
    free(report->aways);
    free(report->spools);
    for (size_t i = 0; i < report->domains_count; i++) {
        free(report->domains[i].faults);
        free(report->domains[i].faults_at);
        free(report->domains[i].watched);
        free(report->domains[i].watched_at);
    }
    free(report->domains);
    free(report->conflicts);
    free(report->device_clocks);
    free(report->clock_pairs);
    free(report->notes);
    memset(report, 0, sizeof(*report));
}

const char *report_source_name(enum clock_source source)
{
    static const char *const names[] = {
        [CLOCK_SOURCE_DEVICE] = "device work",
        [CLOCK_SOURCE_KERNEL] = "collective kernel",
        [CLOCK_SOURCE_MESSAGE] = "message",
        [CLOCK_SOURCE_COLLECTIVE] = "collective",
        [CLOCK_SOURCE_PROBE] = "probe",
    };

    return names[source];
}

const char *report_team_word(enum report_team_state state)
{
    static const char *const words[REPORT_TEAM_STATES] = {
        [REPORT_TEAM_WORK] = "work",           [REPORT_TEAM_FORK] = "fork",
        [REPORT_TEAM_IMBALANCE] = "imbalance", [REPORT_TEAM_JOIN] = "join",
        [REPORT_TEAM_BARRIER] = "barrier",     [REPORT_TEAM_LOCK] = "lock",
        [REPORT_TEAM_AWAIT] = "tasks",         [REPORT_TEAM_MPI] = "mpi",
        [REPORT_TEAM_UNKNOWN] = "unknown",
    };

    return words[state];
}

const char *report_fault_name(enum ck_clock_fault_kind kind)
{
    static const char *const names[] = {
        [CK_CLOCK_FAULT_STEP] = "step",
        [CK_CLOCK_FAULT_RATE] = "rate",
        [CK_CLOCK_FAULT_PROBE] = "probe",
    };

    return names[kind];
}

uint32_t report_ranks(const struct report *report)
{
    return report->is_filtered ? (uint32_t)report->ranks_count
                               : report->present;
}

bool report_knows_transfer(const struct report *report)
{
    const struct report_efficiency *e = &report->efficiency;
    ck_time_t inside =
        e->region * (ck_time_t)e->ranks - e->useful - e->startup - e->gone;

    /* Both quotients are between the whole one and 1. */
    return (e->unknown <= inside / UNKNOWN_SHARE &&
            e->unknown <= e->ideal * (ck_time_t)e->ranks / UNKNOWN_SHARE) ||
           e->communication >= WHOLE;
}

bool report_is_chosen(const struct report *report, int32_t number)
{
    for (size_t i = 0; report->is_filtered && i < report->ranks_count; i++) {
        if (report->ranks[i].number == number) {
            return true;
        }
    }
    return !report->is_filtered;
}

bool report_launched_well(const struct report_launcher *launcher)
{
    return launcher->end == REPORT_END_EXITED && launcher->code == 0 &&
           !launcher->is_orphan;
}

bool report_lost_launcher(const struct report_rank *rank)
{
    return rank->end == REPORT_END_EXITED && rank->is_unfinalized &&
           rank->code == LOST_LAUNCHER;
}

static bool is_end_asked(int number)
{
    return number == SIGINT || number == SIGTERM || number == SIGHUP ||
           number == SIGQUIT;
}

bool report_was_asked(const struct report_rank *rank)
{
    if (rank->end == REPORT_END_EXITED) {
        return report_lost_launcher(rank) ||
               ((rank->code != 0 || rank->is_unfinalized) &&
                is_end_asked(rank->asked));
    }
    return rank->end == REPORT_END_SIGNAL && is_end_asked(rank->code);
}

bool report_died(const struct report_rank *rank)
{
    return (rank->end == REPORT_END_SIGNAL ||
            (rank->end == REPORT_END_EXITED && rank->code != 0)) &&
           !report_was_asked(rank);
}

/* When the first rank died of itself; INT64_MAX = none did. */
static ck_time_t first_death(const struct report *report)
{
    ck_time_t first = INT64_MAX;

    for (size_t i = 0; i < report->ranks_count; i++) {
        const struct report_rank *rank = &report->ranks[i];

        if (report_died(rank) && rank->end_time != 0 &&
            rank->end_time < first) {
            first = rank->end_time;
        }
    }
    return first;
}

bool report_has_died(const struct report *report, int32_t number)
{
    const struct report_rank *rank = NULL;

    for (size_t i = 0; i < report->ranks_count; i++) {
        if (report->ranks[i].number == number) {
            rank = &report->ranks[i];
        }
    }
    return rank != NULL && report_died(rank) &&
           !(rank->end == REPORT_END_SIGNAL && rank->code == SIGKILL &&
             rank->end_time > first_death(report));
}

bool report_has_end(const struct report_rank *rank)
{
    return rank->end != REPORT_END_MISSING && rank->end != REPORT_END_UNKNOWN &&
           !rank->is_claimed_twice;
}

bool report_is_complete(const struct report *report)
{
    for (size_t i = 0; i < report->ranks_count; i++) {
        if (!report_has_end(&report->ranks[i])) {
            return false;
        }
    }
    return report->gaps == 0 && report->damage_places == 0 &&
           report->gone == 0 && report->manifest == NULL;
}
