/* stuck.h - for whom ranks wait in calls of MPI that they never left
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Such a call waits to its end, which is its rank's: in a collective or in
 * MPI_Finalize for a rank that did not come, for a message for the rank that
 * did not send or receive it. Where several did not come the first one counts
 * that is in no such call itself, else the lowest. Nothing is claimed where all
 * came, or where records of those that did not are missing.
 */
#ifndef CK_MERGE_ANALYSIS_WAITS_STUCK_H
#define CK_MERGE_ANALYSIS_WAITS_STUCK_H

#include "merge/analysis/history/history.h"
#include "merge/analysis/history/waits.h"
#include "merge/analysis/waits/hang.h"

struct stuck;
/* Borrowed; `hang` has taken all that stuck_find() is asked about. */
struct stuck *stuck_create(const struct defs *defs, const struct hang *hang);
void stuck_destroy(struct stuck *stuck);
/* A call that is never left (CK_FLAG_CUT). */
void stuck_take(struct stuck *stuck, const struct timeline_event *event);
/* For whom the thread waits in that call, its MPI_Finalize: for a rank that
 * began MPI and never called it. A launcher that ends the job may let others
 * through. False: there is none. */
bool stuck_final(const struct stuck *stuck,
                 uint32_t thread,
                 const struct history_span *call,
                 struct wait *wait);
/* For whom the thread waits in that call; is_circle where that one waits for it
 * in turn, maybe through others. The error is the caller's to find. False when
 * it is no such call, or that is not known. */
bool stuck_find(const struct stuck *stuck,
                uint32_t thread,
                const struct history_span *call,
                struct wait *wait);

#endif
