/* libc.h - how often the ranks called which function of libc
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CK_MERGE_ANALYSIS_CALLS_LIBC_H
#define CK_MERGE_ANALYSIS_CALLS_LIBC_H

#include "merge/analysis/calls/calls.h"
#include "merge/model/defs.h"
#include "merge/report/report.h"

/* Write report->libc from the totals that the threads recorded; calls_report()
 * has been called before. */
void libc_report(const struct defs *defs,
                 const struct calls *calls,
                 struct report *report);

#endif
