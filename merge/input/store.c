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

/* By position; of equal ones the longer first. */
static int by_position(const void *a, const void *b)
{
    const struct store_frame *left = a;
    const struct store_frame *right = b;

    if (left->first != right->first) {
        return left->first < right->first ? -1 : 1;
    }
    return (left->units < right->units) - (left->units > right->units);
}

/* Order the frames, drop what is there twice, count what is not there. */
static void stream_trim(struct store_stream *stream)
{
    uint64_t next = 0;
    size_t kept = 0;

    qsort(stream->frames, stream->frames_count, sizeof(*stream->frames),
          by_position);
    for (size_t i = 0; i < stream->frames_count; i++) {
        struct store_frame frame = stream->frames[i];

        if (i == 0) {
            next = frame.first;
        }
        if (frame.first > next) {
            stream->gaps++;
            stream->gap_units += frame.first - next;
        } else if (frame.first + frame.units <= next && i > 0) {
            continue;
        } else {
            frame.trim = (uint32_t)(next - frame.first);
        }
        next = frame.first + frame.units;
        stream->frames[kept++] = frame;
    }
    stream->frames_count = kept;
    stream->begin = kept > 0 ? stream->frames[0].first : 0;
    stream->end = next;
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

static int frame_payload(struct store *store,
                         const struct store_frame *frame,
                         struct ck_frame_header *header,
                         const void **payload,
                         struct ck_err *err)
{
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

/* A frame's records, and what its batch says of them. */
struct decoded {
    struct store_rows *rows; /* borrowed */
    struct ck_batch_info info;
};

/* Decode these classes of a frame. */
static int frame_decode(struct store *store,
                        const struct store_frame *frame,
                        uint32_t classes,
                        struct decoded *decoded,
                        struct ck_err *err)
{
    struct store_rows *rows = decoded->rows;
    struct ck_frame_header header;
    const void *payload;
    size_t bytes = 0;

    if (frame_payload(store, frame, &header, &payload, err) != 0) {
        return -1;
    }
    if (rows_room(&rows->bytes, &rows->room,
                  (size_t)header.units * CK_UNIT_BYTES) != 0) {
        return ck_err_set(err, "out of memory");
    }
    bytes = header.pack == CK_PACK_NONE ? header.length : header.raw;
    memset(&decoded->info, 0, sizeof(decoded->info));
    if (ck_batch_decode_classes(
            payload, bytes, classes, &decoded->info, rows->bytes,
            (size_t)header.units * CK_UNIT_BYTES, &rows->used, err) != 0) {
        return -1;
    }
    rows->is_ticks = decoded->info.clock == CK_CLOCK_TSC;
    rows_trim(rows, frame->trim);
    return 0;
}

int store_read(struct store *store,
               const struct store_frame *frame,
               uint32_t classes,
               struct store_rows *rows,
               struct ck_err *err)
{
    struct decoded decoded = {.rows = rows};

    /* A place within the frame counts all of its records. */
    classes = frame->trim > 0 ? UINT32_MAX : classes;
    return frame_decode(store, frame, classes, &decoded, err);
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

static int rows_read(struct store_stream *stream,
                     struct store_frame *frame,
                     const struct store_rows *rows,
                     struct cast *cast,
                     struct align *align)
{
    struct facts_source source = {stream->agent, stream->process,
                                  rows->is_ticks};
    const uint8_t *at = rows->bytes;
    const uint8_t *end = at + rows->used;

    while (at < end) {
        const struct ck_event *event = (const struct ck_event *)at;

        if (facts_read(cast, align, &source, event) != 0) {
            return -1;
        }
        if (is_timed(ck_kind_class(event->kind))) {
            bool is_ticks = rows->is_ticks && (event->flags & CK_FLAG_RAW) == 0;

            stamps_add(&frame->stamps, is_ticks, event->start, event->start);
            frame->records++;
            frame->classes |= (uint32_t)1 << ck_kind_class(event->kind);
        }
        cast->agents[stream->agent].records++;
        at += (size_t)event->units * CK_UNIT_BYTES;
    }
    cast->agents[stream->agent].events += frame->records;
    cast->agents[stream->agent].units += frame->units - frame->trim;
    return 0;
}

/* The second reading: facts and times. A frame that does not decode is
 * counted and left out; its units become a gap. */
static int stream_read(struct store *store,
                       struct store_stream *stream,
                       struct cast *cast,
                       struct align *align,
                       struct ck_err *err)
{
    struct store_rows rows = {0};
    size_t kept = 0;
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < stream->frames_count; i++) {
        struct store_frame *frame = &stream->frames[i];
        struct decoded decoded = {.rows = &rows};

        if (frame_decode(store, frame, UINT32_MAX, &decoded, err) != 0) {
            store->damage.batches++;
            damage_note(store, store->files.paths[frame->file], err->text);
            stream->gaps++;
            stream->gap_units += frame->units - frame->trim;
            continue;
        }
        cast->agents[stream->agent].unknown += decoded.info.skipped;
        if (frame_bind(stream, frame, cast, &decoded.info) != 0 ||
            rows_read(stream, frame, &rows, cast, align) != 0) {
            rc = ck_err_set(err, "out of memory");
        }
        stream->frames[kept++] = *frame;
    }
    stream->frames_count = kept;
    free(rows.bytes);
    return rc;
}

/* Append the files of a run, or one file. Takes over their names. */
static int
files_append(struct ck_run_files *files, const char *path, struct ck_err *err)
{
    struct ck_run_files more = {NULL, 0};
    struct stat status;
    char **grown;
    size_t room;

    if (stat(path, &status) == 0 && S_ISREG(status.st_mode)) {
        more.paths = calloc(1, sizeof(*more.paths));
        more.count = more.paths != NULL;
        if (more.paths == NULL || (more.paths[0] = strdup(path)) == NULL) {
            free(more.paths);
            return ck_err_set(err, "out of memory");
        }
    } else if (ck_run_files(path, &more, err) != 0) {
        return -1;
    }
    if (more.count == 0) {
        return ck_err_set(err,
                          "%s has no segments and no spools (seg-*.ck, "
                          "spool-*.ck): not a run of ck, or nothing was "
                          "recorded",
                          path);
    }
    room = files->count + more.count;
    grown = realloc(files->paths, room * sizeof(*grown));
    if (grown == NULL) {
        ck_run_files_free(&more);
        return ck_err_set(err, "out of memory");
    }
    memcpy(grown + files->count, more.paths, more.count * sizeof(*grown));
    files->paths = grown;
    files->count = room;
    free(more.paths);
    return 0;
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

static int store_open(struct store *store,
                      struct cast *cast,
                      struct align *align,
                      struct ck_err *err)
{
    if (readers_open(store, err) != 0) {
        return -1;
    }
    for (uint32_t i = 0; i < store->files.count; i++) {
        if (file_walk(store, cast, i, err) != 0) {
            return -1;
        }
    }
    for (size_t i = 0; i < store->streams_count; i++) {
        stream_trim(&store->streams[i]);
        if (stream_read(store, &store->streams[i], cast, align, err) != 0) {
            return -1;
        }
    }
    if (store->streams_count == 0) {
        return ck_err_set(
            err, "%s has no readable frame%s%s", store->files.paths[0],
            store->damage.first[0] != '\0' ? ": " : "", store->damage.first);
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
    int rc = 0;

    if (store == NULL) {
        (void)ck_err_set(err, "out of memory");
        return NULL;
    }
    for (size_t i = 0; rc == 0 && i < count; i++) {
        rc = files_append(&store->files, paths[i], err);
    }
    if (rc != 0 || store_open(store, cast, align, err) != 0) {
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
