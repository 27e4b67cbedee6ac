/* feed.c - one frame's records in order of time, decoded a few at a time
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "merge/timeline/feed.h"

#include <stdlib.h>
#include <string.h>

#include "merge/model/memory.h"
#include "schema/order.h"

/* Classes whose records have no time of their own. */
#define UNTIMED                                                                \
    ((uint32_t)1 << CK_CLASS_TEXT | (uint32_t)1 << CK_CLASS_MODULE |           \
     (uint32_t)1 << CK_CLASS_CLOCK | (uint32_t)1 << CK_CLASS_OPEN)

struct feed *feed_create(void)
{
    struct feed *feed = xcalloc(1, sizeof(*feed));

    feed->pieces = pieces_create();
    if (feed->pieces == NULL) {
        free(feed);
        return NULL;
    }
    return feed;
}

void feed_destroy(struct feed *feed)
{
    if (feed == NULL) {
        return;
    }
    pieces_destroy(feed->pieces);
    free(feed->rows.bytes);
    free(feed->spare.bytes);
    free(feed->entries);
    free(feed);
}

/* ---- order -------------------------------------------------------------- */

CK_ORDER(by_entry, struct feed_entry, CK_UP(time) ?: CK_UP(order))

/* Order entries that are nearly in order by moving each to its place. False:
 * they are not, and many moves are left to do. */
static bool entries_insert(struct feed_entry *entries, uint32_t count)
{
    uint64_t moves = 8 * (uint64_t)count;

    for (uint32_t i = 1; i < count; i++) {
        struct feed_entry entry = entries[i];
        uint32_t at = i;

        while (at > 0 && by_entry(&entries[at - 1], &entry) > 0) {
            entries[at] = entries[at - 1];
            at--;
        }
        entries[at] = entry;
        if (i - at > moves) {
            return false;
        }
        moves -= i - at;
    }
    return true;
}

/* ---- filling ------------------------------------------------------------ */

/* What is left goes to the front: records too, when that gives room. Behind a
 * span that is long, as a step, all is left: records go to the front once there
 * are twice as many as then, so that each is moved a few times at most. */
static void feed_compact(struct feed *feed)
{
    uint32_t left = feed->count - feed->next;
    struct store_rows rows = feed->spare;

    if (left == 0) {
        feed->next = feed->count = 0;
        feed->rows.used = feed->kept = 0;
        return;
    }
    memmove(feed->entries, feed->entries + feed->next,
            left * sizeof(*feed->entries));
    feed->next = 0;
    feed->count = left;
    if (feed->rows.used < feed->rows.room / 2 ||
        feed->rows.used < 2 * feed->kept) {
        return;
    }
    rows_room(&rows.bytes, &rows.room, feed->rows.used);
    rows.used = 0;
    for (uint32_t i = 0; i < left; i++) {
        const uint8_t *row = (const uint8_t *)feed->rows.bytes +
                             (size_t)feed->entries[i].offset * CK_UNIT_BYTES;
        size_t bytes =
            (size_t)((const struct ck_event *)row)->units * CK_UNIT_BYTES;

        memcpy((uint8_t *)rows.bytes + rows.used, row, bytes);
        feed->entries[i].offset = (uint32_t)(rows.used / CK_UNIT_BYTES);
        rows.used += bytes;
    }
    feed->kept = rows.used;
    feed->spare = feed->rows;
    rows.is_ticks = feed->rows.is_ticks;
    feed->rows = rows;
}

/* Room for the entries of all rows behind `from`, `most` at most. */
static void feed_room(struct feed *feed, size_t from, size_t most)
{
    size_t units = (feed->rows.used - from) / CK_UNIT_BYTES;
    size_t wanted = feed->count + (units < most ? units : most);
    struct feed_entry *grown;

    if (wanted <= feed->entries_room) {
        return;
    }
    grown = xrealloc(feed->entries, wanted * sizeof(*grown));
    feed->entries = grown;
    feed->entries_room = wanted;
}

static inline bool is_past(const struct feed *feed,
                           const struct feed_entry *entry)
{
    return entry->time < feed->past_time ||
           (entry->time == feed->past_time && entry->order <= feed->past_order);
}

/* Rows on their way into the order. */
struct ordering {
    uint32_t count; /* of the entries so far */
    bool is_sorted;
    bool has_past; /* some may have been handed out before */
    bool is_shift; /* one offset puts all on the axis */
    ck_time_t offset;
};

/* Entries of the rows behind `from`, on the axis. `is_plain`: one
 * offset, no past. */
static inline __attribute__((always_inline)) void
rows_enter(struct feed *feed,
           const struct feed_source *source,
           size_t from,
           struct ordering *ordering,
           bool is_plain)
{
    const uint32_t classes = source->classes & ~UNTIMED;
    const size_t used = feed->rows.used;
    uint8_t *bytes = feed->rows.bytes;
    struct feed_entry *entry =
        feed->entries == NULL ? NULL : feed->entries + ordering->count;
    ck_time_t last = ordering->count > 0 ? entry[-1].time : INT64_MIN;
    uint32_t order = feed->order;
    bool is_sorted = true;

    for (size_t at = from; at < used;) {
        struct ck_event *event = (struct ck_event *)(bytes + at);
        size_t units = event->units;
        enum ck_class cls = ck_kind_class(event->kind);

        if ((classes >> cls & 1) != 0) {
            if (is_plain || ordering->is_shift) {
                axis_shift(ordering->offset, cls, event);
            } else {
                axis_record(source->axis, source->stream->agent,
                            feed->rows.is_ticks, event);
            }
            entry->time = event->start;
            entry->offset = (uint32_t)(at / CK_UNIT_BYTES);
            entry->order = order++;
            is_sorted = is_sorted && last <= entry->time;
            last = entry->time;
            entry += is_plain || !ordering->has_past || !is_past(feed, entry);
        }
        at += units * CK_UNIT_BYTES;
    }
    feed->order = order;
    ordering->count = (uint32_t)(entry - feed->entries);
    ordering->is_sorted = is_sorted;
}

/* Put the rows behind `from` on the axis, and in order with what is left. */
static void
feed_order(struct feed *feed, const struct feed_source *source, size_t from)
{
    struct ordering ordering = {.count = feed->count,
                                .has_past = feed->past_time != INT64_MIN};

    ordering.is_shift = axis_is_shift(source->axis, source->stream->agent,
                                      feed->rows.is_ticks, &ordering.offset);
    if (ordering.is_shift && !ordering.has_past) {
        rows_enter(feed, source, from, &ordering, true);
    } else {
        rows_enter(feed, source, from, &ordering, false);
    }
    feed->count = ordering.count;
    if (!ordering.is_sorted && !entries_insert(feed->entries, feed->count)) {
        qsort(feed->entries, feed->count, sizeof(*feed->entries), by_entry);
    }
}

/* When the piece and all behind it begin at the earliest. */
static ck_time_t piece_bound(const struct feed *feed,
                             const struct feed_source *source,
                             uint32_t piece)
{
    const struct store_frame *frame = feed->frame;
    bool is_ticks = frame->stamps.first[1] <= frame->stamps.last[1];
    uint64_t after = source->stream->bounds[frame->bound + piece];
    struct stamps rest = frame->stamps;

    rest.first[is_ticks] =
        (int64_t)((uint64_t)rest.first[is_ticks] + (after << frame->shift));
    if (rest.first[is_ticks] > rest.last[is_ticks]) {
        rest.first[is_ticks] = rest.last[is_ticks];
    }
    return axis_floor(source->axis, source->stream->agent, &rest) -
           source->lead;
}

/* Decode the next pieces. 0, or -1 with err. */
static int feed_more(struct feed *feed,
                     const struct feed_source *source,
                     struct ck_err *err)
{
    size_t from;
    int64_t done;

    feed_compact(feed);
    from = feed->rows.used;
    done = pieces_next(feed->pieces, source->pieces, &feed->rows, err);
    if (done < 0) {
        return -1;
    }
    feed_room(feed, from, pieces_most(feed->pieces, source->pieces));
    feed_order(feed, source, from);
    feed->bound = done == UINT32_MAX
                      ? FEED_END
                      : piece_bound(feed, source, (uint32_t)done);
    return 0;
}

int feed_fill(struct feed *feed,
              const struct feed_source *source,
              struct ck_err *err)
{
    while (!feed_is_ready(feed)) {
        if (feed_more(feed, source, err) != 0) {
            return -1;
        }
    }
    return 0;
}

int feed_open(struct feed *feed,
              const struct feed_source *source,
              const struct store_frame *frame,
              ck_time_t past_time,
              uint32_t past_order,
              struct ck_err *err)
{
    feed->next = feed->count = feed->order = 0;
    feed->rows.used = feed->kept = 0;
    feed->frame = frame;
    feed->bound = INT64_MIN;
    feed->past_time = past_time;
    feed->past_order = past_order;
    return rundir_pieces_open(source->store, feed->pieces, frame,
                              source->classes, err);
}
