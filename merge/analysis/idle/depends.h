/* depends.h - idle time in which work waited for what the program told it to
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CK_MERGE_ANALYSIS_IDLE_DEPENDS_H
#define CK_MERGE_ANALYSIS_IDLE_DEPENDS_H

#include "merge/analysis/idle/sharing.h"

/* Enter what the command of that call (commands.h) of sharing->process waited
 * for, as long as it did; *part then is what is left. 0, or -1 with ENOMEM. */
int depends_share(struct sharing *sharing,
                  uint32_t tid,
                  uint32_t call,
                  struct region *part);

#endif
