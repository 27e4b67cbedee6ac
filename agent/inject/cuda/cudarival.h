/* cudarival.h - other clients of CUPTI: when they come, and when they leave
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * CUPTI has one pair of buffer callbacks, and does not report that they were
 * replaced. Other tools find its functions by the loader, which ckcuda wraps:
 * a client came when it registered its callbacks; it has left when it wants no
 * kernels any more and has flushed, or ended CUPTI.
 */
#ifndef CK_AGENT_INJECT_CUDA_CUDARIVAL_H
#define CK_AGENT_INJECT_CUDA_CUDARIVAL_H

#include "agent/inject/cuda/cudahook.h"
#include "agent/inject/cudalink.h"

void cudarival_watch(cuda_rival_f *told);
/* As cudacall_hook(), of CUPTI's functions. */
struct cuda_hook *cudarival_hook(const char *symbol);

#endif
