/* stragglers.h - the ranks that others waited for, and what they were doing
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CK_MERGE_ANALYSIS_WAITS_STRAGGLERS_H
#define CK_MERGE_ANALYSIS_WAITS_STRAGGLERS_H

#include "merge/analysis/history/lookback.h"
#include "merge/analysis/idle/causes.h"
#include "merge/analysis/steps/when.h"
#include "merge/analysis/waits/waitstates.h"
#include "merge/report/report.h"

/* Ranks listed; those that caused less are left out. */
#define STRAGGLERS_MAX 64

/* The worst of them, in which windows are looked for. */
#define STRAGGLERS_WINDOWS 16

/* Write report->stragglers; `when` has what each rank made others wait. */
int stragglers_report(const struct defs *defs,
                      const struct causes_from *from,
                      const struct waitstates *waitstates,
                      const struct when *when,
                      struct report *report);

#endif
