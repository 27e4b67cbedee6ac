/* blockedplaces.h - where in the program threads waited without a CPU
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * By the stacks of threads as they left the CPU: of longer waits only.
 */
#ifndef CK_MERGE_ANALYSIS_SAMPLES_BLOCKEDPLACES_H
#define CK_MERGE_ANALYSIS_SAMPLES_BLOCKEDPLACES_H

#include "merge/analysis/history/lookback.h"
#include "merge/report/report.h"

/* Rows of a report; those with the least time are left out. */
#define BLOCKEDPLACES_LISTED_MAX 256

struct blockedplaces;
/* Borrowed; the lookback takes each event before. */
struct blockedplaces *blockedplaces_create(const struct defs *defs,
                                           const struct lookback *lookback,
                                           struct region region);
void blockedplaces_destroy(struct blockedplaces *places);
/* A timeline_take_f. */
void blockedplaces_take(void *places, const struct timeline_event *event);
/* Write report->blocked and report->blocked_sums. */
void blockedplaces_report(const struct blockedplaces *places,
                          struct report *report);

#endif
