/* analysis.h - all that asks why a rank or device waited, in the right order
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Before the lookback takes an event, what ended earlier is settled; after it
 * the event goes to those who count it.
 */
#ifndef CK_MERGE_ANALYSIS_ANALYSIS_H
#define CK_MERGE_ANALYSIS_ANALYSIS_H

#include "merge/analysis/idle/sharing.h"
#include "merge/analysis/waits/hang.h"
#include "merge/analysis/waits/waitstates.h"
#include "merge/clocks/align.h"
#include "merge/report/report.h"
#include "merge/timeline/timeline.h"

struct analysis;
struct delay;
struct idealnetwork;
struct lookback;
struct steps;
/* Borrowed. */
struct analysis *analysis_create(const struct defs *defs,
                                 const struct align *align,
                                 struct region region);
void analysis_destroy(struct analysis *analysis);
/* A timeline_take_f. */
int analysis_take(void *analysis, const struct timeline_event *event);
/* Once all events were taken. */
void analysis_finish(struct analysis *analysis);
/* An agent's host did not run; before the first event. */
void analysis_stopped(struct analysis *analysis,
                      uint32_t agent,
                      struct region part);
/* What finds calls that ranks never left; before the first event, and it is to
 * live until analysis_report() has returned. */
void analysis_impasse(struct analysis *analysis, const struct hang *hang);
/* Show each wait in MPI and on sockets; before the first event. */
void analysis_see(struct analysis *analysis, waitstates_see_f f, void *state);
/* Show each piece of idle time of a device, in order of time for a device;
 * before the first event. */
void analysis_see_idle(struct analysis *analysis, sharing_see_f f, void *state);
/* Borrowed, for those who report of them. */
struct steps *analysis_steps(struct analysis *analysis);
const struct lookback *analysis_scene(const struct analysis *analysis);
const struct waitstates *analysis_waitstates(const struct analysis *analysis);
const struct idealnetwork *analysis_replay(const struct analysis *analysis);
const struct delay *analysis_delay(const struct analysis *analysis);
/* Into the report's causes, waits and ranks; after devices_report() and
 * ranks_report(). */
int analysis_report(struct analysis *analysis, struct report *report);

#endif
