/* cuptitable.h - devices, contexts, streams and launches seen by CUPTI
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Bounded tables without a lock. A device or stream gets its number at first
 * sight, whichever record comes first; what is known of it is recorded then and
 * again when more is known (the last record of a number holds).
 */
#ifndef CK_AGENT_INJECT_CUPTI_CUPTITABLE_H
#define CK_AGENT_INJECT_CUPTI_CUPTITABLE_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/inject/cupti/cuptiapi.h"
#include "schema/time.h"

#define TABLE_DEVICES 64
#define TABLE_CONTEXTS 4096
#define TABLE_STREAMS 4096
/* A power of two; more launches than a process makes between two flushes. */
#define TABLE_LAUNCHES 262144
#define TABLE_NONE 0xffffffffu

/* Number of the DEVICE record of an ordinal; 0: no room, or none. */
uint32_t table_device(uint32_t ordinal);
void table_device_say(const struct cupti_device *device);
/* Ask CUPTI, and then the driver, for devices that had work and sent no DEVICE
 * activity. Only on the flush thread, outside callbacks. */
void table_devices_ask(void);

void table_context(uint32_t context, uint32_t ordinal);
/* Ordinal of a context's device, or TABLE_NONE. */
uint32_t table_context_device(uint32_t context);

/* Id of the QUEUE record of a stream; `ordinal` may be TABLE_NONE. */
uint32_t table_stream(uint32_t context, uint32_t stream, uint32_t ordinal);
void table_stream_say(const struct cupti_stream *stream);

/* Who made the API call with this correlation id. */
struct table_launch {
    uint32_t tid;
    uint32_t call;
    ck_time_t start; /* of the call, on the ring's clock */
};
void table_launch_set(uint32_t correlation, struct table_launch launch);
/* Zeros when it is not known (any more). */
struct table_launch table_launch_get(uint32_t correlation);

#endif
