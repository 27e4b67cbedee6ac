/* thin.h - what stays of frames that are discarded
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Later records are not understood without what came once before: names,
 * threads, communicators, devices, modules, clock facts, running totals, losses
 * and open calls. A thin frame holds these of a frame, with its stream,
 * position and units; a frame without any leaves a hole, unless it is the last
 * of its stream. Used from the loop only.
 */
#ifndef CK_AGGREGATOR_STORE_THIN_H
#define CK_AGGREGATOR_STORE_THIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "schema/event.h"
#include "schema/frame.h"

/* Of an agent, since its begin. */
struct thin_note {
    uint32_t segment; /* the last one that was discarded */
    bool is_any;
    uint64_t segments;
    uint64_t records; /* that are there no more */
    uint64_t bytes;   /* of the segments */
    uint64_t units;   /* of frames that are gone entirely */
    /* Latest end of a record that is there no more, by its clock: INT64_MIN =
     * none. All that ended later is there. */
    int64_t until_raw;
    int64_t until_ticks;
};

struct thin;
/* NULL with ENOMEM. */
struct thin *thin_create(void);
void thin_destroy(struct thin *thin);

/* Begin with another segment: no frames, the note so far (copied). */
void thin_begin(struct thin *thin, const struct thin_note *note);
/* True when the row stays. */
typedef bool (*thin_keep_f)(void *state, const struct ck_event *row);
/* Until the next thin_begin(): leave out facts as well. */
void thin_filter(struct thin *thin, thin_keep_f keep, void *state);
/* One verified frame of the segment. One that does not decode leaves a hole.
 * 0, or -1 with ENOMEM. */
int thin_add(struct thin *thin,
             const struct ck_frame_header *header,
             const void *payload,
             bool is_last);
/* The note as it is now. Borrowed. */
struct thin_note *thin_note(struct thin *thin);
/* Put the note behind the thin frames, as a frame of ckagg's own stream. 0, or
 * -1 with ENOMEM. */
int thin_finish(struct thin *thin, const uint8_t agent[16], uint64_t first);

/* The frames, one behind the other; borrowed until the next thin_begin(). */
const void *
thin_bytes(const struct thin *thin, size_t *length, uint64_t *records);
uint64_t thin_frames(const struct thin *thin);
/* Position behind the note of thin_finish(). */
uint64_t thin_next(const struct thin *thin);

/* Read a note out of a frame of ckagg's own stream; *first = the position
 * behind it. False: it is none. */
bool thin_note_read(const struct ck_frame_header *header,
                    const void *payload,
                    struct thin_note *note,
                    uint64_t *first);

#endif
