/* hotspots.h - where the ranks' threads computed, by samples
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Every sample in the region counts once: for the function that it met, or,
 * where its thread was in a call of MPI or of a device's API, for that call's
 * kind.
 */
#ifndef CK_MERGE_ANALYSIS_SAMPLES_HOTSPOTS_H
#define CK_MERGE_ANALYSIS_SAMPLES_HOTSPOTS_H

#include "merge/analysis/history/lookback.h"
#include "merge/report/report.h"
#include "merge/timeline/timeline.h"

/* Functions of a report; the coldest are left out. */
#define HOTSPOTS_LISTED_MAX 256

struct hotspots;
/* Borrowed; the lookback takes each event before. */
struct hotspots *hotspots_create(const struct defs *defs,
                                 const struct lookback *lookback,
                                 struct region region);
void hotspots_destroy(struct hotspots *hotspots);
/* A timeline_take_f. */
void hotspots_take(void *hotspots, const struct timeline_event *event);
/* Write report->hot and report->samples, and `after` of report->ranks, which
 * are there. */
void hotspots_report(const struct hotspots *hotspots, struct report *report);

#endif
