/* rangeoccupancy.h - how busy devices were while their ranks were in a range
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * For each device and range two unions are kept: the times in which some rank
 * of the device was in the range, and the device's operations. What enters one
 * of them anew is common to both up to the end of the other, for both begin in
 * order of start; so each nanosecond of the intersection is counted once, when
 * the second of the two comes, and nothing is remembered but the two ends.
 */
#ifndef CK_MERGE_ANALYSIS_TOTALS_RANGEOCCUPANCY_H
#define CK_MERGE_ANALYSIS_TOTALS_RANGEOCCUPANCY_H

#include "merge/report/report.h"
#include "merge/timeline/timeline.h"

/* Pairs of range and device that are kept; ranges that come behind them are
 * left out. */
#define RANGEOCCUPANCY_SPANS_MAX ((size_t)1 << 17)

struct rangeoccupancy;
/* Definitions borrowed. */
struct rangeoccupancy *rangeoccupancy_create(const struct defs *defs,
                                             struct region region);
void rangeoccupancy_destroy(struct rangeoccupancy *rangeoccupancy);
/* Both in order of start. */
void rangeoccupancy_device(struct rangeoccupancy *rangeoccupancy,
                           const struct timeline_event *event);
/* A rank was in a range; `part` of that is in the region. */
void rangeoccupancy_range(struct rangeoccupancy *rangeoccupancy,
                          uint32_t range,
                          int32_t rank,
                          struct region part);
/* Sums over the report's devices; rows[i] is range number i. */
void rangeoccupancy_report(const struct rangeoccupancy *rangeoccupancy,
                           const struct report *report,
                           struct report_range *rows,
                           size_t count);

#endif
