/* cudacall.h - calls of CUDA's driver, where CUPTI does not report them
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Launches, copies, fills and waits are recorded with the place of the call;
 * nothing of CUDA is called but what the program called. What devices did is
 * not known from that, nor when. No table grows.
 */
#ifndef CK_AGENT_INJECT_CUDA_CUDACALL_H
#define CK_AGENT_INJECT_CUDA_CUDACALL_H

#include <stdint.h>

#include "agent/inject/cudalink.h"

void cudacall_decide(enum cuda_recorder recorder);
uint64_t cudacall_launches(void);
/* Ours in place of the driver's function at `real` of this name (any form of
 * it), or `real` itself. */
void *cudacall_replace(const char *name, void *real);
/* Ours for a name as the driver exports it; NULL: not one of them. */
struct cuda_hook *cudacall_hook(const char *symbol);
/* The driver's function of that name; NULL: it has none. */
void *cudacall_driver(const char *symbol);

#endif
