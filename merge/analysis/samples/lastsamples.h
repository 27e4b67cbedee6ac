/* lastsamples.h - where ranks computed behind the last call that they left
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Of a rank that others waited for to the end. Samples of its process's first
 * thread count, from the return of its latest call of MPI or of a device on.
 */
#ifndef CK_MERGE_ANALYSIS_SAMPLES_LASTSAMPLES_H
#define CK_MERGE_ANALYSIS_SAMPLES_LASTSAMPLES_H

#include "merge/analysis/history/evidence.h"
#include "merge/analysis/history/history.h"
#include "merge/report/report.h"

struct lastsamples;
/* Borrowed. */
struct lastsamples *lastsamples_create(const struct defs *defs);
void lastsamples_destroy(struct lastsamples *last);
/* A sample of a first thread, between calls. */
void lastsamples_take(struct lastsamples *last,
                      const struct history_state *did,
                      const struct evidence_item *item);
/* Write `after` of report->ranks; only of those whose last call is that one. */
void lastsamples_report(const struct lastsamples *last, struct report *report);

#endif
