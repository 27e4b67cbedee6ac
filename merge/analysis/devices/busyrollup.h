/* busyrollup.h - how long queues, ranks, hosts and the job kept a device busy
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * What runs at once counts once: each of them is a union of its operations,
 * whatever the device they run on.
 */
#ifndef CK_MERGE_ANALYSIS_DEVICES_BUSYROLLUP_H
#define CK_MERGE_ANALYSIS_DEVICES_BUSYROLLUP_H

#include "merge/report/report.h"
#include "merge/timeline/timeline.h"

/* Rows that are kept; operations of further queues, ranks or hosts count only
 * in rows that are there. */
#define BUSYROLLUP_MAX ((size_t)1 << 16)

struct busyrollup;
/* Definitions borrowed. */
struct busyrollup *busyrollup_create(const struct defs *defs,
                                     struct region region);
void busyrollup_destroy(struct busyrollup *busyrollup);
/* An operation of a device, in order of start. */
int busyrollup_take(struct busyrollup *busyrollup,
                    const struct timeline_event *event);
/* Write report->levels: the job, hosts, ranks, queues. */
void busyrollup_report(const struct busyrollup *busyrollup,
                       struct report *report);

#endif
