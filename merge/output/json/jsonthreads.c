/* jsonthreads.c - threads, their teams and their locks, of the report as JSON
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <stdio.h>

#include "merge/model/defs.h"
#include "merge/output/json/jsonparts.h"

static void put_states(struct ck_json *j,
                       const ck_time_t states[REPORT_TEAM_STATES])
{
    ck_json_object(j, "states");
    for (int i = 0; i < REPORT_TEAM_STATES; i++) {
        char name[32];

        (void)snprintf(name, sizeof(name), "%s_ns",
                       report_team_word((enum report_team_state)i));
        ck_json_int(j, name, states[i]);
    }
    ck_json_end(j);
}

static void put_last(struct ck_json *j, const struct report_last *last)
{
    if (last->count == 0) {
        return;
    }
    ck_json_object(j, "last");
    json_rank(j, "rank", last->rank);
    ck_json_uint(j, "thread", last->thread);
    ck_json_uint(j, "count", last->count);
    ck_json_uint(j, "of", last->of);
    ck_json_int(j, "caused_ns", last->caused);
    ck_json_end(j);
}

static void put_region(struct ck_json *j, const struct report_team_region *row)
{
    ck_json_object(j, NULL);
    json_place(j, &row->place);
    json_text(j, "runtime", row->runtime);
    ck_json_uint(j, "level", row->level);
    ck_json_uint(j, "ranks", row->ranks);
    ck_json_uint(j, "threads", row->threads);
    ck_json_uint(j, "count", row->count);
    ck_json_int(j, "wall_ns", row->wall);
    put_states(j, row->states);
    put_last(j, &row->last);
    json_sampled(j, "last_was_in", &row->did);
    ck_json_int(j, "awaited_ns", row->awaited);
    ck_json_end(j);
}

static void put_wait(struct ck_json *j, const struct report_team_wait *row)
{
    ck_json_object(j, NULL);
    json_text(j, "what", row->what);
    ck_json_string(j, "state", report_team_word(row->state));
    json_place(j, &row->place);
    ck_json_uint(j, "ranks", row->ranks);
    ck_json_uint(j, "count", row->count);
    ck_json_int(j, "ns", row->ns);
    ck_json_int(j, "longest_ns", row->longest);
    ck_json_int(j, "worked_ns", row->worked);
    put_last(j, &row->last);
    json_sampled(j, "awaited_were_in", &row->did);
    ck_json_end(j);
}

static void put_rank(struct ck_json *j, const struct report_team_rank *row)
{
    ck_json_object(j, NULL);
    json_rank(j, "rank", row->rank);
    ck_json_uint(j, "threads", row->threads);
    ck_json_uint(j, "regions", row->regions);
    ck_json_int(j, "outside_mpi_ns", row->outside);
    ck_json_int(j, "parallel_ns", row->parallel);
    ck_json_int(j, "useful_ns", row->useful);
    ck_json_int(j, "serial_ns", row->serial);
    ck_json_int(j, "idle_ns", row->idle);
    put_states(j, row->states);
    json_sampled(j, "serial_was_in", &row->serial_did);
    ck_json_bool(j, "several_masters", row->is_several);
    ck_json_end(j);
}

static void put_hybrid(struct ck_json *j, const struct report_hybrid *hybrid)
{
    ck_json_object(j, "efficiency");
    ck_json_uint(j, "ranks", hybrid->ranks);
    ck_json_uint(j, "threads", hybrid->threads);
    ck_json_int(j, "time_ns", hybrid->time);
    ck_json_int(j, "outside_mpi_ns", hybrid->outside);
    ck_json_int(j, "useful_ns", hybrid->useful);
    ck_json_int(j, "serial_ns", hybrid->serial);
    ck_json_int(j, "idle_ns", hybrid->idle);
    put_states(j, hybrid->states);
    ck_json_double(j, "parallel", hybrid->parallel);
    ck_json_double(j, "mpi", hybrid->mpi);
    ck_json_double(j, "openmp", hybrid->openmp);
    ck_json_end(j);
}

static void put_teams(struct ck_json *j, const struct report_threads *threads)
{
    ck_json_object(j, "openmp");
    put_hybrid(j, &threads->hybrid);
    ck_json_array(j, "ranks");
    for (size_t i = 0; i < threads->ranks_count; i++) {
        put_rank(j, &threads->ranks[i]);
    }
    ck_json_end(j);
    ck_json_array(j, "regions");
    for (size_t i = 0; i < threads->regions_count; i++) {
        put_region(j, &threads->regions[i]);
    }
    ck_json_end(j);
    ck_json_array(j, "waits");
    for (size_t i = 0; i < threads->waits_count; i++) {
        put_wait(j, &threads->waits[i]);
    }
    ck_json_end(j);
    ck_json_uint(j, "tasks", threads->tasks);
    ck_json_uint(j, "nested_regions", threads->nested);
    ck_json_uint(j, "short_lock_waits", threads->short_waits);
    ck_json_uint(j, "records_without_region", threads->astray);
    json_text(j, "silent_runtime", threads->silent);
    ck_json_uint(j, "silent_ranks", threads->silent_ranks);
    ck_json_end(j);
}

static void put_lock(struct ck_json *j, const struct report_lock *row)
{
    char address[24];

    (void)snprintf(address, sizeof(address), "0x%llx",
                   (unsigned long long)row->address);
    ck_json_object(j, NULL);
    json_text(j, "call", row->what);
    json_place(j, &row->place);
    ck_json_string(j, "address", address);
    ck_json_uint(j, "places", row->places);
    json_rank(j, "rank", row->rank);
    ck_json_uint(j, "ranks", row->ranks);
    ck_json_uint(j, "threads", row->threads);
    ck_json_uint(j, "threads_at_once", row->at_once);
    ck_json_uint(j, "count", row->count);
    ck_json_int(j, "ns", row->ns);
    ck_json_int(j, "wall_ns", row->wall);
    ck_json_int(j, "serial_ns", row->serial);
    json_sampled(j, "holders_were_in", &row->did);
    if (row->call != NULL) {
        ck_json_object(j, "holders_waited_in");
        json_text(j, "call", row->call);
        json_place(j, &row->call_place);
        ck_json_int(j, "ns", row->call_ns);
        ck_json_end(j);
    }
    ck_json_end(j);
}

static void put_thread(struct ck_json *j, const struct report_thread *row)
{
    ck_json_object(j, NULL);
    json_rank(j, "rank", row->rank);
    ck_json_uint(j, "tid", row->tid);
    ck_json_uint(j, "threads", row->count);
    json_text(j, "name", row->name);
    if (row->number != DEFS_NONE) {
        ck_json_uint(j, "number", row->number);
    }
    ck_json_int(j, "cpu_ns", row->cpu);
    ck_json_int(j, "ready_ns", row->ready);
    ck_json_int(j, "blocked_ns", row->blocked);
    ck_json_int(j, "region_work_ns", row->work);
    ck_json_int(j, "team_wait_ns", row->team_wait);
    ck_json_int(j, "lock_wait_ns", row->lock_wait);
    if (row->what != NULL) {
        ck_json_object(j, "waited_most_for");
        json_text(j, "what", row->what);
        json_place(j, &row->place);
        ck_json_int(j, "ns", row->what_ns);
        ck_json_end(j);
    }
    ck_json_end(j);
}

void json_threads(struct ck_json *j, const struct report *report)
{
    const struct report_threads *threads = &report->threads;

    put_teams(j, threads);
    ck_json_array(j, "lock_waits");
    for (size_t i = 0; i < threads->locks_count; i++) {
        put_lock(j, &threads->locks[i]);
    }
    ck_json_end(j);
    ck_json_array(j, "threads");
    for (size_t i = 0; i < threads->threads_count; i++) {
        put_thread(j, &threads->threads[i]);
    }
    ck_json_end(j);
}
