/* perfetto.c - the run as a Perfetto trace
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Each packet is complete: a name is put beside the first event that has
 * it. The reader sorts by time; of equal times the order of the file counts, so
 * that a slice's end is written with its begin, before what begins behind it.
 */
#include "merge/output/devicetotal.h"
#include "merge/output/perfetto/perfetto.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "merge/messages/match.h"
#include "merge/model/defs.h"
#include "merge/model/memory.h"
#include "merge/model/table.h"
#include "merge/output/chrome/tracks.h"
#include "merge/output/clockbounds.h"
#include "merge/output/cxxname.h"
#include "merge/output/perfetto/protobuf.h"
#include "merge/output/sink.h"

/* Field numbers. */
enum {
    TRACE_PACKET = 1,
    PACKET_CLOCK_SNAPSHOT = 6,
    PACKET_TIMESTAMP = 8,
    PACKET_SEQUENCE = 10,
    PACKET_TRACK_EVENT = 11,
    PACKET_INTERNED = 12,
    PACKET_FLAGS = 13,
    PACKET_DROPPED = 42,
    PACKET_TRACK = 60,
    PACKET_FIRST = 87,
    TRACK_UUID = 1,
    TRACK_NAME = 2,
    TRACK_PARENT = 5,
    TRACK_COUNTER = 8,
    TRACK_ORDERING = 11,
    TRACK_RANK = 12,
    TRACK_MERGE = 15,
    COUNTER_UNIT = 3,
    EVENT_CATEGORY = 3,
    EVENT_ANNOTATION = 4,
    EVENT_TYPE = 9,
    EVENT_NAME = 10,
    EVENT_TRACK = 11,
    EVENT_NAME_TEXT = 23,
    EVENT_COUNTER = 30,
    EVENT_SOURCE = 34,
    EVENT_FLOW = 47,
    EVENT_LAST_FLOW = 48,
    INTERNED_CATEGORY = 1,
    INTERNED_NAME = 2,
    INTERNED_ANNOTATION = 3,
    INTERNED_SOURCE = 4,
    NAMED_ID = 1,
    NAMED_TEXT = 2,
    SOURCE_FILE = 2,
    SOURCE_FUNCTION = 3,
    SOURCE_LINE = 4,
    ANNOTATION_NAME = 1,
    ANNOTATION_INT = 4,
    ANNOTATION_TEXT = 6,
    SNAPSHOT_CLOCKS = 1,
    CLOCK_ID = 1,
    CLOCK_TIME = 2,
};
enum { TYPE_BEGIN = 1, TYPE_END, TYPE_INSTANT, TYPE_COUNTER };
enum { FLAGS_CLEARED = 1, FLAGS_NEEDS = 2 };
enum { ORDER_EXPLICIT = 3, MERGE_NONE = 2, UNIT_NS = 1, UNIT_BYTES = 3 };
enum { SNAPSHOT_REALTIME = 1, SNAPSHOT_BOOTTIME = 6 };

enum category {
    CATEGORY_CALL = 1,
    CATEGORY_KERNEL,
    CATEGORY_COPY,
    CATEGORY_RANGE,
    CATEGORY_STEP,
    CATEGORY_IDLE,
    CATEGORY_WAIT,
    CATEGORY_MESSAGE,
    CATEGORIES
};
static const char *const categories[CATEGORIES] = {
    NULL, "call", "kernel", "copy", "range", "step", "idle", "wait", "message"};

enum note {
    NOTE_BYTES = 1,
    NOTE_PEER,
    NOTE_TAG,
    NOTE_ERROR,
    NOTE_WHOM,
    NOTE_KIND,
    NOTES
};
static const char *const notes[NOTES] = {
    NULL,     "bytes", "peer", "tag", "ck.error_ns", "ck.waited_for_rank",
    "ck.wait"};

/* What a track shows, in the order of tracks below a rank. */
enum level {
    LEVEL_HOST,
    LEVEL_RANK,
    LEVEL_STEPS,
    LEVEL_IDLE,
    LEVEL_QUEUE,
    LEVEL_WAITS,
    LEVEL_THREAD,
    LEVELS
};

struct perfetto {
    struct perfetto_of of;
    struct sink *sink;
    struct protobuf packet;
    struct tracks *tracks;       /* rows of what overlaps */
    struct table *parents;       /* hosts and ranks that have a track */
    struct table *names;         /* by address: equal texts are one */
    struct table *sources;       /* by function, file and line */
    struct devicetotal *devices; /* memory in use */
    struct matcher *matcher;     /* of messages; marks are rows */
    int64_t *rows;     /* of each thread of the definitions the first; 0 =
                          none yet */
    int64_t row;       /* of the last slice */
    uint64_t messages; /* that were drawn */
    bool has_begun;
};

static void
message_draw(void *state, enum match_news news, const struct match *match);

void perfetto_destroy(struct perfetto *perfetto)
{
    if (perfetto == NULL) {
        return;
    }
    sink_destroy(perfetto->sink);
    protobuf_fini(&perfetto->packet);
    tracks_destroy(perfetto->tracks);
    table_destroy(perfetto->parents);
    table_destroy(perfetto->names);
    table_destroy(perfetto->sources);
    matcher_destroy(perfetto->matcher);
    devicetotal_destroy(perfetto->devices);
    free(perfetto->rows);
    free(perfetto);
}

/* ---- packets ------------------------------------------------------------ */

/* Begin one at that time, on the only sequence. */
static void packet_begin(struct perfetto *perfetto, ck_time_t time)
{
    struct protobuf *packet = &perfetto->packet;
    ck_time_t since = time - perfetto->of.zero;

    protobuf_clear(packet);
    protobuf_int(packet, PACKET_TIMESTAMP, since > 0 ? since : 0);
    protobuf_int(packet, PACKET_SEQUENCE, 1);
    protobuf_int(packet, PACKET_FLAGS,
                 perfetto->has_begun ? FLAGS_NEEDS
                                     : FLAGS_CLEARED | FLAGS_NEEDS);
    if (!perfetto->has_begun) {
        protobuf_int(packet, PACKET_FIRST, 1);
        protobuf_int(packet, PACKET_DROPPED, 1);
    }
    perfetto->has_begun = true;
}

static void packet_put(struct perfetto *perfetto)
{
    size_t length;
    const unsigned char *bytes = protobuf_bytes(&perfetto->packet, &length);
    char head[12];
    size_t used = 0;

    head[used++] = TRACE_PACKET << 3 | 2;
    for (uint64_t left = length; used == 1 || left > 0; left >>= 7) {
        head[used++] = (char)((left & 0x7f) | (left >= 0x80 ? 0x80 : 0));
    }
    sink_bytes(perfetto->sink, head, used);
    sink_bytes(perfetto->sink, (const char *)bytes, length);
}

static void
named_put(struct protobuf *packet, unsigned field, int64_t id, const char *text)
{
    protobuf_begin(packet, field);
    protobuf_int(packet, NAMED_ID, id);
    protobuf_text(packet, NAMED_TEXT, text);
    protobuf_end(packet);
}

/* The names that are known from the start, and the date. */
static void first_put(struct perfetto *perfetto)
{
    struct protobuf *packet = &perfetto->packet;

    packet_begin(perfetto, perfetto->of.zero);
    protobuf_begin(packet, PACKET_INTERNED);
    for (int i = 1; i < CATEGORIES; i++) {
        named_put(packet, INTERNED_CATEGORY, i, categories[i]);
    }
    for (int i = 1; i < NOTES; i++) {
        named_put(packet, INTERNED_ANNOTATION, i, notes[i]);
    }
    protobuf_end(packet);
    packet_put(perfetto);
}

struct perfetto *perfetto_create(const char *path,
                                 const struct perfetto_of *of,
                                 struct ck_err *err)
{
    struct perfetto *perfetto = xcalloc(1, sizeof(*perfetto));

    perfetto->of = *of;
    perfetto->tracks = tracks_create();
    perfetto->parents = table_create();
    perfetto->names = table_create();
    perfetto->sources = table_create();
    perfetto->rows =
        xcalloc(of->defs->threads_count + 1, sizeof(*perfetto->rows));
    perfetto->matcher = matcher_create(of->defs, message_draw, perfetto);
    perfetto->devices = devicetotal_create(of->defs);
    perfetto->sink = sink_create(path, err);
    if (perfetto->sink == NULL) {
        perfetto_destroy(perfetto);
        return NULL;
    }
    first_put(perfetto);
    return perfetto;
}

/* ---- tracks ------------------------------------------------------------- */

struct track {
    int64_t uuid;
    int64_t parent; /* 0 = none */
    const char *name;
    int64_t order;
    int unit; /* of a counter; 0 = it is none */
};

static void track_put(struct perfetto *perfetto, const struct track *track)
{
    struct protobuf *packet = &perfetto->packet;

    packet_begin(perfetto, perfetto->of.zero);
    protobuf_begin(packet, PACKET_TRACK);
    protobuf_int(packet, TRACK_UUID, track->uuid);
    protobuf_text(packet, TRACK_NAME, track->name);
    if (track->parent != 0) {
        protobuf_int(packet, TRACK_PARENT, track->parent);
    }
    if (track->unit != 0) {
        protobuf_begin(packet, TRACK_COUNTER);
        protobuf_int(packet, COUNTER_UNIT, track->unit);
        protobuf_end(packet);
    }
    protobuf_int(packet, TRACK_ORDERING, ORDER_EXPLICIT);
    protobuf_int(packet, TRACK_RANK, track->order);
    protobuf_int(packet, TRACK_MERGE, MERGE_NONE);
    protobuf_end(packet);
    packet_put(perfetto);
}

/* The uuid of a host's or rank's track. */
static int64_t parent_of(struct perfetto *perfetto,
                         struct table_key key,
                         const struct track *track)
{
    size_t known = table_count(perfetto->parents);
    int64_t number = table_number(perfetto->parents, key);
    struct track made = *track;

    made.uuid = number + 1;
    if ((size_t)number == known) {
        track_put(perfetto, &made);
    }
    return made.uuid;
}

/* The track of a process's rank, below that of its host. */
static int64_t rank_track(struct perfetto *perfetto, uint32_t number)
{
    const struct defs *defs = perfetto->of.defs;
    const struct defs_process *process = &defs->processes[number];
    const struct defs_agent *agent = &defs->agents[process->agent];
    struct track host = {.name = agent->host, .order = process->agent};
    struct track own = {.order = process->rank};
    char name[64];

    host.uuid = parent_of(
        perfetto, (struct table_key){LEVEL_HOST, (uintptr_t)agent->host, 0},
        &host);
    if (process->rank >= 0) {
        (void)snprintf(name, sizeof(name), "rank %d", process->rank);
    } else {
        (void)snprintf(name, sizeof(name), "process %u", process->pid);
        own.order = 1000000 + (int64_t)number;
    }
    own.name = name;
    own.parent = host.uuid;
    return parent_of(perfetto,
                     process->rank >= 0
                         ? (struct table_key){LEVEL_RANK,
                                              (uint64_t)process->rank,
                                              (uintptr_t)agent->host}
                         : (struct table_key){LEVEL_RANK, UINT64_MAX, number},
                     &own);
}

/* ---- slices ------------------------------------------------------------- */

struct slice {
    enum level level;
    uint64_t of; /* thread, device or queue: which track of that level */
    uint32_t process;
    struct region part;
    const char *name; /* kept or static; NULL = `text` */
    const char *text;
    enum category category;
    struct place place;
    uint64_t flow; /* 0 = none */
    bool is_target;
    bool has_bytes;
    int64_t bytes;
    const struct ck_message *message; /* NULL = none */
    const struct shown_wait *wait;    /* NULL = none */
    const char *title;                /* of the track */
};

/* A row of the track of that level, made at first sight: its uuid, or -1 with
 * errno. */
static int64_t row_of(struct perfetto *perfetto, const struct slice *slice)
{
    struct table_key key = {slice->level, slice->process, slice->of};
    struct track track = {.order = slice->level * 1000};
    struct track_row row;
    char name[320];

    tracks_place(perfetto->tracks, key, -1, slice->part.start, slice->part.end,
                 &row);
    if (!row.is_new) {
        return row.tid;
    }
    (void)snprintf(name, sizeof(name),
                   row.number > 0 ? "%.250s (%u)" : "%.250s", slice->title,
                   row.number + 1);
    track.uuid = row.tid;
    track.parent = rank_track(perfetto, slice->process);
    track.name = name;
    track.order += row.number;
    track_put(perfetto, &track);
    return row.tid;
}

/* Names of C++ as a person reads them. */
static const char *plain_name(const char *name, char plain[512])
{
    return cxxname_plain(plain, 512, name) ? plain : name;
}

/* Ids of name and place, with what the reader does not know yet. */
struct ids {
    int64_t name;
    int64_t source; /* 0 = none */
};

static void
ids_put(struct perfetto *perfetto, const struct slice *slice, struct ids *ids)
{
    struct protobuf *packet = &perfetto->packet;
    const struct place *place = &slice->place;
    size_t names = table_count(perfetto->names);
    size_t sources = table_count(perfetto->sources);
    bool is_new_name, is_new_source;
    char plain[512];

    *ids = (struct ids){0, 0};
    if (slice->name != NULL) {
        ids->name = table_number_of(perfetto->names,
                                    (uint64_t)(uintptr_t)slice->name, 0, 0) +
                    1;
    }
    if (place->function != NULL || place->file != NULL) {
        ids->source =
            table_number_of(perfetto->sources,
                            (uint64_t)(uintptr_t)place->function,
                            (uint64_t)(uintptr_t)place->file, place->line) +
            1;
    }
    is_new_name = table_count(perfetto->names) > names;
    is_new_source = table_count(perfetto->sources) > sources;
    if (!is_new_name && !is_new_source) {
        return;
    }
    protobuf_begin(packet, PACKET_INTERNED);
    if (is_new_name) {
        named_put(packet, INTERNED_NAME, ids->name,
                  plain_name(slice->name, plain));
    }
    if (is_new_source) {
        protobuf_begin(packet, INTERNED_SOURCE);
        protobuf_int(packet, NAMED_ID, ids->source);
        protobuf_text(packet, SOURCE_FILE,
                      place->file == NULL ? "" : place->file);
        protobuf_text(packet, SOURCE_FUNCTION,
                      place->function == NULL ? "" : place->function);
        protobuf_int(packet, SOURCE_LINE, place->line);
        protobuf_end(packet);
    }
    protobuf_end(packet);
}

static void note_int(struct protobuf *packet, enum note note, int64_t value)
{
    protobuf_begin(packet, EVENT_ANNOTATION);
    protobuf_int(packet, ANNOTATION_NAME, note);
    protobuf_int(packet, ANNOTATION_INT, value);
    protobuf_end(packet);
}

static void notes_put(struct protobuf *packet, const struct slice *slice)
{
    if (slice->has_bytes) {
        note_int(packet, NOTE_BYTES, slice->bytes);
    }
    if (slice->message != NULL) {
        note_int(packet, NOTE_PEER, slice->message->peer);
        note_int(packet, NOTE_TAG, slice->message->tag);
    }
    if (slice->wait != NULL) {
        note_int(packet, NOTE_ERROR, slice->wait->error);
        note_int(packet, NOTE_WHOM,
                 slice->wait->whom < 0 ? -1 : slice->wait->whom);
        protobuf_begin(packet, EVENT_ANNOTATION);
        protobuf_int(packet, ANNOTATION_NAME, NOTE_KIND);
        protobuf_text(packet, ANNOTATION_TEXT,
                      slice->wait->kind == NULL ? "" : slice->wait->kind);
        protobuf_end(packet);
    }
}

static void
begin_put(struct perfetto *perfetto, const struct slice *slice, int64_t uuid)
{
    struct protobuf *packet = &perfetto->packet;
    struct ids ids;

    packet_begin(perfetto, slice->part.start);
    ids_put(perfetto, slice, &ids);
    protobuf_begin(packet, PACKET_TRACK_EVENT);
    protobuf_int(packet, EVENT_TYPE, TYPE_BEGIN);
    protobuf_int(packet, EVENT_TRACK, uuid);
    protobuf_int(packet, EVENT_CATEGORY, slice->category);
    if (ids.name > 0) {
        protobuf_int(packet, EVENT_NAME, ids.name);
    } else {
        protobuf_text(packet, EVENT_NAME_TEXT,
                      slice->text == NULL ? "(no name)" : slice->text);
    }
    if (ids.source > 0) {
        protobuf_int(packet, EVENT_SOURCE, ids.source);
    }
    notes_put(packet, slice);
    if (slice->flow != 0) {
        protobuf_fixed64(packet,
                         slice->is_target ? EVENT_LAST_FLOW : EVENT_FLOW,
                         slice->flow);
    }
    protobuf_end(packet);
    packet_put(perfetto);
}

static void slice_put(struct perfetto *perfetto, const struct slice *slice)
{
    struct protobuf *packet = &perfetto->packet;
    int64_t uuid = row_of(perfetto, slice);

    begin_put(perfetto, slice, uuid);
    perfetto->row = uuid;
    packet_begin(perfetto, slice->part.end);
    protobuf_begin(packet, PACKET_TRACK_EVENT);
    protobuf_int(packet, EVENT_TYPE, TYPE_END);
    protobuf_int(packet, EVENT_TRACK, uuid);
    protobuf_end(packet);
    packet_put(perfetto);
}

/* ---- what happened ------------------------------------------------------ */

/* One number of a call over the job; the same of what it launched. */
static uint64_t flow_of(uint32_t process, uint32_t tid, uint32_t call)
{
    uint64_t flow = ((uint64_t)tid << 32 | call) * 0x9e3779b97f4a7c15u +
                    ((uint64_t)process + 1) * 0xc2b2ae3d27d4eb4fu;

    return flow == 0 ? 1 : flow;
}

static bool can_launch(unsigned kind)
{
    return kind == CK_KIND_API_OPENCL || kind == CK_KIND_API_CUDA_RUNTIME ||
           kind == CK_KIND_API_CUDA_DRIVER || kind == CK_KIND_API_NEURON;
}

/* "worker 4711" */
static void
thread_title(const struct perfetto *perfetto, uint32_t number, char title[300])
{
    const struct defs *defs = perfetto->of.defs;
    const struct defs_thread *thread = &defs->threads[number];
    bool is_main = thread->tid == defs->processes[thread->process].pid;

    if (thread->name != NULL) {
        (void)snprintf(title, 300, "%.250s %u", thread->name, thread->tid);
    } else {
        (void)snprintf(title, 300, "%s %u", is_main ? "main thread" : "thread",
                       thread->tid);
    }
}

static const char *name_of(const struct perfetto *perfetto,
                           const struct timeline_event *event)
{
    return defs_name(perfetto->of.defs, event->process, event->record->name);
}

static void take_call(struct perfetto *perfetto,
                      const struct timeline_event *event)
{
    const struct ck_call *call = (const struct ck_call *)event->record;
    const struct defs *defs = perfetto->of.defs;
    uint32_t tid = defs->threads[event->thread].tid;
    bool is_message = ck_kind_class(event->record->kind) == CK_CLASS_MESSAGE;
    struct slice slice = {
        .level = LEVEL_THREAD,
        .of = event->thread,
        .process = event->process,
        .part = {event->start, event->end},
        .name = name_of(perfetto, event),
        .category = CATEGORY_CALL,
        .place = defs_place(defs, event->process, call->site),
        .message = is_message ? (const struct ck_message *)event->record : NULL,
    };
    char title[300];

    if (ck_kind_is_about_call(event->record->kind)) {
        return;
    }
    if (can_launch(event->record->kind) && call->call != 0) {
        slice.flow = flow_of(event->process, tid, call->call);
    }
    if (is_message) {
        slice.bytes = (int64_t)slice.message->bytes;
    } else if (ck_kind_class(event->record->kind) == CK_CLASS_COLLECTIVE) {
        slice.bytes = (int64_t)((const struct ck_collective *)call)->bytes_out;
    } else {
        slice.bytes = (int64_t)call->bytes;
    }
    slice.has_bytes = slice.bytes > 0;
    thread_title(perfetto, event->thread, title);
    slice.title = title;
    slice_put(perfetto, &slice);
    if (event->thread < defs->threads_count &&
        perfetto->rows[event->thread] == 0) {
        perfetto->rows[event->thread] = perfetto->row;
    }
}

/* An end of a message's arrow: a point within a call, on its row. */
struct point {
    int64_t row; /* 0 = there is none */
    ck_time_t time;
    const char *text;
    int32_t rank; /* the other end's */
    bool is_target;
};

static void point_put(struct perfetto *perfetto, const struct point *point)
{
    struct protobuf *packet = &perfetto->packet;
    char text[64];

    (void)snprintf(text, sizeof(text), "%s rank %d", point->text, point->rank);
    packet_begin(perfetto, point->time);
    protobuf_begin(packet, PACKET_TRACK_EVENT);
    protobuf_int(packet, EVENT_TYPE, TYPE_INSTANT);
    protobuf_int(packet, EVENT_TRACK, point->row);
    protobuf_int(packet, EVENT_CATEGORY, CATEGORY_MESSAGE);
    protobuf_text(packet, EVENT_NAME_TEXT, text);
    protobuf_fixed64(packet, point->is_target ? EVENT_LAST_FLOW : EVENT_FLOW,
                     flow_of(0, 0, (uint32_t)perfetto->messages));
    protobuf_end(packet);
    packet_put(perfetto);
}

/* From the call that posted the send to the end of the one in which the receive
 * was complete. An event has its arrows when it is written, which is before a
 * message is known to be one: so each end has a point of its own. */
static void
message_draw(void *state, enum match_news news, const struct match *match)
{
    struct perfetto *perfetto = state;
    const struct defs *defs = perfetto->of.defs;
    const struct match_end *send = &match->send, *recv = &match->recv;
    bool is_later = recv->completed.thread != recv->posted.thread ||
                    recv->completed.number != recv->posted.number;
    const struct point from = {send->mark, send->post, "message to",
                               defs->processes[recv->process].rank, false};
    const struct point to = {is_later ? perfetto->rows[recv->completed.thread]
                                      : recv->mark,
                             recv->done - 1, "message from",
                             defs->processes[send->process].rank, true};

    if (news != MATCH_RECEIVED || from.row == 0 || to.row == 0 ||
        send->post < perfetto->of.part.start ||
        recv->done > perfetto->of.part.end) {
        return;
    }
    perfetto->messages++;
    point_put(perfetto, &from);
    point_put(perfetto, &to);
}

/* tid, call, device and queue are alike in kernels and copies. */
static void take_device(struct perfetto *perfetto,
                        const struct timeline_event *event)
{
    const struct ck_copy *work = (const struct ck_copy *)event->record;
    const struct defs_device *device =
        defs_device(perfetto->of.defs, event->process, work->device);
    bool is_copy = ck_kind_class(event->record->kind) == CK_CLASS_COPY;
    char title[300];
    struct slice slice = {
        .level = LEVEL_QUEUE,
        .of = (uint64_t)work->device << 32 | work->queue,
        .process = event->process,
        .part = {event->start, event->end},
        .name = name_of(perfetto, event),
        .category = is_copy ? CATEGORY_COPY : CATEGORY_KERNEL,
        .is_target = true,
        .has_bytes = is_copy,
        .bytes = is_copy ? (int64_t)work->bytes : 0,
        .title = title,
    };

    if ((event->record->flags & CK_FLAG_BAD_TIME) != 0) {
        return;
    }
    if (work->call != 0) {
        slice.flow = flow_of(event->process, work->tid, work->call);
    }
    (void)snprintf(title, sizeof(title), "%.200s #%u queue %u",
                   device != NULL && device->name[0] != '\0' ? device->name
                                                             : "device",
                   work->device, work->queue);
    slice_put(perfetto, &slice);
}

static void take_mark(struct perfetto *perfetto,
                      const struct timeline_event *event)
{
    const struct ck_mark *mark = (const struct ck_mark *)event->record;
    char text[64];
    struct slice slice = {
        .level = LEVEL_STEPS,
        .of = event->thread,
        .process = event->process,
        .part = {event->start, event->end},
        .category = CATEGORY_RANGE,
        .title = "steps and ranges",
        .text = text,
    };

    if (mark->e.kind == CK_KIND_STEP) {
        (void)snprintf(text, sizeof(text), "step %lld", (long long)mark->value);
        slice.category = CATEGORY_STEP;
    } else if (mark->e.kind == CK_KIND_RANGE) {
        slice.name = name_of(perfetto, event);
        slice.text = NULL;
    } else {
        return;
    }
    slice_put(perfetto, &slice);
}

static void slice_take(struct perfetto *perfetto,
                       const struct timeline_event *event)
{
    switch (ck_kind_class(event->record->kind)) {
    case CK_CLASS_MARK:
        take_mark(perfetto, event);
        return;
    case CK_CLASS_CALL:
    case CK_CLASS_MESSAGE:
    case CK_CLASS_COLLECTIVE:
        take_call(perfetto, event);
        return;
    case CK_CLASS_KERNEL:
    case CK_CLASS_COPY:
        take_device(perfetto, event);
        return;
    default:
        return;
    }
}

/* Uuids of counters: those of rows begin higher. */
#define COUNTERS ((int64_t)1 << 22)

/* Those of devices behind those of clocks. */
#define DEVICE_COUNTERS (COUNTERS + ((int64_t)1 << 20))
#define DEVICES_MOST (1u << 20)

static void
counter_put(struct perfetto *perfetto, int64_t uuid, ck_time_t time, int64_t n)
{
    struct protobuf *packet = &perfetto->packet;

    packet_begin(perfetto, time);
    protobuf_begin(packet, PACKET_TRACK_EVENT);
    protobuf_int(packet, EVENT_TYPE, TYPE_COUNTER);
    protobuf_int(packet, EVENT_TRACK, uuid);
    protobuf_int(packet, EVENT_COUNTER, n);
    protobuf_end(packet);
    packet_put(perfetto);
}

/* Memory of a device. Before the part, too: it is a sum. */
static void take_memory(struct perfetto *perfetto,
                        const struct timeline_event *event)
{
    size_t known = table_count(perfetto->parents);
    struct devicetotal_now now;
    struct track track = {.name = now.name, .unit = UNIT_BYTES};

    if (!devicetotal_take(perfetto->devices, event, &now) ||
        now.number >= DEVICES_MOST || event->start < perfetto->of.part.start ||
        event->start > perfetto->of.part.end) {
        return;
    }
    track.uuid = DEVICE_COUNTERS + now.number;
    track.order = now.number;
    (void)table_number(perfetto->parents,
                       (struct table_key){LEVELS, now.number, 1});
    if (table_count(perfetto->parents) > known) {
        track.parent = rank_track(perfetto, event->process);
        track_put(perfetto, &track);
    }
    counter_put(perfetto, track.uuid, event->start, now.bytes);
}

int perfetto_take(void *consumer, const struct timeline_event *event)
{
    struct perfetto *perfetto = consumer;

    if (ck_kind_class(event->record->kind) == CK_CLASS_STACKED) {
        take_memory(perfetto, event);
        return sink_error(perfetto->sink);
    }
    perfetto->row = 0;
    if (event->end >= perfetto->of.part.start &&
        event->start <= perfetto->of.part.end) {
        slice_take(perfetto, event);
    }
    matcher_take(perfetto->matcher, event, perfetto->row);
    return sink_error(perfetto->sink);
}

void perfetto_idle(struct perfetto *perfetto,
                   uint32_t physical,
                   struct region part,
                   enum cause cause)
{
    const struct defs_physical *device =
        &perfetto->of.defs->physicals[physical];
    char title[300];
    const struct slice slice = {
        .level = LEVEL_IDLE,
        .of = physical,
        .process = device->process,
        .part = part,
        .name = cause_name(cause),
        .category = CATEGORY_IDLE,
        .title = title,
    };

    (void)snprintf(title, sizeof(title), "%.200s idle because", device->name);
    slice_put(perfetto, &slice);
}

void perfetto_wait(struct perfetto *perfetto, const struct shown_wait *wait)
{
    char title[300], thread[280], text[64];
    const struct slice slice = {
        .level = LEVEL_WAITS,
        .of = wait->thread,
        .process = perfetto->of.defs->threads[wait->thread].process,
        .part = wait->part,
        .text = text,
        .category = CATEGORY_WAIT,
        .wait = wait,
        .title = title,
    };

    if (wait->part.end < perfetto->of.part.start ||
        wait->part.start > perfetto->of.part.end) {
        return;
    }
    thread_title(perfetto, wait->thread, title);
    (void)snprintf(thread, sizeof(thread), "%.270s", title);
    (void)snprintf(title, sizeof(title), "waits of %s", thread);
    if (wait->whom < 0) {
        (void)snprintf(text, sizeof(text), "below clock error");
    } else {
        (void)snprintf(text, sizeof(text), "wait for rank %d", wait->whom);
    }
    slice_put(perfetto, &slice);
}

void perfetto_failed(const struct perfetto *perfetto, struct ck_err *err)
{
    if (sink_error(perfetto->sink) != 0) {
        (void)ck_err_set(err, "cannot write %s: %s", sink_path(perfetto->sink),
                         strerror(errno));
    }
}

/* ---- the end ------------------------------------------------------------ */

static void
bound_put(void *state, uint32_t clock, ck_time_t time, ck_time_t bound)
{
    struct perfetto *perfetto = state;
    size_t known = table_count(perfetto->parents);
    char name[300];
    struct track track = {.uuid = COUNTERS + clock,
                          .name = name,
                          .order = 1000000 + (int64_t)clock,
                          .unit = UNIT_NS};

    (void)snprintf(name, sizeof(name), "bound of clock %u (%.200s)", clock,
                   perfetto->of.defs->domains[clock].host);
    (void)table_number(perfetto->parents, (struct table_key){LEVELS, clock, 0});
    if (table_count(perfetto->parents) > known) {
        track_put(perfetto, &track);
    }
    counter_put(perfetto, track.uuid, time, bound);
}

/* Which date the time 0 of the trace has. */
static void date_put(struct perfetto *perfetto, const struct report *report)
{
    struct protobuf *packet = &perfetto->packet;

    if (report->realtime == 0) {
        return;
    }
    packet_begin(perfetto, perfetto->of.zero);
    protobuf_begin(packet, PACKET_CLOCK_SNAPSHOT);
    protobuf_begin(packet, SNAPSHOT_CLOCKS);
    protobuf_int(packet, CLOCK_ID, SNAPSHOT_BOOTTIME);
    protobuf_int(packet, CLOCK_TIME, 0);
    protobuf_end(packet);
    protobuf_begin(packet, SNAPSHOT_CLOCKS);
    protobuf_int(packet, CLOCK_ID, SNAPSHOT_REALTIME);
    protobuf_int(packet, CLOCK_TIME, report->realtime + perfetto->of.zero);
    protobuf_end(packet);
    protobuf_end(packet);
    packet_put(perfetto);
}

int perfetto_finish(struct perfetto *perfetto,
                    const struct report *report,
                    struct ck_err *err)
{
    date_put(perfetto, report);
    clockbounds_each(perfetto->of.defs, perfetto->of.align, perfetto->of.part,
                     bound_put, perfetto);
    return sink_finish(perfetto->sink, err);
}
