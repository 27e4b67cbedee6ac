/* lane.c - one stream's records in order of time, on the axis
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "merge/lane.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "merge/array.h"

/* Entries, and rows of entries, that are asked for before their turn. */
#define ENTRIES_AHEAD 16
#define ROWS_AHEAD 3

/* Where a record lies in its frame's rows. */
struct entry {
    ck_time_t time;
    uint32_t offset; /* in units */
    uint32_t order;  /* of storing, for equal times */
};

/* A frame on its way through the lane. */
struct visit {
    const struct store_frame *frame;
    ck_time_t time; /* of its next record; LANE_END = none left */
    uint32_t next;  /* entry */
    uint32_t count;
    struct entry *entries; /* NULL = not decoded now */
    struct store_rows rows;
};

struct lane {
    struct store *store;               /* borrowed */
    const struct align *align;         /* borrowed */
    const struct store_stream *stream; /* borrowed */
    uint32_t classes;                  /* wanted: 1 << class */
    struct visit *visits; /* one a frame with records, by earliest start */
    size_t visits_count;
    size_t limit;    /* visits from here on have not begun */
    uint32_t *begun; /* those that have begun and are not over */
    size_t begun_count;
    size_t begun_room;
    size_t decoded;
    size_t next;             /* visit of the next record */
    struct store_rows spare; /* memory of a visit that is over */
    struct entry *spare_entries;
    size_t spare_room;
    ck_time_t time;  /* of the next record */
    ck_time_t other; /* no other visit is due before; INT64_MIN = unknown */
    bool is_over;    /* the record handed out last ended its visit */
};

static int by_time(const void *a, const void *b)
{
    const struct visit *left = a;
    const struct visit *right = b;

    if (left->time != right->time) {
        return left->time < right->time ? -1 : 1;
    }
    return (left->frame > right->frame) - (left->frame < right->frame);
}

static int by_entry(const void *a, const void *b)
{
    const struct entry *left = a;
    const struct entry *right = b;

    if (left->time != right->time) {
        return left->time < right->time ? -1 : 1;
    }
    return (left->order > right->order) - (left->order < right->order);
}

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

struct lane *lane_create(struct store *store,
                         const struct align *align,
                         const struct store_stream *stream,
                         uint32_t classes)
{
    struct lane *lane = calloc(1, sizeof(*lane));

    if (lane == NULL) {
        return NULL;
    }
    lane->store = store;
    lane->align = align;
    lane->stream = stream;
    lane->classes = classes;
    lane->visits = calloc(stream->frames_count + 1, sizeof(*lane->visits));
    if (lane->visits == NULL) {
        free(lane);
        return NULL;
    }
    for (size_t i = 0; i < stream->frames_count; i++) {
        struct visit *visit = &lane->visits[lane->visits_count];
        ck_time_t last;

        if ((stream->frames[i].classes & classes) == 0) {
            continue;
        }
        visit->frame = &stream->frames[i];
        lane->visits_count += align_stamps(
            align, stream->agent, &visit->frame->stamps, &visit->time, &last);
        visit->time -= align_lead(align, stream->agent);
    }
    qsort(lane->visits, lane->visits_count, sizeof(*lane->visits), by_time);
    lane_seek(lane);
    return lane;
}

/* Free a visit's records; its memory is kept for the next one. */
static void visit_drop(struct lane *lane, struct visit *visit)
{
    if (visit->entries == NULL) {
        return;
    }
    free(lane->spare.bytes);
    free(lane->spare_entries);
    lane->spare = visit->rows;
    lane->spare_entries = visit->entries;
    lane->spare_room = visit->count;
    memset(&visit->rows, 0, sizeof(visit->rows));
    visit->entries = NULL;
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
    free(lane->spare.bytes);
    free(lane->spare_entries);
    free(lane->visits);
    free(lane->begun);
    free(lane);
}

/* Classes whose records have no time of their own. */
#define UNTIMED                                                                \
    ((uint32_t)1 << CK_CLASS_TEXT | (uint32_t)1 << CK_CLASS_MODULE |           \
     (uint32_t)1 << CK_CLASS_CLOCK | (uint32_t)1 << CK_CLASS_OPEN)

/* Order entries that are nearly in order by moving each to its place. False:
 * they are not, and many moves are left to do. */
static bool entries_insert(struct entry *entries, uint32_t count)
{
    uint64_t moves = 8 * (uint64_t)count;

    for (uint32_t i = 1; i < count; i++) {
        struct entry entry = entries[i];
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

/* Put the rows on the axis and order them. */
static void visit_order(struct lane *lane, struct visit *visit)
{
    const uint32_t classes = lane->classes & ~UNTIMED;
    uint8_t *bytes = visit->rows.bytes;
    bool is_sorted = true;
    uint32_t count = 0;

    for (size_t at = 0; at < visit->rows.used;) {
        struct ck_event *event = (struct ck_event *)(bytes + at);
        struct entry *entry = &visit->entries[count];
        size_t units = event->units;

        if ((classes >> ck_kind_class(event->kind) & 1) != 0 &&
            count < visit->frame->records) {
            align_record(lane->align, lane->stream->agent, visit->rows.is_ticks,
                         event);
            entry->time = event->start;
            entry->offset = (uint32_t)(at / CK_UNIT_BYTES);
            entry->order = count;
            is_sorted =
                is_sorted && (count == 0 || entry[-1].time <= entry->time);
            count++;
        }
        at += units * CK_UNIT_BYTES;
    }
    visit->count = count;
    if (!is_sorted && !entries_insert(visit->entries, count)) {
        qsort(visit->entries, count, sizeof(*visit->entries), by_entry);
    }
}

static int
visit_decode(struct lane *lane, struct visit *visit, struct ck_err *err)
{
    visit->rows = lane->spare;
    memset(&lane->spare, 0, sizeof(lane->spare));
    visit->entries = lane->spare_entries;
    lane->spare_entries = NULL;
    if (visit->entries == NULL || lane->spare_room < visit->frame->records) {
        free(visit->entries);
        visit->entries =
            calloc((size_t)visit->frame->records + 1, sizeof(*visit->entries));
    }
    lane->spare_room = 0;
    if (visit->entries == NULL) {
        free(visit->rows.bytes);
        memset(&visit->rows, 0, sizeof(visit->rows));
        return ck_err_set(err, "out of memory");
    }
    lane->decoded++;
    if (store_read(lane->store, visit->frame, lane->classes, &visit->rows,
                   err) != 0) {
        visit_drop(lane, visit);
        return -1;
    }
    visit_order(lane, visit);
    return 0;
}

/* Put aside the decoded visit that is needed last. */
static void lane_evict(struct lane *lane, const struct visit *but)
{
    struct visit *last = NULL;

    for (size_t i = 0; i < lane->begun_count; i++) {
        struct visit *visit = &lane->visits[lane->begun[i]];

        if (visit != but && visit->entries != NULL &&
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
    if (visit->entries == NULL) {
        if (lane->decoded == LANE_FRAMES_MAX) {
            lane_evict(lane, visit);
        }
        if (visit_decode(lane, visit, err) != 0) {
            return -1;
        }
    }
    if (lane->next == lane->limit) {
        if (array_grow(&lane->begun, &lane->begun_room, lane->begun_count,
                       sizeof(*lane->begun)) != 0) {
            return ck_err_set(err, "out of memory");
        }
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

int lane_next(struct lane *lane,
              const struct ck_event **record,
              uint32_t *thread,
              struct ck_err *err)
{
    struct visit *visit;
    const struct entry *entry;

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
    entry = &visit->entries[visit->next];
    if (visit->next == visit->count || entry->time > visit->time) {
        visit->time = visit->next == visit->count ? LANE_END : entry->time;
        lane->is_over = visit->time == LANE_END;
        lane_seek(lane);
        return 0;
    }
    visit->next++;
    *record = (const struct ck_event *)((const uint8_t *)visit->rows.bytes +
                                        (size_t)entry->offset * CK_UNIT_BYTES);
    *thread = visit->frame->thread;
    visit->time = visit->next < visit->count ? entry[1].time : LANE_END;
    if (visit->next + ENTRIES_AHEAD < visit->count) {
        const uint8_t *rows = visit->rows.bytes;
        const uint8_t *ahead =
            rows + (size_t)entry[1 + ROWS_AHEAD].offset * CK_UNIT_BYTES;

        /* Other lanes' rows go through the cache in the meantime. */
        __builtin_prefetch(entry + ENTRIES_AHEAD);
        __builtin_prefetch(ahead);
        __builtin_prefetch(ahead + 64);
    }
    if (visit->time < lane->other) {
        lane->time = visit->time;
        return 1;
    }
    lane->is_over = visit->time == LANE_END;
    lane_seek(lane);
    return 1;
}
