/* positions.h - how far the streams of one agent are stored
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * One entry a stream, found by (incarnation, slot). A frame takes the range
 * [first, first + units); what is below `next` and in no gap is stored
 * already. Used from the loop only.
 */
#ifndef CK_AGGREGATOR_STORE_POSITIONS_H
#define CK_AGGREGATOR_STORE_POSITIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "schema/batch/wire.h"
#include "schema/frame.h"

/* Streams of one agent; a frame of one more is refused. */
#define POSITIONS_MAX CK_CONTROL_ACKS_MAX
/* Gaps remembered a stream; more are joined (what is stored twice is trimmed
 * by the merge, what is dropped once is gone). */
#define POSITION_GAPS_MAX 8

struct position_gap {
    uint64_t from;
    uint64_t to;
};

struct position {
    struct ck_stream stream;
    uint64_t base; /* first of the first frame seen */
    uint64_t next; /* end of the farthest frame stored */
    bool is_begun;
    bool is_due;  /* an acknowledgement is owed */
    bool is_thin; /* what was found of it last is a thin frame */
    unsigned gaps_count;
    struct position_gap gaps[POSITION_GAPS_MAX]; /* ascending */
};

struct positions;

/* NULL with ENOMEM. */
struct positions *positions_create(void);
void positions_destroy(struct positions *positions);

/* The stream's entry, made at its first use. Borrowed. NULL with errno: ENOBUFS
 * (POSITIONS_MAX) or ENOMEM. */
struct position *positions_get(struct positions *positions,
                               struct ck_stream stream);

/* True when all of [first, first + units) is stored. */
bool position_has(const struct position *position,
                  uint64_t first,
                  uint32_t units);
/* [first, first + units) was stored. */
void position_take(struct position *position, uint64_t first, uint32_t units);
/* All before `first` was stored, though it is not there any more. */
void position_forget(struct position *position, uint64_t first);

/* Acknowledgements of all streams, or of those that are due (is_due is
 * cleared). Returns how many were written; at most `room`. */
size_t positions_acks(const struct positions *positions,
                      struct ck_ack *acks,
                      size_t room);
size_t positions_acks_due(struct positions *positions,
                          struct ck_ack *acks,
                          size_t room);
/* The acknowledgements taken could not be sent: all are due again. */
void positions_due_again(struct positions *positions);

size_t positions_count(const struct positions *positions);
/* Units between frames of a stream that never came; where memory is short, also
 * those that another stream of the slot has. */
uint64_t positions_missing(const struct positions *positions);

#endif
