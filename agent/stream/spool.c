/* spool.c - frames on disk while the aggregator is away or too slow
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 *   file: | acknowledged | window: sent, not acknowledged | not sent |
 *                        ^ done                           ^ next
 */
#include "agent/stream/spool.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "launch/parents.h"
#include "schema/store/run.h"
#include "schema/store/segment.h"
#include "schema/time.h"

#define WINDOW_FRAMES 32
/* Identity, losses and the end, with some room to spare. */
#define ROOM_KEPT ((uint64_t)16 << 10)
/* Between two tries of the other directory, which is full as well. */
#define MOVE_PAUSE (50 * CK_TIME_MS)

struct sent_frame {
    struct ck_stream stream;
    uint64_t end; /* position behind it */
    bool is_acked;
};

struct spool {
    char dir[PATH_MAX];
    char fallback[PATH_MAX];
    char path[PATH_MAX];     /* "" = no file */
    char prepared[PATH_MAX]; /* an empty file that keeps room, "" = none */
    bool is_last;
    uint8_t agent[16];
    uint64_t limit;
    int error;         /* why the last one was refused, 0 = by the limit */
    ck_time_t move_at; /* when the other directory is tried again */
    struct ck_segment *segment;
    struct ck_segment_reader *reader; /* NULL = to be opened at `next` */
    uint64_t frames;                  /* in the file */
    uint64_t done;                    /* of them acknowledged, from the front */
    struct sent_frame window[WINDOW_FRAMES];
    size_t window_used;
    void *frame; /* the one that spool_unsent() gave */
    size_t frame_room;
    size_t frame_bytes; /* 0 = none read ahead */
    void *identity;
    size_t identity_bytes;
};

struct spool *spool_create(const char *dir,
                           const char *fallback,
                           const uint8_t agent[16],
                           uint64_t limit)
{
    struct spool *spool = calloc(1, sizeof(*spool));

    if (spool == NULL) {
        return NULL;
    }
    (void)snprintf(spool->dir, sizeof(spool->dir), "%s", dir);
    (void)snprintf(spool->fallback, sizeof(spool->fallback), "%s", fallback);
    memcpy(spool->agent, agent, sizeof(spool->agent));
    spool->limit = limit;
    return spool;
}

/* Not where it became the spool file. */
static void prepared_remove(struct spool *spool)
{
    if (spool->prepared[0] != '\0' &&
        strcmp(spool->prepared, spool->path) != 0) {
        (void)unlink(spool->prepared);
    }
    spool->prepared[0] = '\0';
}

void spool_destroy(struct spool *spool)
{
    int saved = errno;

    if (spool != NULL) {
        prepared_remove(spool);
        if (spool->segment != NULL && ck_segment_bytes(spool->segment) == 0) {
            (void)unlink(spool->path); /* its disk took nothing */
        }
        ck_segment_reader_destroy(spool->reader);
        ck_segment_destroy(spool->segment);
        free(spool->identity);
        free(spool->frame);
        free(spool);
    }
    errno = saved;
}

void spool_prefer(struct spool *spool, const char *dir)
{
    if (spool->path[0] == '\0' && strlen(dir) < sizeof(spool->dir)) {
        strcpy(spool->dir, dir);
    }
}

int spool_identity(struct spool *spool, const void *frame, size_t bytes)
{
    void *copy = bytes > 0 ? malloc(bytes) : NULL;

    if (copy == NULL) {
        return -1;
    }
    memcpy(copy, frame, bytes);
    free(spool->identity);
    spool->identity = copy;
    spool->identity_bytes = bytes;
    return 0;
}

static int file_open_in(struct spool *spool, const char *dir)
{
    char path[PATH_MAX];

    if (ck_run_create(dir, NULL) != 0 ||
        ck_run_segment_path(path, dir, spool->agent, true) != 0) {
        return -1;
    }
    spool->segment = ck_segment_create(path, NULL);
    if (spool->segment == NULL) {
        return -1;
    }
    strcpy(spool->path, path);
    return 0;
}

static int file_open(struct spool *spool)
{
    if (file_open_in(spool, spool->dir) != 0 &&
        (!ck_parents_create(spool->dir) ||
         file_open_in(spool, spool->dir) != 0) &&
        file_open_in(spool, spool->fallback) != 0) {
        return -1;
    }
    if (spool->identity != NULL &&
        ck_segment_append(spool->segment, spool->identity,
                          spool->identity_bytes) == 0) {
        spool->frames++;
    }
    return 0;
}

int spool_settle(struct spool *spool)
{
    return spool->segment != NULL ? 0 : file_open(spool);
}

int spool_resume(struct spool *spool, const char *path)
{
    struct ck_segment_reader *reader;
    struct ck_frame_header header;
    const void *payload;

    if (strlen(path) >= sizeof(spool->path)) {
        errno = ENAMETOOLONG;
        return -1;
    }
    spool->segment = ck_segment_create(path, NULL);
    if (spool->segment == NULL) {
        return -1;
    }
    strcpy(spool->path, path);
    reader = ck_segment_reader_create(path, NULL);
    while (reader != NULL && ck_segment_next(reader, &header, &payload) == 1) {
        spool->frames++;
    }
    ck_segment_reader_destroy(reader);
    return 0;
}

void spool_prepare(struct spool *spool)
{
    struct ck_segment *segment;
    char path[PATH_MAX];

    if (spool->segment != NULL || access(spool->dir, W_OK) != 0 ||
        ck_run_segment_path(path, spool->dir, spool->agent, true) != 0 ||
        strcmp(path, spool->prepared) == 0) {
        return;
    }
    prepared_remove(spool);
    segment = ck_segment_create(path, NULL);
    if (segment != NULL) {
        (void)ck_segment_reserve(segment, ROOM_KEPT);
        strcpy(spool->prepared, path);
        ck_segment_destroy(segment);
    }
}

void spool_last(struct spool *spool)
{
    spool->is_last = true;
}

bool spool_is_last(const struct spool *spool)
{
    return spool->is_last;
}

/* Append so that the kept room stays, but for the last records. 0 or -1. */
static int frame_append(const struct spool *spool,
                        struct ck_segment *segment,
                        const void *frame,
                        size_t bytes)
{
    return (!spool->is_last &&
            ck_segment_reserve(segment, bytes + ROOM_KEPT) != 0) ||
                   ck_segment_append(segment, frame, bytes) != 0
               ? -1
               : 0;
}

/* Is the file to be left when its disk is full? Only as long as it has nothing
 * but who we are: a spool is one file. */
static bool may_move(const struct spool *spool)
{
    return spool->frames <= (spool->identity != NULL) &&
           spool->fallback[0] != '\0' &&
           strncmp(spool->path, spool->fallback, strlen(spool->fallback)) != 0;
}

/* The frame into a file in the fallback directory, which then is the spool.
 * -1: that one is full, too; nothing has changed. */
static int file_move(struct spool *spool, const void *frame, size_t bytes)
{
    struct ck_segment *segment = NULL;
    char path[PATH_MAX];
    bool is_made = ck_run_create(spool->fallback, NULL) == 0;

    if (!is_made ||
        ck_run_segment_path(path, spool->fallback, spool->agent, true) != 0) {
        return -1;
    }
    segment = ck_segment_create(path, NULL);
    if (segment == NULL ||
        (spool->identity != NULL &&
         ck_segment_append(segment, spool->identity, spool->identity_bytes) !=
             0) ||
        frame_append(spool, segment, frame, bytes) != 0) {
        ck_segment_destroy(segment);
        (void)unlink(path);
        (void)rmdir(spool->fallback); /* unless it is in use */
        return -1;
    }
    (void)unlink(spool->path);
    ck_segment_reader_destroy(spool->reader);
    ck_segment_destroy(spool->segment);
    spool->reader = NULL;
    spool->segment = segment;
    spool->frames = spool->identity != NULL;
    spool->prepared[0] = '\0';
    strcpy(spool->path, path);
    return 0;
}

/* errno is the answer of that disk or file: no room, a quota, a limit on
 * files, a broken device. */
static int refused(struct spool *spool)
{
    spool->error = errno;
    return -1;
}

int spool_append(struct spool *spool, const void *frame, size_t bytes)
{
    int rc;

    if (spool->segment == NULL && file_open(spool) != 0) {
        return refused(spool);
    }
    if (ck_segment_bytes(spool->segment) + bytes > spool->limit) {
        spool->error = 0;
        errno = ENOSPC;
        return -1;
    }
    rc = frame_append(spool, spool->segment, frame, bytes);
    if (rc != 0) {
        (void)refused(spool);
    }
    if (rc != 0 && may_move(spool) && ck_time_raw() >= spool->move_at) {
        rc = file_move(spool, frame, bytes);
        spool->move_at = ck_time_raw() + MOVE_PAUSE;
    }
    if (rc != 0) {
        errno = spool->error;
        return -1;
    }
    spool->frames++;
    return 0;
}

int spool_error(const struct spool *spool)
{
    return spool->error;
}

/* A reader that is behind the first `skip` frames. */
static int reader_open(struct spool *spool, uint64_t skip)
{
    struct ck_frame_header header;
    const void *payload;

    spool->reader = ck_segment_reader_create(spool->path, NULL);
    if (spool->reader == NULL) {
        return -1;
    }
    while (skip > 0 && ck_segment_next(spool->reader, &header, &payload) == 1) {
        skip--;
    }
    return 0;
}

/* Keep a copy of the frame: header and payload in one piece. */
static int frame_keep(struct spool *spool,
                      const struct ck_frame_header *header,
                      const void *payload)
{
    size_t bytes = ck_frame_bytes(header);

    if (bytes > spool->frame_room) {
        void *grown = realloc(spool->frame, bytes);

        if (grown == NULL) {
            return -1;
        }
        spool->frame = grown;
        spool->frame_room = bytes;
    }
    memset((uint8_t *)spool->frame + bytes - 8, 0, 8);
    memcpy(spool->frame, header, sizeof(*header));
    memcpy((uint8_t *)spool->frame + sizeof(*header), payload, header->length);
    spool->frame_bytes = bytes;
    return 0;
}

const void *spool_unsent(struct spool *spool, size_t *bytes)
{
    uint64_t sent = spool->done + spool->window_used;
    struct ck_frame_header header;
    const void *payload;

    if (spool->frame_bytes > 0) {
        *bytes = spool->frame_bytes;
        return spool->frame;
    }
    if (sent >= spool->frames || spool->window_used == WINDOW_FRAMES) {
        return NULL;
    }
    if (spool->reader == NULL && reader_open(spool, sent) != 0) {
        return NULL;
    }
    if (ck_segment_next(spool->reader, &header, &payload) != 1) {
        /* Written after the reader's view of the file: look again. */
        ck_segment_reader_destroy(spool->reader);
        spool->reader = NULL;
        if (reader_open(spool, sent) != 0 ||
            ck_segment_next(spool->reader, &header, &payload) != 1) {
            return NULL;
        }
    }
    if (frame_keep(spool, &header, payload) != 0) {
        return NULL;
    }
    *bytes = spool->frame_bytes;
    return spool->frame;
}

void spool_sent(struct spool *spool)
{
    const struct ck_frame_header *header = spool->frame;
    struct sent_frame *sent = &spool->window[spool->window_used++];

    sent->stream = header->stream;
    sent->end = header->first + header->units;
    sent->is_acked = false;
    spool->frame_bytes = 0;
}

void spool_rewind(struct spool *spool)
{
    ck_segment_reader_destroy(spool->reader);
    spool->reader = NULL;
    spool->window_used = 0;
    spool->frame_bytes = 0;
}

static void file_remove(struct spool *spool)
{
    (void)unlink(spool->path);
    ck_segment_reader_destroy(spool->reader);
    ck_segment_destroy(spool->segment);
    spool->reader = NULL;
    spool->segment = NULL;
    spool->path[0] = '\0';
    spool->frames = 0;
    spool->done = 0;
    spool->frame_bytes = 0;
}

/* Acknowledged frames leave the front of the window. */
static size_t window_move(struct spool *spool)
{
    size_t moved = 0;

    while (moved < spool->window_used && spool->window[moved].is_acked) {
        moved++;
    }
    spool->window_used -= moved;
    memmove(spool->window, spool->window + moved,
            spool->window_used * sizeof(spool->window[0]));
    spool->done += moved;
    return moved;
}

size_t spool_ack(struct spool *spool, const struct ck_ack *acks, size_t count)
{
    size_t moved;

    for (size_t i = 0; i < spool->window_used; i++) {
        struct sent_frame *sent = &spool->window[i];

        for (size_t j = 0; j < count && !sent->is_acked; j++) {
            sent->is_acked =
                acks[j].stream.incarnation == sent->stream.incarnation &&
                acks[j].stream.slot == sent->stream.slot &&
                acks[j].next >= sent->end;
        }
    }
    moved = window_move(spool);
    if (spool->segment != NULL && spool->done == spool->frames) {
        file_remove(spool);
    }
    return moved;
}

bool spool_is_empty(const struct spool *spool)
{
    return spool->segment == NULL;
}

uint64_t spool_bytes(const struct spool *spool)
{
    return spool->segment == NULL ? 0 : ck_segment_bytes(spool->segment);
}

uint64_t spool_limit(const struct spool *spool)
{
    return spool->limit;
}

const char *spool_path(const struct spool *spool)
{
    return spool->path[0] == '\0' ? NULL : spool->path;
}
