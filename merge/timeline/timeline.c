/* timeline.c - all records of a run, in order of time, as calls to consumers
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "merge/timeline/timeline.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "merge/input/rundir.h"
#include "merge/model/memory.h"
#include "merge/timeline/axis.h"
#include "merge/timeline/follower.h"
#include "merge/timeline/kway.h"
#include "merge/timeline/lane.h"
#include "merge/timeline/opencalls.h"
#include "merge/timeline/takers.h"

#define PROGRESS_EVERY 65536
/* With more lanes each decodes less at once: all are in the cache together. */
#define LANES_MANY 128

/* A lane, or a call that was never left, and its place in the order. */
struct track {
    struct lane *lane;
    struct lane_run run;                /* of it, not yet handed out */
    const struct rundir_stream *stream; /* NULL with a cut */
    const struct opencalls *cut;
    bool is_done; /* the cut was handed out */
    bool is_wanted;
    uint32_t process;
    int32_t rank;
};

struct merge {
    const struct timeline *timeline;
    struct track *tracks;
    size_t count;
    struct kway *kway;
    struct opencalls *cuts;
    uint32_t classes; /* that some consumer takes */
    unsigned pieces;  /* decoded at once in each lane */
    struct takers takers[CK_CLASS_LIMIT];
    uint64_t expected; /* records in all */
    uint64_t done;
    uint64_t said;    /* when the progress is reported again */
    ck_time_t waited; /* without a CPU, of the waits handed out */
};

static void merge_fini(struct merge *merge)
{
    for (size_t i = 0; i < merge->count; i++) {
        lane_destroy(merge->tracks[i].lane);
    }
    free(merge->tracks);
    free(merge->cuts);
    kway_destroy(merge->kway);
}

static int by_rank(const void *a, const void *b)
{
    const struct track *left = a;
    const struct track *right = b;

    if (left->rank != right->rank) {
        return left->rank < right->rank ? -1 : 1;
    }
    if (left->stream == NULL || right->stream == NULL) {
        return (left->stream == NULL) - (right->stream == NULL);
    }
    if (left->stream->agent != right->stream->agent) {
        return left->stream->agent < right->stream->agent ? -1 : 1;
    }
    if (left->stream->incarnation != right->stream->incarnation) {
        return left->stream->incarnation < right->stream->incarnation ? -1 : 1;
    }
    return (left->stream->slot > right->stream->slot) -
           (left->stream->slot < right->stream->slot);
}

/* The stream's lane, unless its rank is not wanted. */
static void merge_lane(struct merge *merge, const struct rundir_stream *stream)
{
    const struct timeline *timeline = merge->timeline;
    struct track *track = &merge->tracks[merge->count];
    struct feed_source source = {.store = timeline->store,
                                 .axis = timeline->axis,
                                 .classes = merge->classes,
                                 .pieces = merge->pieces};

    if (stream->process == DEFS_NONE) {
        return; /* not one frame of it was readable */
    }
    track->process = stream->process;
    track->rank = timeline->defs->processes[stream->process].rank;
    track->is_wanted = defs_is_wanted(timeline->defs, track->rank);
    track->stream = stream;
    source.stream = stream;
    track->lane = lane_create(&source);
    merge->count++;
    for (size_t i = 0; i < stream->frames_count; i++) {
        merge->expected += stream->frames[i].records;
    }
}

static void merge_tracks(struct merge *merge)
{
    const struct timeline *timeline = merge->timeline;
    size_t streams = rundir_streams(timeline->store);
    size_t cuts = 0;

    opencalls_make(timeline->defs, timeline->axis, &merge->cuts, &cuts);
    merge->tracks = xcalloc(streams + cuts + 1, sizeof(*merge->tracks));
    merge->pieces = streams <= LANES_MANY ? CK_BATCH_PIECES_MAX / 2 : 1;
    for (size_t i = 0; i < streams; i++) {
        merge_lane(merge, rundir_stream(timeline->store, i));
    }
    for (size_t i = 0; i < cuts; i++) {
        struct track *track = &merge->tracks[merge->count];

        track->cut = &merge->cuts[i];
        track->process = track->cut->process;
        track->rank = timeline->defs->processes[track->process].rank;
        track->is_wanted = defs_is_wanted(timeline->defs, track->rank);
        merge->count++;
    }
    qsort(merge->tracks, merge->count, sizeof(*merge->tracks), by_rank);
}

static inline ck_time_t track_time(const struct track *track)
{
    if (track->run.next < track->run.end) {
        return track->run.next->time;
    }
    if (track->cut != NULL) {
        return track->is_done ? KWAY_END : track->cut->record.e.start;
    }
    return lane_time(track->lane);
}

/* The takers of records of each class, here or behind. */
static void merge_takers(struct merge *merge)
{
    const struct timeline *timeline = merge->timeline;

    assert(timeline->consumers_count <= TIMELINE_CONSUMERS_MAX);
    for (size_t i = 0; i < timeline->consumers_count; i++) {
        const struct timeline_consumer *consumer = &timeline->consumers[i];
        bool is_witness = i < timeline->witnesses_count;

        merge->classes |=
            consumer->classes == 0 ? UINT32_MAX : consumer->classes;
        if (timeline->follower != NULL) {
            follower_consumer(timeline->follower, consumer, is_witness);
        } else {
            takers_add(merge->takers, consumer, is_witness);
        }
    }
}

static void merge_init(struct merge *merge)
{
    int64_t *keys;

    merge_takers(merge);
    merge_tracks(merge);
    keys = xcalloc(merge->count + 1, sizeof(*keys));
    for (size_t i = 0; i < merge->count; i++) {
        keys[i] = track_time(&merge->tracks[i]);
    }
    merge->kway = kway_create(keys, merge->count);
    free(keys);
}

static inline ck_time_t record_end(const struct ck_event *record,
                                   enum ck_class cls)
{
    switch (cls) {
    case CK_CLASS_MARK:
    case CK_CLASS_CALL:
    case CK_CLASS_MESSAGE:
    case CK_CLASS_COLLECTIVE:
    case CK_CLASS_KERNEL:
    case CK_CLASS_COPY:
    case CK_CLASS_TEAM:
        return record->start + ((const struct ck_mark *)record)->dur;
    default:
        return record->start;
    }
}

/* The program that is recorded can write records, too. */
static bool sample_is_sound(struct merge *merge, const struct ck_event *record)
{
    ck_time_t weight = ((const struct ck_sample *)record)->weight;

    if (record->kind != CK_KIND_OFF_CPU) {
        return weight >= 0 && weight <= UINT32_MAX;
    }
    if (weight < 0 || weight > TIMELINE_WAIT_MOST ||
        weight > TIMELINE_WAITS_MOST - merge->waited) {
        return false;
    }
    merge->waited += weight;
    return true;
}

static inline int merge_give(const struct merge *merge,
                             const struct timeline_event *event,
                             enum ck_class cls,
                             bool is_wanted)
{
    struct follower *follower = merge->timeline->follower;

    return follower != NULL
               ? follower_event(follower, event, cls, is_wanted)
               : takers_give(&merge->takers[cls], event, is_wanted);
}

/* Hand out a record of a track. 0, or -1 with err. */
static inline int merge_hand(struct merge *merge,
                             const struct track *track,
                             const struct ck_event *record,
                             uint32_t thread,
                             struct ck_err *err)
{
    enum ck_class cls = ck_kind_class(record->kind);
    const struct timeline_event event = {.record = record,
                                         .start = record->start,
                                         .end = record_end(record, cls),
                                         .rank = track->rank,
                                         .process = track->process,
                                         .thread = thread};

    if (cls == CK_CLASS_SAMPLE && !sample_is_sound(merge, record)) {
        return 0;
    }
    return merge_give(merge, &event, cls, track->is_wanted) == 0
               ? 0
               : ck_err_set(err, "%s", strerror(errno));
}

static void merge_progress(struct merge *merge)
{
    const struct timeline *timeline = merge->timeline;

    if (timeline->progress != NULL && merge->done >= merge->said) {
        merge->said = merge->done + PROGRESS_EVERY;
        timeline->progress(timeline->progress_state,
                           (double)merge->done / (double)merge->expected);
    }
}

/* A track that has no records at hand: its cut, or some more, or its time moves
 * on. 0, or -1 with err. */
static int
merge_more(struct merge *merge, struct track *track, struct ck_err *err)
{
    int rc;

    if (track->cut != NULL) {
        track->is_done = true;
        rc = merge_hand(merge, track, &track->cut->record.e, track->cut->thread,
                        err);
    } else {
        rc = lane_next(track->lane, &track->run, err);
        rc = rc < 0 ? rc : 0;
    }
    kway_replace(merge->kway, track_time(track));
    merge_progress(merge);
    return rc;
}

/* The next of the records that a track has at hand. 0, or -1 with err. */
static inline int
merge_step(struct merge *merge, struct track *track, struct ck_err *err)
{
    const struct ck_event *record = lane_record(&track->run);
    int rc;

    track->run.next++;
    lane_fetch(&track->run);
    merge->done++;
    rc = merge_hand(merge, track, record, track->run.thread, err);
    kway_replace(merge->kway, track->run.next < track->run.end
                                  ? track->run.next->time
                                  : track_time(track));
    return rc;
}

int timeline_run(const struct timeline *timeline,
                 uint64_t *events,
                 struct ck_err *err)
{
    struct merge merge = {.timeline = timeline};
    int64_t key;
    int rc = 0;

    merge_init(&merge);
    for (size_t top = kway_top(merge.kway, &key); rc == 0 && key != KWAY_END;
         top = kway_top(merge.kway, &key)) {
        struct track *track = &merge.tracks[top];

        rc = track->run.next < track->run.end ? merge_step(&merge, track, err)
                                              : merge_more(&merge, track, err);
    }
    *events = merge.done;
    merge_fini(&merge);
    return rc;
}
