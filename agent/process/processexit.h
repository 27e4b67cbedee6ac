/* processexit.h - has a process ended?
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CK_AGENT_PROCESS_PROCESSEXIT_H
#define CK_AGENT_PROCESS_PROCESSEXIT_H

#include <stdbool.h>
#include <stdint.h>

/* All threads of the process have ended, whether its parent has waited for it
 * or not. False where that is not known; `pid` is of our own namespace. */
bool process_is_over(uint32_t pid);

#endif
