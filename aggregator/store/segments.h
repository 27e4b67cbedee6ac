/* segments.h - the segments of one agent; the oldest may be discarded
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 *     seg-A.ck  seg-A-00000001.ck  ...  seg-A-0000000n.ck     facts-A.ck
 *     oldest                            appended to           of those that
 *                                                             were discarded
 *
 * Without a limit there is the first alone. What stays of the oldest (thin.h)
 * and the note that it is discarded are appended to the facts in one write, and
 * only then it is removed: killed in between, a ckagg that comes later removes
 * it. Used from the loop only.
 */
#ifndef CK_AGGREGATOR_STORE_SEGMENTS_H
#define CK_AGGREGATOR_STORE_SEGMENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "aggregator/store/factsfile.h"
#include "launch/keep.h"
#include "schema/err.h"
#include "schema/frame.h"

/* Bounds of a segment, where there is a limit: an eighth of it. */
#define SEGMENTS_PART_MIN ((uint64_t)64 << 10)
#define SEGMENTS_PART_MAX ((uint64_t)16 << 20)
#define SEGMENTS_PARTS 8

struct segments;

struct segments_facts {
    uint64_t frames;
    uint64_t records;
    uint64_t bytes;
    uint64_t count;  /* segments that are there */
    uint64_t failed; /* discards that could not be done; tried again */
    struct thin_note discarded;
};

/* A frame that was found, at this offset of its file; is_thin: in the facts.
 * 0, or -1 to stop. */
typedef int (*segments_take_f)(void *state,
                               const struct ck_frame_header *header,
                               const void *payload,
                               uint64_t offset,
                               bool is_thin);

/* Open what is there of the agent in `dir`, the facts first; or make its first
 * segment. NULL with errno and err. `take` and `is_last` get `state`. */
struct segments *segments_create(const char *dir,
                                 const uint8_t agent[16],
                                 segments_take_f take,
                                 void *state,
                                 struct ck_err *err);
void segments_destroy(struct segments *segments);

/* From now on keep so much of this agent: its bytes, its time. */
void segments_keep(struct segments *segments, const struct ck_keep *keep);
/* Append a frame as it is; before that, the oldest segments go where there
 * would be too much. 0, or -1 with errno: nothing was written. */
int segments_append(struct segments *segments,
                    const struct ck_frame_header *header,
                    const void *frame,
                    factsfile_is_last_f is_last,
                    void *state);
/* Let the oldest go where there is too much: after segments_keep(). */
void segments_trim(struct segments *segments,
                   factsfile_is_last_f is_last,
                   void *state);
/* Bytes of the segment that is appended to. */
uint64_t segments_end(const struct segments *segments);
/* Is it the only one that there ever was? */
bool segments_is_single(const struct segments *segments);
struct segments_facts segments_facts(const struct segments *segments);
/* fdatasync. 0 or -1 with errno. */
int segments_sync(struct segments *segments);

#endif
