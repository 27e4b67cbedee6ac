/* teams.h - parallel regions: who worked, who waited, who was last
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Of each rank the outermost regions of one thread are its parallel time; what
 * is between is serial. docs/analysis.md has the definitions.
 */
#ifndef CK_MERGE_ANALYSIS_THREADS_TEAMS_H
#define CK_MERGE_ANALYSIS_THREADS_TEAMS_H

#include "merge/analysis/history/history.h"
#include "merge/analysis/threads/team.h"
#include "merge/report/report.h"
#include "merge/timeline/timeline.h"

struct teams;
/* Borrowed. */
struct teams *teams_create(const struct defs *defs,
                           const struct history *history,
                           struct region region);
void teams_destroy(struct teams *teams);
/* A timeline_take_f, of all classes. */
void teams_take(void *teams, const struct timeline_event *event);
/* Another rank waited for that thread's in `part`, which is over. */
void teams_awaited(struct teams *teams, uint32_t thread, struct region part);
/* Once all was taken, after ranks_report() and efficiency_report(): regions,
 * waits and ranks of report->threads. */
void teams_report(struct teams *teams, struct report *report);

struct team_member teams_thread(const struct teams *teams, uint32_t thread);
/* The place and name of a row of waits. */
void teams_wait_named(const struct teams *teams,
                      uint32_t row,
                      const char **what,
                      struct place *place);

#endif
