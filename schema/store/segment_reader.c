/* segment_reader.c - walk the frames of a file in windows of bounded memory
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * One window of WINDOW_BYTES is mapped at a time; it moves when the next frame
 * is not whole inside it, so memory does not grow with the file. Where a frame
 * does not verify, every later byte that begins with the magic is tried.
 * Damage that reaches the end is pending, not settled: the file may still be
 * written, and the next call looks again if it has grown.
 *
 * Who reads a few frames of many files lets their readers share memory, into
 * which AHEAD_BYTES of a file are copied at a time: that takes a fraction of
 * the page faults of as many windows.
 */
#include "schema/store/segment.h"

#include <errno.h>
#include <fcntl.h>
#include <stdalign.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "schema/fd.h"

/* Holds the largest frame wherever it begins. */
#define WINDOW_BYTES ((uint64_t)16 << 20)
#define PAGE_BYTES ((uint64_t)4096)
/* Larger frames are mapped. */
#define AHEAD_BYTES ((uint64_t)64 << 10)
/* What is copied at first behind a jump: most frames of a collector are
 * smaller, and the next one that is wanted is seldom near. */
#define AHEAD_FIRST ((uint64_t)8 << 10)

static_assert(CK_FRAME_PAYLOAD_MAX + sizeof(struct ck_frame_header) + 8 +
                      PAGE_BYTES <=
                  WINDOW_BYTES,
              "a frame fits in a window");

struct ck_segment_reader {
    int fd;
    uint64_t file_bytes; /* when last looked at */
    uint64_t ended_at;   /* file_bytes when the end was last reported */
    uint64_t next;       /* where the next frame should begin */
    uint64_t offset;     /* of the frame returned last */
    uint8_t *window;     /* NULL = none mapped */
    uint64_t window_at;
    uint64_t window_bytes;
    uint8_t *copy; /* of a payload that is misaligned in the file */
    struct ck_segment_damage damage; /* settled */
    uint64_t counted_to;             /* damage before it is settled */
    struct ck_segment_ahead *ahead;  /* borrowed; NULL = windows alone */
};

struct ck_segment_ahead {
    const struct ck_segment_reader *of; /* what was read last; NULL = nothing */
    uint64_t at;                        /* in its file */
    uint64_t bytes;
    alignas(8) uint8_t memory[AHEAD_BYTES];
};

struct ck_segment_reader *ck_segment_reader_create(const char *path,
                                                   struct ck_err *err)
{
    struct ck_segment_reader *reader = calloc(1, sizeof(*reader));
    struct stat st;

    if (reader == NULL) {
        return ck_err_null(err, "no memory to read %s", path);
    }
    reader->ended_at = UINT64_MAX;
    /* O_NONBLOCK: a FIFO of that name is refused, not waited for. */
    reader->fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (reader->fd < 0 || fstat(reader->fd, &st) != 0) {
        (void)ck_err_set(err, "cannot open %s: %s", path, strerror(errno));
        goto error;
    }
    if (!S_ISREG(st.st_mode)) {
        errno = EINVAL;
        (void)ck_err_set(err, "%s is not a regular file", path);
        goto error;
    }
    reader->file_bytes = (uint64_t)st.st_size;
    return reader;

error:
    ck_segment_reader_destroy(reader);
    return NULL;
}

static void window_drop(struct ck_segment_reader *reader)
{
    if (reader->window != NULL) {
        (void)munmap(reader->window, reader->window_bytes);
    }
    reader->window = NULL;
    reader->window_bytes = 0;
}

void ck_segment_reader_destroy(struct ck_segment_reader *reader)
{
    int saved = errno;

    if (reader == NULL) {
        return;
    }
    window_drop(reader);
    ck_fd_close(reader->fd);
    free(reader->copy);
    free(reader);
    errno = saved;
}

/* Map a window that begins at the page of `at`. 0, or -1 with errno. */
static int window_move(struct ck_segment_reader *reader, uint64_t at)
{
    uint64_t from = at & ~(PAGE_BYTES - 1);
    uint64_t left = reader->file_bytes - from;
    uint64_t bytes = left < WINDOW_BYTES ? left : WINDOW_BYTES;
    void *window;

    window_drop(reader);
    window = mmap(NULL, bytes, PROT_READ, MAP_SHARED, reader->fd, (off_t)from);
    if (window == MAP_FAILED) {
        return -1;
    }
    (void)madvise(window, bytes, MADV_SEQUENTIAL);
    reader->window = window;
    reader->window_at = from;
    reader->window_bytes = bytes;
    return 0;
}

/* Bytes of the window from `at` on; 0 when `at` is outside. */
static uint64_t window_left(const struct ck_segment_reader *reader, uint64_t at)
{
    if (reader->window == NULL || at < reader->window_at ||
        at >= reader->window_at + reader->window_bytes) {
        return 0;
    }
    return reader->window_at + reader->window_bytes - at;
}

static const uint8_t *window_point(const struct ck_segment_reader *reader,
                                   uint64_t at)
{
    return reader->window + (at - reader->window_at);
}

struct ck_segment_ahead *ck_segment_ahead_create(void)
{
    struct ck_segment_ahead *ahead = malloc(sizeof(*ahead));

    if (ahead != NULL) {
        ahead->of = NULL;
    }
    return ahead;
}

void ck_segment_ahead_destroy(struct ck_segment_ahead *ahead)
{
    free(ahead);
}

void ck_segment_reader_share(struct ck_segment_reader *reader,
                             struct ck_segment_ahead *ahead)
{
    reader->ahead = ahead;
}

/* Copied bytes from `at` on; 0 when `at` is not among them. */
static uint64_t ahead_left(const struct ck_segment_reader *reader, uint64_t at)
{
    const struct ck_segment_ahead *ahead = reader->ahead;

    return ahead->of == reader && at >= ahead->at &&
                   at - ahead->at < ahead->bytes
               ? ahead->at + ahead->bytes - at
               : 0;
}

static const uint8_t *ahead_point(const struct ck_segment_reader *reader,
                                  uint64_t at)
{
    return reader->ahead->memory + (at - reader->ahead->at);
}

/* Does reading go on from what is copied? */
static bool is_onward(const struct ck_segment_reader *reader, uint64_t at)
{
    const struct ck_segment_ahead *ahead = reader->ahead;

    return at == 0 || (ahead->of == reader && at >= ahead->at &&
                       at - ahead->at <= ahead->bytes);
}

/* Copy what is at `at`, so that payloads are aligned as in the file. What is
 * behind the end as it is known is no part of the file yet. */
static void ahead_move(struct ck_segment_reader *reader, uint64_t at)
{
    struct ck_segment_ahead *ahead = reader->ahead;
    uint64_t from = at & ~(uint64_t)7;
    uint64_t left = reader->file_bytes > from ? reader->file_bytes - from : 0;
    uint64_t most = is_onward(reader, at) ? AHEAD_BYTES : AHEAD_FIRST;
    ssize_t got = pread(reader->fd, ahead->memory, left < most ? left : most,
                        (off_t)from);

    ahead->of = reader;
    ahead->at = from;
    ahead->bytes = got > 0 ? (uint64_t)got : 0;
}

/* A header among what is copied, or can be. Bytes of its frame, 0 = none. */
static int64_t ahead_glance(struct ck_segment_reader *reader,
                            uint64_t at,
                            struct ck_frame_header *header)
{
    int64_t bytes = 0;

    if (ahead_left(reader, at) < sizeof(*header)) {
        ahead_move(reader, at);
    }
    if (ahead_left(reader, at) > 0) {
        bytes = ck_frame_glance(ahead_point(reader, at), ahead_left(reader, at),
                                header, NULL);
    }
    return bytes > 0 && at + (uint64_t)bytes <= reader->file_bytes ? bytes : 0;
}

/* A whole frame of those. Its bytes, 0 = none, or it is too large. */
static int64_t ahead_check(struct ck_segment_reader *reader,
                           uint64_t at,
                           struct ck_frame_header *header)
{
    int64_t bytes = ahead_glance(reader, at, header);

    if (bytes > 0 && ahead_left(reader, at) < (uint64_t)bytes) {
        ahead_move(reader, at);
    }
    if (bytes > 0) {
        bytes = ck_frame_check(ahead_point(reader, at), ahead_left(reader, at),
                               header, NULL);
    }
    return bytes < 0 ? 0 : bytes;
}

/* Is there a whole frame at `at`? Its bytes and where they are, 0 = no, -1 with
 * errno. */
static int64_t frame_at(struct ck_segment_reader *reader,
                        uint64_t at,
                        struct ck_frame_header *header,
                        const uint8_t **frame)
{
    uint64_t left = window_left(reader, at);
    int64_t bytes = reader->ahead == NULL ? 0 : ahead_check(reader, at, header);

    if (bytes > 0) {
        *frame = ahead_point(reader, at);
        return bytes;
    }
    if (left > 0) {
        bytes = ck_frame_check(window_point(reader, at), left, header, NULL);
    }
    if (bytes == 0 && left < WINDOW_BYTES - PAGE_BYTES &&
        at + left < reader->file_bytes) {
        if (window_move(reader, at) != 0) {
            return -1;
        }
        bytes = ck_frame_check(window_point(reader, at),
                               window_left(reader, at), header, NULL);
    }
    if (bytes > 0) {
        *frame = window_point(reader, at);
    }
    return bytes < 0 ? 0 : bytes;
}

/* The next place at or after `at` that the file has bytes for: a hole of some
 * terabytes takes a day to read. No frame begins in one, nor in the zeros
 * before its end. */
static uint64_t hole_skip(const struct ck_segment_reader *reader, uint64_t at)
{
    off_t data = lseek(reader->fd, (off_t)at, SEEK_DATA);

    if (data < 0) {
        return errno == ENXIO ? reader->file_bytes : at;
    }
    return (uint64_t)data;
}

/* The next place at or after `at` that begins like a frame, or the end of the
 * file. 0, or -1 with errno.
 */
static int
magic_find(struct ck_segment_reader *reader, uint64_t at, uint64_t *found)
{
    const uint32_t magic = CK_FRAME_MAGIC;

    while (at + sizeof(magic) <= reader->file_bytes) {
        uint64_t left = window_left(reader, at);
        const uint8_t *hit;

        if (left < sizeof(magic)) {
            at = hole_skip(reader, at);
            if (at + sizeof(magic) > reader->file_bytes) {
                break;
            }
            if (window_move(reader, at) != 0) {
                return -1;
            }
            left = window_left(reader, at);
        }
        hit = memmem(window_point(reader, at), left, &magic, sizeof(magic));
        if (hit != NULL) {
            *found = at + (uint64_t)(hit - window_point(reader, at));
            return 0;
        }
        at += left - (sizeof(magic) - 1);
    }
    *found = reader->file_bytes;
    return 0;
}

static void
damage_settle(struct ck_segment_reader *reader, uint64_t from, uint64_t to)
{
    if (from == to || from < reader->counted_to) {
        return;
    }
    if (reader->damage.places++ == 0) {
        reader->damage.first_offset = from;
    }
    reader->damage.bytes += to - from;
    reader->counted_to = to;
}

/* 8-aligned payload of the frame, or NULL with ENOMEM. */
static const void *payload_of(struct ck_segment_reader *reader,
                              const uint8_t *frame,
                              const struct ck_frame_header *header)
{
    const uint8_t *payload = frame + sizeof(*header);

    if ((uintptr_t)payload % 8 == 0) {
        return payload;
    }
    if (reader->copy == NULL) {
        reader->copy = malloc(CK_FRAME_PAYLOAD_MAX);
    }
    if (reader->copy != NULL) {
        memcpy(reader->copy, payload, header->length);
    }
    return reader->copy;
}

/* 0 when there is nothing new behind the end reported last, else 1. */
static int file_look(struct ck_segment_reader *reader)
{
    struct stat st;

    if (reader->ahead != NULL && reader->next < reader->file_bytes &&
        reader->ended_at != reader->file_bytes) {
        return 1;
    }
    if (fstat(reader->fd, &st) != 0) {
        return -1;
    }
    if ((uint64_t)st.st_size != reader->file_bytes) {
        reader->file_bytes = (uint64_t)st.st_size;
        window_drop(reader);
    }
    return reader->next < reader->file_bytes &&
           reader->ended_at != reader->file_bytes;
}

int ck_segment_next(struct ck_segment_reader *reader,
                    struct ck_frame_header *header,
                    const void **payload)
{
    uint64_t at = reader->next;
    int rc = file_look(reader);

    if (rc <= 0) {
        return rc;
    }
    while (at < reader->file_bytes) {
        struct ck_frame_header found;
        const uint8_t *frame = NULL;
        int64_t bytes = frame_at(reader, at, &found, &frame);
        const void *where;

        if (bytes < 0) {
            return -1;
        }
        if (bytes == 0) {
            if (magic_find(reader, at + 1, &at) != 0) {
                return -1;
            }
            continue;
        }
        where = payload_of(reader, frame, &found);
        if (where == NULL) {
            return -1;
        }
        damage_settle(reader, reader->next, at);
        reader->offset = at;
        reader->next = at + (uint64_t)bytes;
        *header = found;
        *payload = where;
        return 1;
    }
    reader->ended_at = reader->file_bytes;
    return 0;
}

int ck_segment_skim(struct ck_segment_reader *reader,
                    struct ck_frame_header *header)
{
    struct ck_frame_header found;
    const void *payload;
    int64_t bytes =
        reader->ahead == NULL ? 0 : ahead_glance(reader, reader->next, &found);

    if (bytes == 0) {
        return ck_segment_next(reader, header, &payload);
    }
    reader->offset = reader->next;
    reader->next += (uint64_t)bytes;
    *header = found;
    return 1;
}

int ck_segment_seek(struct ck_segment_reader *reader, uint64_t offset)
{
    struct stat st;

    /* The next look at the file finds what was cut off. */
    if (offset > reader->file_bytes) {
        if (fstat(reader->fd, &st) != 0) {
            return -1;
        }
        if (offset > (uint64_t)st.st_size) {
            errno = EINVAL;
            return -1;
        }
    }
    reader->next = offset;
    reader->ended_at = UINT64_MAX;
    return 0;
}

uint64_t ck_segment_offset(const struct ck_segment_reader *reader)
{
    return reader->offset;
}

struct ck_segment_damage
ck_segment_damage(const struct ck_segment_reader *reader)
{
    struct ck_segment_damage damage = reader->damage;

    if (reader->ended_at == reader->file_bytes &&
        reader->next < reader->file_bytes) {
        if (damage.places++ == 0) {
            damage.first_offset = reader->next;
        }
        damage.bytes += reader->file_bytes - reader->next;
        damage.is_tail = true;
    }
    return damage;
}

/* Smaller payloads are copied: that takes less than mapping them. */
#define COPY_MAX 8192

/* A copy of the payload. */
static int held_copy(struct ck_segment_held *held, const void *payload)
{
    held->map = malloc((size_t)held->header.length + 1);
    if (held->map == NULL) {
        return -1;
    }
    memcpy(held->map, payload, held->header.length);
    held->map_bytes = 0;
    held->payload = held->map;
    return 0;
}

int ck_segment_hold(struct ck_segment_reader *reader,
                    uint64_t offset,
                    struct ck_segment_held *held)
{
    const uint64_t from = offset & ~(PAGE_BYTES - 1);
    struct ck_segment_held found = {.payload = NULL};
    const void *payload;

    if (ck_segment_seek(reader, offset) != 0 ||
        ck_segment_next(reader, &found.header, &payload) != 1 ||
        reader->offset != offset) {
        return -1;
    }
    found.map = MAP_FAILED;
    found.map_bytes = (size_t)(offset - from) + ck_frame_bytes(&found.header);
    if (found.header.length > COPY_MAX && offset % 8 == 0) {
        found.map = mmap(NULL, found.map_bytes, PROT_READ,
                         MAP_SHARED | MAP_POPULATE, reader->fd, (off_t)from);
    }
    if (found.map == MAP_FAILED) {
        if (held_copy(&found, payload) != 0) {
            return -1;
        }
        *held = found;
        return 0;
    }
    found.payload =
        (const uint8_t *)found.map + (offset - from) + sizeof(found.header);
    *held = found;
    return 0;
}

void ck_segment_release(struct ck_segment_held *held)
{
    if (held->payload == NULL) {
        return;
    }
    if (held->map_bytes > 0) {
        (void)munmap(held->map, held->map_bytes);
    } else {
        free(held->map);
    }
    held->payload = NULL;
}
