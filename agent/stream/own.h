/* own.h - the collector's own stream: what it says itself, beside the rings
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Identity, processes, modules, symbols, counters, clock facts, losses, open
 * calls and notes. One a collector, used from its thread only. Records are
 * copied into a buffer of bounded size, which becomes a frame of the stream
 * (incarnation 0, CK_SLOT_COLLECTOR) when it is full or own_flush() says so.
 */
#ifndef CK_AGENT_STREAM_OWN_H
#define CK_AGENT_STREAM_OWN_H

#include <stddef.h>
#include <stdint.h>

#include "schema/event.h"
#include "schema/time.h"

struct own;
struct outlet;

/* `outlet` is borrowed. `clock` is the ring's, `pid` the collector's. NULL
 * with ENOMEM. */
struct own *
own_create(struct outlet *outlet, enum ck_clock clock, uint32_t pid);
void own_destroy(struct own *own);

/* Append a copy of a record (e.units * 32 bytes). A start of 0 becomes now on
 * RAW with CK_FLAG_RAW; other records that carry RAW nanoseconds must have
 * that flag set by the caller. 0, or -1 with errno (EINVAL: no such record;
 * ENOSPC: neither outbox nor spool took the full buffer, counted as lost).
 */
int own_put(struct own *own, const struct ck_event *record);

/* Append a text record: units and length are set here, start as in own_put().
 * Longer text than CK_TEXT_BYTES_MAX is cut. 0, or -1 as own_put().
 */
int own_text(struct own *own,
             struct ck_text head,
             const char *bytes,
             size_t length);

/* A sentence for the report's TRUST lines. */
void own_note(struct own *own, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Make a frame of what is buffered. 0, or -1 with errno ENOSPC. */
int own_flush(struct own *own);

/* Forget what is buffered and found no place: counted as lost. */
void own_drop(struct own *own);

/* When the oldest buffered record came (RAW), 0 = nothing buffered. */
ck_time_t own_oldest(const struct own *own);

/* Records that found no room. */
uint64_t own_lost(const struct own *own);

#endif
