/* outlet.c - records become frames: encoded, sealed, in outbox or spool
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "agent/stream/outlet.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "schema/batch/pack.h"

#define SPOOL_KEPT_MAX ((uint64_t)1 << 20)

/* A collector that was killed after its frame was in and before own_next
 * moved: the frames themselves tell. */
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

int outlet_init(struct outlet *outlet,
                void *memory,
                size_t bytes,
                struct spool *spool,
                const uint8_t agent[16])
{
    struct outlet made = {.spool = spool, .pack = CK_PACK_NONE};

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
    *outlet = made;
    return 0;
}

void outlet_fini(struct outlet *outlet)
{
    ck_batch_writer_destroy(outlet->writer);
    free(outlet->scratch);
    outlet->writer = NULL;
    outlet->scratch = NULL;
}

void outlet_settle(struct outlet *outlet, const char *dir)
{
    if (dir[0] != '\0') {
        outlet->is_settled = true;
        spool_prefer(outlet->spool, dir);
        outbox_keep_dir(&outlet->outbox, dir);
        spool_prepare(outlet->spool);
    }
}

/* The spool's path must be found by a collector that takes over. */
static void spool_remember(struct outlet *outlet)
{
    struct outbox_head *head = outlet->outbox.head;
    const char *path = spool_path(outlet->spool);

    (void)snprintf(head->spool, sizeof(head->spool), "%s",
                   path == NULL ? "" : path);
}

static void *scratch_reserve(struct outlet *outlet, size_t bytes)
{
    if (bytes > outlet->scratch_room) {
        void *grown = realloc(outlet->scratch, bytes);

        if (grown == NULL) {
            return NULL;
        }
        outlet->scratch = grown;
        outlet->scratch_room = bytes;
    }
    return outlet->scratch;
}

/* Write header and payload to `frame`, which has room for the packed bound.
 * A pack that does not make it smaller is not used. */
static size_t frame_write(struct outlet *outlet,
                          struct ck_frame_header header,
                          const void *payload,
                          void *frame)
{
    uint8_t *to = (uint8_t *)frame + sizeof(header);
    int64_t length = header.raw;

    header.pack = (uint8_t)outlet->pack;
    if (header.pack != CK_PACK_NONE) {
        length = ck_pack(outlet->pack, payload, header.raw, to,
                         ck_pack_bound(outlet->pack, header.raw), NULL);
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
 * said: what was lost must not be lost too. 0, or -1 with ENOSPC. */
static int frame_spool(struct outlet *outlet, const void *frame, size_t bytes)
{
    uint64_t kept = spool_limit(outlet->spool) / 8;

    if (kept > SPOOL_KEPT_MAX) {
        kept = SPOOL_KEPT_MAX;
    }
    if (spool_is_last(outlet->spool)) {
        kept = 0;
    }
    if (spool_bytes(outlet->spool) + bytes + kept >
            spool_limit(outlet->spool) ||
        spool_append(outlet->spool, frame, bytes) != 0) {
        errno = ENOSPC;
        return -1;
    }
    outlet->outbox.head->spooled++;
    spool_remember(outlet);
    return 0;
}

static int frame_place(struct outlet *outlet,
                       const struct ck_frame_header *header,
                       const void *payload)
{
    size_t room =
        (sizeof(*header) + ck_pack_bound(outlet->pack, header->raw) + 15) &
        ~(size_t)7;
    bool is_queued = !spool_is_empty(outlet->spool);
    void *to = is_queued ? NULL : outbox_reserve(&outlet->outbox, room);
    size_t bytes;

    if (to != NULL) {
        bytes = frame_write(outlet, *header, payload, to);
        outbox_commit(&outlet->outbox, bytes);
    } else {
        to = scratch_reserve(outlet, room);
        if (to == NULL) {
            errno = ENOSPC;
            return -1;
        }
        bytes = frame_write(outlet, *header, payload, to);
        if (frame_spool(outlet, to, bytes) != 0) {
            return -1;
        }
    }
    outlet->outbox.head->stored += bytes;
    return 0;
}

int outlet_put(struct outlet *outlet,
               const struct outlet_cut *cut,
               uint32_t *units)
{
    struct ck_batch_info info = {
        .clock = cut->clock, .pid = cut->pid, .tid = cut->tid};
    struct ck_frame_header header = {.stream = cut->stream,
                                     .first = cut->first};
    const void *payload;
    size_t payload_bytes;

    if (ck_batch_encode(outlet->writer, &info, cut->records, cut->bytes,
                        &payload, &payload_bytes, NULL) != 0) {
        errno = EBADMSG;
        return -1;
    }
    memcpy(header.agent, outlet->agent, sizeof(header.agent));
    header.units = info.units;
    header.records = info.records;
    header.raw = (uint32_t)payload_bytes;
    if (frame_place(outlet, &header, payload) != 0) {
        return -1;
    }
    outlet->outbox.head->records += info.records;
    *units = info.units;
    return 0;
}

/* The oldest frame of the outbox to the spool. 0 or -1. */
static int oldest_spool(struct outlet *outlet, const void *frame, size_t bytes)
{
    if (frame_spool(outlet, frame, bytes) != 0) {
        return -1;
    }
    outbox_pop(&outlet->outbox);
    return 0;
}

int outlet_spool_all(struct outlet *outlet)
{
    const void *frame;
    size_t bytes;

    while ((frame = outbox_oldest(&outlet->outbox, &bytes)) != NULL) {
        if (oldest_spool(outlet, frame, bytes) != 0) {
            return -1;
        }
    }
    return 0;
}

uint64_t outlet_spool_rest(struct outlet *outlet)
{
    uint64_t lost = 0;
    const void *frame;
    size_t bytes;

    while ((frame = outbox_oldest(&outlet->outbox, &bytes)) != NULL) {
        if (oldest_spool(outlet, frame, bytes) != 0) {
            struct ck_frame_header header;

            memcpy(&header, frame, sizeof(header));
            lost += header.records;
            outbox_pop(&outlet->outbox);
        }
    }
    outlet->outbox.head->records -= lost;
    return lost;
}

size_t
outlet_ack(struct outlet *outlet, const struct ck_ack *acks, size_t count)
{
    size_t freed = outbox_ack(&outlet->outbox, acks, count) +
                   spool_ack(outlet->spool, acks, count);

    if (outlet->outbox.head->spool[0] != '\0') {
        spool_remember(outlet);
    }
    return freed;
}

bool outlet_is_empty(const struct outlet *outlet)
{
    return outbox_is_empty(&outlet->outbox) && spool_is_empty(outlet->spool);
}
