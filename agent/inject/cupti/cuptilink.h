/* cuptilink.h - ckcuda in the same process, if it is there
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CK_AGENT_INJECT_CUPTI_CUPTILINK_H
#define CK_AGENT_INJECT_CUPTI_CUPTILINK_H

#include <stdbool.h>

#include "agent/inject/cudalink.h"

/* Find it, and have it report what other clients of CUPTI do. Once. */
void link_open(cuda_rival_f *told);
/* Whether other clients are reported. */
bool link_is_open(void);
/* Who records the program's calls from now on. */
void link_decide(enum cuda_recorder recorder);
/* dlsym(), without what ckcuda puts before it. */
void *link_symbol(void *library, const char *name);
/* Launches that ckcuda saw while it recorded. */
uint64_t link_launches(void);

#endif
