/* stepdetect.h - steps of a program that marks none, from a collective that
 * repeats
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * A place from which all ranks call a collective may end the steps if each rank
 * has at least STEPDETECT_MIN steps then, if they cover 80 % of the region and
 * none is longer than a quarter of it, and if in each step all ranks call the
 * same collective functions in the same order; and if it is called once a step:
 * within 12 steps the shorter half has 20 % of the time in most of the run. Of
 * several places the one that is called least often is taken, but none that is
 * only called in each n-th step of another place, n at least 10, and takes less
 * than 20 % of the region (output); nor one in whose steps a rarer place takes
 * more than that (a loop around it).
 */
#ifndef CK_MERGE_ANALYSIS_STEPS_STEPDETECT_H
#define CK_MERGE_ANALYSIS_STEPS_STEPDETECT_H

#include "merge/analysis/steps/steps.h"
#include "merge/timeline/timeline.h"

#define STEPDETECT_MIN 12
/* A run of more events is not read once more to look for steps. */
#define STEPDETECT_EVENTS_MAX ((uint64_t)4 << 20)
/* Calls remembered; a run with more has no steps. */
#define STEPDETECT_CALLS_MAX ((size_t)1 << 20)

struct stepdetect;
/* The definitions are borrowed. */
struct stepdetect *stepdetect_create(const struct defs *defs,
                                     struct region region);
void stepdetect_destroy(struct stepdetect *stepdetect);
/* True for a run that marks no step and is short enough. */
bool stepdetect_is_wanted(const struct defs *defs);
/* A timeline_take_f. */
int stepdetect_take(void *stepdetect, const struct timeline_event *event);
/* Add the steps, each from the end of one call to the end of the next, and
 * to the report where they come from. */
void stepdetect_report(struct stepdetect *stepdetect,
                       struct steps *steps,
                       struct report *report);

#endif
