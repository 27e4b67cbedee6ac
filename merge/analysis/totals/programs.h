/* programs.h - which ranks ran which program, where not all ran the same
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CK_MERGE_ANALYSIS_TOTALS_PROGRAMS_H
#define CK_MERGE_ANALYSIS_TOTALS_PROGRAMS_H

#include "merge/model/defs.h"
#include "merge/report/report.h"

/* Write report->programs_of_ranks, of report->ranks in ascending order. Two
 * commands are one program where a person calls them the same. */
void programs_report(const struct defs *defs, struct report *report);

#endif
