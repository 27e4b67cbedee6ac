/* wire.h - FlatBuffer batches of packed columns, and control messages
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * A batch holds records of one stream, grouped by class, each field a column
 * (kind.def); decoding gives back the ring's records in their order, byte for
 * byte (padding and reserved words as zero). The column code is documented in
 * docs/protocol.md. C++ only behind this header (wire.cpp: FlatBuffers); the
 * codec itself is encode.c and decode.c.
 */
#ifndef CK_SCHEMA_BATCH_WIRE_H
#define CK_SCHEMA_BATCH_WIRE_H

#include <stddef.h>
#include <stdint.h>

#include "schema/batch/batch.h"
#include "schema/err.h"
#include "schema/event.h"
#include "schema/frame.h"
#include "schema/time.h"

#ifdef __cplusplus
extern "C" {
#endif

/* An encoder with its buffers; reused, one a thread. NULL with ENOMEM. */
struct ck_batch_writer;
struct ck_batch_writer *ck_batch_writer_create(void);
void ck_batch_writer_destroy(struct ck_batch_writer *writer);

/* Encode whole records that follow each other (`bytes` a multiple of 32,
 * at most CK_FRAME_UNITS_MAX units; stops at CK_FRAME_RECORDS_MAX records, and
 * before a THREAD record behind the first of another thread than info->tid).
 * Sets info->records and info->units to what was taken. *payload is borrowed
 * until the next call. 0, or -1 with err: a record that is not well formed
 * (units 0, beyond the end) - the memory of a target is not trusted.
 * A well-formed record of an unknown kind is left out, counted in
 * info->skipped, and its units are taken.
 */
int ck_batch_encode(struct ck_batch_writer *writer,
                    struct ck_batch_info *info,
                    const void *records,
                    size_t bytes,
                    const void **payload,
                    size_t *payload_bytes,
                    struct ck_err *err);

/* Call sites (of calls, messages and collectives) in the records that were
 * encoded last: each at least once, zeros and most repetitions left out.
 * *sites is borrowed until the next call. Returns their number. */
size_t ck_batch_sites(const struct ck_batch_writer *writer,
                      const uint64_t **sites);

/* Decode a payload (unpacked, 8-aligned). `rows` has room for
 * `rows_bytes`; needs header.units * 32 at most. Verifies everything: any
 * payload is safe. 0, or -1 with err. */
int ck_batch_decode(const void *payload,
                    size_t payload_bytes,
                    struct ck_batch_info *info,
                    void *rows,
                    size_t rows_bytes,
                    struct ck_err *err);

/* As decode, but only records of the classes whose bit (1 << class) is set,
 * one after the other; *rows_used = bytes written. For passes that look for
 * names or clocks only. */
int ck_batch_decode_classes(const void *payload,
                            size_t payload_bytes,
                            uint32_t classes,
                            struct ck_batch_info *info,
                            void *rows,
                            size_t rows_bytes,
                            size_t *rows_used,
                            struct ck_err *err);

/* Look at these classes (but for texts) without making records of them: the
 * columns above are read and handed out in order of pieces, of all others it
 * is checked that they decode. Any payload is safe. 0, or -1 with err: decoding
 * would fail as well; some columns may have been handed out. info->skipped =
 * records of unknown kinds in these classes. */
int ck_batch_scan(const void *payload,
                  size_t payload_bytes,
                  uint32_t classes,
                  struct ck_batch_info *info,
                  ck_batch_take_f take,
                  void *state,
                  struct ck_err *err);

/* The records of a batch in their order, some pieces at a time. */
struct ck_batch_cursor;
/* NULL with ENOMEM. */
struct ck_batch_cursor *ck_batch_cursor_create(void);
void ck_batch_cursor_destroy(struct ck_batch_cursor *cursor);
/* Begin a batch, with these classes (but for texts); the payload is borrowed
 * until the next one. 0, or -1 with err. */
int ck_batch_cursor_open(struct ck_batch_cursor *cursor,
                         const void *payload,
                         size_t payload_bytes,
                         uint32_t classes,
                         struct ck_batch_info *info,
                         struct ck_err *err);
/* Decode the next pieces: 1 and *rows_used, which may be 0; 0 at the end; -1
 * with err: they do not decode, or rows have no room (three units for each
 * record are enough). */
int ck_batch_cursor_next(struct ck_batch_cursor *cursor,
                         unsigned pieces,
                         void *rows,
                         size_t rows_bytes,
                         size_t *rows_used,
                         struct ck_err *err);

/* Control messages between agent, ckagg and `ckagg --status`. */
enum ck_control_type {
    CK_CONTROL_HELLO = 1,    /* agent: text = identity lines */
    CK_CONTROL_WELCOME = 2,  /* ckagg: text = run, dir, version; acks = known
                                streams of this agent (to go on from) */
    CK_CONTROL_ACK = 3,      /* ckagg: acks = stored positions */
    CK_CONTROL_GOODBYE = 4,  /* agent: nothing will follow; text = exit lines */
    CK_CONTROL_FAREWELL = 5, /* ckagg: goodbye noted, all is stored */
    CK_CONTROL_REFUSED = 6,  /* ckagg: text = why; the agent spools */
    CK_CONTROL_STATUS = 7,   /* client: empty; ckagg: text = JSON */
    CK_CONTROL_REPORT = 8,   /* client: wait for the report; ckagg: text =
                                key=value lines, blank line, report text */
    CK_CONTROL_BEAT = 9,     /* agent, each second: alive; text = counters */
    CK_CONTROL_STOP = 10,    /* client: end the job now */
    CK_CONTROL_CLOCK = 11,   /* agent, ckagg: text = a clock probe as hex, where
                                neither UDP nor TCP passes */
    CK_CONTROL_FULL = 12,    /* ckagg: text = what it cannot write to, and why;
                                nothing is stored until the next WELCOME */
    CK_CONTROL_WHERE = 13,   /* client: where is every rank? ckagg: the same to
                                its agents; agent: looked, and sent what it
                                saw; ckagg: text = the answer */
};

struct ck_ack {
    struct ck_stream stream;
    uint64_t next; /* all units before it are stored */
};

#define CK_CONTROL_TEXT_MAX ((size_t)1 << 20)
#define CK_CONTROL_ACKS_MAX 65536

struct ck_control {
    enum ck_control_type type;
    uint32_t version;  /* CK_FRAME_VERSION of the sender */
    uint8_t agent[16]; /* zeros: not an agent */
    const char *text;  /* borrowed; NUL-terminated; "" */
    size_t text_length;
    const struct ck_ack *acks; /* borrowed */
    size_t acks_count;
};

/* Encode into the writer's buffer; borrowed until the next call. */
int ck_control_encode(struct ck_batch_writer *writer,
                      const struct ck_control *control,
                      const void **bytes,
                      size_t *length,
                      struct ck_err *err);
/* Decode; text and acks point into `bytes`, which must be 8-aligned. 0, or
 * -1 with err (any bytes are safe). */
int ck_control_decode(const void *bytes,
                      size_t length,
                      struct ck_control *control,
                      struct ck_err *err);
/* 1 when the bytes claim to be a control message (identifier), else 0. */
int ck_control_is(const void *bytes, size_t length);

#ifdef __cplusplus
}
#endif

#endif
