/* jsonreport.c - the report as JSON (docs/report.md lists its fields)
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "merge/output/json/jsonreport.h"

#include <stdlib.h>
#include <string.h>

#include "merge/model/memory.h"
#include "merge/output/json/jsonclocks.h"
#include "merge/output/json/jsonparts.h"

/* Calls that are listed as possible waits. */
#define UNKNOWN_WAITS_MAX 256

static const char *const region_names[] = {"whole", "mpi",   "steps",
                                           "given", "range", "kept"};

static void put_text(struct ck_json *j, const char *name, int64_t number)
{
    char text[32];

    (void)snprintf(text, sizeof(text), "%lld", (long long)number);
    ck_json_string(j, name, text);
}

/* The date of the axis, and what the times `..._rel_ns` are relative to: as
 * texts, since many readers of JSON have no integers beyond 2^53. */
static void put_base(struct ck_json *j, const struct report *report)
{
    if (report->realtime != 0) {
        ck_json_int(j, "realtime_of_zero_ns", report->realtime);
        put_text(j, "realtime_of_zero_text", report->realtime);
    } else {
        ck_json_null(j, "realtime_of_zero_ns");
        ck_json_null(j, "realtime_of_zero_text");
    }
    put_text(j, "time_base_ns", report->whole.start);
}

static void put_region(struct ck_json *j,
                       const char *name,
                       struct region region,
                       const struct report *report)
{
    ck_json_object(j, name);
    json_time(j, "start", region.start, report);
    json_time(j, "end", region.end, report);
    ck_json_int(j, "start_ns", region.start);
    ck_json_int(j, "end_ns", region.end);
    ck_json_int(j, "ns", region_length(region));
}

static void put_head(struct ck_json *j, const struct report *report)
{
    ck_json_string(j, "format", "ck.report");
    ck_json_int(j, "format_version", 1);
    json_text(j, "ck_version", report->version);
    json_text(j, "run", report->name);
    json_text(j, "job", report->job);
    json_text(j, "command", report->command);
    json_text(j, "program", report->program);
    ck_json_int(j, "size", report->size);
    ck_json_uint(j, "ranks_present", report->present);
    ck_json_bool(j, "has_ranks", report->has_ranks);
    ck_json_bool(j, "selected_only", report->is_filtered);
    ck_json_uint(j, "hosts", report->hosts);
    ck_json_bool(j, "complete", report_is_complete(report));
    put_base(j, report);
    put_region(j, "whole", report->whole, report);
    ck_json_end(j);
    if (report->kept.ranks > 0) {
        ck_json_object(j, "kept");
        ck_json_int(j, "of_ns", report->kept.whole);
        ck_json_uint(j, "ranks", report->kept.ranks);
        ck_json_uint(j, "discarded_records", report->kept.records);
        ck_json_uint(j, "discarded_bytes", report->kept.bytes);
        ck_json_end(j);
    }
    put_region(j, "region", report->region, report);
    ck_json_string(j, "kind", region_names[report->region_kind]);
    json_text(j, "range", report->region_range);
    ck_json_end(j);
    ck_json_object(j, "steps");
    ck_json_uint(j, "count", report->steps);
    ck_json_int(j, "first", report->step_first);
    ck_json_int(j, "last", report->step_last);
    ck_json_end(j);
}

/* The times that add up to the region, and nkipy's names for some of them. */
static void put_ledger(struct ck_json *j, const struct report_device *device)
{
    static const char *const names[] = {"d2h_transfer", "h2d_transfer",
                                        "memory_mgmt", "exec_overhead",
                                        "sync_wait"};

    ck_json_object(j, "ledger");
    ck_json_int(j, "compute", device->compute);
    ck_json_int(j, "comm_transfer", device->comm - device->comm_wait);
    ck_json_int(j, "comm_wait", device->comm_wait);
    ck_json_int(j, "copy_only", device->copy);
    for (unsigned c = 0; c < CAUSES; c++) {
        ck_json_int(j, cause_name(c), device->causes[c]);
    }
    ck_json_end(j);
    ck_json_object(j, "nkipy");
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        ck_time_t sum = 0;

        for (unsigned c = 0; c < CAUSES; c++) {
            const char *name = cause_nkipy(c);

            sum += name != NULL && strcmp(name, names[i]) == 0
                       ? device->causes[c]
                       : 0;
        }
        ck_json_int(j, names[i], sum);
    }
    ck_json_end(j);
}

static const char *kind_name(enum cause kind)
{
    return kind != CAUSES ? cause_name(kind) : NULL;
}

/* The rank that was waited for: why it came late, and what it did meanwhile. */
static void put_blamed(struct ck_json *j, const struct report_cause *cause)
{
    const struct report_delays *delays = &cause->delays;

    ck_json_int(j, "last_rank", cause->last);
    ck_json_int(j, "blamed_rank", cause->blamed);
    ck_json_int(j, "ended_ns", cause->ended);
    json_text(j, "blamed_cause", kind_name(delays->kind));
    ck_json_int(j, "blamed_cause_ns", delays->kind_ns);
    ck_json_int(j, "blamed_ns", delays->ns);
    json_rank(j, "delay_rank", delays->rank);
    json_activity(j, "blamed", &delays->did);
    json_delays(j, "delays", delays);
    json_text(j, "seen_cause", kind_name(cause->seen_kind));
    ck_json_int(j, "seen_cause_ns", cause->seen_kind_ns);
    ck_json_int(j, "seen_ns", cause->seen_ns);
    json_activity(j, "seen_during", &cause->seen);
}

static void put_piece(struct ck_json *j,
                      const struct report *report,
                      const char *name,
                      const struct report_piece *piece)
{
    struct region part = piece->part;

    if (region_length(part) <= 0) {
        ck_json_null(j, name);
        return;
    }
    ck_json_object(j, name);
    json_rank(j, "rank", piece->rank);
    json_device(j, "device", report, piece->device);
    json_time(j, "start", part.start, report);
    json_time(j, "end", part.end, report);
    ck_json_int(j, "start_ns", part.start);
    ck_json_int(j, "end_ns", part.end);
    ck_json_end(j);
}

static void put_causes(struct ck_json *j,
                       const struct report *report,
                       const char *name,
                       const struct report_cause *causes,
                       size_t count)
{
    ck_json_array(j, name);
    for (size_t i = 0; i < count; i++) {
        const struct report_cause *cause = &causes[i];

        ck_json_object(j, NULL);
        ck_json_string(j, "cause", cause_name(cause->cause));
        json_text(j, "wait", cause->wait);
        json_rank(j, "rank", cause->rank);
        ck_json_uint(j, "ranks", cause->ranks);
        ck_json_bool(j, "at_start", cause->is_start);
        ck_json_int(j, "ns", cause->ns);
        json_unsure(j, "error_ns", cause->error);
        json_unsure(j, "wrong_order_ns", cause->wrong_order);
        ck_json_uint(j, "count", cause->count);
        put_piece(j, report, "example", &cause->example);
        put_piece(j, report, "typical", &cause->typical);
        ck_json_int(j, "host_ns", cause->did_ns);
        json_activity(j, "host", &cause->did);
        json_dependence(j, report, cause);
        if (cause->blamed >= 0) {
            put_blamed(j, cause);
        }
        if (strcmp(name, "causes") == 0) {
            json_windows(j, &cause->windows, report);
        }
        ck_json_end(j);
    }
    ck_json_end(j);
}

static void put_unknown_waits(struct ck_json *j, const struct report *report)
{
    ck_json_array(j, "unknown_waits");
    for (size_t i = 0; i < report->unknown_waits_count && i < UNKNOWN_WAITS_MAX;
         i++) {
        const struct report_unknown_wait *row = &report->unknown_waits[i];

        ck_json_object(j, NULL);
        json_text(j, "call", row->call);
        json_place(j, &row->place);
        ck_json_int(j, "ns", row->ns);
        ck_json_uint(j, "count", row->count);
        ck_json_end(j);
    }
    ck_json_end(j);
}

static void put_device(struct ck_json *j,
                       const char *name,
                       const struct report_device *device,
                       const struct report *report)
{
    ck_json_object(j, name);
    if (name == NULL) {
        json_text(j, "name", device->name);
        json_text(j, "uuid", device->uuid);
        ck_json_array(j, "ranks");
        for (size_t i = 0; i < device->ranks_count; i++) {
            if (device->ranks[i] >= 0) {
                ck_json_int(j, NULL, device->ranks[i]);
            }
        }
        ck_json_end(j);
        json_text(j, "command", device->command);
        ck_json_uint(j, "pid", device->pid);
        json_rank(j, "number", device->number);
        json_time(j, "run_first", device->run_first, report);
        json_time(j, "run_last", device->run_last, report);
        ck_json_int(j, "run_first_ns", device->run_first);
        ck_json_int(j, "run_last_ns", device->run_last);
    }
    ck_json_int(j, "wall_ns", device->wall);
    ck_json_int(j, "busy_ns", device->busy);
    ck_json_int(j, "compute_ns", device->compute);
    ck_json_int(j, "comm_ns", device->comm);
    ck_json_int(j, "copy_ns", device->copy);
    ck_json_int(j, "idle_ns", device->idle);
    ck_json_int(j, "unknown_ns", device->unknown);
    ck_json_int(j, "idle_known_ns", device->idle - device->unknown);
    ck_json_int(j, "comm_union_ns", device->comm_all);
    ck_json_int(j, "comm_waited_ns", device->comm_waited);
    ck_json_int(j, "comm_caused_ns", device->comm_caused);
    ck_json_int(j, "comm_hidden_ns", device->comm_hidden);
    ck_json_int(j, "comm_overlap_ns", device->overlap);
    ck_json_int(j, "copy_union_ns", device->copy_all);
    ck_json_int(j, "run_wall_ns", device->run_wall);
    ck_json_int(j, "run_busy_ns", device->run_busy);
    ck_json_int(j, "run_idle_ns", device->run_wall - device->run_busy);
    ck_json_int(j, "core_ns", device->core);
    ck_json_int(j, "kernel_busy_ns", device->kernel_busy);
    ck_json_int(j, "kernel_core_ns", device->kernel_core);
    ck_json_uint(j, "kernels", device->kernels);
    ck_json_uint(j, "copies", device->copies);
    ck_json_uint(j, "bad_times", device->bad_times);
    ck_json_uint(j, "gaps", device->gaps);
    ck_json_int(j, "longest_gap_ns", device->longest_gap);
    put_ledger(j, device);
    ck_json_end(j);
}

static void put_efficiency(struct ck_json *j, const struct report *report)
{
    const struct report_efficiency *e = &report->efficiency;

    ck_json_object(j, "efficiency");
    ck_json_uint(j, "ranks", e->ranks);
    ck_json_int(j, "of_ranks", report->size);
    ck_json_int(j, "region_ns", e->region);
    ck_json_int(j, "gone_ns", e->gone);
    ck_json_int(j, "useful_ns", e->useful);
    json_outside(j, &e->outside);
    ck_json_int(j, "startup_ns", e->startup);
    ck_json_int(j, "useful_max_ns", e->useful_max);
    ck_json_int(j, "ideal_ns", e->ideal);
    ck_json_int(j, "ideal_unknown_ns", e->unknown);
    ck_json_uint(j, "sends", e->sends);
    ck_json_uint(j, "receives", e->receives);
    ck_json_uint(j, "matched", e->matched);
    if (e->ranks > 0) {
        ck_json_double(j, "parallel", e->parallel);
        ck_json_double(j, "load_balance", e->load_balance);
        ck_json_double(j, "communication", e->communication);
        ck_json_double(j, "serialisation", e->serialisation);
        ck_json_double(j, "transfer", e->transfer);
        ck_json_bool(j, "transfer_known", report_knows_transfer(report));
        ck_json_double(j, "offload", e->offload);
    }
    ck_json_uint(j, "devices", e->devices);
    if (e->devices > 0) {
        ck_json_double(j, "device_parallel", e->device_parallel);
        ck_json_double(j, "device_load_balance", e->device_load_balance);
        ck_json_double(j, "device_communication", e->device_communication);
        ck_json_double(j, "device_orchestration", e->device_orchestration);
    }
    ck_json_end(j);
}

static void put_kernels(struct ck_json *j, const struct report *report)
{
    ck_json_array(j, "kernels");
    for (size_t i = 0; i < report->kernels_count; i++) {
        const struct report_kernel *kernel = &report->kernels[i];

        ck_json_object(j, NULL);
        ck_json_string(j, "name", kernel->name);
        ck_json_uint(j, "calls", kernel->calls);
        ck_json_uint(j, "calls_in_run", kernel->calls_in_run);
        ck_json_int(j, "busy_ns", kernel->busy);
        ck_json_int(j, "total_ns", kernel->total);
        ck_json_int(j, "median_ns", kernel->median);
        ck_json_bool(j, "median_exact", kernel->is_median_exact);
        ck_json_int(j, "max_ns", kernel->max);
        ck_json_uint(j, "ranks", kernel->ranks);
        ck_json_string(j, "rank_list", kernel->rank_list);
        json_rank(j, "rank_first", kernel->rank_first);
        json_rank(j, "rank_last", kernel->rank_last);
        ck_json_end(j);
    }
    ck_json_end(j);
    ck_json_array(j, "copies");
    for (size_t i = 0; i < report->copies_count; i++) {
        ck_json_object(j, NULL);
        ck_json_string(j, "name", report->copies[i].name);
        ck_json_uint(j, "calls", report->copies[i].calls);
        ck_json_uint(j, "calls_in_run", report->copies[i].calls_in_run);
        ck_json_uint(j, "bytes", report->copies[i].bytes);
        ck_json_int(j, "total_ns", report->copies[i].total);
        ck_json_end(j);
    }
    ck_json_end(j);
}

/* What calls of one function, or of one of its places, have in common. */
struct called {
    uint64_t calls, calls_in_run;
    const struct report_moved *moved;
    ck_time_t total, max;
    uint32_t ranks;
};

static void put_called(struct ck_json *j, const struct called *called)
{
    ck_json_uint(j, "calls", called->calls);
    ck_json_uint(j, "calls_in_run", called->calls_in_run);
    json_moved(j, called->moved);
    ck_json_int(j, "total_ns", called->total);
    ck_json_int(j, "max_ns", called->max);
    ck_json_uint(j, "ranks", called->ranks);
}

static void put_calls(struct ck_json *j, const struct report *report)
{
    ck_json_array(j, "calls");
    for (size_t i = 0; i < report->calls_count; i++) {
        const struct report_call *call = &report->calls[i];

        ck_json_object(j, NULL);
        ck_json_string(j, "name", call->name);
        ck_json_string(j, "kind", call->kind);
        json_place(j, &call->place);
        ck_json_uint(j, "site", call->site);
        if (call->is_own) {
            ck_json_bool(j, "mpi_own", true);
        }
        ck_json_uint(j, "bytes", call->bytes);
        put_called(j, &(struct called){call->calls, call->calls_in_run,
                                       &call->moved, call->total, call->max,
                                       call->ranks});
        ck_json_end(j);
    }
    ck_json_end(j);
    ck_json_array(j, "functions");
    for (size_t i = 0; i < report->functions_count; i++) {
        const struct report_function *function = &report->functions[i];

        ck_json_object(j, NULL);
        ck_json_string(j, "name", function->name);
        ck_json_string(j, "kind", function->kind);
        ck_json_uint(j, "places", function->places);
        put_called(j, &(struct called){function->calls, function->calls_in_run,
                                       &function->moved, function->total,
                                       function->max, function->ranks});
        ck_json_end(j);
    }
    ck_json_end(j);
}

static void put_libc(struct ck_json *j, const struct report *report)
{
    ck_json_array(j, "libc");
    for (size_t i = 0; i < report->libc_count; i++) {
        const struct report_libc *libc = &report->libc[i];

        ck_json_object(j, NULL);
        ck_json_string(j, "name", libc->name);
        ck_json_string(j, "group", libc->group);
        ck_json_uint(j, "calls", libc->calls);
        if (libc->is_least) {
            ck_json_bool(j, "at_least", true);
        }
        ck_json_int(j, "total_ns", libc->total);
        ck_json_uint(j, "bytes", libc->bytes);
        ck_json_uint(j, "threads", libc->threads);
        ck_json_uint(j, "ranks", libc->ranks);
        ck_json_uint(j, "program_ranks", libc->program_ranks);
        if (libc->own_calls > 0) {
            ck_json_object(j, "mpi_own");
            ck_json_uint(j, "calls", libc->own_calls);
            ck_json_int(j, "total_ns", libc->own_total);
            ck_json_uint(j, "bytes", libc->own_bytes);
            ck_json_uint(j, "threads", libc->own_threads);
            ck_json_end(j);
        }
        ck_json_end(j);
    }
    ck_json_end(j);
}

static void put_counters(struct ck_json *j, const struct report *report)
{
    ck_json_array(j, "counters");
    for (size_t i = 0; i < report->counters_count; i++) {
        const struct report_counter *counter = &report->counters[i];

        ck_json_object(j, NULL);
        ck_json_string(j, "name", counter->name);
        ck_json_double(j, "value", counter->value);
        ck_json_double(j, "share_counted", counter->share);
        ck_json_uint(j, "ranks", counter->ranks);
        ck_json_bool(j, "of_threads", counter->is_of_threads);
        ck_json_end(j);
    }
    ck_json_end(j);
    ck_json_object(j, "rates");
    for (size_t i = 0; i < report->rates_count; i++) {
        ck_json_double(j, report->rates[i].name, report->rates[i].value);
    }
    ck_json_end(j);
}

/* Files that are elsewhere. */
static void put_spools(struct ck_json *j, const struct report *report)
{
    ck_json_array(j, "spools");
    for (size_t i = 0; i < report->spools_count; i++) {
        const struct report_spool *spool = &report->spools[i];

        ck_json_object(j, NULL);
        ck_json_int(j, "rank", spool->rank);
        ck_json_string(j, "host", spool->host);
        ck_json_string(j, "path", spool->path);
        ck_json_uint(j, "records", spool->records);
        ck_json_uint(j, "lost", spool->lost);
        ck_json_end(j);
    }
    ck_json_end(j);
}

static void put_launches(struct ck_json *j,
                         const struct report_launches *launches)
{
    ck_json_object(j, "cuda_launches");
    ck_json_uint(j, "launched", launches->calls);
    ck_json_uint(j, "unrecorded", launches->unrecorded);
    ck_json_uint(j, "processes", launches->processes);
    ck_json_uint(j, "processes_without_work", launches->blind);
    ck_json_uint(j, "launches_without_work", launches->unseen);
    ck_json_uint(j, "kernels", launches->kernels);
    ck_json_uint(j, "untimed", launches->untimed);
    ck_json_end(j);
}

static void put_trust(struct ck_json *j, const struct report *report)
{
    ck_json_object(j, "trust");
    ck_json_uint(j, "events", report->events);
    ck_json_uint(j, "lost", report->lost);
    ck_json_bool(j, "lost_exact", report->is_lost_exact);
    ck_json_uint(j, "lost_about", report->lost_about);
    ck_json_array(j, "losses");
    for (size_t i = 0; i < report->losses_count; i++) {
        ck_json_object(j, NULL);
        ck_json_string(j, "reason", report->losses[i].reason);
        ck_json_uint(j, "records", report->losses[i].records);
        ck_json_bool(j, "exact", report->losses[i].is_exact);
        ck_json_end(j);
    }
    ck_json_end(j);
    put_spools(j, report);
    json_aways(j, report);
    ck_json_uint(j, "gaps", report->gaps);
    ck_json_uint(j, "gap_units", report->gap_units);
    ck_json_uint(j, "damage_places", report->damage_places);
    ck_json_uint(j, "damage_bytes", report->damage_bytes);
    ck_json_uint(j, "damage_tails", report->damage_tails);
    json_text(j, "damage_first", report->damage_first);
    json_text(j, "manifest_damage", report->manifest);
    ck_json_uint(j, "records_gone", report->gone);
    ck_json_uint(j, "unknown_records", report->unknown);
    ck_json_bool(j, "ledger_closed", report->is_ledger_closed);
    ck_json_object(j, "delay_limits");
    ck_json_uint(j, "history", report->limits.history);
    ck_json_uint(j, "common_instants", report->limits.syncs);
    ck_json_uint(j, "costs", report->limits.costs);
    ck_json_int(j, "costs_ns", report->limits.costs_ns);
    ck_json_uint(j, "lock_holders", report->limits.holders);
    ck_json_uint(j, "activities", report->limits.parts);
    ck_json_uint(j, "causes_by_wait", report->limits.pairs);
    ck_json_uint(j, "code_places", report->limits.places);
    ck_json_end(j);
    put_launches(j, &report->launches);
    json_domains(j, report);
    ck_json_array(j, "notes");
    for (size_t i = 0; i < report->notes_count; i++) {
        ck_json_object(j, NULL);
        ck_json_string(j, "text", report->notes[i].text);
        ck_json_uint(j, "count", report->notes[i].count);
        ck_json_end(j);
    }
    ck_json_end(j);
    ck_json_end(j);
    ck_json_object(j, "cost");
    ck_json_int(j, "cpu_ns", report->own_cpu);
    ck_json_uint(j, "cpu_ranks", report->own_cpu_ranks);
    ck_json_uint(j, "stored_bytes", report->bytes);
    ck_json_uint(j, "events", report->events);
    ck_json_end(j);
}

static void put_uneven(struct ck_json *j,
                       const struct report_uneven_kernel *row)
{
    if (row->name == NULL) {
        return;
    }
    ck_json_object(j, "uneven_kernel");
    json_text(j, "name", row->name);
    ck_json_int(j, "rank", row->rank);
    ck_json_uint(j, "calls", row->calls);
    ck_json_int(j, "mean_ns", row->mean);
    ck_json_int(j, "others_mean_ns", row->others_mean);
    ck_json_int(j, "excess_ns", row->excess);
    ck_json_int(j, "rank_total_ns", row->rank_total);
    ck_json_uint(j, "ranks", row->ranks);
    ck_json_end(j);
}

static void put_inputs(struct ck_json *j, const struct report *report)
{
    if (report->inputs_count == 0) {
        return;
    }
    ck_json_array(j, "inputs");
    for (size_t i = 0; i < report->inputs_count; i++) {
        const struct report_input *input = &report->inputs[i];

        ck_json_object(j, NULL);
        ck_json_string(j, "path", input->path);
        ck_json_string(j, "kind", input->kind);
        json_text(j, "complaint", input->complaint);
        if (input->rank >= 0) {
            ck_json_int(j, "rank", input->rank);
            ck_json_bool(j, "rank_assumed", input->is_rank_assumed);
            ck_json_int(j, "wall_ns", input->wall);
            ck_json_uint(j, "operations", input->operations);
            ck_json_uint(j, "correlated_by_id", input->by_id);
            ck_json_uint(j, "correlated_by_order", input->by_order);
            ck_json_uint(j, "uncorrelated",
                         input->operations - input->by_id - input->by_order);
            ck_json_uint(j, "unused_events", input->unused);
            ck_json_int(j, "device_clock_ns", input->device_clock);
            ck_json_uint(j, "executed", input->executed);
            ck_json_uint(j, "submits", input->submits);
            ck_json_int(j, "submit_ns", input->submit);
        }
        ck_json_end(j);
    }
    ck_json_end(j);
}

static void put_dates(struct ck_json *j, const struct report *report)
{
    const struct report_dates *dates = &report->clock_dates;

    ck_json_object(j, "clock_dates");
    ck_json_bool(j, "believed", dates->is_believed);
    ck_json_bool(j, "refuted", dates->is_refuted);
    ck_json_uint(j, "kernels", dates->kernels);
    ck_json_int(j, "worst_ns", dates->worst);
    ck_json_int(j, "error_ns", dates->error);
    ck_json_uint(j, "ungrouped_kernels", dates->apart);
    ck_json_int(j, "ungrouped_worst_ns", dates->apart_worst);
    ck_json_uint(j, "ungrouped_not_claimed", report->comm_ungrouped);
    ck_json_int(j, "ungrouped_not_claimed_ns", report->comm_ungrouped_time);
    ck_json_uint(j, "ordered_by_ends", dates->ordered);
    ck_json_uint(j, "uneven_not_claimed", report->comm_uneven);
    ck_json_int(j, "uneven_not_claimed_ns", report->comm_uneven_time);
    ck_json_int(j, "hidden_max_ns", report->comm_hidden_most);
    ck_json_int(j, "hidden_first_ns", report->comm_hidden_first);
    ck_json_end(j);
}

static void put_scalene(struct ck_json *j, const struct report_scalene *scalene)
{
    if (scalene->path == NULL) {
        return;
    }
    ck_json_object(j, "scalene");
    ck_json_string(j, "path", scalene->path);
    ck_json_int(j, "rank", scalene->rank);
    ck_json_uint(j, "files", scalene->files);
    ck_json_uint(j, "lines", scalene->lines);
    ck_json_uint(j, "samples", scalene->samples);
    ck_json_bool(j, "samples_placed", scalene->has_overlap);
    ck_json_uint(j, "samples_in_kernels", scalene->inside);
    ck_json_end(j);
}

static void put_lines(struct ck_json *j, const struct report *report)
{
    ck_json_array(j, "lines");
    for (size_t i = 0; i < report->lines_count; i++) {
        const struct report_line *line = &report->lines[i];

        ck_json_object(j, NULL);
        json_text(j, "file", line->file);
        ck_json_uint(j, "line", line->line);
        json_text(j, "kernel", line->kernel);
        ck_json_int(j, "busy_ns", line->busy);
        ck_json_int(j, "core_ns", line->core);
        ck_json_int(j, "launch_ns", line->host);
        ck_json_uint(j, "calls", line->calls);
        ck_json_uint(j, "launches_found", line->launches);
        ck_json_end(j);
    }
    ck_json_end(j);
}

void output_json_put(struct ck_json *j,
                     const char *name,
                     const struct report *report)
{
    ck_json_object(j, name);
    put_head(j, report);
    put_inputs(j, report);
    if (report->inputs_count > 0) {
        ck_json_bool(j, "dates", report->has_dates);
        put_dates(j, report);
        put_uneven(j, &report->uneven_kernel);
    }
    put_scalene(j, &report->scalene);
    json_ranks(j, report);
    ck_json_array(j, "devices");
    for (size_t i = 0; i < report->devices_count; i++) {
        put_device(j, NULL, &report->devices[i], report);
    }
    ck_json_end(j);
    put_device(j, "all_devices", &report->all, report);
    json_levels(j, report);
    put_efficiency(j, report);
    put_causes(j, report, "causes", report->causes, report->causes_count);
    put_causes(j, report, "waits", report->waits, report->waits_count);
    json_delays(j, "delays", &report->delays);
    put_causes(j, report, "edge_waits", report->edges, report->edges_count);
    put_unknown_waits(j, report);
    json_steps(j, report);
    json_load(j, report);
    json_hot(j, report);
    json_memory(j, report);
    put_kernels(j, report);
    json_work(j, report);
    put_lines(j, report);
    json_launch_stacks(j, report);
    put_calls(j, report);
    json_traffic(j, report);
    put_libc(j, report);
    json_peers(j, report);
    json_threads(j, report);
    put_counters(j, report);
    put_trust(j, report);
    json_clocks(j, report);
    ck_json_end(j);
}

char *output_json(const struct report *report, size_t *length)
{
    struct ck_json *j = ck_json_create(NULL, true);
    char *text = NULL;

    if (j == NULL) {
        return NULL;
    }
    output_json_put(j, NULL, report);
    if (ck_json_finish(j) == 0) {
        const char *made = ck_json_text(j, length);

        text = xmalloc(*length + 2);
        memcpy(text, made, *length);
        if (*length == 0 || text[*length - 1] != '\n') {
            text[(*length)++] = '\n';
        }
        text[*length] = '\0';
    }
    ck_json_destroy(j);
    return text;
}
