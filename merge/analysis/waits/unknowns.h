/* unknowns.h - calls of MPI that may or may not have waited: it is not known
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * One-sided ones, files, intercommunicators, processes that are not recorded.
 */
#ifndef CK_MERGE_ANALYSIS_WAITS_UNKNOWNS_H
#define CK_MERGE_ANALYSIS_WAITS_UNKNOWNS_H

#include "merge/analysis/history/history.h"
#include "merge/report/report.h"

struct unknowns;
/* Definitions borrowed. */
struct unknowns *unknowns_create(const struct defs *defs, struct region region);
void unknowns_destroy(struct unknowns *unknowns);
/* The part of a call that may or may not have been a wait. */
void unknowns_add(struct unknowns *unknowns,
                  const struct history_span *call,
                  struct region part);
/* How long the rank with that index in the definitions was in such calls. */
ck_time_t unknowns_rank(const struct unknowns *unknowns, uint32_t index);
/* Write report->unknown_waits, of the ranks that are wanted. */
void unknowns_report(const struct unknowns *unknowns, struct report *report);

#endif
