/* disagree.h - ranks that called the collectives of a communicator differently
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * NCCL's plug-in records each call of a collective with its number in its
 * communicator, which all members must call alike: then none of them gets on.
 * Of each communicator the first number is reported that some called with
 * another function, type, length or root; else, in a run that did not end well,
 * the last one, if members are short of it though they had called in time
 * before. Calls are compared while members are less than DISAGREE_APART apart.
 */
#ifndef CK_MERGE_ANALYSIS_WAITS_DISAGREE_H
#define CK_MERGE_ANALYSIS_WAITS_DISAGREE_H

#include "merge/report/report.h"
#include "merge/timeline/timeline.h"

/* A power of two. */
#define DISAGREE_APART 1024

struct disagree;
/* False: no process names a communicator of NCCL. */
bool disagree_is_wanted(const struct defs *defs);
/* Borrowed. */
struct disagree *disagree_create(const struct defs *defs);
void disagree_destroy(struct disagree *disagree);
/* timeline_take_f; wants the events of all ranks. */
int disagree_take(void *consumer, const struct timeline_event *event);
/* After the rows of the ranks. */
void disagree_report(const struct disagree *disagree, struct report *report);

#endif
