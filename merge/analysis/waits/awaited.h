/* awaited.h - messages that ranks waited for when a run stood
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * A call that was entered and never left says whom it was about; a wait for
 * requests was for the receives that were posted and never completed.
 */
#ifndef CK_MERGE_ANALYSIS_WAITS_AWAITED_H
#define CK_MERGE_ANALYSIS_WAITS_AWAITED_H

#include "merge/model/cast.h"
#include "merge/report/report.h"
#include "merge/timeline/timeline.h"

struct awaited;
/* Cast borrowed. NULL with ENOMEM. */
struct awaited *awaited_create(const struct cast *cast);
void awaited_destroy(struct awaited *awaited);
/* The next event: those of MPI count. 0, or -1 with ENOMEM. */
int awaited_take(struct awaited *awaited, const struct timeline_event *event);
/* The rank that a call waits for that the process never left: of several
 * requests that of the first; -1 = any, or not known. */
int32_t awaited_peer(const struct awaited *awaited,
                     uint32_t process,
                     const struct ck_message *record);
/* Into the report's awaited; after ranks_report(). 0, or -1 with ENOMEM. */
int awaited_report(struct awaited *awaited, struct report *report);

#endif
