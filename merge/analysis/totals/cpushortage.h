/* cpushortage.h - why threads that were ready to run had no CPU
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CK_MERGE_ANALYSIS_TOTALS_CPUSHORTAGE_H
#define CK_MERGE_ANALYSIS_TOTALS_CPUSHORTAGE_H

#include "merge/model/defs.h"
#include "merge/report/report.h"

/* The verdict on what was measured: the rest of `load` is filled. */
enum report_load_verdict cpushortage_judge(const struct report_load *load);
/* Fill report->load. */
void cpushortage_report(const struct defs *defs, struct report *report);

#endif
