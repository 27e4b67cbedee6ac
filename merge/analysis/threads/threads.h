/* threads.h - what all threads of the ranks did: teams, locks, the CPU
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CK_MERGE_ANALYSIS_THREADS_THREADS_H
#define CK_MERGE_ANALYSIS_THREADS_THREADS_H

#include "merge/analysis/history/history.h"
#include "merge/report/report.h"
#include "merge/timeline/timeline.h"

/* Threads listed in a report. */
#define THREADS_LISTED_MAX 1024

struct threads;
/* Borrowed. */
struct threads *threads_create(const struct defs *defs,
                               const struct history *history,
                               struct region region);
void threads_destroy(struct threads *threads);
/* A timeline_take_f, of all classes. */
void threads_take(void *threads, const struct timeline_event *event);
/* Another rank waited for that thread's in `part`, which is over. */
void threads_awaited(struct threads *threads,
                     uint32_t thread,
                     struct region part);
/* Write report->threads, after efficiency_report(). */
void threads_report(struct threads *threads, struct report *report);

#endif
