/* activity.h - numbers for what threads did
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * An activity is a call from a place, or the computation between two such
 * calls, with the innermost range around it. There are as many as places in
 * the program, not as calls.
 */
#ifndef CK_MERGE_ANALYSIS_HISTORY_ACTIVITY_H
#define CK_MERGE_ANALYSIS_HISTORY_ACTIVITY_H

#include "merge/analysis/history/evidence.h"
#include "merge/analysis/history/history.h"
#include "merge/report/report.h"

struct activities;
/* `defs` is borrowed. */
struct activities *activities_create(const struct defs *defs);
void activities_destroy(struct activities *activities);
/* Number of what a thread did. */
int64_t activity_number(struct activities *activities,
                        const struct history_state *did);
/* A number that is the same for activities of any process that read the same:
 * equal functions, files and lines. */
int64_t activity_common(struct activities *activities, uint32_t number);
/* The same of its call alone, whatever range it is in; 0 = it has none. */
int64_t activity_site(struct activities *activities, uint32_t number);
/* The same activity without a kernel. */
uint32_t activity_call(const struct activities *activities, uint32_t number);
/* CAUSE_KERNEL or CAUSE_KERNEL_GAP where it has a kernel, that ran or that did
 * not begin yet; else CAUSES. */
enum cause activity_device(const struct activities *activities,
                           uint32_t number);
/* Name of its innermost range, NULL = none. */
const char *activity_range(const struct activities *activities,
                           uint32_t number);
/* What a call into the activity's function counts as; a kernel on the thread's
 * device does not count. */
enum cause activity_cause(const struct activities *activities, uint32_t number);
/* With what the evidence shows of it. */
struct report_activity activity_report(const struct activities *activities,
                                       const struct evidence *evidence,
                                       uint32_t number);

#endif
