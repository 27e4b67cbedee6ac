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

#include "merge/input/continuity.h"
#include "merge/input/files.h"
#include "merge/input/pieces.h"
#include "merge/input/reading.h"
#include "merge/input/spools.h"
#include "merge/model/array.h"
#include "merge/model/table.h"
#include "schema/store/run.h"

/* A job whose files nobody wrote to for so many seconds is not running: its
 * ckagg was killed. Collectors read the clocks each second.
 */
#define RUNNING_AGE 30

struct store {
    struct ck_run_files files;
    struct opener opener;
    struct store_stream *streams;
    size_t streams_count;
    size_t streams_room;
    struct table *keys; /* agent, incarnation, slot: their numbers */
    struct store_damage damage;
    struct manifest_probes probes;
    bool is_running;
    uint64_t bytes;
};

void store_destroy(struct store *store)
{
    int saved = errno;

    if (store == NULL) {
        return;
    }
    for (size_t i = 0; store->opener.readers != NULL && i < store->files.count;
         i++) {
        ck_segment_reader_destroy(store->opener.readers[i]);
    }
    for (size_t i = 0; i < store->streams_count; i++) {
        free(store->streams[i].frames);
        free(store->streams[i].bounds);
    }
    ck_run_files_free(&store->files);
    free(store->opener.readers);
    free(store->streams);
    table_destroy(store->keys);
    free(store->opener.unpacked);
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
    struct table_key key = {agent, name.incarnation, name.slot};
    int64_t number = table_number(store->keys, key);
    struct store_stream *stream;

    if (number < 0) {
        return NULL;
    }
    if ((size_t)number < store->streams_count) {
        return &store->streams[number];
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

/* Room for one frame more: of very many streams most have a few. 0, or -1 with
 * ENOMEM. */
static int frames_room(struct store_stream *stream)
{
    size_t room = stream->frames_room + stream->frames_room / 2 + 2;
    struct store_frame *grown;

    if (stream->frames_count < stream->frames_room) {
        return 0;
    }
    grown = realloc(stream->frames, room * sizeof(*grown));
    if (grown == NULL) {
        return -1;
    }
    stream->frames = grown;
    stream->frames_room = room;
    return 0;
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
    if (stream == NULL || frames_room(stream) != 0) {
        return -1;
    }
    frame = &stream->frames[stream->frames_count++];
    memset(frame, 0, sizeof(*frame));
    frame->offset = ck_segment_offset(store->opener.readers[file]);
    frame->first = header->first;
    frame->units = header->units;
    frame->file = file;
    frame->records = header->records;
    frame->is_thin = files_is_facts(store->files.paths[file]);
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

    if (store->opener.readers[file] == NULL) {
        return 0;
    }
    while (ck_segment_next(store->opener.readers[file], &header, &payload) ==
           1) {
        if (frame_enter(store, cast, file, &header) != 0) {
            return ck_err_set(err, "out of memory while reading %s", path);
        }
    }
    damage = ck_segment_damage(store->opener.readers[file]);
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

/* The first reading of a stream: facts and times. A frame that does not decode
 * is counted and left out; its units become a gap. */
static int stream_read(struct store *store,
                       struct reading *reading,
                       struct store_stream *stream,
                       struct ck_err *err)
{
    size_t kept = 0;
    int rc = 1;

    reading->stream = stream;
    for (size_t i = 0; rc >= 0 && i < stream->frames_count; i++) {
        struct store_frame *frame = &stream->frames[i];

        rc = reading_frame(reading, frame, err);
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
 * segments, which are read after. What cannot be opened is damage. */
static int readers_open(struct store *store, struct ck_err *err)
{
    size_t opened = 0;

    store->opener.readers =
        calloc(store->files.count, sizeof(*store->opener.readers));
    if (store->opener.readers == NULL) {
        return ck_err_set(err, "out of memory");
    }
    for (size_t i = store->files.count; i-- > 0;) {
        store->opener.readers[i] =
            ck_segment_reader_create(store->files.paths[i], err);
        if (store->opener.readers[i] != NULL) {
            opened++;
        } else if (errno == ENOMEM) {
            return -1;
        } else if (errno != ENOENT) {
            store->damage.places++;
            damage_note(store, store->files.paths[i], err->text);
        }
    }
    return opened > 0 ? 0 : -1;
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
    store->probes = manifest.probes;
    store->is_running = manifest.is_read && !manifest.is_final &&
                        files_age(&store->files) < RUNNING_AGE;
    rc = continuity_tell(&manifest, cast);
    manifest_fini(&manifest);
    return rc;
}

static int store_open(struct store *store,
                      struct cast *cast,
                      struct clocktaker clocks,
                      const char *dir,
                      struct ck_err *err)
{
    struct reading reading = {
        .opener = &store->opener, .cast = cast, .clocks = clocks};
    int rc = 0;

    store->opener.paths = store->files.paths;
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
        rc = stream_read(store, &reading, &store->streams[i], err);
    }
    reading_fini(&reading);
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

/* Spools that lie elsewhere. 0, or -1 with err. */
static int spools_take(struct store *store, const char *dir, struct ck_err *err)
{
    struct manifest manifest;
    int rc;

    if (manifest_read(&manifest, dir) != 0) {
        return ck_err_set(err, "out of memory");
    }
    rc = spools_add(&store->files, &manifest, err);
    manifest_fini(&manifest);
    return rc;
}

/* Nothing can be read: is it all in a spool elsewhere? */
static void spools_name(const char *dir, struct ck_err *err)
{
    struct manifest manifest;

    if (manifest_read(&manifest, dir) != 0) {
        return;
    }
    for (size_t i = 0; i < manifest.agents_count; i++) {
        const struct manifest_agent *agent = &manifest.agents[i];

        if (agent->spool != NULL && agent->spool[0] != '\0') {
            (void)ck_err_set(err,
                             "%s has no records: its disk was full. Those of "
                             "rank %d are on %s in %s: copy that file into the "
                             "run directory and run ckmerge again",
                             dir, (int)agent->rank,
                             agent->host == NULL ? "its host" : agent->host,
                             agent->spool);
            break;
        }
    }
    manifest_fini(&manifest);
}

struct store *store_create(const char *dir,
                           struct cast *cast,
                           struct clocktaker clocks,
                           struct ck_err *err)
{
    return store_create_all(&dir, 1, cast, clocks, err);
}

struct store *store_create_all(const char *const *paths,
                               size_t count,
                               struct cast *cast,
                               struct clocktaker clocks,
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
    store->keys = table_create();
    if (store->keys == NULL) {
        store_destroy(store);
        (void)ck_err_set(err, "out of memory");
        return NULL;
    }
    is_run =
        count == 1 && stat(paths[0], &status) == 0 && S_ISDIR(status.st_mode);
    for (size_t i = 0; rc == 0 && i < count; i++) {
        rc = files_append(&store->files, paths[i], err);
    }
    if (rc == 0 && is_run) {
        rc = spools_take(store, paths[0], err);
    }
    if (rc != 0 ||
        store_open(store, cast, clocks, is_run ? paths[0] : NULL, err) != 0) {
        if (is_run && store->streams_count == 0) {
            spools_name(paths[0], err);
        }
        store_destroy(store);
        return NULL;
    }
    return store;
}

int store_read(struct store *store,
               const struct store_frame *frame,
               uint32_t classes,
               struct store_rows *rows,
               struct ck_err *err)
{
    struct opened opened;

    return opened_open(&opened, &store->opener, frame, err) != 0
               ? -1
               : opened_decode(&opened, frame, classes, rows, err);
}

int store_pieces_open(struct store *store,
                      struct pieces *pieces,
                      const struct store_frame *frame,
                      uint32_t classes,
                      struct ck_err *err)
{
    return pieces_open(pieces, &store->opener, frame, classes, err);
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

const struct manifest_probes *store_probes(const struct store *store)
{
    return &store->probes;
}

bool store_is_running(const struct store *store)
{
    return store->is_running;
}

uint64_t store_bytes(const struct store *store)
{
    return store->bytes;
}
