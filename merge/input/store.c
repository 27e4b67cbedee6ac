/* store.c - a run directory as streams of frames
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "merge/input/store.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "merge/array.h"
#include "merge/input/continuity.h"
#include "merge/input/facts.h"
#include "merge/input/files.h"
#include "merge/input/survey.h"
#include "schema/pack.h"
#include "schema/run.h"
#include "schema/wire.h"

struct store {
    struct ck_run_files files;
    struct ck_segment_reader **readers; /* one a file */
    struct store_stream *streams;
    size_t streams_count;
    size_t streams_room;
    struct store_damage damage;
    uint64_t bytes;
    void *unpacked;
    size_t unpacked_room;
};

void store_destroy(struct store *store)
{
    int saved = errno;

    if (store == NULL) {
        return;
    }
    for (size_t i = 0; store->readers != NULL && i < store->files.count; i++) {
        ck_segment_reader_destroy(store->readers[i]);
    }
    for (size_t i = 0; i < store->streams_count; i++) {
        free(store->streams[i].frames);
    }
    ck_run_files_free(&store->files);
    free(store->readers);
    free(store->streams);
    free(store->unpacked);
    free(store);
    errno = saved;
}

static void damage_note(struct store *store, const char *path, const char *what)
{
    const char *slash = strrchr(path, '/');

    if (store->damage.first[0] == '\0') {
        (void)snprintf(store->damage.first, sizeof(store->damage.first),
                       "%.100s: %.150s", slash == NULL ? path : slash + 1,
                       what);
    }
}

static struct store_stream *
stream_find(struct store *store, uint32_t agent, struct ck_stream name)
{
    struct store_stream *stream;

    for (size_t i = store->streams_count; i-- > 0;) {
        stream = &store->streams[i];
        if (stream->agent == agent && stream->slot == name.slot &&
            stream->incarnation == name.incarnation) {
            return stream;
        }
    }
    if (array_grow(&store->streams, &store->streams_room, store->streams_count,
                   sizeof(*stream)) != 0) {
        return NULL;
    }
    stream = &store->streams[store->streams_count++];
    memset(stream, 0, sizeof(*stream));
    stream->agent = agent;
    stream->slot = name.slot;
    stream->incarnation = name.incarnation;
    stream->process = CAST_NONE;
    return stream;
}

static int frame_enter(struct store *store,
                       struct cast *cast,
                       uint32_t file,
                       const struct ck_frame_header *header)
{
    uint32_t agent = cast_agent_find(cast, header->agent);
    struct store_stream *stream;
    struct store_frame *frame;

    if (agent == CAST_NONE) {
        return -1;
    }
    stream = stream_find(store, agent, header->stream);
    if (stream == NULL ||
        array_grow(&stream->frames, &stream->frames_room, stream->frames_count,
                   sizeof(*frame)) != 0) {
        return -1;
    }
    frame = &stream->frames[stream->frames_count++];
    memset(frame, 0, sizeof(*frame));
    frame->offset = ck_segment_offset(store->readers[file]);
    frame->first = header->first;
    frame->units = header->units;
    frame->file = file;
    stamps_init(&frame->stamps);
    cast->agents[agent].bytes += ck_frame_bytes(header);
    cast->agents[agent].frames++;
    if (files_is_segment(store->files.paths[file])) {
        cast->agents[agent].stored += header->records;
    } else {
        cast->agents[agent].has_spool = true;
    }
    store->bytes += ck_frame_bytes(header);
    return 0;
}

/* Enter the frames of one file. */
static int file_walk(struct store *store,
                     struct cast *cast,
                     uint32_t file,
                     struct ck_err *err)
{
    const char *path = store->files.paths[file];
    struct ck_frame_header header;
    struct ck_segment_damage damage;
    const void *payload;
    char what[128];

    if (store->readers[file] == NULL) {
        return 0;
    }
    while (ck_segment_next(store->readers[file], &header, &payload) == 1) {
        if (frame_enter(store, cast, file, &header) != 0) {
            return ck_err_set(err, "out of memory while reading %s", path);
        }
    }
    damage = ck_segment_damage(store->readers[file]);
    store->damage.places += damage.places;
    store->damage.bytes += damage.bytes;
    store->damage.tails += damage.is_tail;
    if (damage.places > 0) {
        (void)snprintf(what, sizeof(what),
                       "%llu damaged bytes from offset %llu on%s",
                       (unsigned long long)damage.bytes,
                       (unsigned long long)damage.first_offset,
                       damage.is_tail ? " (cut off)" : "");
        damage_note(store, path, what);
    }
    return 0;
}

static int rows_room(void **bytes, size_t *room, size_t wanted)
{
    void *grown;

    if (*room >= wanted) {
        return 0;
    }
    grown = realloc(*bytes, wanted);
    if (grown == NULL) {
        return -1;
    }
    *bytes = grown;
    *room = wanted;
    return 0;
}

/* Leave out the records that begin before position `trim` of the frame. */
static void rows_trim(struct store_rows *rows, uint32_t trim)
{
    const uint8_t *bytes = rows->bytes;
    size_t at = 0;

    while (at < rows->used && at < (size_t)trim * CK_UNIT_BYTES) {
        at += (size_t)((const struct ck_event *)(bytes + at))->units *
              CK_UNIT_BYTES;
    }
    if (at > 0 && at <= rows->used) {
        memmove(rows->bytes, bytes + at, rows->used - at);
        rows->used -= at;
    }
}

/* A frame's bytes, unpacked, and what was read of them. */
struct opened {
    struct ck_frame_header header;
    const void *payload; /* borrowed until the next one is opened */
    struct ck_batch_info info;
};

static size_t payload_bytes(const struct ck_frame_header *header)
{
    return header->pack == CK_PACK_NONE ? header->length : header->raw;
}

static int frame_open(struct store *store,
                      const struct store_frame *frame,
                      struct opened *opened,
                      struct ck_err *err)
{
    struct ck_frame_header *header = &opened->header;
    const void **payload = &opened->payload;
    struct ck_segment_reader *reader = store->readers[frame->file];

    if (ck_segment_seek(reader, frame->offset) != 0 ||
        ck_segment_next(reader, header, payload) != 1 ||
        ck_segment_offset(reader) != frame->offset) {
        return ck_err_set(err, "%s changed while it was read",
                          store->files.paths[frame->file]);
    }
    if (header->pack == CK_PACK_NONE) {
        return 0;
    }
    if (rows_room(&store->unpacked, &store->unpacked_room, header->raw) != 0) {
        return ck_err_set(err, "out of memory");
    }
    if (ck_unpack((enum ck_pack)header->pack, *payload, header->length,
                  store->unpacked, header->raw, err) != 0) {
        return -1;
    }
    *payload = store->unpacked;
    return 0;
}

/* Decode these classes of a frame that is open. */
static int frame_decode(struct opened *opened,
                        uint32_t classes,
                        struct store_rows *rows,
                        struct ck_err *err)
{
    size_t room = (size_t)opened->header.units * CK_UNIT_BYTES;

    if (rows_room(&rows->bytes, &rows->room, room) != 0) {
        return ck_err_set(err, "out of memory");
    }
    memset(&opened->info, 0, sizeof(opened->info));
    if (ck_batch_decode_classes(opened->payload, payload_bytes(&opened->header),
                                classes, &opened->info, rows->bytes, room,
                                &rows->used, err) != 0) {
        return -1;
    }
    rows->is_ticks = opened->info.clock == CK_CLOCK_TSC;
    return 0;
}

int store_read(struct store *store,
               const struct store_frame *frame,
               uint32_t classes,
               struct store_rows *rows,
               struct ck_err *err)
{
    struct opened opened;

    /* A place within the frame counts all of its records. */
    classes = frame->trim > 0 ? UINT32_MAX : classes;
    if (frame_open(store, frame, &opened, err) != 0 ||
        frame_decode(&opened, classes, rows, err) != 0) {
        return -1;
    }
    rows_trim(rows, frame->trim);
    return 0;
}

/* The process of the stream and the thread of the frame. */
static int frame_bind(struct store_stream *stream,
                      struct store_frame *frame,
                      struct cast *cast,
                      const struct ck_batch_info *info)
{
    if (stream->process == CAST_NONE) {
        stream->process =
            cast_process_find(cast, stream->agent, stream->incarnation);
        if (stream->process == CAST_NONE) {
            return -1;
        }
    }
    if (cast->processes[stream->process].pid == 0) {
        cast->processes[stream->process].pid = info->pid;
    }
    frame->thread = cast_thread_find(cast, stream->process, info->tid);
    return frame->thread == CAST_NONE ? -1 : 0;
}

static bool is_timed(enum ck_class cls)
{
    return cls != CK_CLASS_TEXT && cls != CK_CLASS_MODULE &&
           cls != CK_CLASS_CLOCK && cls != CK_CLASS_OPEN;
}

/* Classes that are read as records at once: they speak of the cast. */
#define FACTS                                                                  \
    ((uint32_t)1 << CK_CLASS_TEXT | (uint32_t)1 << CK_CLASS_MODULE |           \
     (uint32_t)1 << CK_CLASS_CLOCK | (uint32_t)1 << CK_CLASS_OPEN |            \
     (uint32_t)1 << CK_CLASS_COUNTER)

/* A frame at its first reading. */
struct reading {
    struct store *store; /* all borrowed */
    struct store_stream *stream;
    struct cast *cast;
    struct align *align;
    struct store_rows rows; /* reused */
    struct survey survey;
    uint64_t others; /* records that the survey does not take */
    uint32_t told;   /* records that the frame's header says */
};

/* Records that say something themselves. 0, or -1 with ENOMEM. */
static int rows_read(struct reading *reading)
{
    const uint8_t *at = reading->rows.bytes;
    const uint8_t *end = at + reading->rows.used;

    reading->others = 0;
    for (; at < end;
         at += (size_t)((const struct ck_event *)at)->units * CK_UNIT_BYTES) {
        const struct ck_event *event = (const struct ck_event *)at;

        if (is_timed(ck_kind_class(event->kind))) {
            survey_row(&reading->survey, event);
        } else {
            reading->others++;
        }
        if (facts_read(reading->cast, reading->align, &reading->survey.source,
                       event) != 0) {
            return -1;
        }
    }
    return 0;
}

/* Keep what was found. 0, or -1 with ENOMEM. */
static int reading_commit(struct reading *reading, struct store_frame *frame)
{
    struct cast_agent *agent = &reading->cast->agents[reading->stream->agent];
    const struct survey *survey = &reading->survey;

    frame->records = survey->records;
    frame->classes = survey->classes;
    frame->stamps = survey->starts;
    agent->events += survey->records;
    agent->records += survey->records + reading->others;
    agent->units += frame->units - frame->trim;
    return survey_commit(&reading->survey);
}

/* Read one frame for the first time: 1; 0 with err: it does not decode; or -1:
 * out of memory. */
static int frame_read(struct reading *reading,
                      struct store_frame *frame,
                      struct ck_err *err)
{
    struct store_stream *stream = reading->stream;
    bool is_whole = frame->trim > 0;
    struct ck_batch_info scanned = {0};
    struct facts_source source;
    struct opened opened;
    int rc;

    opened.header.records = 0;
    rc = frame_open(reading->store, frame, &opened, err);
    reading->told = opened.header.records;
    if (rc != 0 || frame_decode(&opened, is_whole ? UINT32_MAX : FACTS,
                                &reading->rows, err) != 0) {
        return 0;
    }
    if (frame_bind(stream, frame, reading->cast, &opened.info) != 0) {
        return -1;
    }
    rows_trim(&reading->rows, frame->trim);
    source = (struct facts_source){stream->agent, stream->process,
                                   reading->rows.is_ticks};
    survey_begin(&reading->survey, reading->cast, &source);
    if (rows_read(reading) != 0) {
        return -1;
    }
    if (!is_whole &&
        ck_batch_scan(opened.payload, payload_bytes(&opened.header),
                      SURVEY_CLASSES, &scanned, survey_take, &reading->survey,
                      err) != 0) {
        return 0;
    }
    reading->cast->agents[stream->agent].unknown +=
        opened.info.skipped + scanned.skipped;
    return reading_commit(reading, frame) == 0 ? 1 : -1;
}

/* The first reading of a stream: facts and times. A frame that does not decode
 * is counted and left out; its units become a gap. */
static int stream_read(struct reading *reading,
                       struct store_stream *stream,
                       struct ck_err *err)
{
    struct store *store = reading->store;
    size_t kept = 0;
    int rc = 1;

    reading->stream = stream;
    for (size_t i = 0; rc >= 0 && i < stream->frames_count; i++) {
        struct store_frame *frame = &stream->frames[i];

        rc = frame_read(reading, frame, err);
        if (rc == 0) {
            store->damage.batches++;
            damage_note(store, store->files.paths[frame->file], err->text);
            stream->gaps++;
            stream->gap_units += frame->units - frame->trim;
            reading->cast->agents[stream->agent].undecoded += reading->told;
            continue;
        }
        stream->frames[kept++] = *frame;
    }
    stream->frames_count = kept;
    return rc >= 0 ? 0 : ck_err_set(err, "out of memory");
}

/* Open the files, spools before segments. An agent removes its spool once all
 * of it is stored, at any moment of this: what such a spool had is in the
 * segments, which are read after. */
static int readers_open(struct store *store, struct ck_err *err)
{
    store->readers = calloc(store->files.count, sizeof(*store->readers));
    if (store->readers == NULL) {
        return ck_err_set(err, "out of memory");
    }
    for (size_t i = store->files.count; i-- > 0;) {
        store->readers[i] =
            ck_segment_reader_create(store->files.paths[i], err);
        if (store->readers[i] == NULL && errno != ENOENT) {
            return -1;
        }
    }
    return 0;
}

/* What the run's manifest says of its segments. A run that never saw a ckagg
 * has spools alone and no manifest. 0, or -1 with ENOMEM. */
static int
manifest_take(struct store *store, const char *dir, struct cast *cast)
{
    struct manifest manifest;
    bool is_due = false;
    int rc;

    if (manifest_read(&manifest, dir) != 0) {
        return -1;
    }
    for (size_t i = 0; i < cast->agents_count; i++) {
        is_due |= cast->agents[i].stored > 0 && !cast->agents[i].is_profile;
    }
    if (!manifest.is_read && (is_due || manifest.is_there)) {
        (void)snprintf(store->damage.manifest, sizeof(store->damage.manifest),
                       "%s", manifest.why);
    }
    rc = continuity_tell(&manifest, cast);
    manifest_fini(&manifest);
    return rc;
}

static int store_open(struct store *store,
                      struct cast *cast,
                      struct align *align,
                      const char *dir,
                      struct ck_err *err)
{
    struct reading reading = {.store = store, .cast = cast, .align = align};
    int rc = 0;

    if (readers_open(store, err) != 0) {
        return -1;
    }
    for (uint32_t i = 0; i < store->files.count; i++) {
        if (file_walk(store, cast, i, err) != 0) {
            return -1;
        }
    }
    for (size_t i = 0; rc == 0 && i < store->streams_count; i++) {
        continuity_trim(&store->streams[i]);
        rc = stream_read(&reading, &store->streams[i], err);
    }
    free(reading.rows.bytes);
    if (rc != 0) {
        return -1;
    }
    if (store->streams_count == 0) {
        return ck_err_set(
            err, "%s has no readable frame%s%s", store->files.paths[0],
            store->damage.first[0] != '\0' ? ": " : "", store->damage.first);
    }
    if (dir != NULL && manifest_take(store, dir, cast) != 0) {
        return ck_err_set(err, "out of memory");
    }
    if (continuity_check(store->streams, store->streams_count, cast) != 0) {
        return ck_err_set(err, "out of memory");
    }
    return 0;
}

struct store *store_create(const char *dir,
                           struct cast *cast,
                           struct align *align,
                           struct ck_err *err)
{
    return store_create_all(&dir, 1, cast, align, err);
}

struct store *store_create_all(const char *const *paths,
                               size_t count,
                               struct cast *cast,
                               struct align *align,
                               struct ck_err *err)
{
    struct store *store = calloc(1, sizeof(*store));
    struct stat status;
    bool is_run;
    int rc = 0;

    if (store == NULL) {
        (void)ck_err_set(err, "out of memory");
        return NULL;
    }
    is_run =
        count == 1 && stat(paths[0], &status) == 0 && S_ISDIR(status.st_mode);
    for (size_t i = 0; rc == 0 && i < count; i++) {
        rc = files_append(&store->files, paths[i], err);
    }
    if (rc != 0 ||
        store_open(store, cast, align, is_run ? paths[0] : NULL, err) != 0) {
        store_destroy(store);
        return NULL;
    }
    return store;
}

size_t store_streams(const struct store *store)
{
    return store->streams_count;
}

const struct store_stream *store_stream(const struct store *store, size_t at)
{
    return &store->streams[at];
}

const struct store_damage *store_damage(const struct store *store)
{
    return &store->damage;
}

uint64_t store_bytes(const struct store *store)
{
    return store->bytes;
}
