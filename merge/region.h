/* region.h - which part of the run a report is about
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CK_MERGE_REGION_H
#define CK_MERGE_REGION_H

#include "merge/align.h"
#include "merge/cast.h"
#include "merge/report.h"

/* Set report->whole, report->region and its kind, and what was discarded before
 * (report->kept): then the whole begins where all ranks are there. The region:
 * the marked steps if there
 * are any, else from the last rank's return of MPI_Init to the first rank's
 * call of MPI_Finalize, else the whole. -1 when the run holds no time at all.
 */
int region_find(const struct cast *cast,
                const struct align *align,
                struct report *report);

#endif
