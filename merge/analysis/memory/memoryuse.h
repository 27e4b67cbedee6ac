/* memoryuse.h - how much memory each rank had, over the run
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CK_MERGE_ANALYSIS_MEMORY_MEMORYUSE_H
#define CK_MERGE_ANALYSIS_MEMORY_MEMORYUSE_H

#include "merge/analysis/history/lookback.h"
#include "merge/analysis/steps/steps.h"
#include "merge/report/report.h"

/* Points that are kept of a rank; beyond, each second one goes. */
#define MEMORYUSE_POINTS 64

struct memoryuse;
/* Borrowed; the lookback takes each event before. */
struct memoryuse *memoryuse_create(const struct defs *defs,
                                   const struct lookback *lookback);
void memoryuse_destroy(struct memoryuse *use);
/* A timeline_take_f: MEMORY records. */
void memoryuse_take(void *use, const struct timeline_event *event);
/* Write report->memory: a row of each rank. The points are taken over. */
void memoryuse_report(struct memoryuse *use,
                      struct steps *steps,
                      struct region region,
                      struct report *report);

#endif
