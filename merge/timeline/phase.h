/* phase.h - the part of a run that a range of the program takes
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CK_MERGE_TIMELINE_PHASE_H
#define CK_MERGE_TIMELINE_PHASE_H

#include "merge/timeline/timeline.h"

/* Names of ranges that an error lists. */
#define PHASE_NAMES_MAX 8

/* The time from the first begin to the last end of the range, over the ranks
 * that are wanted: "NAME", or "NAME#3" for the third one of each rank. One
 * within another of its name does not count. Reads the run's marks. 0, or -1
 * with err. */
int phase_find(struct rundir *store,
               const struct defs *defs,
               const struct axis *axis,
               const char *what,
               struct region *region,
               struct ck_err *err);

#endif
