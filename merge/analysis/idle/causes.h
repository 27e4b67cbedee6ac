/* causes.h - the ledger's rows as the causes of the report
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CK_MERGE_ANALYSIS_IDLE_CAUSES_H
#define CK_MERGE_ANALYSIS_IDLE_CAUSES_H

#include "merge/analysis/idle/ledger.h"
#include "merge/report/report.h"

/* Most causes of a report; the shortest are left out. */
#define CAUSES_LISTED_MAX 256

struct causes_from {
    struct lookback *lookback;
    const struct delay *delay; /* with what waits cost; NULL = not known */
    struct delaysums *delays;
    const struct when *when; /* the rows by their numbers; NULL = windows are
                                not asked for */
    bool is_of_waits;        /* count is that of the waits, not of pieces */
};
/* Rows as causes, those that have as much in common as a sentence does in one;
 * longest first. NULL with ENOMEM; the caller frees it (report_fini()). */
struct report_cause *causes_group(const struct causes_from *from,
                                  const struct ledger_row *rows,
                                  size_t rows_count,
                                  size_t *count);
/* Write report->causes and the causes of the devices, which devices_report()
 * has written before. */
void causes_report(struct ledger *ledger,
                   const struct causes_from *from,
                   struct report *report);

#endif
