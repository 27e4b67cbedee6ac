/* standings.h - where threads were when their collectors looked last
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CK_MERGE_ANALYSIS_WAITS_STANDINGS_H
#define CK_MERGE_ANALYSIS_WAITS_STANDINGS_H

#include "merge/analysis/waits/hang.h"
#include "merge/report/report.h"

struct axis;

/* Write report->standings. A look that a call of its rank followed is left out,
 * unless it was asked for just now. */
void standings_report(const struct defs *defs,
                      const struct axis *axis,
                      const struct hang *hang,
                      bool is_asked,
                      struct report *report);

#endif
