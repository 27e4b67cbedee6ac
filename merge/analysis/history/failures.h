/* failures.h - device work that failed, and calls that were refused
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CK_MERGE_ANALYSIS_HISTORY_FAILURES_H
#define CK_MERGE_ANALYSIS_HISTORY_FAILURES_H

#include "merge/report/report.h"
#include "merge/timeline/timeline.h"

struct failures;
/* `defs` is borrowed. */
struct failures *failures_create(const struct defs *defs);
void failures_destroy(struct failures *failures);
/* A kernel, a copy or a call of a device's API with the flag FAILED, with the
 * site of the call that launched it. */
void failures_add(struct failures *failures,
                  const struct timeline_event *event,
                  uint64_t site);
/* Into the report. */
void failures_report(const struct failures *failures, struct report *report);

#endif
