/* levels.h - how long queues, ranks, hosts and the job kept a device busy
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * What runs at once counts once: each of them is a union of its operations,
 * whatever the device they run on.
 */
#ifndef CK_MERGE_ANALYSIS_TOTALS_LEVELS_H
#define CK_MERGE_ANALYSIS_TOTALS_LEVELS_H

#include "merge/report/report.h"
#include "merge/timeline/timeline.h"

/* Rows that are kept; operations of further queues, ranks or hosts count only
 * in rows that are there. */
#define LEVELS_MAX ((size_t)1 << 16)

struct levels;
/* Cast borrowed. NULL with ENOMEM. */
struct levels *levels_create(const struct cast *cast, struct region region);
void levels_destroy(struct levels *levels);
/* An operation of a device, in order of start. 0, or -1 with ENOMEM. */
int levels_take(struct levels *levels, const struct timeline_event *event);
/* Write report->levels: the job, hosts, ranks, queues. 0, or -1 with ENOMEM. */
int levels_report(const struct levels *levels, struct report *report);

#endif
