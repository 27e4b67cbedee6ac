/* callrows.h - host calls by place and by function, from those of each process
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CK_MERGE_ANALYSIS_CALLS_CALLROWS_H
#define CK_MERGE_ANALYSIS_CALLS_CALLROWS_H

#include "merge/model/defs.h"
#include "merge/report/report.h"

/* Calls from one place of one process. */
struct call_row {
    struct report_call call;
    int32_t rank;
};

/* Write report->calls and report->functions. The rows' order is changed. */
void callrows_report(struct call_row *rows,
                     size_t count,
                     struct report *report);

#endif
