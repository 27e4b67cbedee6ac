/* jsonparts.h - what the files that write the report as JSON share
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CK_MERGE_OUTPUT_JSON_JSONPARTS_H
#define CK_MERGE_OUTPUT_JSON_JSONPARTS_H

#include "merge/report/report.h"
#include "schema/json.h"

/* null where there is no text. */
void json_text(struct ck_json *j, const char *name, const char *text);
/* A time on the axis relative to time_base_ns, as NAME_rel_ns.
 */
void json_time(struct ck_json *j,
               const char *name,
               ck_time_t time,
               const struct report *report);
/* The name that symbols give a function, and beside that of a C++ one what a
 * person reads, as all outputs shorten it. */
void json_function(struct ck_json *j, const char *function);
/* Its function, file and line. */
void json_place(struct ck_json *j, const struct place *place);
/* Where samples met it; left out where there were none. */
void json_sampled(struct ck_json *j,
                  const char *name,
                  const struct report_sampled *sampled);
/* null where it is unknown. */
void json_rank(struct ck_json *j, const char *name, int32_t rank);
/* Its index in `devices`, null where it is not there. */
void json_device(struct ck_json *j,
                 const char *name,
                 const struct report *report,
                 uint32_t physical);
/* Of a time that compares clocks; nothing where it is 0. */
void json_unsure(struct ck_json *j, const char *name, ck_time_t error);
/* What a thread did, and what made ranks late (jsonactivity.c). */
void json_activity(struct ck_json *j,
                   const char *name,
                   const struct report_activity *activity);
void json_delays(struct ck_json *j,
                 const char *name,
                 const struct report_delays *delays);
/* ranks and impasses (jsonranks.c). */
void json_ranks(struct ck_json *j, const struct report *report);
/* away of trust (jsonranks.c). */
void json_aways(struct ck_json *j, const struct report *report);
/* outside: the parts of the time outside MPI (jsonranks.c). */
void json_outside(struct ck_json *j, const struct report_outside *outside);
/* load (jsonload.c). */
void json_load(struct ck_json *j, const struct report *report);
/* window and windows. */
void json_windows(struct ck_json *j,
                  const struct report_windows *windows,
                  const struct report *report);
/* sampled and hot_spots (jsonhot.c). */
void json_hot(struct ck_json *j, const struct report *report);
/* caller and called_from, where there are such. */
void json_callers(struct ck_json *j, const struct report_callers *callers);
/* memory, page_faults, fault_places and allocations (jsonmemory.c). */
void json_memory(struct ck_json *j, const struct report *report);
/* idle: by cause; those that are none are left out. */
void json_idle(struct ck_json *j, const ck_time_t causes[CAUSES]);
/* Of a cause: what a startup was made of, which device waited for which. The
 * following are in jsonwork.c. */
void json_dependence(struct ck_json *j,
                     const struct report *report,
                     const struct report_cause *cause);
/* sub_devices, unfinished, failed, copy_places. */
void json_work(struct ck_json *j, const struct report *report);
/* launch_stacks (jsonwork.c). */
void json_launch_stacks(struct ck_json *j, const struct report *report);
/* busy_of (jsonlevels.c). */
void json_levels(struct ck_json *j, const struct report *report);
/* sent, received and collective of calls; traffic (jsontraffic.c). */
void json_moved(struct ck_json *j, const struct report_moved *moved);
void json_traffic(struct ck_json *j, const struct report *report);
/* programs, rank_0_shows, process_waits (jsonpeers.c). */
void json_peers(struct ck_json *j, const struct report *report);
/* openmp, lock_waits, threads (jsonthreads.c). */
void json_threads(struct ck_json *j, const struct report *report);
/* step_table, stragglers and ranges (jsonsteps.c). */
void json_steps(struct ck_json *j, const struct report *report);

#endif
