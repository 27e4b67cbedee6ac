/* cuptimemory.h - memory of devices: given, and given back
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CK_AGENT_INJECT_CUPTI_CUPTIMEMORY_H
#define CK_AGENT_INJECT_CUPTI_CUPTIMEMORY_H

#include <stdint.h>

#include "agent/inject/cupti/cuptiabi.h"

/* Stacks of calls whose records have not come yet; a power of two. */
#define MEMORY_CALLS 4096

/* This thread is in a call that may ask for such memory; `from` is a return
 * address on its stack: what is called from there is not the program's. Only
 * with a writer, not within a record. */
void memory_called(uint32_t correlation, const void *from);
/* CUPTI's record of memory; what is the host's is left out. */
void memory_write(const struct cupti_memory *memory);

#endif
