/* calls.h - host calls by the place they were made from
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CK_MERGE_ANALYSIS_CALLS_H
#define CK_MERGE_ANALYSIS_CALLS_H

#include "merge/analysis/waitstates.h"
#include "merge/report.h"
#include "merge/timeline.h"

struct calls;
/* `cast` is borrowed. NULL with ENOMEM. */
struct calls *calls_create(const struct cast *cast, struct region region);
void calls_destroy(struct calls *calls);
int calls_take(void *calls, const struct timeline_event *event);
/* Who waited for whom in them. 0, or -1 with ENOMEM. */
int calls_waits(struct calls *calls, const struct waitstates *waitstates);
/* Was the thread made by the MPI library for itself? All its long calls of libc
 * whose place is known came from there. */
bool calls_is_own(const struct calls *calls, uint32_t thread);
/* Write report->calls, longest total first: the same place of several ranks
 * is one row; and report->functions and report->traffic. 0, or -1 with
 * ENOMEM. */
int calls_report(const struct calls *calls, struct report *report);

#endif
