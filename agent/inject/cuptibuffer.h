/* cuptibuffer.h - the buffers that CUPTI fills
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * BUFFER_READY of them are there before the first launch; the flush thread
 * adds more ahead of need, up to BUFFER_MAX. Where even those are all in use,
 * CUPTI gets none and counts the records that it drops.
 */
#ifndef CK_AGENT_INJECT_CUPTIBUFFER_H
#define CK_AGENT_INJECT_CUPTIBUFFER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/inject/cuptiapi.h"

#define BUFFER_BYTES ((size_t)1 << 20)
#define BUFFER_READY 16
#define BUFFER_MAX 128

/* Map the first buffers. 0, or -1 with errno. */
int buffer_init(void);
/* Map more when few are left. Only on the flush thread. */
void buffer_refill(void);
/* CUPTI's callbacks. */
void CUPTIAPI buffer_requested(uint8_t **buffer, size_t *size, size_t *records);
void CUPTIAPI buffer_completed(CUcontext context,
                               uint32_t stream,
                               uint8_t *buffer,
                               size_t size,
                               size_t valid);
/* Buffers that CUPTI gave back. */
uint64_t buffer_completed_count(void);

#endif
