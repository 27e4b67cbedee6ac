/* ranks.h - each rank: its time in MPI, its steps, how it ended
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CK_MERGE_ANALYSIS_TOTALS_RANKS_H
#define CK_MERGE_ANALYSIS_TOTALS_RANKS_H

#include "merge/clocks/align.h"
#include "merge/report/report.h"
#include "merge/timeline/timeline.h"

struct ranks;
/* `defs` is borrowed. */
struct ranks *ranks_create(const struct defs *defs, struct region region);
/* Count the calls that touch another part of the run than the region. */
void ranks_count(struct ranks *ranks, struct region calls);
void ranks_destroy(struct ranks *ranks);
int ranks_take(void *ranks, const struct timeline_event *event);
/* Write report->ranks (the missing ones too), the steps and the head of the
 * report. */
void ranks_report(struct ranks *ranks,
                  const struct align *align,
                  struct report *report);

#endif
