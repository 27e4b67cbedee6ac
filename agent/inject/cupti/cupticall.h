/* cupticall.h - API calls of the program, from CUPTI's callbacks
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Launches, copies, fills, waits, allocations and module loads; a driver call
 * inside a runtime call is part of it, except for launches, where only the
 * driver's is reported: two callbacks in place of four. The record is written
 * in the slot of the calling thread, and the call is open while inside, so a
 * rank that hangs in one is found.
 */
#ifndef CK_AGENT_INJECT_CUPTI_CUPTICALL_H
#define CK_AGENT_INJECT_CUPTI_CUPTICALL_H

#include <stdint.h>

#include "agent/inject/cupti/cuptiapi.h"

/* Look the calls up by name; once, before the ones below. */
void call_names_load(void);
/* Have the chosen calls reported to the subscriber's callback, or (NULL) as
 * activity records. Returns the calls that were enabled. */
unsigned call_enable(void *subscriber);
/* Kernels came whose launches were not reported, and none with one that was.
 * Any thread. */
void call_mismatched(void);
/* A callback of the runtime or the driver domain; `from` is the return address
 * of the function that CUPTI called. */
void call_observed(uint32_t domain,
                   uint32_t id,
                   const struct cupti_call *data,
                   const void *from);
/* Id of the call's NAME record; 0: not one of the chosen. */
uint32_t call_name(uint32_t domain, uint32_t id);

#endif
