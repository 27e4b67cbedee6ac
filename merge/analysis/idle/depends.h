/* depends.h - idle time in which work waited as the program asked
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CK_MERGE_ANALYSIS_IDLE_DEPENDS_H
#define CK_MERGE_ANALYSIS_IDLE_DEPENDS_H

#include "merge/analysis/idle/sharing.h"

/* Enter what the command of that call (commands.h) of sharing->process waited
 * for, as long as it did; *part then is what is left. */
void depends_share(struct sharing *sharing,
                   uint32_t tid,
                   uint32_t call,
                   struct region *part);
/* A history_take_f: enter a piece in which h left the device without work. Of a
 * call that waits for devices, another one's kernels are what it waited for. */
void depends_host(void *state,
                  struct region piece,
                  const struct history_state *did);

#endif
