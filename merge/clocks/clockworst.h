/* clockworst.h - which two clocks are known least of each other
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CK_MERGE_CLOCKS_CLOCKWORST_H
#define CK_MERGE_CLOCKS_CLOCKWORST_H

#include "merge/clocks/align.h"
#include "merge/model/defs.h"
#include "merge/report/report.h"

/* Write report->clock_worst and, of few domains, report->clock_pairs; the rows
 * of its domains are there. */
void clockworst_report(const struct defs *defs,
                       const struct align *align,
                       struct report *report);

#endif
