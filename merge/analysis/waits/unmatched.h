/* unmatched.h - messages that ranks waited for at the end of a run
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * A call that was entered and never left has its peer; a wait for
 * requests was for the receives that were posted and never completed.
 */
#ifndef CK_MERGE_ANALYSIS_WAITS_UNMATCHED_H
#define CK_MERGE_ANALYSIS_WAITS_UNMATCHED_H

#include "merge/model/defs.h"
#include "merge/report/report.h"
#include "merge/timeline/timeline.h"

struct unmatched;
/* Definitions borrowed. */
struct unmatched *unmatched_create(const struct defs *defs);
void unmatched_destroy(struct unmatched *unmatched);
/* The next event: those of MPI count. */
void unmatched_take(struct unmatched *unmatched,
                    const struct timeline_event *event);
/* The rank that a call waits for that the process never left: of several
 * requests that of the first; -1 = any, or not known. */
int32_t unmatched_peer(const struct unmatched *unmatched,
                       uint32_t process,
                       const struct ck_message *record);
/* Does a call wait for requests that were posted in frames that were not read?
 */
bool unmatched_is_doubtful(const struct unmatched *unmatched);
/* Into the report's awaited; after ranks_report(). */
void unmatched_report(struct unmatched *unmatched, struct report *report);

#endif
