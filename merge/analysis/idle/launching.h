/* launching.h - what the host did that a device had its work from
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CK_MERGE_ANALYSIS_IDLE_LAUNCHING_H
#define CK_MERGE_ANALYSIS_IDLE_LAUNCHING_H

#include "merge/analysis/history/lookback.h"

/* What a thread was seen doing from entering that call on, `part`, counts for
 * the activity. Its number, DEFS_NONE = the call is not recorded or was let go,
 *. */
int64_t launching_call(struct lookback *lookback,
                       uint32_t thread,
                       uint32_t call,
                       struct region part);
/* The activity of having launched an operation of that name (of the process)
 * that did not begin yet; DEFS_NONE = it has no name. */
int64_t
launching_queued(struct lookback *lookback, uint32_t process, uint32_t name);
/* The longest call of a thread so far, where it covers more than half of
 * `part`, which is cut to it then. DEFS_NONE = there is none. */
int64_t launching_longest(struct lookback *lookback,
                          uint32_t thread,
                          struct region *part);

#endif
