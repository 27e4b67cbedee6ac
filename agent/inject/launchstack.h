/* launchstack.h - the stacks of calls that launch device work
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CK_AGENT_INJECT_LAUNCHSTACK_H
#define CK_AGENT_INJECT_LAUNCHSTACK_H

#include "agent/inject/inject.h"

/* Of a site the first launches, and of its later ones about one in so many. */
#define LAUNCHSTACK_FIRST 16
#define LAUNCHSTACK_EACH 16

/* Record the stack of a call that has launched work, or not: most are left out
 * once their site is known. `from` is the return address of the wrapper, whose
 * frame is still there. Behind the call's own record. Keeps errno. */
void launch_stack_say(const struct inject_call *call, const void *from);

#endif
