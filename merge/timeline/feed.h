/* feed.h - one frame's records in order of time, decoded a few at a time
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Records come in order of completion. The store knows before which time no
 * later piece of the frame has a start: what began before that is in order
 * once it is sorted, and only that much is in memory. Used by lane.c alone.
 */
#ifndef CK_MERGE_TIMELINE_FEED_H
#define CK_MERGE_TIMELINE_FEED_H

#include <stdbool.h>
#include <stdint.h>

#include "merge/input/pieces.h"
#include "merge/input/rundir.h"
#include "merge/timeline/axis.h"

#define FEED_END INT64_MAX

/* Where a record is in the rows. */
struct feed_entry {
    ck_time_t time;
    uint32_t offset; /* in units */
    uint32_t order;  /* of storing, for equal times */
};

/* Whose frames, and what of them. */
struct feed_source {
    struct rundir *store; /* all borrowed */
    const struct axis *axis;
    const struct rundir_stream *stream;
    uint32_t classes; /* wanted: 1 << class */
    unsigned pieces;  /* that are decoded at once */
    ck_time_t lead;   /* axis_lead() of its agent; set by the lane */
};

struct feed {
    /* Decoded and not yet handed out, in order. */
    struct feed_entry *entries;
    uint32_t next, count;
    struct store_rows rows;
    ck_time_t bound; /* of what is not decoded; FEED_END = all is */
    /* Only for filling. */
    size_t entries_room;
    uint32_t order;
    struct store_rows spare;
    size_t kept; /* bytes of rows that were left when they went to the front */
    const struct store_frame *frame;
    struct pieces *pieces;
    /* What was handed out before the feed began anew. */
    ck_time_t past_time;
    uint32_t past_order;
};

struct feed *feed_create(void);
void feed_destroy(struct feed *feed);
/* Begin a frame, with the records behind (time, order); INT64_MIN = all. 0, or
 * -1 with err. */
int feed_open(struct feed *feed,
              const struct feed_source *source,
              const struct store_frame *frame,
              ck_time_t past_time,
              uint32_t past_order,
              struct ck_err *err);
/* Decode until the next record is known. 0, or -1 with err. */
int feed_fill(struct feed *feed,
              const struct feed_source *source,
              struct ck_err *err);

/* No record that is left begins before. */
static inline ck_time_t feed_time(const struct feed *feed)
{
    ck_time_t time =
        feed->next < feed->count ? feed->entries[feed->next].time : FEED_END;

    return time < feed->bound ? time : feed->bound;
}

/* True when the next record is known, or that there is none. */
static inline bool feed_is_ready(const struct feed *feed)
{
    return feed->bound == FEED_END ||
           (feed->next < feed->count &&
            feed->entries[feed->next].time < feed->bound);
}

#endif
