/* kernels.h - which kernels the devices' time went into, and what was copied
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CK_MERGE_ANALYSIS_DEVICES_KERNELS_H
#define CK_MERGE_ANALYSIS_DEVICES_KERNELS_H

#include "merge/report/report.h"
#include "merge/timeline/timeline.h"

struct kernels;
/* `defs` is borrowed. */
/* `has_ranks`: ranks are compared, for uneven_kernel. */
struct kernels *
kernels_create(const struct defs *defs, struct region region, bool has_ranks);
void kernels_destroy(struct kernels *kernels);
int kernels_take(void *kernels, const struct timeline_event *event);
/* Write report->kernels (most busy first), uneven_kernel and copies, after
 * lines_report(): a kernel's busy time is that of its lines, so these add up to
 * the devices' kernel unions. */
void kernels_report(struct kernels *kernels, struct report *report);

#endif
