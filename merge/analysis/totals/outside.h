/* outside.h - how the ranks spent the time outside MPI
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Of each rank the thread that called MPI first, or the first one of a rank
 * that never did. Every nanosecond of it is one of enum report_outside_state.
 */
#ifndef CK_MERGE_ANALYSIS_TOTALS_OUTSIDE_H
#define CK_MERGE_ANALYSIS_TOTALS_OUTSIDE_H

#include "merge/model/defs.h"
#include "merge/report/report.h"
#include "merge/timeline/axis.h"
#include "merge/timeline/timeline.h"

struct outside;
/* Definitions borrowed. */
struct outside *outside_create(const struct defs *defs, struct region region);
void outside_destroy(struct outside *outside);
/* Marks, host calls, samples and counters, in order of start. */
void outside_take(struct outside *outside, const struct timeline_event *event);
/* The thread that the figures of the rank with that index in the definitions
 * are of, once all was taken; DEFS_NONE = none. */
uint32_t outside_shown(const struct outside *outside, uint32_t index);
/* Of the rank with that index in the definitions, once all was taken. Returns
 * how long that thread waited while others of the rank were in MPI, and the
 * rank with them (commthreads.h): no part of *row. */
ck_time_t outside_rank(struct outside *outside,
                       const struct axis *axis,
                       uint32_t index,
                       struct report_outside *row);
/* Make the parts add up to exactly `whole`: what the sum lacks is not known;
 * what it has too much goes from the last states first. */
void outside_fit(struct report_outside *row, ck_time_t whole);

#endif
