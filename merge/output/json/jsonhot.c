/* jsonhot.c - where the ranks computed, of the report as JSON
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "merge/output/json/jsonparts.h"

static void put_stacks(struct ck_json *j, const struct report_stacks *stacks)
{
    ck_json_object(j, "stacks");
    ck_json_uint(j, "unwound", stacks->count);
    ck_json_uint(j, "whole", stacks->whole);
    ck_json_uint(j, "cut", stacks->cut);
    ck_json_uint(j, "no_rules", stacks->unknown);
    ck_json_uint(j, "no_frame", stacks->wrong);
    ck_json_uint(j, "too_deep", stacks->deep);
    ck_json_uint(j, "by_frame_pointers", stacks->pointers);
    ck_json_uint(j, "not_copied", stacks->uncopied);
    ck_json_uint(j, "frames", stacks->frames);
    ck_json_uint(j, "deepest", stacks->deepest);
    ck_json_uint(j, "files_not_read", stacks->unread);
    ck_json_uint(j, "copied_bytes", stacks->bytes);
    ck_json_uint(j, "waits", stacks->waits);
    ck_json_uint(j, "wait_stacks", stacks->wait_stacks);
    ck_json_end(j);
}

static void put_callers(struct ck_json *j, const struct report *report)
{
    ck_json_array(j, "hot_callers");
    for (size_t i = 0; i < report->callers_count; i++) {
        const struct report_caller *caller = &report->callers[i];

        ck_json_object(j, NULL);
        json_function(j, caller->place.function);
        json_text(j, "file", caller->place.file);
        ck_json_int(j, "total_ns", caller->total);
        ck_json_int(j, "self_ns", caller->self);
        ck_json_object(j, "leaf");
        json_place(j, &caller->leaf);
        ck_json_end(j);
        ck_json_int(j, "leaf_ns", caller->leaf_ns);
        ck_json_end(j);
    }
    ck_json_end(j);
}

static void put_blocked(struct ck_json *j, const struct report *report)
{
    ck_json_int(j, "blocked_ns", report->blocked_sums.blocked);
    ck_json_int(j, "blocked_with_stack_ns", report->blocked_sums.ns);
    ck_json_array(j, "blocked_places");
    for (size_t i = 0; i < report->blocked_count; i++) {
        const struct report_blocked *row = &report->blocked[i];

        ck_json_object(j, NULL);
        json_place(j, &row->place);
        json_callers(j, &row->callers);
        ck_json_bool(j, "in_program", row->is_users);
        ck_json_uint(j, "waits", row->waits);
        ck_json_int(j, "ns", row->ns);
        ck_json_int(j, "longest_ns", row->longest);
        ck_json_uint(j, "threads", row->threads);
        ck_json_uint(j, "ranks", row->ranks);
        json_rank(j, "rank", row->rank);
        ck_json_int(j, "rank_ns", row->rank_ns);
        ck_json_end(j);
    }
    ck_json_end(j);
}

static void put_unnamed(struct ck_json *j, const struct report_unnamed *of)
{
    if (of->file == NULL) {
        ck_json_null(j, "unnamed_code");
        return;
    }
    ck_json_object(j, "unnamed_code");
    json_text(j, "file", of->file);
    json_text(j, "path", of->path);
    json_text(j, "build_id", of->build_id);
    json_text(j, "package", of->package[0] == '\0' ? NULL : of->package);
    ck_json_end(j);
}

void json_hot(struct ck_json *j, const struct report *report)
{
    ck_json_object(j, "sampled");
    ck_json_int(j, "total_ns", report->samples.total);
    ck_json_int(j, "mpi_ns", report->samples.mpi);
    ck_json_int(j, "device_api_ns", report->samples.device_api);
    ck_json_int(j, "ck_ns", report->samples.own);
    ck_json_uint(j, "samples", report->samples.count);
    ck_json_uint(j, "records", report->samples.records);
    ck_json_uint(j, "records_lost", report->samples.records_lost);
    ck_json_uint(j, "switches", report->samples.switches);
    ck_json_uint(j, "switches_lost", report->samples.switches_lost);
    put_stacks(j, &report->samples.stacks);
    ck_json_end(j);
    put_unnamed(j, &report->unnamed);
    put_blocked(j, report);
    put_callers(j, report);
    ck_json_array(j, "hot_spots");
    for (size_t i = 0; i < report->hot_count; i++) {
        const struct report_hot *hot = &report->hot[i];

        ck_json_object(j, NULL);
        json_place(j, &hot->place);
        if (hot->is_file) {
            ck_json_bool(j, "without_symbols", true);
        }
        json_text(j, "range", hot->range);
        if (hot->caller.function != NULL) {
            ck_json_object(j, "caller");
            json_place(j, &hot->caller);
            ck_json_end(j);
        }
        ck_json_object(j, "after");
        json_text(j, "call", hot->after);
        json_place(j, &hot->after_place);
        ck_json_end(j);
        ck_json_int(j, "ns", hot->ns);
        ck_json_int(j, "line_ns", hot->line_ns);
        ck_json_uint(j, "ranks", hot->ranks);
        json_rank(j, "rank", hot->rank);
        ck_json_int(j, "rank_ns", hot->rank_ns);
        ck_json_end(j);
    }
    ck_json_end(j);
}
