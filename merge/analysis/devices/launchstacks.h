/* launchstacks.h - device work by the stack that launched it
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * By stacks that libraries take of launches. Where there is none, CPU samples
 * of the process have stacks; one that the launching call's return address is
 * in, or its line of Python, shows who called it.
 */
#ifndef CK_MERGE_ANALYSIS_DEVICES_LAUNCHSTACKS_H
#define CK_MERGE_ANALYSIS_DEVICES_LAUNCHSTACKS_H

#include "merge/analysis/history/lookback.h"
#include "merge/report/report.h"

/* Rows of a run, and of these in a report; the shortest are left out. */
#define LAUNCHSTACKS_ROWS_MAX 16384
#define LAUNCHSTACKS_LISTED_MAX 64

struct launchstacks;
/* Borrowed; the lookback takes each event before. */
struct launchstacks *launchstacks_create(const struct defs *defs,
                                         const struct lookback *lookback,
                                         struct region region);
void launchstacks_destroy(struct launchstacks *stacks);
/* Calls, CPU samples, kernels and copies. */
void launchstacks_take(struct launchstacks *stacks,
                       const struct timeline_event *event);
/* Write report->launch_stacks. */
void launchstacks_report(struct launchstacks *stacks, struct report *report);

#endif
