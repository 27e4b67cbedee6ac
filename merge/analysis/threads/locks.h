/* locks.h - locks that threads wait for, one behind the other
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * A wait for a lock ends when its thread got it. So while threads wait for one,
 * the thread whose wait ended last holds it, or, before the first, who the
 * mutex named. Where all threads that use a lock wait for it but one, the lock
 * makes them serial: time of w waiters is kept by w, for how many threads use
 * it is known only at the end.
 */
#ifndef CK_MERGE_ANALYSIS_THREADS_LOCKS_H
#define CK_MERGE_ANALYSIS_THREADS_LOCKS_H

#include "merge/analysis/history/history.h"
#include "merge/report/report.h"
#include "merge/timeline/timeline.h"

/* Locks that are kept of all processes. */
#define LOCKS_MAX 65536
/* Threads that wait for one, each by itself. */
#define LOCKS_WAITERS 256

struct locks;
/* Borrowed. */
struct locks *locks_create(const struct defs *defs,
                           const struct history *history,
                           struct region region);
void locks_destroy(struct locks *locks);
/* A wait for a lock? What comes before the first is of no use. */
bool locks_is_wait(const struct defs *defs, const struct timeline_event *event);
/* A timeline_take_f: calls, teams and samples. */
void locks_take(void *locks, const struct timeline_event *event);
/* Once all was taken: locks of report->threads, and those left out. */
void locks_report(struct locks *locks, struct report *report);

/* How long a thread waited for locks; *what and *place of the one it waited for
 * longest, NULL = none. */
ck_time_t locks_thread(const struct locks *locks,
                       uint32_t thread,
                       const char **what,
                       struct place *place,
                       ck_time_t *most);

#endif
