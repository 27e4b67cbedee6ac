/* undone.h - device work that never ended, or failed, for the report
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CK_MERGE_ANALYSIS_IDLE_UNDONE_H
#define CK_MERGE_ANALYSIS_IDLE_UNDONE_H

#include "merge/analysis/history/commands.h"
#include "merge/report/report.h"

/* Into the report, after devices_report(). */
void undone_report(const struct defs *defs,
                   const struct commands *commands,
                   struct report *report);

#endif
