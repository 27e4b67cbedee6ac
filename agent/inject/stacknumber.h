/* stacknumber.h - this thread's stack, by a number
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CK_AGENT_INJECT_STACKNUMBER_H
#define CK_AGENT_INJECT_STACKNUMBER_H

#include <stdint.h>

/* Places for different stacks, in each library of a process: a stack that
 * finds none of those near its own free has no number. */
#define STACKNUMBER_PLACES 32768

/* Number of this thread's stack from the call with the return address `from`
 * on, recorded as STACK at first sight; 0 = none, which is noted once where
 * there are too many. It begins with the frame
 * `site` (callsite.h) where that is in it. Only with a writer, not within a
 * record. Keeps errno. */
uint32_t stack_number_find(const void *from, uint64_t site);

#endif
