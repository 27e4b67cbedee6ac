/* jsonactivity.c - what a thread did, and delays by what it did, of the report
 * as JSON
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "merge/output/json/jsonparts.h"

static double share_of(ck_time_t part, ck_time_t whole)
{
    return whole > 0 ? (double)part / (double)whole : 0;
}

/* Where samples met it. */
static void put_sampled(struct ck_json *j, const struct report_sampled *sampled)
{
    if (sampled->total > 0) {
        ck_json_object(j, "sampled");
        json_place(j, &sampled->place);
        ck_json_double(j, "share", share_of(sampled->ns, sampled->total));
        json_callers(j, &sampled->callers);
        if (sampled->faulting > 0) {
            ck_json_double(j, "faulting_share",
                           share_of(sampled->faulting, sampled->ns));
        }
        if (sampled->minor + sampled->major > 0) {
            ck_json_uint(j, "minor_faults", sampled->minor);
            ck_json_uint(j, "major_faults", sampled->major);
        }
        if (sampled->is_others) {
            ck_json_bool(j, "other_threads", true);
            if (sampled->has_processes) {
                ck_json_bool(j, "other_processes", true);
            }
        }
        if (sampled->is_waits) {
            ck_json_bool(j, "waits", true);
            json_text(j, "called", sampled->called);
        }
        ck_json_end(j);
    } else {
        ck_json_null(j, "sampled");
    }
}

/* What was seen of a thread beyond its calls and ranges. */
static void put_seen(struct ck_json *j, const struct report_activity *activity)
{
    if (activity->running.total > 0) {
        ck_json_object(j, "running");
        ck_json_double(
            j, "preempted_share",
            share_of(activity->running.preempted, activity->running.total));
        ck_json_double(
            j, "blocked_share",
            share_of(activity->running.blocked, activity->running.total));
        if (activity->running.majors > 0) {
            ck_json_uint(j, "major_faults", activity->running.majors);
            ck_json_object(j, "faulted_in");
            json_place(j, &activity->running.majors_place);
            json_callers(j, &activity->running.majors_callers);
            ck_json_uint(j, "major", activity->running.majors_there);
            ck_json_end(j);
        }
        ck_json_end(j);
    } else {
        ck_json_null(j, "running");
    }
    json_text(j, "path", activity->path);
    if (activity->kernel != NULL) {
        ck_json_object(j, "kernel");
        ck_json_string(j, "name", activity->kernel);
        json_place(j, &activity->kernel_place);
        ck_json_bool(j, "queued", activity->is_kernel_queued);
        ck_json_end(j);
    } else {
        ck_json_null(j, "kernel");
    }
    put_sampled(j, &activity->sampled);
    if (activity->holder.tid != 0) {
        ck_json_object(j, "holder");
        ck_json_uint(j, "tid", activity->holder.tid);
        json_text(j, "thread", activity->holder.name);
        json_text(j, "call", activity->holder.call);
        json_place(j, &activity->holder.place);
        ck_json_end(j);
    } else {
        ck_json_null(j, "holder");
    }
}

void json_activity(struct ck_json *j,
                   const char *name,
                   const struct report_activity *activity)
{
    ck_json_object(j, name);
    json_text(j, "range", activity->range);
    json_text(j, "call", activity->call);
    json_place(j, &activity->place);
    ck_json_object(j, "after");
    json_text(j, "call", activity->before);
    json_place(j, &activity->before_place);
    ck_json_end(j);
    ck_json_object(j, "before");
    json_text(j, "call", activity->after);
    json_place(j, &activity->after_place);
    ck_json_end(j);
    put_seen(j, activity);
    ck_json_end(j);
}

void json_delays(struct ck_json *j,
                 const char *name,
                 const struct report_delays *delays)
{
    ck_json_object(j, name);
    ck_json_array(j, "items");
    for (size_t i = 0; i < delays->count; i++) {
        const struct report_delay *item = &delays->items[i];

        ck_json_object(j, NULL);
        json_rank(j, "rank", item->rank);
        ck_json_string(j, "cause", cause_name(item->kind));
        ck_json_int(j, "ns", item->ns);
        json_activity(j, "did", &item->did);
        ck_json_end(j);
    }
    ck_json_end(j);
    ck_json_int(j, "others_ns", delays->others);
    ck_json_int(j, "unexplained_ns", delays->unexplained);
    ck_json_end(j);
}
