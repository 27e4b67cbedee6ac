/* teamrows.h - sums of parallel regions and of waits in them
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CK_MERGE_ANALYSIS_THREADS_TEAMROWS_H
#define CK_MERGE_ANALYSIS_THREADS_TEAMROWS_H

#include "merge/analysis/history/evidence.h"
#include "merge/analysis/threads/team.h"
#include "merge/report/report.h"
#include "merge/timeline/timeline.h"

struct teamrows;
/* Borrowed. */
struct teamrows *teamrows_create(const struct defs *defs, struct region region);
void teamrows_destroy(struct teamrows *rows);

/* The rows of a region, NULL = it is not nested, and of a wait that is counted
 * there, by their records. */
uint32_t teamrows_region(struct teamrows *rows,
                         const struct team *outer,
                         const struct timeline_event *event);
uint32_t teamrows_wait(struct teamrows *rows,
                       const struct team *team,
                       const struct timeline_event *event,
                       enum report_team_state state);

/* An outermost region begins; is_several: beside one of another thread. */
void teamrows_begun(struct teamrows *rows,
                    const struct team *team,
                    bool is_several);
/* A team_take_f: time of a thread. */
void teamrows_take(void *rows,
                   const struct team *team,
                   const struct team_part *part,
                   enum report_team_state what,
                   uint32_t row,
                   struct region time);
/* Its last thread was done then; behind team_end(). */
void teamrows_last(struct teamrows *rows,
                   const struct team *team,
                   uint32_t last,
                   ck_time_t done);
/* It is over. */
void teamrows_over(struct teamrows *rows, const struct team *team);
/* All threads were at a barrier. */
void teamrows_meeting(struct teamrows *rows,
                      const struct team *team,
                      const struct team_meeting *meeting);
/* A sample of a thread that others waited for: at the end of the region, or at
 * the barrier that has the row. */
void teamrows_did(struct teamrows *rows,
                  const struct team *team,
                  uint32_t row,
                  struct evidence_item item);
/* A sample of a thread in such a wait that ran code of the program: a task that
 * has no record. */
void teamrows_worked(struct teamrows *rows,
                     const struct team *team,
                     uint32_t row,
                     ck_time_t ns);
/* A sample of a thread between its outermost regions. */
void teamrows_serial(struct teamrows *rows, struct evidence_item item);
/* One of another thread, in code of the program. */
void teamrows_unseen(struct teamrows *rows,
                     uint32_t thread,
                     const struct evidence_item *item);
/* Others waited so long for the rank, while its team waited. */
void teamrows_awaited(struct teamrows *rows, uint32_t row, ck_time_t ns);

void teamrows_report(const struct teamrows *rows, struct report *report);
struct team_member teamrows_thread(const struct teamrows *rows,
                                   uint32_t thread);
void teamrows_named(const struct teamrows *rows,
                    uint32_t row,
                    const char **what,
                    struct place *place);

#endif
