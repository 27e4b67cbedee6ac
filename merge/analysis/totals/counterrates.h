/* counterrates.h - counters of the ranks and the rates that follow from them
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CK_MERGE_ANALYSIS_TOTALS_COUNTERRATES_H
#define CK_MERGE_ANALYSIS_TOTALS_COUNTERRATES_H

#include "merge/model/defs.h"
#include "merge/report/report.h"

/* Write report->counters (sums over the ranks, scaled where multiplexed) and
 * report->rates (only those whose counters exist). */
void counterrates_report(const struct defs *defs, struct report *report);

#endif
