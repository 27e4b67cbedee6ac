/* segments.c - the segments of one agent; the oldest may be discarded
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "aggregator/store/segments.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "schema/store/run.h"
#include "schema/store/segment.h"

/* Numbers that are looked for behind the last one found: a segment that
 * was taken away must not hide those behind it. */
#define HOLES_MAX 64
/* Frames are taken to come at most so much later after their records than
 * others. */
#define LATE_MAX CK_TIME_S
/* Facts that have at most a quarter of what is kept, or so much, are left as
 * they are. */
#define FACTS_LEAST ((uint64_t)256 << 10)

/* A segment. */
struct part {
    uint32_t number;
    uint64_t frames;
    uint64_t records;
    uint64_t bytes;
    ck_time_t begun;   /* its first frame came, RAW */
    ck_time_t written; /* the last one of the program's own streams came */
};

struct segments {
    char *dir;
    uint8_t agent[16];
    struct ck_keep keep;
    struct part *parts; /* oldest first; the last one is appended to */
    size_t count;
    size_t room;
    struct ck_segment *current;
    struct factsfile *facts;
    uint64_t failed;
    bool is_stuck; /* until there is a new segment */
};

/* Who wants the frames that are there. */
struct taker {
    segments_take_f take;
    void *state;
    struct part sum;
};

static struct part *part_last(struct segments *segments)
{
    return &segments->parts[segments->count - 1];
}

static int part_add(struct segments *segments, const struct part *part)
{
    if (segments->count == segments->room) {
        size_t room = segments->room ? segments->room * 2 : 1;
        struct part *parts = realloc(segments->parts, room * sizeof(*parts));

        if (!parts) {
            return -1;
        }
        segments->parts = parts;
        segments->room = room;
    }
    segments->parts[segments->count++] = *part;
    return 0;
}

/* ---- opening ------------------------------------------------------------ */

/* Hand out the frames of a file and count them. 0 or -1 with err. */
static int file_walk(const char *path, struct taker *taker, struct ck_err *err)
{
    struct ck_segment_reader *reader = ck_segment_reader_create(path, err);
    struct ck_frame_header header;
    const void *payload;
    int rc = 0;

    if (!reader) {
        return -1;
    }
    while (rc == 0 && ck_segment_next(reader, &header, &payload) > 0) {
        taker->sum.frames++;
        taker->sum.records += header.records;
        if (header.stream.slot != CK_SLOT_AGGREGATOR) {
            rc = taker->take(taker->state, &header, payload,
                             ck_segment_offset(reader), false);
        }
    }
    if (rc != 0) {
        rc = ck_err_set(err, "cannot go on with %s: %s", path, strerror(errno));
    }
    ck_segment_reader_destroy(reader);
    return rc;
}

/* A factsfile_take_f. */
static int fact_take(void *state,
                     const struct ck_frame_header *header,
                     const void *payload)
{
    const struct taker *taker = state;

    return taker->take(taker->state, header, payload, 0, true);
}

/* When a file was written to last, on this clock. */
static ck_time_t written_of(const char *path)
{
    ck_time_t raw = ck_time_raw();
    struct timespec now;
    struct stat status;
    ck_time_t age;

    if (stat(path, &status) != 0 || clock_gettime(CLOCK_REALTIME, &now) != 0) {
        return raw;
    }
    age = (now.tv_sec - status.st_mtim.tv_sec) * CK_TIME_S +
          (now.tv_nsec - status.st_mtim.tv_nsec);
    return age > 0 ? raw - age : raw;
}

/* A segment that is there. 1, 0 = it is not, -1 with err. */
static int part_open(struct segments *segments,
                     uint32_t number,
                     const struct taker *taker,
                     struct ck_err *err)
{
    struct taker own = *taker;
    char path[PATH_MAX];

    if (ck_run_part_path(path, segments->dir, segments->agent, number) != 0) {
        return ck_err_set(err, "path of the run directory is too long: %s",
                          segments->dir);
    }
    if (access(path, F_OK) != 0) {
        return 0;
    }
    own.sum = (struct part){.number = number, .written = written_of(path)};
    own.sum.begun = own.sum.written;
    /* First the cut of a torn tail, then the walk over what is left. */
    ck_segment_destroy(segments->current);
    segments->current = ck_segment_create(path, err);
    if (!segments->current) {
        return -1;
    }
    own.sum.bytes = ck_segment_bytes(segments->current);
    if (own.sum.bytes > 0 && file_walk(path, &own, err) != 0) {
        return -1;
    }
    return part_add(segments, &own.sum) == 0 ? 1
                                             : ck_err_set(err, "out of memory");
}

/* Remove a segment that is discarded by the note. */
static void part_remove(const struct segments *segments, uint32_t number)
{
    char path[PATH_MAX];

    if (ck_run_part_path(path, segments->dir, segments->agent, number) == 0) {
        (void)unlink(path);
    }
}

/* Make the segment with this number and append to it from now on. 0 or -1. */
static int
part_begin(struct segments *segments, uint32_t number, struct ck_err *err)
{
    struct part part = {.number = number};
    struct ck_segment *fresh;
    char path[PATH_MAX];

    if (ck_run_part_path(path, segments->dir, segments->agent, number) != 0) {
        errno = ENAMETOOLONG;
        return ck_err_set(err, "path of the run directory is too long: %s",
                          segments->dir);
    }
    fresh = ck_segment_create(path, err);
    if (!fresh) {
        return -1;
    }
    if (part_add(segments, &part) != 0) {
        ck_segment_destroy(fresh);
        return ck_err_set(err, "out of memory");
    }
    ck_segment_destroy(segments->current);
    segments->current = fresh;
    segments->is_stuck = false;
    return 0;
}

/* The oldest segment that is in the directory: facts without a note were
 * damaged. 0 where there is none. */
static uint32_t oldest_listed(const struct segments *segments)
{
    struct ck_run_files files;
    struct ck_run_name name;
    uint32_t oldest = UINT32_MAX;

    if (ck_run_files(segments->dir, &files, NULL) != 0) {
        return 0;
    }
    for (size_t i = 0; i < files.count; i++) {
        if (ck_run_name(files.paths[i], &name) && name.kind == CK_RUN_SEGMENT &&
            memcmp(name.agent, segments->agent, sizeof(name.agent)) == 0 &&
            name.number < oldest) {
            oldest = name.number;
        }
    }
    ck_run_files_free(&files);
    return oldest == UINT32_MAX ? 0 : oldest;
}

static int parts_open(struct segments *segments,
                      const struct taker *taker,
                      struct ck_err *err)
{
    struct thin_note note = factsfile_sums(segments->facts).note;
    uint32_t number = note.is_any ? note.segment + 1 : 0;
    uint32_t first = number;
    int found = 1;

    if (first > 0) {
        part_remove(segments, first - 1);
    } else if (factsfile_are_there(segments->facts)) {
        first = number = oldest_listed(segments);
    }
    for (uint32_t holes = 0; holes < HOLES_MAX; number++) {
        found = part_open(segments, number, taker, err);
        if (found < 0) {
            return -1;
        }
        holes = found > 0 ? 0 : holes + 1;
        if (number == 0 && found == 0) {
            break; /* an agent that is new */
        }
    }
    return segments->count > 0 ? 0 : part_begin(segments, first, err);
}

struct segments *segments_create(const char *dir,
                                 const uint8_t agent[16],
                                 segments_take_f take,
                                 void *state,
                                 struct ck_err *err)
{
    struct segments *segments = calloc(1, sizeof(*segments));
    struct taker taker = {take, state, {0}};

    if (!segments || !(segments->dir = strdup(dir))) {
        (void)ck_err_set(err, "out of memory");
        goto error;
    }
    memcpy(segments->agent, agent, sizeof(segments->agent));
    segments->facts = factsfile_create(dir, agent, fact_take, &taker, err);
    if (!segments->facts || parts_open(segments, &taker, err) != 0) {
        goto error;
    }
    return segments;
error:
    segments_destroy(segments);
    return NULL;
}

void segments_destroy(struct segments *segments)
{
    int saved = errno;

    if (segments) {
        ck_segment_destroy(segments->current);
        factsfile_destroy(segments->facts);
        free(segments->parts);
        free(segments->dir);
        free(segments);
    }
    errno = saved;
}

/* ---- discarding --------------------------------------------------------- */

/* What stays of the oldest segment. 0, or -1 with errno. */
static int oldest_read(struct segments *segments,
                       struct thin *thin,
                       factsfile_is_last_f is_last,
                       void *state)
{
    char path[PATH_MAX];
    struct ck_segment_reader *reader;
    struct ck_frame_header header;
    const void *payload;
    int rc = 0;

    if (ck_run_part_path(path, segments->dir, segments->agent,
                         segments->parts[0].number) != 0) {
        return -1;
    }
    reader = ck_segment_reader_create(path, NULL);
    if (!reader) {
        return errno == ENOENT ? 0 : -1; /* it was removed from outside */
    }
    while (rc == 0 && ck_segment_next(reader, &header, &payload) > 0) {
        rc = thin_add(thin, &header, payload, is_last(state, &header));
    }
    ck_segment_reader_destroy(reader);
    return rc;
}

/* Discard the oldest segment. 0, or -1 with errno: it is still there. */
static int oldest_discard(struct segments *segments,
                          factsfile_is_last_f is_last,
                          void *state)
{
    const struct part oldest = segments->parts[0];
    struct thin *thin = factsfile_begin(segments->facts);

    if (!thin || oldest_read(segments, thin, is_last, state) != 0 ||
        factsfile_commit(segments->facts, oldest.number, oldest.bytes) != 0) {
        return -1;
    }
    part_remove(segments, oldest.number);
    segments->count--;
    memmove(segments->parts, segments->parts + 1,
            segments->count * sizeof(*segments->parts));
    return 0;
}

static uint64_t bytes_of(const struct segments *segments)
{
    uint64_t bytes = factsfile_sums(segments->facts).bytes;

    for (size_t i = 0; i < segments->count; i++) {
        bytes += segments->parts[i].bytes;
    }
    return bytes;
}

/* So much older than the time to keep is what may go. Known is when frames
 * came, and where CPUs are short the last ones come later after their records
 * than those before. */
static ck_time_t late(ck_time_t keep)
{
    return keep < LATE_MAX ? keep : LATE_MAX;
}

/* Whether the oldest segment is one too many, before `more` bytes come. */
static bool is_too_much(const struct segments *segments, uint64_t more)
{
    const struct ck_keep *keep = &segments->keep;
    const struct part *last = &segments->parts[segments->count - 1];

    if (segments->count < 2) {
        return false;
    }
    return (keep->bytes > 0 && bytes_of(segments) + more > keep->bytes) ||
           (keep->time > 0 && last->written - segments->parts[0].written >
                                  keep->time + late(keep->time));
}

/* Room that facts may have without being looked through. */
static uint64_t facts_limit(const struct segments *segments)
{
    uint64_t kept =
        segments->keep.bytes > 0 ? segments->keep.bytes : bytes_of(segments);

    return kept / 4 > FACTS_LEAST || segments->keep.bytes > 0 ? kept / 4
                                                              : FACTS_LEAST;
}

static void trim(struct segments *segments,
                 uint64_t more,
                 factsfile_is_last_f is_last,
                 void *state)
{
    while (!segments->is_stuck && is_too_much(segments, more)) {
        if (oldest_discard(segments, is_last, state) != 0) {
            segments->failed++;
            segments->is_stuck = true;
        }
        /* One that cannot be squeezed is still whole. */
        (void)factsfile_squeeze(segments->facts, facts_limit(segments), is_last,
                                state);
    }
}

void segments_keep(struct segments *segments, const struct ck_keep *keep)
{
    segments->keep = *keep;
}

void segments_trim(struct segments *segments,
                   factsfile_is_last_f is_last,
                   void *state)
{
    trim(segments, 0, is_last, state);
}

/* ---- appending ---------------------------------------------------------- */

/* Whether a frame of so many bytes belongs in another segment. */
static bool
is_full(const struct segments *segments, uint64_t bytes, ck_time_t now)
{
    const struct part *part = &segments->parts[segments->count - 1];
    const struct ck_keep *keep = &segments->keep;
    uint64_t most = SEGMENTS_PART_MAX;

    if ((keep->bytes == 0 && keep->time == 0) || part->bytes == 0) {
        return false;
    }
    if (keep->bytes > 0 && keep->bytes / SEGMENTS_PARTS < most) {
        most = keep->bytes / SEGMENTS_PARTS;
    }
    if (most < SEGMENTS_PART_MIN) {
        most = SEGMENTS_PART_MIN;
    }
    return part->bytes + bytes > most ||
           (keep->time > 0 && now - part->begun >= keep->time / SEGMENTS_PARTS);
}

int segments_append(struct segments *segments,
                    const struct ck_frame_header *header,
                    const void *frame,
                    factsfile_is_last_f is_last,
                    void *state)
{
    size_t bytes = ck_frame_bytes(header);
    ck_time_t now = segments->keep.time > 0 ? ck_time_raw() : 0;
    struct part *part;

    if (is_full(segments, bytes, now) &&
        part_begin(segments, part_last(segments)->number + 1, NULL) != 0) {
        return -1;
    }
    trim(segments, bytes, is_last, state);
    if (ck_segment_append(segments->current, frame, bytes) != 0) {
        return -1;
    }
    part = part_last(segments);
    if (part->bytes == 0) {
        part->begun = part->written = now;
        if (segments->count > 1) {
            part->written = part[-1].written;
        }
    }
    if (header->stream.slot != CK_SLOT_COLLECTOR) {
        part->written = now;
    }
    part->frames++;
    part->records += header->records;
    part->bytes += bytes;
    return 0;
}

uint64_t segments_end(const struct segments *segments)
{
    return ck_segment_bytes(segments->current);
}

bool segments_is_single(const struct segments *segments)
{
    return segments->count == 1 && segments->parts[0].number == 0 &&
           !factsfile_are_there(segments->facts);
}

struct segments_facts segments_facts(const struct segments *segments)
{
    struct factsfile_sums stayed = factsfile_sums(segments->facts);
    struct segments_facts facts = {
        .frames = stayed.frames,
        .records = stayed.records,
        .bytes = bytes_of(segments),
        .count = segments->count,
        .failed = segments->failed,
        .discarded = stayed.note,
    };

    for (size_t i = 0; i < segments->count; i++) {
        facts.frames += segments->parts[i].frames;
        facts.records += segments->parts[i].records;
    }
    return facts;
}

int segments_sync(struct segments *segments)
{
    int facts = factsfile_sync(segments->facts);

    return ck_segment_sync(segments->current) == 0 ? facts : -1;
}
