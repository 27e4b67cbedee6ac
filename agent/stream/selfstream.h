/* selfstream.h - the collector's own stream: its own records, beside the
 * rings
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Identity, processes, modules, symbols, counters, clock facts, losses, open
 * calls and notes. One a collector, used from its thread only. Records are
 * copied into a buffer of bounded size, which becomes a frame of the stream
 * (incarnation 0, CK_SLOT_COLLECTOR) when it is full or by
 * selfstream_flush().
 */
#ifndef CK_AGENT_STREAM_SELFSTREAM_H
#define CK_AGENT_STREAM_SELFSTREAM_H

#include <stddef.h>
#include <stdint.h>

#include "schema/event.h"
#include "schema/time.h"

struct selfstream;
struct framewriter;

/* `framewriter` is borrowed. `clock` is the ring's, `pid` the collector's. NULL
 * with ENOMEM. */
struct selfstream *selfstream_create(struct framewriter *framewriter,
                                     enum ck_clock clock,
                                     uint32_t pid);
void selfstream_destroy(struct selfstream *selfstream);

/* Append a copy of a record (e.units * 32 bytes). A start of 0 becomes now on
 * RAW with CK_FLAG_RAW; other records that carry RAW nanoseconds must have
 * that flag set by the caller. 0, or -1 with errno (EINVAL: no such record;
 * ENOSPC: neither outbox nor spool took the full buffer, counted as lost).
 */
int selfstream_put(struct selfstream *selfstream,
                   const struct ck_event *record);

/* Append a text record: units and length are set here, start as in
 * selfstream_put(). Longer text than CK_TEXT_BYTES_MAX is cut. 0, or -1 as
 * selfstream_put().
 */
int selfstream_text(struct selfstream *selfstream,
                    struct ck_text head,
                    const char *bytes,
                    size_t length);

/* A sentence for the report's TRUST lines. */
void selfstream_note(struct selfstream *selfstream, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Make a frame of what is buffered. 0, or -1 with errno ENOSPC. */
int selfstream_flush(struct selfstream *selfstream);

/* Forget what is buffered and found no place: counted as lost. */
void selfstream_drop(struct selfstream *selfstream);

/* When the oldest buffered record came (RAW), 0 = nothing buffered. */
ck_time_t selfstream_oldest(const struct selfstream *selfstream);

/* Records that found no room. */
uint64_t selfstream_lost(const struct selfstream *selfstream);

#endif
