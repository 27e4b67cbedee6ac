/* calls.h - host calls by the place they were made from
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CK_MERGE_ANALYSIS_CALLS_CALLS_H
#define CK_MERGE_ANALYSIS_CALLS_CALLS_H

#include "merge/analysis/waits/waitstates.h"
#include "merge/report/report.h"
#include "merge/timeline/timeline.h"

struct calls;
/* `defs` is borrowed. */
struct calls *calls_create(const struct defs *defs, struct region region);
void calls_destroy(struct calls *calls);
int calls_take(void *calls, const struct timeline_event *event);
/* Who waited for whom in them. */
void calls_waits(struct calls *calls, const struct waitstates *waitstates);
/* The calls of one function of libc that a process made from one place and that
 * were long enough for records of their own. */
struct calls_long {
    uint32_t process, name;
    uint64_t count;  /* in the whole run */
    ck_time_t total; /* in the region */
};
/* The i-th of these; false = it is of no function of libc, or there is none
 * (from calls_count() on). */
bool calls_long_at(const struct calls *calls, size_t i, struct calls_long *out);
size_t calls_count(const struct calls *calls);
/* Was the thread made by the MPI library for itself? All its long calls of libc
 * whose place is known came from there. */
bool calls_is_own(const struct calls *calls, uint32_t thread);
/* Write report->calls, longest total first: the same place of several ranks is
 * one row; and report->functions and report->traffic. */
void calls_report(const struct calls *calls, struct report *report);

#endif
