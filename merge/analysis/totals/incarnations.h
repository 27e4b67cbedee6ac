/* incarnations.h - a rank that its launcher started again, and when
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CK_MERGE_ANALYSIS_TOTALS_INCARNATIONS_H
#define CK_MERGE_ANALYSIS_TOTALS_INCARNATIONS_H

#include "merge/clocks/align.h"
#include "merge/model/defs.h"
#include "merge/report/report.h"

/* Write row->incarnations, where the rank was started again. */
void incarnations_report(const struct defs *defs,
                         const struct align *align,
                         const struct defs_rank *who,
                         struct report_rank *row);

#endif
