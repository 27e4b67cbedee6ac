/* causes.h - the ledger's rows as the causes of the report
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CK_MERGE_ANALYSIS_CAUSES_H
#define CK_MERGE_ANALYSIS_CAUSES_H

#include "merge/analysis/ledger.h"
#include "merge/report.h"

/* Most causes of a report; the shortest are left out. */
#define CAUSES_LISTED_MAX 256

/* Write report->causes and the causes of the devices, which devices_report()
 * has written before. 0, or -1 with ENOMEM. */
int causes_report(struct ledger *ledger,
                  const struct scene *scene,
                  const struct cast *cast,
                  struct report *report);

#endif
