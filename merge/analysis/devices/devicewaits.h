/* devicewaits.h - how long collective kernels waited for the last device
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * A kernel of NCCL and its like that no rank can leave before all have entered
 * (clockkernels.h) waits until the last device has begun its own: [a, L) of
 * [a, e). The n-th of a name on one device is the n-th on all others, or on all
 * of its process group (kernelgroup.h). Nothing is claimed of a name where some
 * devices have fewer, or where one of them ended before another had
 * begun: those were no collectives of all.
 */
#ifndef CK_MERGE_ANALYSIS_DEVICES_DEVICEWAITS_H
#define CK_MERGE_ANALYSIS_DEVICES_DEVICEWAITS_H

#include "merge/analysis/history/lookback.h"
#include "merge/clocks/clockkernels.h"
#include "merge/report/report.h"
#include "merge/timeline/timeline.h"

/* Names (each of a process group) that are looked at, and calls of one that
 * are not complete. */
#define DEVICEWAITS_NAMES 64
#define DEVICEWAITS_PENDING 64

struct devicewaits;
/* Borrowed; the lookback for the clocks. */
struct devicewaits *devicewaits_create(const struct defs *defs,
                                       const struct lookback *lookback,
                                       struct region region);
void devicewaits_destroy(struct devicewaits *waits);
/* What knows which kernels without numbers met (borrowed), and
 * whether the clocks of profiles are believed by their dates; before the first
 * event. */
void devicewaits_order(struct devicewaits *waits,
                       const struct clockkernels *kernels,
                       const struct axis *axis,
                       bool is_dated);
/* A timeline_take_f. */
int devicewaits_take(void *waits, const struct timeline_event *event);
/* Into the report's devices, after devices_report(). */
void devicewaits_report(const struct devicewaits *waits, struct report *report);

#endif
