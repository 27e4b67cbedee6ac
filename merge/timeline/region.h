/* region.h - which part of the run a report is about
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CK_MERGE_TIMELINE_REGION_H
#define CK_MERGE_TIMELINE_REGION_H

#include "merge/model/defs.h"
#include "merge/report/report.h"
#include "merge/timeline/axis.h"

/* Set report->whole, report->region and its kind, and what was discarded before
 * (report->kept): then the whole begins where all ranks are there. The region:
 * the marked steps if there are any, else from the first rank's return of
 * MPI_Init to the last rank's call of MPI_Finalize, else the whole. A rank that
 * never left a step or a call of MPI is in the region to its end. -1 when the
 * run holds no time at all.
 */
int region_find(const struct defs *defs,
                const struct axis *axis,
                struct report *report);
/* Once the region is final: when each process's own part of it begins, behind
 * its MPI_Init. */
void region_begins(struct defs *defs,
                   const struct axis *axis,
                   const struct report *report);

/* Once clocks are settled: in which time each device was recorded, of those
 * that only profiles know of. */
void region_windows(struct defs *defs, const struct axis *axis);

/* What calls are counted in: the whole run, where the program marks no part of
 * it and the user did not ask for one.
 */
struct region region_calls(const struct report *report);

#endif
