/* blame.h - all that asks why somebody stood still, in the right order
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Before the scene takes an event, what ended earlier is settled; after it the
 * event goes to those who count it.
 */
#ifndef CK_MERGE_ANALYSIS_BLAME_H
#define CK_MERGE_ANALYSIS_BLAME_H

#include "merge/analysis/waits/impasse.h"
#include "merge/analysis/waits/waitstates.h"
#include "merge/clocks/align.h"
#include "merge/report/report.h"
#include "merge/timeline/timeline.h"

struct blame;
struct delay;
struct replay;
struct scene;
struct steps;
/* Borrowed. NULL with ENOMEM. */
struct blame *blame_create(const struct cast *cast,
                           const struct align *align,
                           struct region region);
void blame_destroy(struct blame *blame);
/* A timeline_take_f. */
int blame_take(void *blame, const struct timeline_event *event);
/* Once all events were taken. 0, or -1 with ENOMEM. */
int blame_finish(struct blame *blame);
/* An agent's host stood still; before the first event. 0, or -1 with ENOMEM. */
int blame_stopped(struct blame *blame, uint32_t agent, struct region part);
/* What finds calls that ranks never left; before the first event, and it is to
 * live until blame_report() has returned. 0, or -1 with ENOMEM. */
int blame_impasse(struct blame *blame, const struct impasse *impasse);
/* Show each wait in MPI and on sockets; before the first event. */
void blame_see(struct blame *blame, waitstates_see_f f, void *state);
/* Borrowed, for those who report of them. */
struct steps *blame_steps(struct blame *blame);
const struct scene *blame_scene(const struct blame *blame);
const struct waitstates *blame_waitstates(const struct blame *blame);
const struct replay *blame_replay(const struct blame *blame);
const struct delay *blame_delay(const struct blame *blame);
/* Into the report's causes, waits and ranks; after devices_report() and
 * ranks_report(). 0, or -1 with ENOMEM. */
int blame_report(struct blame *blame, struct report *report);

#endif
