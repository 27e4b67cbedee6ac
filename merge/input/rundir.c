/* rundir.c - a run directory as streams of frames
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "merge/input/rundir.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "merge/input/continuity.h"
#include "merge/input/files.h"
#include "merge/input/listed.h"
#include "merge/input/pieces.h"
#include "merge/input/reading.h"
#include "merge/input/recent.h"
#include "merge/input/spools.h"
#include "merge/model/array.h"
#include "merge/model/memory.h"
#include "merge/model/table.h"
#include "schema/store/frameindex.h"
#include "schema/store/run.h"

/* A job whose files were not written to for so many seconds is not running: its
 * ckagg was killed. Collectors read the clocks each second.
 */
#define RUNNING_AGE 30
/* A frame of the file that is walked. */
struct walked {
    struct store_frame frame;
    uint32_t stream;
};

struct rundir {
    struct ck_run_files files;
    struct opener opener;
    struct ck_segment_ahead *ahead; /* NULL = all of the run is read */
    struct rundir_stream *streams;
    size_t streams_count;
    size_t streams_room;
    struct table *keys;    /* agent, incarnation, slot: their numbers */
    struct walked *walked; /* until all frames of the file are known */
    size_t walked_count, walked_room;
    struct rundir_damage damage;
    struct manifest_probes probes;
    bool is_running;
    bool is_misled;
    uint64_t bytes;
};

void rundir_destroy(struct rundir *rundir)
{
    int saved = errno;

    if (rundir == NULL) {
        return;
    }
    for (size_t i = 0;
         rundir->opener.readers != NULL && i < rundir->files.count; i++) {
        ck_segment_reader_destroy(rundir->opener.readers[i]);
    }
    for (size_t i = 0; i < rundir->streams_count; i++) {
        free(rundir->streams[i].frames);
        free(rundir->streams[i].bounds);
    }
    ck_run_files_free(&rundir->files);
    free(rundir->opener.readers);
    ck_segment_ahead_destroy(rundir->ahead);
    free(rundir->streams);
    free(rundir->walked);
    table_destroy(rundir->keys);
    free(rundir->opener.unpacked);
    free(rundir);
    errno = saved;
}

static void
damage_note(struct rundir *rundir, const char *path, const char *what)
{
    const char *slash = strrchr(path, '/');

    if (rundir->damage.first[0] == '\0') {
        (void)snprintf(rundir->damage.first, sizeof(rundir->damage.first),
                       "%.100s: %.150s", slash == NULL ? path : slash + 1,
                       what);
    }
}

static struct rundir_stream *
stream_find(struct rundir *rundir, uint32_t agent, struct ck_stream name)
{
    struct table_key key = {agent, name.incarnation, name.slot};
    int64_t number = table_number(rundir->keys, key);
    struct rundir_stream *stream;

    if ((size_t)number < rundir->streams_count) {
        return &rundir->streams[number];
    }
    array_grow(&rundir->streams, &rundir->streams_room, rundir->streams_count,
               sizeof(*stream));
    stream = &rundir->streams[rundir->streams_count++];
    memset(stream, 0, sizeof(*stream));
    stream->agent = agent;
    stream->slot = name.slot;
    stream->incarnation = name.incarnation;
    stream->process = DEFS_NONE;
    return stream;
}

/* A frame at this offset of its file. `is_joined`: what its stream has before
 * it is there, in frames that are not entered if need be. */
static struct store_frame *frame_enter(struct rundir *rundir,
                                       struct defs *defs,
                                       uint32_t file,
                                       const struct ck_frame_header *header,
                                       uint64_t offset,
                                       bool is_joined)
{
    uint32_t agent = defs_agent_find(defs, header->agent);
    struct rundir_stream *stream = stream_find(rundir, agent, header->stream);
    struct walked *walked;
    struct store_frame *frame;

    array_grow(&rundir->walked, &rundir->walked_room, rundir->walked_count,
               sizeof(*walked));
    walked = &rundir->walked[rundir->walked_count++];
    frame = &walked->frame;
    memset(frame, 0, sizeof(*frame));
    walked->stream = (uint32_t)(stream - rundir->streams);
    stream->frames_room++;
    frame->offset = offset;
    frame->first = header->first;
    if (is_joined && header->first > stream->listed) {
        frame->lead = header->first - stream->listed;
    }
    if (header->first + header->units > stream->listed) {
        stream->listed = header->first + header->units;
    }
    frame->units = header->units;
    frame->file = file;
    frame->records = header->records;
    frame->classes = header->classes;
    frame->is_thin = files_is_facts(rundir->files.paths[file]);
    stamps_init(&frame->stamps);
    defs->agents[agent].bytes += ck_frame_bytes(header);
    defs->agents[agent].frames++;
    if (files_is_segment(rundir->files.paths[file])) {
        defs->agents[agent].stored += header->records;
    } else {
        defs->agents[agent].has_spool = true;
    }
    rundir->bytes += ck_frame_bytes(header);
    return frame;
}

/* Give the frames of a file to their streams: each array has the room that it
 * needs, as memory that is touched costs more than what is done with it. */
static void frames_give(struct rundir *rundir)
{
    for (size_t i = 0; i < rundir->walked_count; i++) {
        const struct walked *walked = &rundir->walked[i];
        struct rundir_stream *stream = &rundir->streams[walked->stream];

        if (stream->frames_count == stream->frames_held) {
            stream->frames = xrealloc(
                stream->frames, stream->frames_room * sizeof(*stream->frames));
            stream->frames_held = stream->frames_room;
        }
        stream->frames[stream->frames_count++] = walked->frame;
    }
    rundir->walked_count = 0;
}

/* Enter the frames of the index before `tail`. */
static void rows_enter(struct rundir *rundir,
                       const struct reading *reading,
                       uint32_t file,
                       const struct ck_frameindex_file *listed,
                       uint64_t tail)
{
    const struct ck_frameindex_stream *streams = ck_frameindex_streams(listed);
    const struct ck_frameindex_row *rows = ck_frameindex_rows(listed);

    for (uint32_t i = 0; i < listed->rows && rows[i].offset < tail; i++) {
        struct ck_frame_header header = {.stream = streams[rows[i].stream].name,
                                         .first = rows[i].first,
                                         .units = rows[i].units,
                                         .records = rows[i].records,
                                         .length = rows[i].length,
                                         .classes = rows[i].classes};

        memcpy(header.agent, listed->agent, sizeof(header.agent));
        frame_enter(rundir, reading->defs, file, &header, rows[i].offset,
                    rows[i].is_joined != 0)
            ->is_listed = true;
    }
    for (uint32_t i = 0; i < listed->streams; i++) {
        uint32_t agent = defs_agent_find(reading->defs, listed->agent);

        stream_find(rundir, agent, streams[i].name)->skipped |=
            streams[i].skipped;
    }
}

/* Enter the frames of one file. For a question it is their headers that are
 * walked, behind what an index has: most of the frames are not read. */
static void
file_walk(struct rundir *rundir, struct reading *reading, uint32_t file)
{
    const struct ck_frameindex_file *listed =
        listed_find(reading->index, &rundir->files, file);
    struct ck_segment_reader *reader = rundir->opener.readers[file];
    const char *path = rundir->files.paths[file];
    struct ck_frame_header header;
    struct ck_segment_damage damage;
    uint64_t tail = 0;
    uint32_t at = 0;
    char what[128];
    int rc;

    if (reader == NULL) {
        return;
    }
    if (listed != NULL) {
        tail = reading->is_longer ? listed->tail : listed->end;
        rows_enter(rundir, reading, file, listed, tail);
        reading->is_misled |= ck_segment_seek(reader, tail) != 0;
    }
    while ((rc = ck_segment_skim(reader, &header)) == 1) {
        uint64_t offset = ck_segment_offset(reader);

        frame_enter(rundir, reading->defs, file, &header, offset,
                    listed_is_joined(listed, &at, offset));
    }
    frames_give(rundir);
    if (rc < 0) {
        opened_short(CK_FRAME_PAYLOAD_MAX);
        (void)snprintf(what, sizeof(what), "cannot be read on: %s",
                       strerror(errno));
        rundir->damage.places++;
        damage_note(rundir, path, what);
    }
    damage = ck_segment_damage(reader);
    rundir->damage.places += damage.places;
    rundir->damage.bytes += damage.bytes;
    rundir->damage.tails += damage.is_tail;
    if (damage.places > 0) {
        (void)snprintf(what, sizeof(what),
                       "%llu damaged bytes from offset %llu on%s",
                       (unsigned long long)damage.bytes,
                       (unsigned long long)damage.first_offset,
                       damage.is_tail ? " (cut off)" : "");
        damage_note(rundir, path, what);
    }
}

/* The first reading of a stream: facts and times. A frame that does not decode
 * is counted and left out; its units become a gap. */
static void stream_read(struct rundir *rundir,
                        struct reading *reading,
                        struct rundir_stream *stream,
                        struct ck_err *err)
{
    size_t kept = 0;

    reading->stream = stream;
    for (size_t i = 0; i < stream->frames_count; i++) {
        struct store_frame *frame = &stream->frames[i];

        if (frame->is_skipped) {
            frame->records = frame->classes = 0;
            stream->frames[kept++] = *frame;
            continue;
        }
        if (!reading_frame(reading, frame, err)) {
            rundir->damage.batches++;
            damage_note(rundir, rundir->files.paths[frame->file], err->text);
            stream->gaps++;
            stream->gap_units += frame->units - frame->trim;
            reading->defs->agents[stream->agent].undecoded += reading->told;
            continue;
        }
        recent_mask(stream, i, frame);
        stream->frames[kept++] = *frame;
    }
    stream->frames_count = kept;
    if (stream->process != DEFS_NONE) {
        reading->defs->processes[stream->process].skipped |= stream->skipped;
    }
}

/* Open the files, spools before segments. An agent removes its spool once all
 * of it is stored, at any moment of this: what such a spool had is in the
 * segments, which are read after. What cannot be opened is damage. */
static int
readers_open(struct rundir *rundir, bool is_question, struct ck_err *err)
{
    size_t opened = 0;

    if (is_question) {
        rundir->ahead = ck_segment_ahead_create();
    }

    rundir->opener.readers =
        xcalloc(rundir->files.count, sizeof(*rundir->opener.readers));
    for (size_t i = rundir->files.count; i-- > 0;) {
        rundir->opener.readers[i] =
            ck_segment_reader_create(rundir->files.paths[i], err);
        if (rundir->opener.readers[i] != NULL) {
            ck_segment_reader_share(rundir->opener.readers[i], rundir->ahead);
            opened++;
        } else if (errno == ENOMEM) {
            return -1;
        } else if (errno != ENOENT) {
            rundir->damage.places++;
            damage_note(rundir, rundir->files.paths[i], err->text);
        }
    }
    return opened > 0 ? 0 : -1;
}

/* All agents that the run has are known to be gone, one at least by what was
 * found of it after it was killed: so was their ckagg. */
static bool is_over(const struct defs *defs)
{
    bool has_gone = false;

    for (size_t i = 0; i < defs->agents_count; i++) {
        const struct defs_agent *agent = &defs->agents[i];

        if (!agent->is_profile && !agent->has_exit && !agent->is_gone) {
            return false;
        }
        has_gone = has_gone || agent->is_gone;
    }
    return has_gone;
}

/* The segments of the run by its manifest. A run that never saw a ckagg
 * has spools alone and no manifest. */
static void
manifest_take(struct rundir *rundir, const char *dir, struct defs *defs)
{
    struct manifest manifest;
    bool is_due = false;

    manifest_read(&manifest, dir);
    for (size_t i = 0; i < defs->agents_count; i++) {
        is_due |= defs->agents[i].stored > 0 && !defs->agents[i].is_profile;
    }
    if (!manifest.is_read && (is_due || manifest.is_there)) {
        (void)snprintf(rundir->damage.manifest, sizeof(rundir->damage.manifest),
                       "%s", manifest.why);
    }
    rundir->probes = manifest.probes;
    rundir->is_running = manifest.is_read && !manifest.is_final &&
                         files_age(&rundir->files) < RUNNING_AGE &&
                         !is_over(defs);
    continuity_tell(&manifest, defs);
    manifest_fini(&manifest);
}

static int rundir_open(struct rundir *rundir,
                       struct reading reading,
                       const char *dir,
                       struct ck_err *err)
{
    struct defs *defs = reading.defs;

    reading.opener = &rundir->opener;
    rundir->opener.paths = rundir->files.paths;
    if (readers_open(rundir, reading.classes != UINT32_MAX, err) != 0) {
        return -1;
    }
    for (uint32_t i = 0; i < rundir->files.count; i++) {
        file_walk(rundir, &reading, i);
    }
    free(rundir->walked);
    rundir->walked = NULL;
    for (size_t i = 0; i < rundir->streams_count; i++) {
        continuity_trim(&rundir->streams[i]);
        if (reading.is_recent) {
            recent_choose(&rundir->streams[i], reading.is_longer);
        }
    }
    continuity_slots(rundir->streams, rundir->streams_count);
    for (size_t i = 0; i < rundir->streams_count; i++) {
        stream_read(rundir, &reading, &rundir->streams[i], err);
    }
    reading_fini(&reading);
    rundir->is_misled = reading.is_misled;
    if (rundir->streams_count == 0) {
        return ck_err_set(
            err, "%s has no readable frame%s%s", rundir->files.paths[0],
            rundir->damage.first[0] != '\0' ? ": " : "", rundir->damage.first);
    }
    if (dir != NULL) {
        manifest_take(rundir, dir, defs);
    }
    continuity_check(rundir->streams, rundir->streams_count, defs);
    return 0;
}

/* Spools outside the run. 0, or -1 with err. */
static int
spools_take(struct rundir *rundir, const char *dir, struct ck_err *err)
{
    struct manifest manifest;
    int rc;

    manifest_read(&manifest, dir);
    rc = spools_add(&rundir->files, &manifest, err);
    manifest_fini(&manifest);
    return rc;
}

/* Nothing can be read: is it all in a spool elsewhere? */
static void spools_name(const char *dir, struct ck_err *err)
{
    struct manifest manifest;

    manifest_read(&manifest, dir);
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

struct rundir *rundir_create(const char *dir,
                             struct defs *defs,
                             struct clocktaker clocks,
                             struct ck_err *err)
{
    const struct rundir_question all = {.classes = UINT32_MAX};

    return rundir_create_of(dir, defs, clocks, &all, err);
}

/* What `reading` has by then: definitions, clocks, classes. */
static struct rundir *paths_open(const char *const *paths,
                                 size_t count,
                                 struct reading reading,
                                 struct ck_err *err)
{
    struct rundir *rundir = xcalloc(1, sizeof(*rundir));
    struct stat status;
    bool is_run;
    int rc = 0;

    rundir->keys = table_create();
    is_run =
        count == 1 && stat(paths[0], &status) == 0 && S_ISDIR(status.st_mode);
    for (size_t i = 0; rc == 0 && i < count; i++) {
        rc = files_append(&rundir->files, paths[i], err);
    }
    if (rc == 0 && is_run) {
        rc = spools_take(rundir, paths[0], err);
    }
    if (rc != 0 ||
        rundir_open(rundir, reading, is_run ? paths[0] : NULL, err) != 0) {
        if (is_run && rundir->streams_count == 0) {
            spools_name(paths[0], err);
        }
        rundir_destroy(rundir);
        return NULL;
    }
    return rundir;
}

struct rundir *rundir_create_of(const char *dir,
                                struct defs *defs,
                                struct clocktaker clocks,
                                const struct rundir_question *question,
                                struct ck_err *err)
{
    return paths_open(&dir, 1,
                      (struct reading){.defs = defs,
                                       .clocks = clocks,
                                       .classes = question->classes,
                                       .is_recent = question->is_recent,
                                       .is_longer = question->is_longer,
                                       .index = question->index},
                      err);
}

struct rundir *rundir_create_all(const char *const *paths,
                                 size_t count,
                                 struct defs *defs,
                                 struct clocktaker clocks,
                                 struct ck_err *err)
{
    return paths_open(
        paths, count,
        (struct reading){.defs = defs, .clocks = clocks, .classes = UINT32_MAX},
        err);
}

int rundir_read(struct rundir *rundir,
                const struct store_frame *frame,
                uint32_t classes,
                struct store_rows *rows,
                struct ck_err *err)
{
    struct opened opened;

    return opened_open(&opened, &rundir->opener, frame, err) != 0
               ? -1
               : opened_decode(&opened, frame, classes, rows, err);
}

int rundir_pieces_open(struct rundir *rundir,
                       struct pieces *pieces,
                       const struct store_frame *frame,
                       uint32_t classes,
                       struct ck_err *err)
{
    return pieces_open(pieces, &rundir->opener, frame, classes, err);
}

size_t rundir_streams(const struct rundir *rundir)
{
    return rundir->streams_count;
}

const struct rundir_stream *rundir_stream(const struct rundir *rundir,
                                          size_t at)
{
    return &rundir->streams[at];
}

const struct rundir_damage *rundir_damage(const struct rundir *rundir)
{
    return &rundir->damage;
}

const struct manifest_probes *rundir_probes(const struct rundir *rundir)
{
    return &rundir->probes;
}

bool rundir_is_running(const struct rundir *rundir)
{
    return rundir->is_running;
}

bool rundir_is_misled(const struct rundir *rundir)
{
    return rundir->is_misled;
}

uint64_t rundir_bytes(const struct rundir *rundir)
{
    return rundir->bytes;
}
