/* framewriter.c - records become frames: encoded, sealed, in outbox or spool
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "agent/stream/framewriter.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "schema/batch/pack.h"

#define SPOOL_KEPT_MAX ((uint64_t)1 << 20)

/* A collector that was killed after its frame was in and before own_next
 * moved: the frames themselves show it. */
static void own_next_recover(struct outbox *outbox)
{
    struct ck_frame_header header;
    uint64_t at = 0;
    size_t bytes;
    const void *frame;

    while ((frame = outbox_walk(outbox, &at, &bytes)) != NULL) {
        memcpy(&header, frame, sizeof(header));
        if (header.stream.slot == CK_SLOT_COLLECTOR &&
            header.first + header.units > outbox->head->own_next) {
            outbox->head->own_next = header.first + header.units;
        }
    }
}

int framewriter_init(struct framewriter *framewriter,
                     void *memory,
                     size_t bytes,
                     struct spool *spool,
                     const uint8_t agent[16])
{
    struct framewriter made = {.spool = spool, .pack = CK_PACK_NONE};

    if (outbox_init(&made.outbox, memory, bytes) != 0) {
        return -1;
    }
    made.writer = ck_batch_writer_create();
    if (made.writer == NULL) {
        return -1;
    }
    memcpy(made.agent, agent, sizeof(made.agent));
    own_next_recover(&made.outbox);
    if (made.outbox.head->spool[0] != '\0') {
        (void)spool_resume(spool, made.outbox.head->spool);
    }
    *framewriter = made;
    return 0;
}

void framewriter_fini(struct framewriter *framewriter)
{
    ck_batch_writer_destroy(framewriter->writer);
    free(framewriter->scratch);
    framewriter->writer = NULL;
    framewriter->scratch = NULL;
}

void framewriter_settle(struct framewriter *framewriter, const char *dir)
{
    if (dir[0] != '\0') {
        framewriter->is_settled = true;
        spool_prefer(framewriter->spool, dir);
        outbox_keep_dir(&framewriter->outbox, dir);
        spool_prepare(framewriter->spool);
    }
}

/* The spool's path must be found by a collector that takes over. */
static void spool_remember(struct framewriter *framewriter)
{
    struct outbox_head *head = framewriter->outbox.head;
    const char *path = spool_path(framewriter->spool);

    (void)snprintf(head->spool, sizeof(head->spool), "%s",
                   path == NULL ? "" : path);
}

static void *scratch_reserve(struct framewriter *framewriter, size_t bytes)
{
    if (bytes > framewriter->scratch_room) {
        void *grown = realloc(framewriter->scratch, bytes);

        if (grown == NULL) {
            return NULL;
        }
        framewriter->scratch = grown;
        framewriter->scratch_room = bytes;
    }
    return framewriter->scratch;
}

/* Write header and payload to `frame`, which has room for the packed bound.
 * A pack that does not make it smaller is not used. */
static size_t frame_write(struct framewriter *framewriter,
                          struct ck_frame_header header,
                          const void *payload,
                          void *frame)
{
    uint8_t *to = (uint8_t *)frame + sizeof(header);
    int64_t length = header.raw;

    header.pack = (uint8_t)framewriter->pack;
    if (header.pack != CK_PACK_NONE) {
        length = ck_pack(framewriter->pack, payload, header.raw, to,
                         ck_pack_bound(framewriter->pack, header.raw), NULL);
    }
    if (header.pack == CK_PACK_NONE || length < 0 || length >= header.raw) {
        header.pack = CK_PACK_NONE;
        memcpy(to, payload, header.raw);
        length = header.raw;
    }
    header.length = (uint32_t)length;
    memset(to + length, 0,
           ck_frame_bytes(&header) - sizeof(header) - (size_t)length);
    ck_frame_seal(&header, to);
    memcpy(frame, &header, sizeof(header));
    return ck_frame_bytes(&header);
}

/* The last of the spool's room is kept until the end, when the losses are
 * recorded: their count must not be lost too. 0, or -1 with ENOSPC. */
static int
frame_spool(struct framewriter *framewriter, const void *frame, size_t bytes)
{
    uint64_t kept = spool_limit(framewriter->spool) / 8;

    if (kept > SPOOL_KEPT_MAX) {
        kept = SPOOL_KEPT_MAX;
    }
    if (spool_is_last(framewriter->spool)) {
        kept = 0;
    }
    if (spool_bytes(framewriter->spool) + bytes + kept >
            spool_limit(framewriter->spool) ||
        spool_append(framewriter->spool, frame, bytes) != 0) {
        errno = ENOSPC;
        return -1;
    }
    framewriter->outbox.head->spooled++;
    spool_remember(framewriter);
    return 0;
}

static int frame_place(struct framewriter *framewriter,
                       const struct ck_frame_header *header,
                       const void *payload)
{
    size_t room =
        (sizeof(*header) + ck_pack_bound(framewriter->pack, header->raw) + 15) &
        ~(size_t)7;
    bool is_queued = !spool_is_empty(framewriter->spool);
    void *to = is_queued ? NULL : outbox_reserve(&framewriter->outbox, room);
    size_t bytes;

    if (to != NULL) {
        bytes = frame_write(framewriter, *header, payload, to);
        outbox_commit(&framewriter->outbox, bytes);
    } else {
        to = scratch_reserve(framewriter, room);
        if (to == NULL) {
            errno = ENOSPC;
            return -1;
        }
        bytes = frame_write(framewriter, *header, payload, to);
        if (frame_spool(framewriter, to, bytes) != 0) {
            return -1;
        }
    }
    framewriter->outbox.head->stored += bytes;
    return 0;
}

int framewriter_put(struct framewriter *framewriter,
                    const struct framewriter_cut *cut,
                    uint32_t *units)
{
    struct ck_batch_info info = {
        .clock = cut->clock, .pid = cut->pid, .tid = cut->tid};
    struct ck_frame_header header = {.stream = cut->stream,
                                     .first = cut->first};
    const void *payload;
    size_t payload_bytes;

    if (ck_batch_encode(framewriter->writer, &info, cut->records, cut->bytes,
                        &payload, &payload_bytes, NULL) != 0) {
        errno = EBADMSG;
        return -1;
    }
    memcpy(header.agent, framewriter->agent, sizeof(header.agent));
    header.units = info.units;
    header.records = info.records;
    header.classes = info.classes;
    header.raw = (uint32_t)payload_bytes;
    if (frame_place(framewriter, &header, payload) != 0) {
        return -1;
    }
    framewriter->outbox.head->records += info.records;
    *units = info.units;
    return 0;
}

/* The oldest frame of the outbox to the spool. 0 or -1. */
static int
oldest_spool(struct framewriter *framewriter, const void *frame, size_t bytes)
{
    if (frame_spool(framewriter, frame, bytes) != 0) {
        return -1;
    }
    outbox_pop(&framewriter->outbox);
    return 0;
}

int framewriter_spool_all(struct framewriter *framewriter)
{
    const void *frame;
    size_t bytes;

    while ((frame = outbox_oldest(&framewriter->outbox, &bytes)) != NULL) {
        if (oldest_spool(framewriter, frame, bytes) != 0) {
            return -1;
        }
    }
    return 0;
}

uint64_t framewriter_spool_rest(struct framewriter *framewriter)
{
    uint64_t lost = 0;
    const void *frame;
    size_t bytes;

    while ((frame = outbox_oldest(&framewriter->outbox, &bytes)) != NULL) {
        if (oldest_spool(framewriter, frame, bytes) != 0) {
            struct ck_frame_header header;

            memcpy(&header, frame, sizeof(header));
            lost += header.records;
            outbox_pop(&framewriter->outbox);
        }
    }
    framewriter->outbox.head->records -= lost;
    return lost;
}

size_t framewriter_ack(struct framewriter *framewriter,
                       const struct ck_ack *acks,
                       size_t count)
{
    size_t freed = outbox_ack(&framewriter->outbox, acks, count) +
                   spool_ack(framewriter->spool, acks, count);

    if (framewriter->outbox.head->spool[0] != '\0') {
        spool_remember(framewriter);
    }
    return freed;
}

bool framewriter_is_empty(const struct framewriter *framewriter)
{
    return outbox_is_empty(&framewriter->outbox) &&
           spool_is_empty(framewriter->spool);
}
