/* jsonsteps.c - steps, late ranks and ranges of the report as JSON
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "merge/output/json/jsonparts.h"
#include "merge/output/json/jsonreport.h"

/* Steps listed; of more ranks than these their lengths are listed with each
 * where that are no more than so many. */
#define STEPS_LISTED 4096
#define RANKS_LISTED 64
#define LENGTHS_LISTED ((size_t)1 << 17)

size_t output_json_steps(const struct report *report)
{
    size_t count = report->table.items == NULL ? 0 : report->table.count;

    return count < STEPS_LISTED ? count : STEPS_LISTED;
}

size_t output_json_lengths(const struct report *report)
{
    size_t ranks = report->table.ranks, steps = output_json_steps(report);
    bool is_listed = ranks <= RANKS_LISTED || ranks * steps <= LENGTHS_LISTED;

    return is_listed && steps > 0 && report->table.items[0].lengths != NULL
               ? ranks
               : 0;
}

/* The step's length on each of so many ranks. */
static void
put_lengths(struct ck_json *j, const struct report_step *step, size_t ranks)
{
    if (ranks == 0) {
        ck_json_null(j, "rank_ns");
        return;
    }
    ck_json_array(j, "rank_ns");
    for (size_t i = 0; i < ranks; i++) {
        if (step->lengths[i] < 0) {
            ck_json_null(j, NULL);
        } else {
            ck_json_int(j, NULL, step->lengths[i]);
        }
    }
    ck_json_end(j);
}

static void put_step(struct ck_json *j,
                     const struct report_step *step,
                     const struct report *report)
{
    ck_json_object(j, NULL);
    ck_json_int(j, "number", step->number);
    json_time(j, "start", step->start, report);
    json_time(j, "end", step->end, report);
    ck_json_int(j, "start_ns", step->start);
    ck_json_int(j, "end_ns", step->end);
    ck_json_uint(j, "ranks", step->ranks);
    ck_json_int(j, "of_ranks", report->size);
    ck_json_int(j, "shortest_ns", step->shortest);
    ck_json_int(j, "longest_ns", step->longest);
    ck_json_int(j, "longest_rank", step->longest_rank);
    ck_json_uint(j, "launches", step->launches);
    ck_json_uint(j, "syncs", step->syncs);
    ck_json_uint(j, "copies", step->copies);
    ck_json_uint(j, "collectives", step->collectives);
    ck_json_int(j, "waited_ns", step->waited);
    json_unsure(j, "waited_error_ns", step->waited_error);
    if (step->worst >= 0) {
        ck_json_int(j, "worst_rank", step->worst);
        ck_json_int(j, "worst_ns", step->worst_ns);
    } else {
        ck_json_null(j, "worst_rank");
    }
    ck_json_bool(j, "outlier", step->is_outlier);
    put_lengths(j, step, output_json_lengths(report));
    json_idle(j, step->causes);
    ck_json_end(j);
}

static void put_steps(struct ck_json *j, const struct report *report)
{
    const struct report_steps *table = &report->table;

    ck_json_object(j, "step_table");
    ck_json_uint(j, "count", table->count);
    json_text(j, "ended_by", table->rhythm);
    json_text(j, "ended_in", table->rhythm_place.file);
    ck_json_uint(j, "ended_line", table->rhythm_place.line);
    ck_json_int(j, "median_ns", table->median);
    ck_json_uint(j, "outliers", table->outliers);
    ck_json_array(j, "rows");
    for (size_t i = 0; i < output_json_steps(report); i++) {
        put_step(j, &table->items[i], report);
    }
    ck_json_end(j);
    ck_json_end(j);
}

static void put_window(struct ck_json *j,
                       const char *name,
                       const struct report_window *window,
                       const struct report *report)
{
    ck_json_object(j, name);
    if (window->has_steps) {
        ck_json_int(j, "first_step", window->first_step);
        ck_json_int(j, "last_step", window->last_step);
    } else {
        ck_json_null(j, "first_step");
        ck_json_null(j, "last_step");
    }
    json_time(j, "start", window->start, report);
    json_time(j, "end", window->end, report);
    ck_json_int(j, "start_ns", window->start);
    ck_json_int(j, "end_ns", window->end);
    ck_json_double(j, "share", window->share);
    ck_json_end(j);
}

void json_windows(struct ck_json *j,
                  const struct report_windows *windows,
                  const struct report *report)
{
    const struct report_window *most = NULL;

    for (size_t i = 0; i < windows->count; i++) {
        if (most == NULL || windows->items[i].share > most->share) {
            most = &windows->items[i];
        }
    }
    if (most == NULL) {
        ck_json_null(j, "window");
    } else {
        put_window(j, "window", most, report);
    }
    ck_json_array(j, "windows");
    for (size_t i = 0; i < windows->count; i++) {
        put_window(j, NULL, &windows->items[i], report);
    }
    ck_json_end(j);
    if (windows->has_event) {
        put_window(j, "event", &windows->event, report);
    } else {
        ck_json_null(j, "event");
    }
    ck_json_double(j, "outside_steps_share", windows->outside);
    if (region_length(windows->median) > 0) {
        ck_json_object(j, "median");
        json_time(j, "start", windows->median.start, report);
        json_time(j, "end", windows->median.end, report);
        ck_json_int(j, "start_ns", windows->median.start);
        ck_json_int(j, "end_ns", windows->median.end);
        ck_json_end(j);
    } else {
        ck_json_null(j, "median");
    }
}

static void put_stragglers(struct ck_json *j, const struct report *report)
{
    ck_json_array(j, "stragglers");
    for (size_t i = 0; i < report->stragglers_count; i++) {
        const struct report_straggler *row = &report->stragglers[i];

        ck_json_object(j, NULL);
        ck_json_int(j, "rank", row->rank);
        ck_json_int(j, "caused_ns", row->caused);
        json_unsure(j, "error_ns", row->error);
        ck_json_int(j, "ended_ns", row->ended);
        ck_json_uint(j, "steps", row->steps);
        ck_json_uint(j, "of_steps", row->of_steps);
        ck_json_int(j, "step_median_ns", row->step_median);
        ck_json_uint(j, "slow_steps", row->slow.steps);
        ck_json_double(j, "slow_steps_share", row->slow.share);
        ck_json_int(j, "slow_steps_median_ns", row->slow.median);
        ck_json_int(j, "did_ns", row->delays.ns);
        json_activity(j, "did", &row->delays.did);
        json_delays(j, "delays", &row->delays);
        json_windows(j, &row->windows, report);
        ck_json_end(j);
    }
    ck_json_end(j);
}

static void put_ranges(struct ck_json *j, const struct report *report)
{
    ck_json_array(j, "ranges");
    for (size_t i = 0; i < report->ranges_count; i++) {
        const struct report_range *range = &report->ranges[i];

        ck_json_object(j, NULL);
        ck_json_string(j, "name", range->name);
        ck_json_uint(j, "calls", range->calls);
        ck_json_int(j, "total_ns", range->total);
        ck_json_int(j, "median_ns", range->median);
        ck_json_bool(j, "median_exact", range->is_median_exact);
        ck_json_int(j, "max_ns", range->max);
        ck_json_uint(j, "ranks", range->ranks);
        ck_json_int(j, "wall_ns", range->wall);
        if (range->is_device_known) {
            ck_json_int(j, "device_ns", range->device_wall);
            ck_json_int(j, "device_busy_ns", range->device_busy);
        } else {
            ck_json_null(j, "device_ns");
            ck_json_null(j, "device_busy_ns");
        }
        ck_json_int(j, "idle_ns", range->idle);
        json_idle(j, range->causes);
        ck_json_end(j);
    }
    ck_json_end(j);
}

void json_steps(struct ck_json *j, const struct report *report)
{
    put_steps(j, report);
    put_stragglers(j, report);
    put_ranges(j, report);
}
