/* factsfile.c - the file of what stays of an agent's discarded segments
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "aggregator/store/factsfile.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "aggregator/store/latest.h"
#include "schema/store/run.h"
#include "schema/store/segment.h"

/* Kept free behind the facts, so that a full disk can be made less full. */
#define RESERVE ((uint64_t)64 << 10)

struct factsfile {
    char path[PATH_MAX];
    uint8_t agent[16];
    struct ck_segment *file; /* NULL = nothing was ever discarded */
    uint64_t frames;
    uint64_t records;
    struct thin *thin; /* NULL = not needed yet */
    struct thin_note note;
    uint64_t note_first; /* position of the next note */
    uint64_t enough;     /* squeezed to half of that */
};

/* ---- opening ------------------------------------------------------------ */

/* Hand out the frames that are there and count them. 0 or -1 with err. */
static int file_walk(struct factsfile *factsfile,
                     factsfile_take_f take,
                     void *state,
                     struct ck_err *err)
{
    struct ck_segment_reader *reader =
        ck_segment_reader_create(factsfile->path, err);
    struct ck_frame_header header;
    const void *payload;
    int rc = 0;

    if (!reader) {
        return -1;
    }
    while (rc == 0 && ck_segment_next(reader, &header, &payload) > 0) {
        factsfile->frames++;
        factsfile->records += header.records;
        if (header.stream.slot != CK_SLOT_AGGREGATOR) {
            rc = take(state, &header, payload);
        } else {
            (void)thin_note_read(&header, payload, &factsfile->note,
                                 &factsfile->note_first);
        }
    }
    if (rc != 0) {
        rc = ck_err_set(err, "cannot go on with %s: %s", factsfile->path,
                        strerror(errno));
    }
    ck_segment_reader_destroy(reader);
    return rc;
}

/* The path of the file that is to be put in place. 0, or -1 with errno. */
static int fresh_path(char path[PATH_MAX], const struct factsfile *factsfile)
{
    if (snprintf(path, PATH_MAX, "%s.new", factsfile->path) >= PATH_MAX) {
        errno = ENAMETOOLONG;
        return -1;
    }
    return 0;
}

struct factsfile *factsfile_create(const char *dir,
                                   const uint8_t agent[16],
                                   factsfile_take_f take,
                                   void *state,
                                   struct ck_err *err)
{
    struct factsfile *factsfile = calloc(1, sizeof(*factsfile));
    char fresh[PATH_MAX];

    if (!factsfile) {
        return ck_err_null(err, "out of memory");
    }
    memcpy(factsfile->agent, agent, sizeof(factsfile->agent));
    factsfile->note.until_raw = factsfile->note.until_ticks = INT64_MIN;
    if (ck_run_facts_path(factsfile->path, dir, agent) != 0 ||
        fresh_path(fresh, factsfile) != 0) {
        (void)ck_err_set(err, "path of the run directory is too long: %s", dir);
        goto error;
    }
    (void)unlink(fresh); /* of one that was killed in its middle */
    if (access(factsfile->path, F_OK) != 0) {
        return factsfile;
    }
    factsfile->file = ck_segment_create(factsfile->path, err);
    if (!factsfile->file || (ck_segment_bytes(factsfile->file) > 0 &&
                             file_walk(factsfile, take, state, err) != 0)) {
        goto error;
    }
    return factsfile;
error:
    factsfile_destroy(factsfile);
    return NULL;
}

void factsfile_destroy(struct factsfile *factsfile)
{
    int saved = errno;

    if (factsfile) {
        ck_segment_destroy(factsfile->file);
        thin_destroy(factsfile->thin);
        free(factsfile);
    }
    errno = saved;
}

bool factsfile_are_there(const struct factsfile *factsfile)
{
    return factsfile->file != NULL;
}

/* ---- appending ---------------------------------------------------------- */

struct thin *factsfile_begin(struct factsfile *factsfile)
{
    if (!factsfile->thin && !(factsfile->thin = thin_create())) {
        return NULL;
    }
    thin_begin(factsfile->thin, &factsfile->note);
    return factsfile->thin;
}

int factsfile_commit(struct factsfile *factsfile,
                     uint32_t number,
                     uint64_t bytes)
{
    struct thin_note *note = thin_note(factsfile->thin);
    uint64_t records;
    const void *from;
    size_t length;

    note->is_any = true;
    note->segment = number;
    note->segments++;
    note->bytes += bytes;
    if (thin_finish(factsfile->thin, factsfile->agent, factsfile->note_first) !=
            0 ||
        (!factsfile->file &&
         !(factsfile->file = ck_segment_create(factsfile->path, NULL)))) {
        return -1;
    }
    from = thin_bytes(factsfile->thin, &length, &records);
    if (ck_segment_append(factsfile->file, from, length) != 0) {
        return -1;
    }
    (void)ck_segment_reserve(factsfile->file, RESERVE);
    factsfile->note = *note;
    factsfile->records += records;
    factsfile->frames += thin_frames(factsfile->thin);
    factsfile->note_first = thin_next(factsfile->thin);
    return 0;
}

/* ---- squeezing ---------------------------------------------------------- */

/* A file that is written in place of the facts' own. */
struct fresh {
    struct ck_segment_reader *from;
    struct latest *latest;
    struct ck_segment *to;
    uint64_t frames;
    uint64_t records;
    uint32_t incarnation; /* of the frame that is looked at */
    bool is_short;        /* of memory */
    factsfile_is_last_f is_last;
    void *state;
};

/* A thin_keep_f. */
static bool row_stays(void *state, const struct ck_event *row)
{
    struct fresh *fresh = state;

    return latest_stays(fresh->latest, fresh->incarnation, row);
}

/* A thin_keep_f that only looks. */
static bool row_seen(void *state, const struct ck_event *row)
{
    struct fresh *fresh = state;

    fresh->is_short |= latest_see(fresh->latest, fresh->incarnation, row) != 0;
    return false;
}

/* Look at all rows once. 0, or -1 with errno. */
static int fresh_look(struct fresh *fresh, struct factsfile *factsfile)
{
    struct ck_frame_header header;
    const void *payload;
    int rc = 0;

    while (rc == 0 && ck_segment_next(fresh->from, &header, &payload) > 0) {
        fresh->incarnation = header.stream.incarnation;
        if (header.stream.slot != CK_SLOT_AGGREGATOR) {
            thin_begin(factsfile->thin, &factsfile->note);
            thin_filter(factsfile->thin, row_seen, fresh);
            rc = thin_add(factsfile->thin, &header, payload, false);
        }
        rc = fresh->is_short ? -1 : rc;
    }
    return rc == 0 ? ck_segment_seek(fresh->from, 0) : rc;
}

/* Append what the facts' thin has. 0, or -1 with errno. */
static int fresh_put(struct fresh *fresh, const struct thin *thin)
{
    uint64_t records;
    size_t length;
    const void *bytes = thin_bytes(thin, &length, &records);

    fresh->frames += thin_frames(thin);
    fresh->records += records;
    return length == 0 ? 0 : ck_segment_append(fresh->to, bytes, length);
}

/* Write what stays; *note as it is then. 0, or -1 with errno. */
static int fresh_write(struct fresh *fresh,
                       struct factsfile *factsfile,
                       struct thin_note *note)
{
    struct ck_frame_header header;
    const void *payload;
    int rc = 0;

    while (rc == 0 && ck_segment_next(fresh->from, &header, &payload) > 0) {
        fresh->incarnation = header.stream.incarnation;
        if (header.stream.slot == CK_SLOT_AGGREGATOR) {
            note->units += header.units; /* older notes */
            continue;
        }
        thin_begin(factsfile->thin, note);
        thin_filter(factsfile->thin, row_stays, fresh);
        rc = thin_add(factsfile->thin, &header, payload,
                      fresh->is_last(fresh->state, &header));
        rc = rc == 0 ? fresh_put(fresh, factsfile->thin) : rc;
        *note = *thin_note(factsfile->thin);
    }
    thin_begin(factsfile->thin, note);
    if (rc != 0 || thin_finish(factsfile->thin, factsfile->agent,
                               factsfile->note_first) != 0) {
        return -1;
    }
    return fresh_put(fresh, factsfile->thin);
}

static int fresh_open(struct fresh *fresh,
                      const char *path,
                      const struct factsfile *factsfile)
{
    (void)unlink(path);
    fresh->latest = latest_create();
    fresh->from = ck_segment_reader_create(factsfile->path, NULL);
    fresh->to = ck_segment_create(path, NULL);
    return fresh->latest && fresh->from && fresh->to ? 0 : -1;
}

/* Written anew, all of it on disk, and put in place. 0, or -1 with errno. */
static int squeeze(struct factsfile *factsfile, struct fresh *fresh)
{
    struct thin_note note = factsfile->note;
    char path[PATH_MAX];

    if (fresh_path(path, factsfile) != 0 ||
        fresh_open(fresh, path, factsfile) != 0 ||
        fresh_look(fresh, factsfile) != 0 ||
        fresh_write(fresh, factsfile, &note) != 0 ||
        ck_segment_sync(fresh->to) != 0 || rename(path, factsfile->path) != 0) {
        int saved = errno;

        (void)unlink(path);
        errno = saved;
        return -1;
    }
    ck_segment_destroy(factsfile->file);
    factsfile->file = fresh->to;
    fresh->to = NULL;
    factsfile->frames = fresh->frames;
    factsfile->records = fresh->records;
    factsfile->note = note;
    factsfile->note_first = thin_next(factsfile->thin);
    return 0;
}

int factsfile_squeeze(struct factsfile *factsfile,
                      uint64_t limit,
                      factsfile_is_last_f is_last,
                      void *state)
{
    struct fresh fresh = {.is_last = is_last, .state = state};
    uint64_t bytes = factsfile->file ? ck_segment_bytes(factsfile->file) : 0;
    int rc;

    if (bytes <= limit || bytes <= factsfile->enough ||
        !factsfile_begin(factsfile)) {
        return 0;
    }
    rc = squeeze(factsfile, &fresh);
    factsfile->enough = 2 * ck_segment_bytes(factsfile->file);
    ck_segment_destroy(fresh.to);
    ck_segment_reader_destroy(fresh.from);
    latest_destroy(fresh.latest);
    return rc;
}

struct factsfile_sums factsfile_sums(const struct factsfile *factsfile)
{
    return (struct factsfile_sums){
        .frames = factsfile->frames,
        .records = factsfile->records,
        .bytes = factsfile->file ? ck_segment_bytes(factsfile->file) : 0,
        .note = factsfile->note,
    };
}

int factsfile_sync(struct factsfile *factsfile)
{
    return factsfile->file ? ck_segment_sync(factsfile->file) : 0;
}
