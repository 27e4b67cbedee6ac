/* cuptibuffer.h - the buffers that CUPTI fills
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Small ones: CUPTI gives none back in which one record is unfinished, and on
 * a busy device one always is, so what is younger than a buffer is lost with a
 * killed process. BUFFER_READY of them are there before the first launch; the
 * flush thread adds more ahead of need, up to BUFFER_MAX. Where even those are
 * all in use, CUPTI gets none and counts the records that it drops; or, before
 * it could do that, one whose content is thrown away and counted.
 */
#ifndef CK_AGENT_INJECT_CUPTI_CUPTIBUFFER_H
#define CK_AGENT_INJECT_CUPTI_CUPTIBUFFER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/inject/cupti/cuptiapi.h"

#define BUFFER_BYTES ((size_t)32 << 10)
#define BUFFER_READY 512
#define BUFFER_MAX 4096

/* Make the first buffers. 0, or -1 with errno. */
int buffer_init(void);
/* Make more when few are left. Only on the flush thread. */
void buffer_refill(void);
/* What CUPTI holds is another client's now, who may have freed it. */
void buffer_forget(void);
/* CUPTI's callbacks. */
void buffer_requested(uint8_t **buffer, size_t *size, size_t *records);
void buffer_completed(
    void *context, uint32_t stream, uint8_t *buffer, size_t size, size_t valid);
/* Buffers that CUPTI asked for, and that it gave back. */
uint64_t buffer_requested_count(void);
uint64_t buffer_completed_count(void);

#endif
