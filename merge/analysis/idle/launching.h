/* launching.h - what the host did that a device had its work from
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CK_MERGE_ANALYSIS_IDLE_LAUNCHING_H
#define CK_MERGE_ANALYSIS_IDLE_LAUNCHING_H

#include "merge/analysis/history/scene.h"

/* What a thread was seen doing from entering that call on, `part`, counts for
 * the activity. Its number, CAST_NONE = the call is not recorded or was let go,
 * or -1 with ENOMEM. */
int64_t launching_call(struct scene *scene,
                       uint32_t thread,
                       uint32_t call,
                       struct region part);
/* The activity of having launched an operation of that name (of the process)
 * that did not begin yet; CAST_NONE = it has no name, -1 with ENOMEM. */
int64_t launching_queued(struct scene *scene, uint32_t process, uint32_t name);
/* The longest call of a thread so far, where it covers more than half of
 * `part`, which is cut to it then. CAST_NONE = there is none, -1 with ENOMEM.
 */
int64_t
launching_longest(struct scene *scene, uint32_t thread, struct region *part);

#endif
