/* jsonmemory.c - memory and page faults, of the report as JSON
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "merge/output/json/jsonparts.h"

/* With more ranks than that their memory over time is left out. */
#define CURVES_MAX 64

static void put_faults(struct ck_json *j, const struct report *report)
{
    ck_json_array(j, "page_faults");
    for (size_t i = 0; i < report->faults_count; i++) {
        const struct report_fault *row = &report->faults[i];

        ck_json_object(j, NULL);
        json_rank(j, "rank", row->rank);
        ck_json_uint(j, "tid", row->tid);
        json_text(j, "thread", row->thread);
        json_place(j, &row->place);
        json_callers(j, &row->callers);
        ck_json_uint(j, "minor", row->minor);
        ck_json_uint(j, "major", row->major);
        ck_json_end(j);
    }
    ck_json_end(j);
    ck_json_array(j, "fault_places");
    for (size_t i = 0; i < report->fault_places_count; i++) {
        const struct report_fault_place *row = &report->fault_places[i];

        ck_json_object(j, NULL);
        json_place(j, &row->place);
        json_callers(j, &row->callers);
        ck_json_uint(j, "minor", row->minor);
        ck_json_uint(j, "major", row->major);
        ck_json_int(j, "faulting_ns", row->faulting);
        ck_json_uint(j, "ranks", row->ranks);
        json_rank(j, "rank", row->rank);
        ck_json_uint(j, "rank_faults", row->rank_faults);
        ck_json_end(j);
    }
    ck_json_end(j);
}

/* null where it is not known. */
static void put_count(struct ck_json *j, const char *name, int64_t count)
{
    if (count < 0) {
        ck_json_null(j, name);
    } else {
        ck_json_int(j, name, count);
    }
}

static void put_growth(struct ck_json *j, const struct report_growth *growth)
{
    ck_json_object(j, "growth");
    ck_json_bool(j, "steady", growth->is_steady);
    ck_json_double(j, "bytes_per_second", growth->per_second);
    if (growth->steps > 0) {
        ck_json_double(j, "bytes_per_step", growth->per_step);
    } else {
        ck_json_null(j, "bytes_per_step");
    }
    ck_json_int(j, "bytes", growth->bytes);
    ck_json_double(j, "r2", growth->r2);
    ck_json_end(j);
}

/* What was looked at over time. */
static void put_resident(struct ck_json *j,
                         const struct report *report,
                         const struct report_memory *row)
{
    ck_json_int(j, "first_bytes", row->first.bytes);
    ck_json_int(j, "last_bytes", row->last.bytes);
    ck_json_int(j, "peak_bytes", row->peak.bytes);
    json_time(j, "peak", row->peak.time, report);
    if (row->has_peak_step) {
        ck_json_int(j, "peak_step", row->peak_step);
    } else {
        ck_json_null(j, "peak_step");
    }
    put_count(j, "huge_bytes", row->huge);
    ck_json_int(j, "swapped_bytes", row->swapped);
    put_growth(j, &row->growth);
    ck_json_array(j, "resident");
    for (size_t i = 0;
         report->memory_count <= CURVES_MAX && i < row->points_count; i++) {
        ck_json_object(j, NULL);
        json_time(j, "time", row->points[i].time, report);
        ck_json_int(j, "bytes", row->points[i].bytes);
        ck_json_end(j);
    }
    ck_json_end(j);
}

static void put_held(struct ck_json *j, const struct report_held *held)
{
    ck_json_uint(j, "bytes", held->bytes);
    ck_json_uint(j, "bytes_error", held->bytes_error);
    ck_json_uint(j, "peak_bytes", held->peak);
    ck_json_uint(j, "peak_bytes_error", held->peak_error);
    ck_json_uint(j, "last_bytes", held->last);
    ck_json_uint(j, "blocks", held->blocks);
    ck_json_uint(j, "samples", held->samples);
}

static void put_memory_places(struct ck_json *j,
                              const struct report_allocations *of)
{
    ck_json_array(j, "places");
    for (size_t i = 0; i < of->places_count; i++) {
        const struct report_allocation *row = &of->places[i];

        ck_json_object(j, NULL);
        json_place(j, &row->place);
        json_callers(j, &row->callers);
        put_held(j, &row->held);
        ck_json_uint(j, "ranks", row->ranks);
        json_rank(j, "rank", row->rank);
        ck_json_uint(j, "rank_peak_bytes", row->rank_peak);
        ck_json_end(j);
    }
    ck_json_end(j);
}

/* Of the program, or of devices. */
static void put_memory_ranks(struct ck_json *j,
                             const struct report *report,
                             const struct report_allocations *of)
{
    ck_json_array(j, "ranks");
    for (size_t i = 0; i < of->ranks_count; i++) {
        const struct report_allocation_rank *row = &of->ranks[i];

        ck_json_object(j, NULL);
        json_rank(j, "rank", row->rank);
        if (of == &report->device_memory) {
            json_text(j, "device", row->device_name);
        }
        put_held(j, &row->held);
        ck_json_uint(j, "processes", row->processes);
        json_time(j, "peak", row->peak_at, report);
        ck_json_end(j);
    }
    ck_json_end(j);
}

static void put_allocations(struct ck_json *j, const struct report *report)
{
    ck_json_object(j, "allocations");
    ck_json_uint(j, "mean_bytes", report->allocations.mean);
    put_memory_places(j, &report->allocations);
    put_memory_ranks(j, report, &report->allocations);
    ck_json_end(j);
    ck_json_object(j, "device_memory");
    put_memory_places(j, &report->device_memory);
    put_memory_ranks(j, report, &report->device_memory);
    ck_json_end(j);
}

void json_memory(struct ck_json *j, const struct report *report)
{
    ck_json_array(j, "memory");
    for (size_t i = 0; i < report->memory_count; i++) {
        const struct report_memory *row = &report->memory[i];

        ck_json_object(j, NULL);
        json_rank(j, "rank", row->rank);
        put_count(j, "minor_faults", row->minor);
        put_count(j, "major_faults", row->major);
        ck_json_uint(j, "minor_sampled", row->minor_sampled);
        ck_json_uint(j, "major_sampled", row->major_sampled);
        ck_json_int(j, "faulting_ns", row->faulting);
        ck_json_int(j, "sampled_ns", row->sampled);
        if (row->points_count > 0) {
            put_resident(j, report, row);
        }
        ck_json_end(j);
    }
    ck_json_end(j);
    put_faults(j, report);
    put_allocations(j, report);
}
