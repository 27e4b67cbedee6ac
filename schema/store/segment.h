/* segment.h - a file of frames: append, map and walk
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Segments (written by ckagg) and spools (written by an agent) are the same.
 */
#ifndef CK_SCHEMA_STORE_SEGMENT_H
#define CK_SCHEMA_STORE_SEGMENT_H

#include <stdbool.h>
#include <stdint.h>

#include "schema/err.h"
#include "schema/frame.h"

struct ck_segment;

/* Open for appending (created 0600). An existing file's torn tail is cut at
 * its last whole frame. NULL with errno and err. */
struct ck_segment *ck_segment_create(const char *path, struct ck_err *err);
void ck_segment_destroy(struct ck_segment *segment);
/* Append one frame as it is: `frame` = ck_frame_bytes() bytes. 0, or -1 with
 * errno (ENOSPC: the file is unchanged and may be appended to again). */
int ck_segment_append(struct ck_segment *segment,
                      const void *frame,
                      size_t bytes);
/* Have room on disk for so many bytes behind the last frame, without changing
 * the file's length. 0, or -1 with errno ENOSPC or EDQUOT; 0 as well where the
 * file system cannot promise room. */
int ck_segment_reserve(struct ck_segment *segment, uint64_t bytes);
uint64_t ck_segment_bytes(const struct ck_segment *segment);
/* fdatasync. 0 or -1 with errno. */
int ck_segment_sync(struct ck_segment *segment);

/* A reader walks the frames of a file in windows of bounded memory. */
struct ck_segment_reader;
struct ck_segment_reader *ck_segment_reader_create(const char *path,
                                                   struct ck_err *err);
void ck_segment_reader_destroy(struct ck_segment_reader *reader);

/* Memory into which readers copy parts of their files by turns, for a few
 * frames of each of many files. NULL with ENOMEM. */
struct ck_segment_ahead;
struct ck_segment_ahead *ck_segment_ahead_create(void);
void ck_segment_ahead_destroy(struct ck_segment_ahead *ahead);
/* Use it (borrowed, longer than the reader lives): a payload is then borrowed
 * until the next call for any of its readers, and the file is looked at again
 * only at its end as it is known: one that is shortened meanwhile may be
 * SIGBUS. */
void ck_segment_reader_share(struct ck_segment_reader *reader,
                             struct ck_segment_ahead *ahead);
/* Next whole, verified frame: 1 and header/payload (borrowed until the next
 * call, 8-aligned), 0 at the end, -1 with errno (the file cannot be mapped).
 * Damaged bytes are skipped to the next frame that verifies and counted. At
 * the end a later call looks again: the file may have grown. */
int ck_segment_next(struct ck_segment_reader *reader,
                    struct ck_frame_header *header,
                    const void **payload);
/* As ck_segment_next(), but where memory is shared, what verifies only by its
 * header counts: the frame may be damaged. */
int ck_segment_skim(struct ck_segment_reader *reader,
                    struct ck_frame_header *header);
/* Go to a byte offset that ck_segment_offset() gave earlier. */
int ck_segment_seek(struct ck_segment_reader *reader, uint64_t offset);
/* Offset of the frame that ck_segment_next() returned last. */
uint64_t ck_segment_offset(const struct ck_segment_reader *reader);

/* A frame that stays while the reader goes on. */
struct ck_segment_held {
    struct ck_frame_header header;
    const void *payload; /* 8-aligned; NULL = nothing is held */
    void *map;
    size_t map_bytes; /* 0 = `map` is memory of its own */
};
/* Hold the frame at a byte offset that ck_segment_offset() gave. 0, or -1: no
 * frame verifies there any more, or it cannot be mapped. */
int ck_segment_hold(struct ck_segment_reader *reader,
                    uint64_t offset,
                    struct ck_segment_held *held);
void ck_segment_release(struct ck_segment_held *held);

/* What did not verify so far. */
struct ck_segment_damage {
    uint64_t places;
    uint64_t bytes;
    uint64_t first_offset;
    bool is_tail; /* the damage reaches the end of the file (torn write) */
};
struct ck_segment_damage
ck_segment_damage(const struct ck_segment_reader *reader);

#endif
