/* jsonranks.c - the report as JSON: ranks, how they ended, and where they were
 * blocked
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "merge/output/json/jsonparts.h"

static const char *const end_names[] = {
    "unknown", "exited", "signal", "profile", "missing", "killed", "shared"};

static const char *const dark_names[] = {"no", "end", "cut", "limit", "open"};

static void
put_end(struct ck_json *j, bool is_orphan, bool is_dumped, ck_time_t end_time)
{
    if (is_orphan) {
        ck_json_bool(j, "agent_lost", true);
    }
    if (is_dumped) {
        ck_json_bool(j, "core_dumped", true);
    }
    if (end_time != 0) {
        ck_json_int(j, "end_time_ns", end_time);
    } else {
        ck_json_null(j, "end_time_ns");
    }
}

/* A count of what is missing; null where it is some of several ranks'. */
static void
put_lack(struct ck_json *j, const char *name, uint64_t count, bool is_shared)
{
    if (count > 0 && is_shared) {
        ck_json_null(j, name);
    } else {
        ck_json_uint(j, name, count);
    }
}

void json_outside(struct ck_json *j, const struct report_outside *outside)
{
    static const char *const names[] = {
        [REPORT_OUTSIDE_CPU] = "cpu_ns",
        [REPORT_OUTSIDE_READY] = "ready_ns",
        [REPORT_OUTSIDE_DEVICE] = "device_ns",
        [REPORT_OUTSIDE_IO] = "io_ns",
        [REPORT_OUTSIDE_LOCK] = "lock_ns",
        [REPORT_OUTSIDE_SLEEP] = "sleep_ns",
        [REPORT_OUTSIDE_BLOCKED] = "blocked_ns",
        [REPORT_OUTSIDE_UNKNOWN] = "unknown_ns",
    };

    ck_json_object(j, "outside");
    for (int i = 0; i < REPORT_OUTSIDE_STATES; i++) {
        ck_json_int(j, names[i], outside->ns[i]);
    }
    ck_json_end(j);
}

/* The call it was in, and the last one that it left. */
static void put_calls(struct ck_json *j,
                      const struct report_rank *rank,
                      const struct report *report)
{
    if (rank->open != NULL) {
        ck_json_object(j, "open_call");
        ck_json_string(j, "name", rank->open);
        json_place(j, &rank->open_place);
        ck_json_int(j, "ns", rank->open_ns);
        ck_json_end(j);
    } else {
        ck_json_null(j, "open_call");
    }
    if (rank->last != NULL) {
        ck_json_object(j, "last_call");
        ck_json_string(j, "name", rank->last);
        json_place(j, &rank->last_place);
        json_time(j, "end", rank->last_end, report);
        ck_json_int(j, "end_ns", rank->last_end);
        json_sampled(j, "then_was_in", &rank->after);
        ck_json_end(j);
    } else {
        ck_json_null(j, "last_call");
    }
}

static void put_incarnation(struct ck_json *j,
                            const struct report_incarnation *incarnation,
                            const struct report *report)
{
    ck_json_object(j, NULL);
    ck_json_int(j, "number", incarnation->number);
    json_time(j, "start", incarnation->start, report);
    ck_json_int(j, "start_ns", incarnation->start);
    if (incarnation->end != 0) {
        json_time(j, "end", incarnation->end, report);
        ck_json_int(j, "end_ns", incarnation->end);
    } else {
        ck_json_null(j, "end_rel_ns");
        ck_json_null(j, "end_ns");
    }
    ck_json_end(j);
}

/* Only where it was started again: those starts, and all. */
static void put_incarnations(struct ck_json *j,
                             const struct report_rank *rank,
                             const struct report *report)
{
    if (rank->incarnations_count == 0) {
        return;
    }
    ck_json_array(j, "restarts");
    for (size_t i = 0; i < rank->incarnations_count; i++) {
        if (rank->incarnations[i].number > 0) {
            put_incarnation(j, &rank->incarnations[i], report);
        }
    }
    ck_json_end(j);
    ck_json_array(j, "incarnations");
    for (size_t i = 0; i < rank->incarnations_count; i++) {
        put_incarnation(j, &rank->incarnations[i], report);
    }
    ck_json_end(j);
}

static void put_rank(struct ck_json *j,
                     const struct report_rank *rank,
                     const struct report *report)
{
    ck_json_object(j, NULL);
    ck_json_int(j, "rank", rank->number);
    json_text(j, "host", rank->host);
    ck_json_string(j, "end", end_names[rank->end]);
    if (rank->end == REPORT_END_SHARED) {
        ck_json_null(j, "code");
    } else {
        ck_json_int(j, "code", rank->code);
    }
    put_end(j, rank->is_orphan, rank->is_dumped, rank->end_time);
    ck_json_int(j, "asked_signal", rank->asked);
    if (rank->stops > 0) {
        ck_json_uint(j, "stops", rank->stops);
        ck_json_int(j, "stopped_ns", rank->stopped);
    }
    ck_json_string(j, "dark", dark_names[rank->dark]);
    if (rank->dark != REPORT_DARK_NOT && rank->dark_since != INT64_MIN) {
        ck_json_int(j, "dark_since_ns", rank->dark_since);
    } else {
        ck_json_null(j, "dark_since_ns");
    }
    ck_json_bool(j, "no_finalize", rank->is_unfinalized);
    put_calls(j, rank, report);
    ck_json_bool(j, "claimed_twice", rank->is_claimed_twice);
    ck_json_int(j, "mpi_ns", rank->mpi);
    ck_json_int(j, "mpi_core_ns", rank->mpi_core);
    ck_json_uint(j, "mpi_calls", rank->mpi_calls);
    if (rank->is_shared) {
        ck_json_bool(j, "shared_row", true);
    }
    ck_json_int(j, "gone_ns", rank->gone);
    ck_json_int(j, "useful_ns", rank->useful);
    ck_json_int(j, "mpi_by_others_ns", rank->mpi_by_others);
    json_outside(j, &rank->outside);
    ck_json_int(j, "startup_ns", rank->startup);
    ck_json_int(j, "device_api_ns", rank->device_api);
    ck_json_int(j, "waited_ns", rank->waited);
    ck_json_int(j, "waited_data_ns", rank->waited_data);
    json_unsure(j, "waited_error_ns", rank->waited_error);
    ck_json_int(j, "waited_below_clock_ns", rank->waited_below);
    ck_json_int(j, "waited_unknown_ns", rank->waited_unknown);
    ck_json_uint(j, "waits", rank->waits);
    ck_json_int(j, "caused_ns", rank->caused);
    json_unsure(j, "caused_error_ns", rank->caused_error);
    ck_json_uint(j, "steps", rank->steps);
    ck_json_int(j, "step_median_ns", rank->step_median);
    ck_json_int(j, "step_max_ns", rank->step_max);
    ck_json_bool(j, "median_exact", rank->is_median_exact);
    ck_json_uint(j, "events", rank->events);
    put_lack(j, "lost", rank->lost, rank->launcher != NULL);
    ck_json_bool(j, "lost_exact", rank->is_lost_exact);
    put_lack(j, "gaps", rank->gaps, rank->launcher != NULL);
    ck_json_uint(j, "bytes", rank->bytes);
    put_incarnations(j, rank, report);
    ck_json_end(j);
}

static void put_numbers(struct ck_json *j,
                        const char *name,
                        const int32_t *ranks,
                        size_t count)
{
    ck_json_array(j, name);
    for (size_t i = 0; i < count; i++) {
        ck_json_int(j, NULL, ranks[i]);
    }
    ck_json_end(j);
}

/* Which ranks ran which program, where they ran several. */
static void put_programs(struct ck_json *j, const struct report *report)
{
    if (report->programs_of_ranks_count == 0) {
        return;
    }
    ck_json_array(j, "programs_of_ranks");
    for (size_t i = 0; i < report->programs_of_ranks_count; i++) {
        const struct report_program *row = &report->programs_of_ranks[i];

        ck_json_object(j, NULL);
        json_text(j, "program", row->program);
        put_numbers(j, "ranks", row->ranks, row->ranks_count);
        ck_json_end(j);
    }
    ck_json_end(j);
}

static void put_impasse(struct ck_json *j, const struct report_impasse *still)
{
    const int32_t *died = still->ranks + still->waited;
    const int32_t *absent = died + still->died;

    ck_json_object(j, NULL);
    ck_json_string(j, "call", still->call);
    json_place(j, &still->place);
    json_text(j, "comm", still->comm);
    ck_json_int(j, "comm_size", still->size);
    ck_json_uint(j, "number", still->number);
    put_numbers(j, "waited", still->ranks, still->waited);
    put_numbers(j, "died", died, still->died);
    put_numbers(j, "absent", absent, still->absent);
    put_numbers(j, "left", absent + still->absent, still->left);
    ck_json_bool(j, "sure", still->is_sure);
    if (still->others_count > 0) {
        put_numbers(j, "others", still->others, still->others_count);
        ck_json_string(j, "other_call", still->other_call);
        ck_json_object(j, "other_place");
        json_place(j, &still->other_place);
        ck_json_end(j);
        ck_json_int(j, "root", still->root);
        ck_json_int(j, "other_root", still->other_root);
    }
    ck_json_end(j);
}

static void put_awaited(struct ck_json *j, const struct report_awaited *awaited)
{
    ck_json_object(j, NULL);
    ck_json_string(j, "call", awaited->call);
    json_place(j, &awaited->place);
    json_text(j, "comm", awaited->comm);
    ck_json_int(j, "tag", awaited->tag);
    ck_json_int(j, "peer", awaited->peer);
    ck_json_bool(j, "to_receive", awaited->is_send);
    ck_json_bool(j, "peer_died", awaited->has_died);
    put_numbers(j, "waited", awaited->ranks, awaited->ranks_count);
    ck_json_end(j);
}

static void put_disagreement(struct ck_json *j,
                             const struct report_disagreement *found)
{
    ck_json_object(j, NULL);
    ck_json_string(j, "communicator", found->comm);
    ck_json_int(j, "comm_size", found->size);
    ck_json_uint(j, "number", found->number);
    ck_json_string(j, "kind", found->is_missing ? "missing" : "differs");
    ck_json_int(j, "silent_ns", found->silent);
    ck_json_array(j, "did");
    for (size_t i = 0; i < found->parts_count; i++) {
        const struct report_disagreement_part *part = &found->parts[i];

        ck_json_object(j, NULL);
        json_text(j, "call", part->call);
        ck_json_uint(j, "bytes", part->bytes);
        ck_json_int(j, "root", part->root);
        put_numbers(j, "ranks", part->ranks, part->ranks_count);
        ck_json_end(j);
    }
    ck_json_end(j);
    ck_json_end(j);
}

static void put_standing(struct ck_json *j,
                         const struct report_standing *standing,
                         const struct report *report)
{
    const char state[2] = {standing->state, '\0'};

    ck_json_object(j, NULL);
    ck_json_int(j, "rank", standing->rank);
    ck_json_uint(j, "thread", standing->tid);
    ck_json_bool(j, "first", standing->is_first);
    ck_json_string(j, "name", standing->name);
    ck_json_string(j, "state", state);
    ck_json_string(j, "system_call", standing->call);
    ck_json_string(j, "path", standing->file);
    ck_json_uint(j, "lock_owner", standing->owner);
    ck_json_string(j, "stack", standing->how);
    ck_json_int(j, "stack_age_ns", standing->age);
    json_time(j, "at", standing->at, report);
    if (standing->signal != 0) {
        ck_json_int(j, "signal", standing->signal);
        ck_json_bool(j, "cause", standing->is_cause);
    }
    if (standing->has_address) {
        ck_json_uint(j, "address", standing->address);
    }
    ck_json_array(j, "frames");
    for (size_t i = 0; i < standing->frames_count; i++) {
        ck_json_object(j, NULL);
        json_place(j, &standing->frames[i]);
        ck_json_bool(j, "users", standing->is_users[i]);
        ck_json_end(j);
    }
    ck_json_end(j);
    ck_json_end(j);
}

static void put_launcher(struct ck_json *j,
                         const struct report_launcher *launcher)
{
    ck_json_object(j, NULL);
    put_numbers(j, "ranks", launcher->ranks, launcher->ranks_count);
    ck_json_string(j, "end", end_names[launcher->end]);
    ck_json_int(j, "code", launcher->code);
    put_end(j, launcher->is_orphan, launcher->is_dumped, launcher->end_time);
    ck_json_end(j);
}

void json_ranks(struct ck_json *j, const struct report *report)
{
    put_programs(j, report);
    ck_json_array(j, "ranks");
    for (size_t i = 0; i < report->ranks_count; i++) {
        put_rank(j, &report->ranks[i], report);
    }
    ck_json_end(j);
    ck_json_array(j, "launchers");
    for (size_t i = 0; i < report->launchers_count; i++) {
        put_launcher(j, &report->launchers[i]);
    }
    ck_json_end(j);
    ck_json_array(j, "impasses");
    for (size_t i = 0; i < report->impasses_count; i++) {
        put_impasse(j, &report->impasses[i]);
    }
    ck_json_end(j);
    ck_json_array(j, "disagreements");
    for (size_t i = 0; i < report->disagreements_count; i++) {
        put_disagreement(j, &report->disagreements[i]);
    }
    ck_json_end(j);
    ck_json_uint(j, "disagreements_uncompared",
                 report->disagreements_uncompared);
    ck_json_object(j, "usual_interval");
    ck_json_string(j, "of", report->usual.of == NULL ? "" : report->usual.of);
    ck_json_int(j, "median_ns", report->usual.median);
    ck_json_int(j, "longest_ns", report->usual.longest);
    ck_json_end(j);
    if (report->standings_count > 0) {
        ck_json_array(j, "standings");
        for (size_t i = 0; i < report->standings_count; i++) {
            put_standing(j, &report->standings[i], report);
        }
        ck_json_end(j);
    }
    if (report->deaths_count > 0) {
        ck_json_array(j, "deaths");
        for (size_t i = 0; i < report->deaths_count; i++) {
            put_standing(j, &report->deaths[i], report);
        }
        ck_json_end(j);
    }
    ck_json_array(j, "awaited");
    for (size_t i = 0; i < report->awaited_count; i++) {
        put_awaited(j, &report->awaited[i]);
    }
    ck_json_end(j);
}

void json_aways(struct ck_json *j, const struct report *report)
{
    ck_json_array(j, "away");
    for (size_t i = 0; i < report->aways_count; i++) {
        const struct report_away *away = &report->aways[i];

        ck_json_object(j, NULL);
        ck_json_int(j, "rank", away->rank);
        json_time(j, "from", away->part.start, report);
        if (away->part.end != INT64_MAX) {
            json_time(j, "to", away->part.end, report);
        }
        ck_json_int(j, "from_ns", away->part.start);
        if (away->part.end != INT64_MAX) {
            ck_json_int(j, "to_ns", away->part.end);
            ck_json_int(j, "ns", region_length(away->part));
        } else {
            ck_json_null(j, "to_ns");
            ck_json_null(j, "ns");
        }
        ck_json_end(j);
    }
    ck_json_end(j);
}
