/* kernelwait.h - what ran on its device while a thread waited for that
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * A call that returns when the device has done its work takes the time of the
 * kernels that run meanwhile: they are what the thread waited for.
 */
#ifndef CK_MERGE_ANALYSIS_HISTORY_KERNELWAIT_H
#define CK_MERGE_ANALYSIS_HISTORY_KERNELWAIT_H

#include "merge/analysis/history/lookback.h"

/* Is the thread in a call that does not return before the device has done its
 * work? */
bool kernelwait_is(const struct history_state *did);
/* A kernel as a span, its site that of its launch. False for one that was not
 * launched by `time`. */
bool kernelwait_span(const struct lookback *lookback,
                     uint32_t process,
                     const struct devicehistory_item *item,
                     ck_time_t time,
                     struct history_span *span);
/* Calls `take` for each part of `piece`, in order, without holes, with what the
 * thread did and, where one is known, the kernel that ran or was queued. Of
 * another call than those of kernelwait_is() it is one part. */
void kernelwait_walk(const struct lookback *lookback,
                     uint32_t thread,
                     struct region piece,
                     const struct history_state *did,
                     struct history_taker taker);

#endif
