/* stragglers.h - the ranks that others waited for, and what they were doing
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CK_MERGE_ANALYSIS_STRAGGLERS_H
#define CK_MERGE_ANALYSIS_STRAGGLERS_H

#include "merge/analysis/causes.h"
#include "merge/analysis/scene.h"
#include "merge/analysis/waitstates.h"
#include "merge/analysis/when.h"
#include "merge/report.h"

/* Ranks listed; those that caused less are left out. */
#define STRAGGLERS_MAX 64

/* The worst of them, in which windows are looked for. */
#define STRAGGLERS_WINDOWS 16

/* Write report->stragglers; `when` has what each rank made others wait. 0, or
 * -1 with ENOMEM. */
int stragglers_report(const struct cast *cast,
                      const struct causes_from *from,
                      const struct waitstates *waitstates,
                      const struct when *when,
                      struct report *report);

#endif
