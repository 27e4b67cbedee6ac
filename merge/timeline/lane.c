/* lane.c - one stream's records in order of time, on the axis
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "merge/timeline/lane.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "merge/model/array.h"
#include "merge/model/memory.h"
#include "merge/timeline/feed.h"
#include "schema/order.h"

/* A frame on its way through the lane. */
struct visit {
    const struct store_frame *frame;
    struct feed *feed;   /* NULL = not decoded now */
    ck_time_t time;      /* no record left is due before; LANE_END = none */
    ck_time_t past_time; /* of the record handed out last, when it was put */
    uint32_t past_order; /* aside */
};

struct lane {
    struct feed_source source;
    struct visit *visits; /* one a frame with records, by earliest start */
    size_t visits_count;
    size_t limit;    /* visits from here on have not begun */
    uint32_t *begun; /* those that have begun and are not over */
    size_t begun_count;
    size_t begun_room;
    size_t decoded;
    size_t next;        /* visit of the next record */
    struct feed *spare; /* of a visit that is over */
    ck_time_t time;     /* of the next record */
    ck_time_t other;    /* no other visit is due before; INT64_MIN = unknown */
    bool is_over;       /* the record handed out last ended its visit */
};

CK_ORDER(by_time, struct visit, CK_UP(time) ?: CK_UP(frame))

/* Find the visit with the earliest next record: one that has begun, or the
 * first that has not. */
static void lane_seek(struct lane *lane)
{
    lane->next = lane->limit;
    lane->time = lane->limit < lane->visits_count
                     ? lane->visits[lane->limit].time
                     : LANE_END;
    lane->other = LANE_END;
    for (size_t i = 0; i < lane->begun_count; i++) {
        ck_time_t time = lane->visits[lane->begun[i]].time;

        if (time < lane->time ||
            (time == lane->time && lane->begun[i] < lane->next)) {
            lane->other = lane->time;
            lane->time = time;
            lane->next = lane->begun[i];
        } else if (time < lane->other) {
            lane->other = time;
        }
    }
}

struct lane *lane_create(const struct feed_source *source)
{
    const struct rundir_stream *stream = source->stream;
    struct lane *lane = xcalloc(1, sizeof(*lane));

    lane->source = *source;
    lane->source.lead = axis_lead(source->axis, stream->agent);
    lane->visits = xcalloc(stream->frames_count + 1, sizeof(*lane->visits));
    for (size_t i = 0; i < stream->frames_count; i++) {
        struct visit *visit = &lane->visits[lane->visits_count];

        if ((stream->frames[i].classes & source->classes) == 0) {
            continue;
        }
        visit->frame = &stream->frames[i];
        visit->past_time = INT64_MIN;
        visit->time =
            axis_floor(source->axis, stream->agent, &visit->frame->stamps);
        if (visit->time != INT64_MIN) {
            visit->time -= lane->source.lead;
            lane->visits_count++;
        }
    }
    qsort(lane->visits, lane->visits_count, sizeof(*lane->visits), by_time);
    lane_seek(lane);
    return lane;
}

/* Let go of a visit's records; the memory is kept for the next one. */
static void visit_drop(struct lane *lane, struct visit *visit)
{
    if (visit->feed == NULL) {
        return;
    }
    feed_destroy(lane->spare);
    lane->spare = visit->feed;
    visit->feed = NULL;
    lane->decoded--;
}

void lane_destroy(struct lane *lane)
{
    if (lane == NULL) {
        return;
    }
    for (size_t i = 0; i < lane->visits_count; i++) {
        visit_drop(lane, &lane->visits[i]);
    }
    feed_destroy(lane->spare);
    free(lane->visits);
    free(lane->begun);
    free(lane);
}

static int
visit_decode(struct lane *lane, struct visit *visit, struct ck_err *err)
{
    visit->feed = lane->spare != NULL ? lane->spare : feed_create();
    lane->spare = NULL;
    if (visit->feed == NULL) {
        return ck_err_set(err, "out of memory");
    }
    lane->decoded++;
    return feed_open(visit->feed, &lane->source, visit->frame, visit->past_time,
                     visit->past_order, err);
}

/* Put aside the decoded visit that is needed last. */
static void lane_evict(struct lane *lane, const struct visit *but)
{
    struct visit *last = NULL;

    for (size_t i = 0; i < lane->begun_count; i++) {
        struct visit *visit = &lane->visits[lane->begun[i]];

        if (visit != but && visit->feed != NULL &&
            (last == NULL || visit->time > last->time)) {
            last = visit;
        }
    }
    if (last != NULL) {
        visit_drop(lane, last);
    }
}

/* Forget the visits that are over. */
static void lane_settle(struct lane *lane)
{
    size_t kept = 0;

    for (size_t i = 0; i < lane->begun_count; i++) {
        struct visit *visit = &lane->visits[lane->begun[i]];

        if (visit->time == LANE_END) {
            visit_drop(lane, visit);
        } else {
            lane->begun[kept++] = lane->begun[i];
        }
    }
    lane->begun_count = kept;
}

/* Make the visit of the next record ready. */
static int
lane_ready(struct lane *lane, struct visit *visit, struct ck_err *err)
{
    if (visit->feed == NULL) {
        if (lane->decoded == LANE_FRAMES_MAX) {
            lane_evict(lane, visit);
        }
        if (visit_decode(lane, visit, err) != 0) {
            return -1;
        }
    }
    if (lane->next == lane->limit) {
        array_grow(&lane->begun, &lane->begun_room, lane->begun_count,
                   sizeof(*lane->begun));
        lane->begun[lane->begun_count++] = (uint32_t)lane->next;
        lane->limit++;
        lane->other = INT64_MIN;
    }
    return 0;
}

ck_time_t lane_time(const struct lane *lane)
{
    return lane->time;
}

/* The lane's next record may be another visit's now. */
static void visit_passed(struct lane *lane, struct visit *visit)
{
    if (visit->time < lane->other) {
        lane->time = visit->time;
        return;
    }
    lane->is_over = visit->time == LANE_END;
    lane_seek(lane);
}

/* How many of the feed's records come before all that is not decoded, and
 * before any other visit's: one at least. */
static uint32_t run_length(const struct lane *lane, const struct feed *feed)
{
    ck_time_t until = lane->other < feed->bound ? lane->other : feed->bound;
    uint32_t low = feed->next + 1, high = feed->count;

    if (low < high && feed->entries[high - 1].time < until) {
        low = high;
    }
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;

        if (feed->entries[middle].time < until) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low - feed->next;
}

int lane_next(struct lane *lane, struct lane_run *run, struct ck_err *err)
{
    struct visit *visit;
    struct feed *feed;
    const struct feed_entry *entry;
    uint32_t count;

    if (lane->is_over) {
        lane_settle(lane);
        lane->is_over = false;
    }
    if (lane->time == LANE_END) {
        return 0;
    }
    visit = &lane->visits[lane->next];
    if (lane_ready(lane, visit, err) != 0) {
        return -1;
    }
    feed = visit->feed;
    if (!feed_is_ready(feed) && feed_fill(feed, &lane->source, err) != 0) {
        return -1;
    }
    entry = &feed->entries[feed->next];
    if (feed->next == feed->count || entry->time > visit->time) {
        visit->time = feed_time(feed);
        lane->other = INT64_MIN;
        visit_passed(lane, visit);
        return 0;
    }
    count = run_length(lane, feed);
    run->next = entry;
    run->end = entry + count;
    run->rows = feed->rows.bytes;
    run->thread = visit->frame->thread;
    feed->next += count;
    visit->past_time = run->end[-1].time;
    visit->past_order = run->end[-1].order;
    visit->time = feed_time(feed);
    visit_passed(lane, visit);
    return 1;
}
