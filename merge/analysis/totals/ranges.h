/* ranges.h - the program's ranges, by name
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CK_MERGE_ANALYSIS_TOTALS_RANGES_H
#define CK_MERGE_ANALYSIS_TOTALS_RANGES_H

#include "merge/report/report.h"
#include "merge/timeline/timeline.h"

struct ranges;
/* Definitions borrowed. */
struct ranges *ranges_create(const struct defs *defs, struct region region);
void ranges_destroy(struct ranges *ranges);
/* A timeline_take_f. */
int ranges_take(void *ranges, const struct timeline_event *event);
/* Write report->ranges, longest first. */
void ranges_report(struct ranges *ranges, struct report *report);

#endif
