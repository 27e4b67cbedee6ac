/* ranks.c - each rank: its time in MPI, its steps, how it ended
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * The time in MPI is the union over a rank's threads: the time in which at
 * least one of them was in a call.
 */
#include "merge/analysis/totals/ranks.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "merge/analysis/totals/incarnations.h"
#include "merge/analysis/totals/outside.h"
#include "merge/analysis/totals/programs.h"
#include "merge/model/executed.h"
#include "merge/model/memory.h"
#include "merge/model/quantile.h"
#include "merge/timeline/opencalls.h"
#include "merge/timeline/unknowntail.h"
#include "schema/order.h"
#include "schema/store/run.h"

/* Most missing ranks that get a row of their own. */
#define MISSING_MAX 65536
/* A program that lived so much longer than its ckagent was not killed together
 * with it. */
#define ORPHAN_LEAST (500 * CK_TIME_MS)

struct rank {
    struct interval_union mpi;
    struct interval_union api;
    uint64_t mpi_calls;
    uint64_t steps;
    ck_time_t step_max;
    struct quantile step_lengths;
};

struct ranks {
    const struct defs *defs; /* borrowed */
    struct region region;
    struct region calls; /* whose number is wanted */
    struct rank *items;  /* by rank index of the definitions */
    uint32_t *sharing;   /* by agent: ranks that it has */
    uint32_t *launchers; /* by agent: row of its launcher, from 1; 0 = none */
    int64_t step_first;
    int64_t step_last;
    struct outside *outside;
};

/* What is before a rank's return from MPI_Init is its startup. */
static void begins_set(struct ranks *ranks)
{
    const struct defs *defs = ranks->defs;

    for (size_t p = defs->processes_count; p-- > 0;) {
        const struct defs_process *process = &defs->processes[p];
        uint32_t index = defs_rank_index(defs, process->rank);
        struct region part = {process->begin, ranks->region.end};

        if (index != DEFS_NONE && part.start > ranks->region.start &&
            part.start < part.end) {
            interval_union_init(&ranks->items[index].mpi, part);
        }
    }
}

struct ranks *ranks_create(const struct defs *defs, struct region region)
{
    struct ranks *ranks = xcalloc(1, sizeof(*ranks));

    ranks->defs = defs;
    ranks->region = ranks->calls = region;
    ranks->step_first = INT64_MAX;
    ranks->step_last = INT64_MIN;
    ranks->outside = outside_create(defs, region);
    ranks->items = xcalloc(defs->ranks_count + 1, sizeof(*ranks->items));
    ranks->sharing = xcalloc(defs->agents_count + 1, sizeof(*ranks->sharing));
    ranks->launchers =
        xcalloc(defs->agents_count + 1, sizeof(*ranks->launchers));
    for (size_t i = 0; i < defs->ranks_count; i++) {
        ranks->sharing[defs->ranks[i].agent]++;
        interval_union_init(&ranks->items[i].mpi, region);
        interval_union_init(&ranks->items[i].api, region);
        quantile_init(&ranks->items[i].step_lengths);
    }
    begins_set(ranks);
    return ranks;
}

void ranks_count(struct ranks *ranks, struct region calls)
{
    ranks->calls = calls;
}

void ranks_destroy(struct ranks *ranks)
{
    if (ranks == NULL) {
        return;
    }
    for (size_t i = 0; i < ranks->defs->ranks_count; i++) {
        quantile_fini(&ranks->items[i].step_lengths);
    }
    outside_destroy(ranks->outside);
    free(ranks->launchers);
    free(ranks->sharing);
    free(ranks->items);
    free(ranks);
}

/* What kinds are here; 0 = nothing. */
enum part {
    PART_MPI = 1,
    PART_API,
    PART_STEP,
};

static const uint8_t parts[CK_KIND_LIMIT] = {
    [CK_KIND_MPI_CALL] = PART_MPI,
    [CK_KIND_SEND] = PART_MPI,
    [CK_KIND_RECV] = PART_MPI,
    [CK_KIND_PROBE] = PART_MPI,
    [CK_KIND_SENDRECV] = PART_MPI,
    [CK_KIND_COLLECTIVE] = PART_MPI,
    [CK_KIND_ICOLLECTIVE] = PART_MPI,
    [CK_KIND_API_OPENCL] = PART_API,
    [CK_KIND_API_CUDA_RUNTIME] = PART_API,
    [CK_KIND_API_CUDA_DRIVER] = PART_API,
    [CK_KIND_STEP] = PART_STEP,
};

static inline unsigned part_of(unsigned kind)
{
    return kind < CK_KIND_LIMIT ? parts[kind] : 0;
}

static int step_take(struct ranks *ranks,
                     struct rank *rank,
                     const struct timeline_event *event)
{
    const struct ck_mark *mark = (const struct ck_mark *)event->record;
    ck_time_t start = event->start;
    ck_time_t end = event->end;

    if (!region_clip(ranks->region, &start, &end)) {
        return 0;
    }
    rank->steps++;
    if (mark->dur > rank->step_max) {
        rank->step_max = mark->dur;
    }
    if (mark->value < ranks->step_first) {
        ranks->step_first = mark->value;
    }
    if (mark->value > ranks->step_last) {
        ranks->step_last = mark->value;
    }
    quantile_add(&rank->step_lengths, mark->dur);
    return 0;
}

int ranks_take(void *consumer, const struct timeline_event *event)
{
    struct ranks *ranks = consumer;
    unsigned part = part_of(event->record->kind);
    uint32_t index;

    outside_take(ranks->outside, event);
    if (part == 0 || ck_event_is_persistent(event->record)) {
        return 0; /* a transfer: the MPI_Start has a record of its own */
    }
    index = defs_rank_index(ranks->defs, event->rank);
    if (index == DEFS_NONE) {
        return 0;
    }
    if (part == PART_STEP) {
        return step_take(ranks, &ranks->items[index], event);
    }
    interval_union_add(part == PART_API ? &ranks->items[index].api
                                        : &ranks->items[index].mpi,
                       event->start, event->end);
    if (part == PART_MPI) {
        ck_time_t start = event->start;
        ck_time_t end = event->end;

        ranks->items[index].mpi_calls +=
            region_clip(ranks->calls, &start, &end);
    }
    return 0;
}

static uint64_t lost_all(const struct defs_agent *agent)
{
    return defs_sum(defs_lost(agent),
                    defs_sum(agent->gap_records, agent->elsewhere));
}

/* How the program ended that the ckagent ran: the rank, or its launcher. */
static struct report_launcher
end_find(const struct defs *defs, uint32_t index, const struct align *align)
{
    const struct defs_agent *agent = &defs->agents[index];
    struct report_launcher row = {.end = REPORT_END_UNKNOWN};
    ck_time_t outlived;

    if (agent->is_profile) {
        row.end = REPORT_END_PROFILE;
        return row;
    }
    if (!agent->has_exit) {
        return row;
    }
    outlived = defs_exit_number(agent, "outlived_ns", -1);
    row.asked = (int)defs_exit_number(agent, "asked", 0);
    row.is_orphan = outlived >= ORPHAN_LEAST;
    row.stops = (uint32_t)defs_exit_number(agent, "stops", 0);
    row.stopped = defs_exit_number(agent, "stopped_ns", 0);
    if (row.is_orphan && !agent->is_exit_known) {
        row.end = REPORT_END_UNKNOWN;
    } else if (!agent->is_exit_known ||
               (outlived >= 0 && !row.is_orphan && WIFSIGNALED(agent->status) &&
                WTERMSIG(agent->status) == SIGKILL)) {
        row.end = REPORT_END_KILLED;
        row.code = (int)defs_exit_number(agent, "signal", 0);
    } else if (WIFSIGNALED(agent->status)) {
        row.end = REPORT_END_SIGNAL;
        row.code = WTERMSIG(agent->status);
        row.is_dumped = WCOREDUMP(agent->status);
    } else {
        row.end = REPORT_END_EXITED;
        row.code = WEXITSTATUS(agent->status);
    }
    if (agent->exit_time != 0) {
        row.end_time =
            axis_time(align_axis(align), index, false, agent->exit_time);
    }
    return row;
}

/* What that shows of the rank. Below a launcher it is another process that
 * ended so; of the rank it is only known when it ended. */
static void end_report(const struct report_launcher *end,
                       struct report_rank *row)
{
    if (row->launcher != NULL) {
        row->end = end->end == REPORT_END_UNKNOWN ? REPORT_END_UNKNOWN
                                                  : REPORT_END_SHARED;
        row->end_time = end->end_time;
        return;
    }
    row->end = end->end;
    row->code = end->code;
    row->asked = end->asked;
    row->is_orphan = end->is_orphan;
    row->is_dumped = end->is_dumped;
    row->stops = end->stops;
    row->stopped = end->stopped;
    row->end_time = end->end_time;
}

/* What was stored of the rank: all of its ckagent's, or of several ranks that
 * of its own processes. */
static void stored_report(const struct defs *defs,
                          const struct defs_rank *who,
                          struct report_rank *row)
{
    if (row->launcher == NULL) {
        row->events = defs->agents[who->agent].events;
        row->bytes = defs->agents[who->agent].bytes;
        return;
    }
    for (size_t p = 0; p < defs->processes_count; p++) {
        const struct defs_process *process = &defs->processes[p];

        if (process->agent == who->agent && process->rank == who->number) {
            row->events += process->events;
            row->bytes += process->bytes;
        }
    }
}

/* The process of a rank's agent with that incarnation, DEFS_NONE = none. */
static uint32_t process_of(const struct defs *defs,
                           const struct defs_rank *who,
                           uint32_t incarnation)
{
    for (uint32_t p = (uint32_t)defs->processes_count; p > 0; p--) {
        const struct defs_process *process = &defs->processes[p - 1];

        if (process->agent == who->agent &&
            process->incarnation == incarnation) {
            return process->rank == who->number ? p - 1 : DEFS_NONE;
        }
    }
    return DEFS_NONE;
}

/* What shows best where a rank was: a call of MPI or of a device in any
 * thread, then what the first thread did, then the innermost. */
static uint32_t open_weight(const struct defs *defs,
                            const struct ck_open *open,
                            uint32_t process)
{
    uint32_t depth = open->depth < 0xffff ? open->depth : 0xffff;
    bool is_first = defs->processes[process].pid == open->tid;
    bool is_near =
        part_of(open->kind) == PART_MPI || part_of(open->kind) == PART_API;

    return (uint32_t)is_near << 17 | (uint32_t)is_first << 16 | depth;
}

/* The call that the rank was still in when it was seen last. */
static void open_report(const struct defs *defs,
                        const struct align *align,
                        const struct defs_rank *who,
                        struct report_rank *row)
{
    const struct defs_agent *owner = &defs->agents[who->agent];
    const struct defs_open *best = NULL;
    uint32_t process = DEFS_NONE, weight = 0;

    for (size_t i = 0; i < owner->opens_count; i++) {
        const struct defs_open *open = &owner->opens[i];
        uint32_t at = process_of(defs, who, open->open.incarnation);

        if (open->is_completed || at == DEFS_NONE) {
            continue;
        }
        if (best == NULL || open_weight(defs, &open->open, at) > weight) {
            best = open;
            process = at;
            weight = open_weight(defs, &open->open, at);
        }
    }
    if (best == NULL) {
        return;
    }
    row->open = defs_name(defs, process, best->open.e.name);
    row->open_ns = region_length(
        opencalls_part(align_axis(align), defs, who->agent, best));
    row->is_open_api = part_of(best->open.kind) == PART_MPI ||
                       part_of(best->open.kind) == PART_API;
    /* Marks are made by inline functions of ck.h: no place of interest. */
    if (ck_kind_class(best->open.kind) != CK_CLASS_MARK) {
        row->open_place = defs_place(defs, process, best->open.site);
    }
}

/* A rank that ended within MPI. What was not kept might be the call.
 */
static bool is_unfinalized(const struct defs *defs,
                           const struct defs_rank *who,
                           const struct report_rank *row)
{
    if (row->dark != REPORT_DARK_NOT || row->lost > 0 || row->gaps > 0 ||
        (row->open != NULL && strcmp(row->open, "MPI_Finalize") == 0)) {
        return false;
    }
    for (size_t p = 0; p < defs->processes_count; p++) {
        const struct defs_process *process = &defs->processes[p];

        if (process->agent == who->agent && process->rank == who->number &&
            stamps_has(&process->init) && !stamps_has(&process->finalize)) {
            return true;
        }
    }
    return false;
}

static void rank_report(struct ranks *ranks,
                        size_t index,
                        const struct align *align,
                        const struct report *report,
                        struct report_rank *row)
{
    const struct defs *defs = ranks->defs;
    const struct defs_rank *who = &defs->ranks[index];
    const struct defs_agent *agent = &defs->agents[who->agent];
    struct rank *rank = &ranks->items[index];
    struct unknowntail dark =
        unknowntail_find(defs, align_axis(align), who->agent);
    struct report_launcher end = end_find(defs, who->agent, align);
    bool is_seen = false;

    if (ranks->launchers[who->agent] > 0) {
        row->launcher = &report->launchers[ranks->launchers[who->agent] - 1];
        is_seen =
            unknowntail_rank_ended(defs, align_axis(align), who, &end.end_time);
    }
    row->dark = dark.reason;
    row->dark_since = dark.part.start;
    row->number = who->number;
    row->host = agent->host;
    row->is_claimed_twice = who->is_claimed_twice;
    row->mpi = interval_union_length(&rank->mpi);
    row->mpi_core = rank->mpi.core;
    row->device_api = interval_union_length(&rank->api);
    row->mpi_calls = rank->mpi_calls;
    row->steps = rank->steps;
    row->step_max = rank->step_max;
    row->step_median = quantile_at(&rank->step_lengths, 0.5);
    row->is_median_exact = quantile_is_exact(&rank->step_lengths);
    row->mpi_by_others = outside_rank(ranks->outside, align_axis(align),
                                      (uint32_t)index, &row->outside);
    stored_report(defs, who, row);
    row->lost = lost_all(agent);
    row->is_lost_exact = (agent->is_gap_exact ||
                          (agent->gap_records == 0 && agent->gap_about == 0)) &&
                         agent->lost[CK_LOST_LIMIT] == 0 &&
                         !agent->is_end_unknown;
    row->gaps = agent->gaps;
    if (end.end_time != 0 && end.end_time < ranks->region.end) {
        row->gone = ranks->region.end - (end.end_time > ranks->region.start
                                             ? end.end_time
                                             : ranks->region.start);
    }
    end.end_time = row->launcher == NULL || is_seen ? end.end_time : 0;
    end_report(&end, row);
    open_report(defs, align, who, row);
    incarnations_report(defs, align, who, row);
    row->is_unfinalized =
        end.end == REPORT_END_EXITED && is_unfinalized(defs, who, row);
}

/* A row for each ckagent of several ranks. */
static void launchers_report(struct ranks *ranks,
                             const struct align *align,
                             struct report *report)
{
    const struct defs *defs = ranks->defs;

    report->launchers =
        xcalloc(defs->agents_count + 1, sizeof(*report->launchers));
    for (size_t i = 0; i < defs->ranks_count; i++) {
        uint32_t agent = defs->ranks[i].agent;
        struct report_launcher row = {0};

        if (ranks->launchers[agent] > 0 || ranks->sharing[agent] < 2 ||
            defs->agents[agent].is_profile) {
            continue;
        }
        row = end_find(defs, agent, align);
        row.ranks = xcalloc(ranks->sharing[agent], sizeof(*row.ranks));
        report->launchers[report->launchers_count++] = row;
        ranks->launchers[agent] = (uint32_t)report->launchers_count;
    }
    for (size_t i = 0; i < defs->ranks_count; i++) {
        uint32_t at = ranks->launchers[defs->ranks[i].agent];

        if (at > 0) {
            struct report_launcher *row = &report->launchers[at - 1];

            row->ranks[row->ranks_count++] = defs->ranks[i].number;
        }
    }
}

static void missing_add(struct report *report, int32_t number)
{
    report->ranks[report->ranks_count++] = (struct report_rank){
        .number = number, .host = "", .end = REPORT_END_MISSING};
}

/* Ranks that were announced, and those whose segments are not here any more. */
static void
missing_report(const struct defs *defs, int32_t size, struct report *report)
{
    for (int32_t number = 0; number < size && number < MISSING_MAX; number++) {
        if (defs_rank_index(defs, number) == DEFS_NONE) {
            missing_add(report, number);
        }
    }
    for (size_t i = 0; i < defs->absents_count; i++) {
        const struct defs_absent *absent = &defs->absents[i];
        struct report_rank *row = NULL;

        if (absent->rank < 0 ||
            defs_rank_index(defs, absent->rank) != DEFS_NONE) {
            continue;
        }
        for (size_t r = 0; r < report->ranks_count; r++) {
            if (report->ranks[r].number == absent->rank) {
                row = &report->ranks[r];
            }
        }
        if (row == NULL) {
            missing_add(report, absent->rank);
            row = &report->ranks[report->ranks_count - 1];
        }
        row->lost = defs_sum(row->lost, absent->records);
        row->is_lost_exact = true;
    }
}

CK_ORDER(by_number, struct report_rank, CK_UP(number))

/* Foreign profiles may lack the host where they were made. */
static uint32_t hosts_count(const struct defs *defs)
{
    uint32_t count = 0;

    for (size_t i = 0; i < defs->ranks_count; i++) {
        const char *host = defs->agents[defs->ranks[i].agent].host;
        bool is_new = defs->ranks[i].is_wanted;

        if (is_new && host[0] == '\0') {
            return 0;
        }
        for (size_t j = 0; j < i; j++) {
            /* Kept texts: equal ones are one pointer. */
            is_new =
                is_new && (!defs->ranks[j].is_wanted ||
                           defs->agents[defs->ranks[j].agent].host != host);
        }
        count += is_new;
    }
    return count;
}

/* Was it started as ranks, or did it use MPI? */
static bool has_ranks(const struct defs *defs)
{
    if (defs->ranks_count != 1) {
        return true;
    }
    for (size_t i = 0; i < defs->agents_count; i++) {
        if (!defs->agents[i].is_alone) {
            return true;
        }
    }
    for (size_t i = 0; i < defs->processes_count; i++) {
        if (stamps_has(&defs->processes[i].init)) {
            return true;
        }
    }
    return false;
}

/* Without ranks: whose first thread the row is, and of how many processes. */
static void shown_report(const struct ranks *ranks, struct report *report)
{
    const struct defs *defs = ranks->defs;
    uint32_t thread = outside_shown(ranks->outside, 0);

    if (report->has_ranks || thread == DEFS_NONE) {
        return;
    }
    report->shown.pid = defs->processes[defs->threads[thread].process].pid;
    report->shown.command =
        defs->processes[defs->threads[thread].process].command;
    for (size_t p = 0; p < defs->processes_count; p++) {
        report->programs += defs->processes[p].incarnation != 0 &&
                            executed_is_named(&defs->processes[p]);
    }
}

void ranks_report(struct ranks *ranks,
                  const struct align *align,
                  struct report *report)
{
    const struct defs *defs = ranks->defs;
    int32_t size = defs_size(defs);
    size_t room = defs->ranks_count +
                  (size_t)(size < MISSING_MAX ? size : MISSING_MAX) +
                  defs->absents_count + 1;

    report->ranks = xcalloc(room, sizeof(*report->ranks));
    launchers_report(ranks, align, report);
    for (size_t i = 0; i < defs->ranks_count; i++) {
        rank_report(ranks, i, align, report,
                    &report->ranks[report->ranks_count++]);
    }
    report->present = (uint32_t)defs->ranks_count;
    report->has_ranks = has_ranks(defs);
    shown_report(ranks, report);
    report->size = size;
    report->hosts = hosts_count(defs);
    if (!defs->is_filtered) {
        missing_report(defs, defs->is_size_said ? size : 0, report);
    }
    qsort(report->ranks, report->ranks_count, sizeof(*report->ranks),
          by_number);
    for (size_t i = 0; i < defs->ranks_count; i++) {
        uint64_t steps = ranks->items[i].steps;

        report->steps = steps > report->steps ? steps : report->steps;
    }
    report->step_first = report->steps > 0 ? ranks->step_first : 0;
    report->step_last = report->steps > 0 ? ranks->step_last : 0;
    for (size_t i = 0; report->command == NULL && i < defs->ranks_count; i++) {
        const struct defs_agent *agent = &defs->agents[defs->ranks[i].agent];

        report->command = agent->command;
        report->program = executed_find(defs, defs->ranks[i].agent);
        report->job = agent->job;
    }
    report->realtime = align_realtime(align);
    programs_report(defs, report);
}
