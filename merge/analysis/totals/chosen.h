/* chosen.h - what is left of a report when only some ranks are asked for
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CK_MERGE_ANALYSIS_TOTALS_CHOSEN_H
#define CK_MERGE_ANALYSIS_TOTALS_CHOSEN_H

#include "merge/model/defs.h"
#include "merge/report/report.h"

/* Part with the rows of ranks that are not wanted, and with launchers and
 * standstills that no wanted rank is among: those need the ends of all ranks,
 * all sums behind them only those of the wanted. */
void chosen_keep(const struct defs *defs, struct report *report);

#endif
