/* facts.c - the file of what stays of an agent's discarded segments
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "aggregator/store/facts.h"

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

struct facts {
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
static int file_walk(struct facts *facts,
                     facts_take_f take,
                     void *state,
                     struct ck_err *err)
{
    struct ck_segment_reader *reader =
        ck_segment_reader_create(facts->path, err);
    struct ck_frame_header header;
    const void *payload;
    int rc = 0;

    if (!reader) {
        return -1;
    }
    while (rc == 0 && ck_segment_next(reader, &header, &payload) > 0) {
        facts->frames++;
        facts->records += header.records;
        if (header.stream.slot != CK_SLOT_AGGREGATOR) {
            rc = take(state, &header, payload);
        } else {
            (void)thin_note_read(&header, payload, &facts->note,
                                 &facts->note_first);
        }
    }
    if (rc != 0) {
        rc = ck_err_set(err, "cannot go on with %s: %s", facts->path,
                        strerror(errno));
    }
    ck_segment_reader_destroy(reader);
    return rc;
}

/* The path of the file that is to be put in place. 0, or -1 with errno. */
static int fresh_path(char path[PATH_MAX], const struct facts *facts)
{
    if (snprintf(path, PATH_MAX, "%s.new", facts->path) >= PATH_MAX) {
        errno = ENAMETOOLONG;
        return -1;
    }
    return 0;
}

struct facts *facts_create(const char *dir,
                           const uint8_t agent[16],
                           facts_take_f take,
                           void *state,
                           struct ck_err *err)
{
    struct facts *facts = calloc(1, sizeof(*facts));
    char fresh[PATH_MAX];

    if (!facts) {
        (void)ck_err_set(err, "out of memory");
        return NULL;
    }
    memcpy(facts->agent, agent, sizeof(facts->agent));
    facts->note.until_raw = facts->note.until_ticks = INT64_MIN;
    if (ck_run_facts_path(facts->path, dir, agent) != 0 ||
        fresh_path(fresh, facts) != 0) {
        (void)ck_err_set(err, "path of the run directory is too long: %s", dir);
        goto error;
    }
    (void)unlink(fresh); /* of one that was killed in its middle */
    if (access(facts->path, F_OK) != 0) {
        return facts;
    }
    facts->file = ck_segment_create(facts->path, err);
    if (!facts->file || (ck_segment_bytes(facts->file) > 0 &&
                         file_walk(facts, take, state, err) != 0)) {
        goto error;
    }
    return facts;
error:
    facts_destroy(facts);
    return NULL;
}

void facts_destroy(struct facts *facts)
{
    int saved = errno;

    if (facts) {
        ck_segment_destroy(facts->file);
        thin_destroy(facts->thin);
        free(facts);
    }
    errno = saved;
}

bool facts_are_there(const struct facts *facts)
{
    return facts->file != NULL;
}

/* ---- appending ---------------------------------------------------------- */

struct thin *facts_begin(struct facts *facts)
{
    if (!facts->thin && !(facts->thin = thin_create())) {
        return NULL;
    }
    thin_begin(facts->thin, &facts->note);
    return facts->thin;
}

int facts_commit(struct facts *facts, uint32_t number, uint64_t bytes)
{
    struct thin_note *note = thin_note(facts->thin);
    uint64_t records;
    const void *from;
    size_t length;

    note->is_any = true;
    note->segment = number;
    note->segments++;
    note->bytes += bytes;
    if (thin_finish(facts->thin, facts->agent, facts->note_first) != 0 ||
        (!facts->file &&
         !(facts->file = ck_segment_create(facts->path, NULL)))) {
        return -1;
    }
    from = thin_bytes(facts->thin, &length, &records);
    if (ck_segment_append(facts->file, from, length) != 0) {
        return -1;
    }
    (void)ck_segment_reserve(facts->file, RESERVE);
    facts->note = *note;
    facts->records += records;
    facts->frames += thin_frames(facts->thin);
    facts->note_first = thin_next(facts->thin);
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
    facts_is_last_f is_last;
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
static int fresh_look(struct fresh *fresh, struct facts *facts)
{
    struct ck_frame_header header;
    const void *payload;
    int rc = 0;

    while (rc == 0 && ck_segment_next(fresh->from, &header, &payload) > 0) {
        fresh->incarnation = header.stream.incarnation;
        if (header.stream.slot != CK_SLOT_AGGREGATOR) {
            thin_begin(facts->thin, &facts->note);
            thin_filter(facts->thin, row_seen, fresh);
            rc = thin_add(facts->thin, &header, payload, false);
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
static int
fresh_write(struct fresh *fresh, struct facts *facts, struct thin_note *note)
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
        thin_begin(facts->thin, note);
        thin_filter(facts->thin, row_stays, fresh);
        rc = thin_add(facts->thin, &header, payload,
                      fresh->is_last(fresh->state, &header));
        rc = rc == 0 ? fresh_put(fresh, facts->thin) : rc;
        *note = *thin_note(facts->thin);
    }
    thin_begin(facts->thin, note);
    if (rc != 0 ||
        thin_finish(facts->thin, facts->agent, facts->note_first) != 0) {
        return -1;
    }
    return fresh_put(fresh, facts->thin);
}

static int
fresh_open(struct fresh *fresh, const char *path, const struct facts *facts)
{
    (void)unlink(path);
    fresh->latest = latest_create();
    fresh->from = ck_segment_reader_create(facts->path, NULL);
    fresh->to = ck_segment_create(path, NULL);
    return fresh->latest && fresh->from && fresh->to ? 0 : -1;
}

/* Written anew, all of it on disk, and put in place. 0, or -1 with errno. */
static int squeeze(struct facts *facts, struct fresh *fresh)
{
    struct thin_note note = facts->note;
    char path[PATH_MAX];

    if (fresh_path(path, facts) != 0 || fresh_open(fresh, path, facts) != 0 ||
        fresh_look(fresh, facts) != 0 ||
        fresh_write(fresh, facts, &note) != 0 ||
        ck_segment_sync(fresh->to) != 0 || rename(path, facts->path) != 0) {
        int saved = errno;

        (void)unlink(path);
        errno = saved;
        return -1;
    }
    ck_segment_destroy(facts->file);
    facts->file = fresh->to;
    fresh->to = NULL;
    facts->frames = fresh->frames;
    facts->records = fresh->records;
    facts->note = note;
    facts->note_first = thin_next(facts->thin);
    return 0;
}

int facts_squeeze(struct facts *facts,
                  uint64_t limit,
                  facts_is_last_f is_last,
                  void *state)
{
    struct fresh fresh = {.is_last = is_last, .state = state};
    uint64_t bytes = facts->file ? ck_segment_bytes(facts->file) : 0;
    int rc;

    if (bytes <= limit || bytes <= facts->enough || !facts_begin(facts)) {
        return 0;
    }
    rc = squeeze(facts, &fresh);
    facts->enough = 2 * ck_segment_bytes(facts->file);
    ck_segment_destroy(fresh.to);
    ck_segment_reader_destroy(fresh.from);
    latest_destroy(fresh.latest);
    return rc;
}

struct facts_sums facts_sums(const struct facts *facts)
{
    return (struct facts_sums){
        .frames = facts->frames,
        .records = facts->records,
        .bytes = facts->file ? ck_segment_bytes(facts->file) : 0,
        .note = facts->note,
    };
}

int facts_sync(struct facts *facts)
{
    return facts->file ? ck_segment_sync(facts->file) : 0;
}
