/* devices.h - how long each device was busy, and how long idle
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CK_MERGE_ANALYSIS_DEVICES_DEVICES_H
#define CK_MERGE_ANALYSIS_DEVICES_DEVICES_H

#include "merge/report/report.h"
#include "merge/timeline/timeline.h"

/* The part of a region in which the device was recorded. */
static inline struct region
device_region(const struct defs *defs, uint32_t physical, struct region region)
{
    defs_window(defs, physical, &region.start, &region.end);
    return region;
}

struct devices;
/* `defs` is borrowed. */
struct devices *devices_create(const struct defs *defs,
                               struct region region,
                               struct region whole);
void devices_destroy(struct devices *devices);
int devices_take(void *devices, const struct timeline_event *event);
/* Write report->devices and report->all. */
void devices_report(const struct devices *devices, struct report *report);

/* True for a kernel that moves data between devices or ranks (by its name). */
bool devices_is_communication(const char *kernel);

#endif
