/* faultplaces.h - where in the program page faults were
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Faults are sampled by their number: each sample represents some of them.
 */
#ifndef CK_MERGE_ANALYSIS_MEMORY_FAULTPLACES_H
#define CK_MERGE_ANALYSIS_MEMORY_FAULTPLACES_H

#include "merge/analysis/history/lookback.h"
#include "merge/report/report.h"

/* Rows of a report; those with the fewest faults are left out. */
#define FAULTPLACES_LISTED_MAX 256

struct faultplaces;
/* Borrowed; the lookback takes each event before. */
struct faultplaces *faultplaces_create(const struct defs *defs,
                                       const struct lookback *lookback,
                                       struct region region);
void faultplaces_destroy(struct faultplaces *places);
/* A timeline_take_f: faults, and samples of who handled some. */
void faultplaces_take(void *places, const struct timeline_event *event);
/* Write report->faults and report->fault_places; what is of a rank goes into
 * report->memory, which is there already. */
void faultplaces_report(const struct faultplaces *places,
                        struct report *report);
/* Set how many faults there were where ranks lost time by them, in the
 * report's causes, waits and delays. */
void faultplaces_explain(struct report *report);

#endif
