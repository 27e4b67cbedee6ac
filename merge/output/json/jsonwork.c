/* jsonwork.c - commands of devices as JSON: parts, ends, failures, copies
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "merge/output/json/jsonparts.h"

static const struct report_device *device_find(const struct report *report,
                                               uint32_t physical)
{
    for (size_t i = 0; i < report->devices_count; i++) {
        if (report->devices[i].physical == physical) {
            return &report->devices[i];
        }
    }
    return NULL;
}

void json_device(struct ck_json *j,
                 const char *name,
                 const struct report *report,
                 uint32_t physical)
{
    const struct report_device *of = device_find(report, physical);

    if (of == NULL) {
        ck_json_null(j, name);
    } else {
        ck_json_int(j, name, of - report->devices);
    }
}

void json_dependence(struct ck_json *j,
                     const struct report *report,
                     const struct report_cause *cause)
{
    if (cause->cause == CAUSE_DEP_REMOTE || cause->cause == CAUSE_DEP_EVENT) {
        json_device(j, "device", report, cause->device);
        if (cause->cause == CAUSE_DEP_REMOTE) {
            json_device(j, "awaited_device", report, cause->awaited);
        } else {
            ck_json_null(j, "awaited_device");
        }
    }
    if (cause->cause != CAUSE_STARTUP) {
        return;
    }
    ck_json_array(j, "parts");
    for (size_t i = 0; i < cause->parts_count; i++) {
        ck_json_object(j, NULL);
        ck_json_int(j, "ns", cause->parts[i].ns);
        json_activity(j, "host", &cause->parts[i].did);
        ck_json_end(j);
    }
    ck_json_end(j);
}

static void put_subs(struct ck_json *j, const struct report *report)
{
    ck_json_array(j, "sub_devices");
    for (size_t i = 0; i < report->subs_count; i++) {
        const struct report_sub *sub = &report->subs[i];

        ck_json_object(j, NULL);
        json_device(j, "device", report, sub->physical);
        ck_json_uint(j, "number", sub->index);
        json_text(j, "name", sub->name);
        ck_json_uint(j, "pid", sub->pid);
        ck_json_int(j, "wall_ns", sub->wall);
        ck_json_int(j, "busy_ns", sub->busy);
        ck_json_int(j, "compute_ns", sub->compute);
        ck_json_int(j, "copy_ns", sub->copy);
        ck_json_uint(j, "kernels", sub->kernels);
        ck_json_uint(j, "copies", sub->copies);
        ck_json_end(j);
    }
    ck_json_end(j);
}

static void put_undone(struct ck_json *j, const struct report *report)
{
    ck_json_array(j, "unfinished");
    for (size_t i = 0; i < report->undone_count; i++) {
        const struct report_undone *undone = &report->undone[i];

        ck_json_object(j, NULL);
        json_text(j, "name", undone->name);
        json_place(j, &undone->place);
        json_text(j, "device", undone->device);
        json_rank(j, "device_number", undone->device_number);
        json_rank(j, "rank", undone->rank);
        ck_json_uint(j, "pid", undone->pid);
        ck_json_int(j, "since_ns", undone->since);
        ck_json_uint(j, "commands", undone->count);
        if (undone->is_waiting) {
            ck_json_object(j, "waited_for");
            json_text(j, "name", undone->awaited);
            json_place(j, &undone->awaited_place);
            ck_json_end(j);
        } else {
            ck_json_null(j, "waited_for");
        }
        ck_json_end(j);
    }
    ck_json_end(j);
}

static void put_failures(struct ck_json *j, const struct report *report)
{
    ck_json_array(j, "failed");
    for (size_t i = 0; i < report->failures_count; i++) {
        const struct report_failure *failure = &report->failures[i];

        ck_json_object(j, NULL);
        json_text(j, "name", failure->name);
        ck_json_bool(j, "refused", failure->is_call);
        ck_json_int(j, "error", failure->error);
        ck_json_uint(j, "count", failure->count);
        json_place(j, &failure->place);
        ck_json_end(j);
    }
    ck_json_end(j);
}

void json_work(struct ck_json *j, const struct report *report)
{
    put_subs(j, report);
    put_undone(j, report);
    put_failures(j, report);
    ck_json_array(j, "copy_places");
    for (size_t i = 0; i < report->copy_places_count; i++) {
        const struct report_copy_place *copy = &report->copy_places[i];

        ck_json_object(j, NULL);
        ck_json_string(j, "name", copy->name);
        json_place(j, &copy->place);
        ck_json_uint(j, "calls", copy->calls);
        ck_json_uint(j, "bytes", copy->bytes);
        ck_json_int(j, "total_ns", copy->total);
        if (copy->total > 0) {
            ck_json_double(j, "gb_per_s",
                           (double)copy->bytes / (double)copy->total);
        } else {
            ck_json_null(j, "gb_per_s");
        }
        ck_json_end(j);
    }
    ck_json_end(j);
}

/* Device work by the stack that launched it. */
void json_launch_stacks(struct ck_json *j, const struct report *report)
{
    const struct report_launch_stacks *stacks = &report->launch_stacks;

    ck_json_object(j, "launch_stacks");
    ck_json_uint(j, "matched", stacks->matched);
    ck_json_uint(j, "deferred", stacks->deferred);
    ck_json_uint(j, "by_function", stacks->by_function);
    ck_json_uint(j, "unmatched", stacks->unmatched);
    ck_json_uint(j, "unknown", stacks->unknown);
    ck_json_int(j, "matched_ns", stacks->matched_ns);
    ck_json_int(j, "deferred_ns", stacks->deferred_ns);
    ck_json_int(j, "by_function_ns", stacks->by_function_ns);
    ck_json_int(j, "unmatched_ns", stacks->unmatched_ns);
    ck_json_int(j, "unknown_ns", stacks->unknown_ns);
    ck_json_uint(j, "left_out", stacks->left_out);
    ck_json_int(j, "left_out_ns", stacks->left_out_ns);
    ck_json_array(j, "rows");
    for (size_t i = 0; i < stacks->listed; i++) {
        const struct report_launch_row *row = &stacks->rows[i];

        ck_json_object(j, NULL);
        json_rank(j, "rank", row->rank);
        json_text(j, "work", row->work);
        json_place(j, &row->place);
        ck_json_int(j, "ns", row->ns);
        ck_json_uint(j, "launches", row->launches);
        ck_json_double(j, "share", row->share);
        ck_json_bool(j, "by_function", row->is_by_function);
        ck_json_array(j, "stack");
        for (size_t k = 0; k < row->frames_count; k++) {
            ck_json_object(j, NULL);
            json_place(j, &row->frames[k]);
            ck_json_end(j);
        }
        ck_json_end(j);
        ck_json_end(j);
    }
    ck_json_end(j);
    ck_json_end(j);
}
