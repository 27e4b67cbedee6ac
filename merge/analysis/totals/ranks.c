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

#include "merge/analysis/totals/outside.h"
#include "merge/model/executed.h"
#include "merge/model/quantile.h"
#include "merge/timeline/cut.h"
#include "merge/timeline/dark.h"
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
    const struct cast *cast; /* borrowed */
    struct region region;
    struct region calls; /* whose number is wanted */
    struct rank *items;  /* by rank index of the cast */
    uint32_t *sharing;   /* by agent: ranks that it has */
    uint32_t *launchers; /* by agent: row of its launcher, from 1; 0 = none */
    int64_t step_first;
    int64_t step_last;
    struct outside *outside;
};

/* What lies before a rank's return from MPI_Init is its startup. */
static void begins_set(struct ranks *ranks)
{
    const struct cast *cast = ranks->cast;

    for (size_t p = cast->processes_count; p-- > 0;) {
        const struct cast_process *process = &cast->processes[p];
        uint32_t index = cast_rank_index(cast, process->rank);
        struct region part = {process->begin, ranks->region.end};

        if (index != CAST_NONE && part.start > ranks->region.start &&
            part.start < part.end) {
            interval_union_init(&ranks->items[index].mpi, part);
        }
    }
}

struct ranks *ranks_create(const struct cast *cast, struct region region)
{
    struct ranks *ranks = calloc(1, sizeof(*ranks));

    if (ranks == NULL) {
        return NULL;
    }
    ranks->cast = cast;
    ranks->region = ranks->calls = region;
    ranks->step_first = INT64_MAX;
    ranks->step_last = INT64_MIN;
    ranks->outside = outside_create(cast, region);
    ranks->items = calloc(cast->ranks_count + 1, sizeof(*ranks->items));
    ranks->sharing = calloc(cast->agents_count + 1, sizeof(*ranks->sharing));
    ranks->launchers =
        calloc(cast->agents_count + 1, sizeof(*ranks->launchers));
    if (ranks->items == NULL || ranks->sharing == NULL ||
        ranks->outside == NULL || ranks->launchers == NULL) {
        outside_destroy(ranks->outside);
        free(ranks->launchers);
        free(ranks->sharing);
        free(ranks->items);
        free(ranks);
        return NULL;
    }
    for (size_t i = 0; i < cast->ranks_count; i++) {
        ranks->sharing[cast->ranks[i].agent]++;
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
    for (size_t i = 0; i < ranks->cast->ranks_count; i++) {
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
    return quantile_add(&rank->step_lengths, mark->dur);
}

int ranks_take(void *consumer, const struct timeline_event *event)
{
    struct ranks *ranks = consumer;
    unsigned part = part_of(event->record->kind);
    uint32_t index;

    outside_take(ranks->outside, event);
    if (part == 0 || (event->record->flags & CK_FLAG_PERSISTENT) != 0) {
        return 0; /* a transfer: the MPI_Start has a record of its own */
    }
    index = cast_rank_index(ranks->cast, event->rank);
    if (index == CAST_NONE) {
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

static uint64_t lost_all(const struct cast_agent *agent)
{
    return cast_sum(cast_lost(agent),
                    cast_sum(agent->gap_records, agent->elsewhere));
}

/* How the program ended that the ckagent ran: the rank, or its launcher. */
static struct report_launcher
end_find(const struct cast *cast, uint32_t index, const struct align *align)
{
    const struct cast_agent *agent = &cast->agents[index];
    struct report_launcher row = {.end = REPORT_END_UNKNOWN};
    ck_time_t outlived;

    if (agent->is_profile) {
        row.end = REPORT_END_PROFILE;
        return row;
    }
    if (!agent->has_exit) {
        return row;
    }
    outlived = cast_exit_number(agent, "outlived_ns", -1);
    row.asked = (int)cast_exit_number(agent, "asked", 0);
    row.is_orphan = outlived >= ORPHAN_LEAST;
    if (row.is_orphan && !agent->is_exit_known) {
        row.end = REPORT_END_UNKNOWN;
    } else if (!agent->is_exit_known ||
               (outlived >= 0 && !row.is_orphan && WIFSIGNALED(agent->status) &&
                WTERMSIG(agent->status) == SIGKILL)) {
        row.end = REPORT_END_KILLED;
        row.code = (int)cast_exit_number(agent, "signal", 0);
    } else if (WIFSIGNALED(agent->status)) {
        row.end = REPORT_END_SIGNAL;
        row.code = WTERMSIG(agent->status);
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

/* What that says of the rank. Below a launcher it is another process that
 * ended so; of the rank it is only known that its records were drained. */
static void end_report(const struct report_launcher *end,
                       struct report_rank *row)
{
    if (row->launcher != NULL) {
        row->end = end->end == REPORT_END_UNKNOWN ? REPORT_END_UNKNOWN
                                                  : REPORT_END_SHARED;
        return;
    }
    row->end = end->end;
    row->code = end->code;
    row->asked = end->asked;
    row->is_orphan = end->is_orphan;
    row->end_time = end->end_time;
}

/* What was stored of the rank: all of its ckagent's, or of several ranks that
 * of its own processes. */
static void stored_report(const struct cast *cast,
                          const struct cast_rank *who,
                          struct report_rank *row)
{
    if (row->launcher == NULL) {
        row->events = cast->agents[who->agent].events;
        row->bytes = cast->agents[who->agent].bytes;
        return;
    }
    for (size_t p = 0; p < cast->processes_count; p++) {
        const struct cast_process *process = &cast->processes[p];

        if (process->agent == who->agent && process->rank == who->number) {
            row->events += process->events;
            row->bytes += process->bytes;
        }
    }
}

/* The process of a rank's agent with that incarnation, CAST_NONE = none. */
static uint32_t process_of(const struct cast *cast,
                           const struct cast_rank *who,
                           uint32_t incarnation)
{
    for (uint32_t p = (uint32_t)cast->processes_count; p > 0; p--) {
        const struct cast_process *process = &cast->processes[p - 1];

        if (process->agent == who->agent &&
            process->incarnation == incarnation) {
            return process->rank == who->number ? p - 1 : CAST_NONE;
        }
    }
    return CAST_NONE;
}

/* What says most of where a rank stood: a call of MPI or of a device in any
 * thread, then what the first thread did, then the innermost. */
static uint32_t open_weight(const struct cast *cast,
                            const struct ck_open *open,
                            uint32_t process)
{
    uint32_t depth = open->depth < 0xffff ? open->depth : 0xffff;
    bool is_first = cast->processes[process].pid == open->tid;
    bool is_near =
        part_of(open->kind) == PART_MPI || part_of(open->kind) == PART_API;

    return (uint32_t)is_near << 17 | (uint32_t)is_first << 16 | depth;
}

/* The call that the rank was still in when it was seen last. */
static void open_report(const struct cast *cast,
                        const struct align *align,
                        const struct cast_rank *who,
                        struct report_rank *row)
{
    const struct cast_agent *owner = &cast->agents[who->agent];
    const struct cast_open *best = NULL;
    uint32_t process = CAST_NONE, weight = 0;

    for (size_t i = 0; i < owner->opens_count; i++) {
        const struct cast_open *open = &owner->opens[i];
        uint32_t at = process_of(cast, who, open->open.incarnation);

        if (open->is_completed || at == CAST_NONE) {
            continue;
        }
        if (best == NULL || open_weight(cast, &open->open, at) > weight) {
            best = open;
            process = at;
            weight = open_weight(cast, &open->open, at);
        }
    }
    if (best == NULL) {
        return;
    }
    row->open = cast_name(cast, process, best->open.e.name);
    row->open_ns =
        region_length(cut_part(align_axis(align), owner, who->agent, best));
    row->is_open_api = part_of(best->open.kind) == PART_MPI ||
                       part_of(best->open.kind) == PART_API;
    /* Marks are made by inline functions of ck.h: no place of interest. */
    if (ck_kind_class(best->open.kind) != CK_CLASS_MARK) {
        row->open_place = cast_place(cast, process, best->open.site);
    }
}

/* A rank that ended in the middle of MPI. What was not kept might be the call.
 */
static bool is_unfinalized(const struct cast *cast,
                           const struct cast_rank *who,
                           const struct report_rank *row)
{
    if (row->dark != REPORT_DARK_NOT || row->lost > 0 || row->gaps > 0 ||
        (row->open != NULL && strcmp(row->open, "MPI_Finalize") == 0)) {
        return false;
    }
    for (size_t p = 0; p < cast->processes_count; p++) {
        const struct cast_process *process = &cast->processes[p];

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
    const struct cast *cast = ranks->cast;
    const struct cast_rank *who = &cast->ranks[index];
    const struct cast_agent *agent = &cast->agents[who->agent];
    struct rank *rank = &ranks->items[index];
    struct dark dark = dark_find(cast, align_axis(align), who->agent);
    struct report_launcher end = end_find(cast, who->agent, align);

    if (ranks->launchers[who->agent] > 0) {
        row->launcher = &report->launchers[ranks->launchers[who->agent] - 1];
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
    outside_rank(ranks->outside, align_axis(align), (uint32_t)index,
                 &row->outside);
    stored_report(cast, who, row);
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
    end_report(&end, row);
    open_report(cast, align, who, row);
    row->is_unfinalized =
        end.end == REPORT_END_EXITED && is_unfinalized(cast, who, row);
}

/* A row for each ckagent of several ranks. 0 or -1. */
static int launchers_report(struct ranks *ranks,
                            const struct align *align,
                            struct report *report)
{
    const struct cast *cast = ranks->cast;

    report->launchers =
        calloc(cast->agents_count + 1, sizeof(*report->launchers));
    if (report->launchers == NULL) {
        return -1;
    }
    for (size_t i = 0; i < cast->ranks_count; i++) {
        uint32_t agent = cast->ranks[i].agent;
        struct report_launcher row = {0};

        if (ranks->launchers[agent] > 0 || ranks->sharing[agent] < 2 ||
            cast->agents[agent].is_profile) {
            continue;
        }
        row = end_find(cast, agent, align);
        row.ranks = calloc(ranks->sharing[agent], sizeof(*row.ranks));
        if (row.ranks == NULL) {
            return -1;
        }
        report->launchers[report->launchers_count++] = row;
        ranks->launchers[agent] = (uint32_t)report->launchers_count;
    }
    for (size_t i = 0; i < cast->ranks_count; i++) {
        uint32_t at = ranks->launchers[cast->ranks[i].agent];

        if (at > 0) {
            struct report_launcher *row = &report->launchers[at - 1];

            row->ranks[row->ranks_count++] = cast->ranks[i].number;
        }
    }
    return 0;
}

static void missing_add(struct report *report, int32_t number)
{
    report->ranks[report->ranks_count++] = (struct report_rank){
        .number = number, .host = "", .end = REPORT_END_MISSING};
}

/* Ranks that were announced, and those whose segments are not here any more. */
static void
missing_report(const struct cast *cast, int32_t size, struct report *report)
{
    for (int32_t number = 0; number < size && number < MISSING_MAX; number++) {
        if (cast_rank_index(cast, number) == CAST_NONE) {
            missing_add(report, number);
        }
    }
    for (size_t i = 0; i < cast->absents_count; i++) {
        const struct cast_absent *absent = &cast->absents[i];
        struct report_rank *row = NULL;

        if (absent->rank < 0 ||
            cast_rank_index(cast, absent->rank) != CAST_NONE) {
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
        row->lost = cast_sum(row->lost, absent->records);
        row->is_lost_exact = true;
    }
}

static int by_number(const void *a, const void *b)
{
    const struct report_rank *left = a;
    const struct report_rank *right = b;

    return (left->number > right->number) - (left->number < right->number);
}

/* Foreign profiles may not say where they were made. */
static uint32_t hosts_count(const struct cast *cast)
{
    uint32_t count = 0;

    for (size_t i = 0; i < cast->ranks_count; i++) {
        const char *host = cast->agents[cast->ranks[i].agent].host;
        bool is_new = cast->ranks[i].is_wanted;

        if (is_new && host[0] == '\0') {
            return 0;
        }
        for (size_t j = 0; j < i; j++) {
            /* Kept texts: equal ones are one pointer. */
            is_new =
                is_new && (!cast->ranks[j].is_wanted ||
                           cast->agents[cast->ranks[j].agent].host != host);
        }
        count += is_new;
    }
    return count;
}

/* Was it started as ranks, or did it use MPI? */
static bool has_ranks(const struct cast *cast)
{
    if (cast->ranks_count != 1) {
        return true;
    }
    for (size_t i = 0; i < cast->agents_count; i++) {
        if (!cast->agents[i].is_alone) {
            return true;
        }
    }
    for (size_t i = 0; i < cast->processes_count; i++) {
        if (stamps_has(&cast->processes[i].init)) {
            return true;
        }
    }
    return false;
}

/* Without ranks: whose first thread the row is, and of how many processes. */
static void shown_report(const struct ranks *ranks, struct report *report)
{
    const struct cast *cast = ranks->cast;
    uint32_t thread = outside_shown(ranks->outside, 0);

    if (report->has_ranks || thread == CAST_NONE) {
        return;
    }
    report->shown.pid = cast->processes[cast->threads[thread].process].pid;
    report->shown.command =
        cast->processes[cast->threads[thread].process].command;
    for (size_t p = 0; p < cast->processes_count; p++) {
        report->programs += cast->processes[p].incarnation != 0 &&
                            executed_is_named(&cast->processes[p]);
    }
}

int ranks_report(struct ranks *ranks,
                 const struct align *align,
                 struct report *report)
{
    const struct cast *cast = ranks->cast;
    int32_t size = cast_size(cast);
    size_t room = cast->ranks_count +
                  (size_t)(size < MISSING_MAX ? size : MISSING_MAX) +
                  cast->absents_count + 1;

    report->ranks = calloc(room, sizeof(*report->ranks));
    if (report->ranks == NULL || launchers_report(ranks, align, report) != 0) {
        return -1;
    }
    for (size_t i = 0; i < cast->ranks_count; i++) {
        rank_report(ranks, i, align, report,
                    &report->ranks[report->ranks_count++]);
    }
    report->present = (uint32_t)cast->ranks_count;
    report->has_ranks = has_ranks(cast);
    shown_report(ranks, report);
    report->size = size;
    report->hosts = hosts_count(cast);
    if (!cast->is_filtered) {
        missing_report(cast, cast->is_size_said ? size : 0, report);
    }
    qsort(report->ranks, report->ranks_count, sizeof(*report->ranks),
          by_number);
    for (size_t i = 0; i < cast->ranks_count; i++) {
        uint64_t steps = ranks->items[i].steps;

        report->steps = steps > report->steps ? steps : report->steps;
    }
    report->step_first = report->steps > 0 ? ranks->step_first : 0;
    report->step_last = report->steps > 0 ? ranks->step_last : 0;
    for (size_t i = 0; report->command == NULL && i < cast->ranks_count; i++) {
        const struct cast_agent *agent = &cast->agents[cast->ranks[i].agent];

        report->command = agent->command;
        report->program = executed_find(cast, cast->ranks[i].agent);
        report->job = agent->job;
    }
    report->realtime = align_realtime(align);
    return 0;
}
