/* copyplaces.h - what was copied, by direction and the line that launched it
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CK_MERGE_ANALYSIS_DEVICES_COPYPLACES_H
#define CK_MERGE_ANALYSIS_DEVICES_COPYPLACES_H

#include "merge/analysis/history/lookback.h"
#include "merge/report/report.h"
#include "merge/timeline/timeline.h"

struct copyplaces;
/* Borrowed; the lookback takes each event before. */
struct copyplaces *copyplaces_create(const struct defs *defs,
                                     const struct lookback *lookback,
                                     struct region region);
void copyplaces_destroy(struct copyplaces *places);
/* A timeline_take_f, for copies. */
int copyplaces_take(void *places, const struct timeline_event *event);
/* Address of the call that launched the copy taken last; 0 = not known. */
uint64_t copyplaces_site(const struct copyplaces *places);
/* Into the report, longest first. */
void copyplaces_report(const struct copyplaces *places, struct report *report);

#endif
