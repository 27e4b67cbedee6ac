/* outbox.c - a ring of sealed frames in the ring file
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * head moves after the entry is complete, so a collector that is killed at
 * any point leaves whole entries only.
 */
#include "agent/outbox.h"

#include <errno.h>
#include <stdatomic.h>
#include <string.h>

#include "schema/frame.h"

#define OUTBOX_MAGIC 0x3230584f42544b43ull /* "CKTBOX02" */
#define AREA_LEAST ((size_t)4096)
#define ENTRY_ALIGN ((uint64_t)16)
/* An outbox that is empty and used up to here is used from its start. */
#define REWIND_BYTES ((uint64_t)64 << 10)

static uint64_t entry_bytes(uint64_t frame)
{
    return sizeof(struct outbox_entry) +
           ((frame + ENTRY_ALIGN - 1) & ~(ENTRY_ALIGN - 1));
}

static struct outbox_entry *entry_at(const struct outbox *outbox, uint64_t at)
{
    return (struct outbox_entry *)(outbox->area + at % outbox->head->bytes);
}

static uint64_t entry_whole(const struct outbox_entry *entry)
{
    return entry->state == OUTBOX_FILLER ? entry->bytes
                                         : entry_bytes(entry->bytes);
}

/* Do the entries of a taken-over outbox lie one after the other? */
static int outbox_check(const struct outbox *outbox)
{
    const struct outbox_head *head = outbox->head;
    uint64_t at = head->tail;

    if (head->head < head->tail || head->head - head->tail > head->bytes ||
        head->tail % ENTRY_ALIGN != 0) {
        return -1;
    }
    while (at < head->head) {
        const struct outbox_entry *entry = entry_at(outbox, at);
        uint64_t left = head->bytes - at % head->bytes;
        uint64_t whole = entry_whole(entry);

        if (entry->state > OUTBOX_ACKED || whole < sizeof(*entry) ||
            whole % ENTRY_ALIGN != 0 || whole > left ||
            whole > head->head - at ||
            (entry->state != OUTBOX_FILLER &&
             entry->bytes < sizeof(struct ck_frame_header))) {
            return -1;
        }
        at += whole;
    }
    return 0;
}

int outbox_init(struct outbox *outbox, void *memory, size_t bytes)
{
    struct outbox made = {
        .head = memory,
        .area = (uint8_t *)memory + sizeof(struct outbox_head),
    };
    uint64_t area;

    if (bytes < sizeof(struct outbox_head) + AREA_LEAST) {
        errno = EINVAL;
        return -1;
    }
    area = (bytes - sizeof(struct outbox_head)) & ~(ENTRY_ALIGN - 1);
    if (made.head->magic != OUTBOX_MAGIC) {
        memset(made.head, 0, sizeof(*made.head));
        made.head->bytes = area;
        made.head->magic = OUTBOX_MAGIC;
    } else if (made.head->bytes != area || outbox_check(&made) != 0) {
        errno = EPROTO;
        return -1;
    }
    made.head->collectors++;
    *outbox = made;
    outbox_rewind(outbox);
    return 0;
}

void outbox_keep_identity(struct outbox *outbox,
                          const void *frame,
                          size_t bytes)
{
    struct outbox_head *head = outbox->head;

    head->identity_bytes = 0;
    if (bytes <= sizeof(head->identity)) {
        memcpy(head->identity, frame, bytes);
        atomic_thread_fence(memory_order_release);
        head->identity_bytes = (uint32_t)bytes;
    }
}

void outbox_keep_dir(struct outbox *outbox, const char *dir)
{
    struct outbox_head *head = outbox->head;
    size_t length = strlen(dir);

    if (length < sizeof(head->dir) && strcmp(head->dir, dir) != 0) {
        memcpy(head->dir, dir, length + 1);
    }
}

size_t outbox_frame_max(const struct outbox *outbox)
{
    return outbox->head->bytes / 2 - sizeof(struct outbox_entry);
}

/* Free acknowledged entries and fillers at the old end. */
static void tail_move(struct outbox *outbox)
{
    struct outbox_head *head = outbox->head;

    while (head->tail < head->head) {
        struct outbox_entry *entry = entry_at(outbox, head->tail);

        if (entry->state != OUTBOX_ACKED && entry->state != OUTBOX_FILLER) {
            break;
        }
        head->tail += entry_whole(entry);
    }
    if (outbox->send < head->tail) {
        outbox->send = head->tail;
    }
}

/* What is left before the area's end is not used. */
static void end_skip(struct outbox *outbox, uint64_t left)
{
    struct outbox_head *head = outbox->head;
    struct outbox_entry *entry = entry_at(outbox, head->head);

    entry->bytes = (uint32_t)left;
    entry->state = OUTBOX_FILLER;
    atomic_thread_fence(memory_order_release);
    head->head += left;
}

/* An empty outbox begins again at its start: memory that was used lately is
 * in the caches, and where little waits most of the area is never touched. */
static void empty_rewind(struct outbox *outbox)
{
    uint64_t used = outbox->head->head % outbox->head->bytes;

    if (outbox_is_empty(outbox) && used > REWIND_BYTES) {
        end_skip(outbox, outbox->head->bytes - used);
        tail_move(outbox);
    }
}

void *outbox_reserve(struct outbox *outbox, size_t bytes)
{
    struct outbox_head *head = outbox->head;
    uint64_t need = entry_bytes(bytes);
    uint64_t left;
    uint64_t room;

    empty_rewind(outbox);
    left = head->bytes - head->head % head->bytes;
    room = head->bytes - (head->head - head->tail);
    if (bytes > outbox_frame_max(outbox) || bytes > UINT32_MAX ||
        need > (left >= need ? room : room - (left < room ? left : room))) {
        return NULL;
    }
    if (left < need) {
        end_skip(outbox, left);
    }
    return entry_at(outbox, head->head) + 1;
}

void outbox_commit(struct outbox *outbox, size_t bytes)
{
    struct outbox_entry *entry = entry_at(outbox, outbox->head->head);

    entry->bytes = (uint32_t)bytes;
    entry->state = OUTBOX_SEALED;
    entry->reserved = 0;
    /* A killed collector must not leave a moved head and a torn entry. */
    atomic_thread_fence(memory_order_release);
    outbox->head->head += entry_bytes(bytes);
}

const void *outbox_unsent(struct outbox *outbox, size_t *bytes)
{
    while (outbox->send < outbox->head->head) {
        struct outbox_entry *entry = entry_at(outbox, outbox->send);

        if (entry->state == OUTBOX_SEALED) {
            *bytes = entry->bytes;
            return entry + 1;
        }
        outbox->send += entry_whole(entry);
    }
    return NULL;
}

uint64_t outbox_waiting(const struct outbox *outbox)
{
    return outbox->head->head - outbox->send;
}

void outbox_sent(struct outbox *outbox)
{
    struct outbox_entry *entry = entry_at(outbox, outbox->send);

    entry->state = OUTBOX_SENT;
    outbox->send += entry_whole(entry);
}

void outbox_rewind(struct outbox *outbox)
{
    uint64_t at = outbox->head->tail;

    outbox->send = at;
    while (at < outbox->head->head) {
        struct outbox_entry *entry = entry_at(outbox, at);

        if (entry->state == OUTBOX_SENT) {
            entry->state = OUTBOX_SEALED;
        }
        at += entry_whole(entry);
    }
}

static bool is_acked(const struct outbox_entry *entry,
                     const struct ck_ack *acks,
                     size_t count)
{
    struct ck_frame_header header;

    memcpy(&header, entry + 1, sizeof(header));
    for (size_t i = 0; i < count; i++) {
        if (acks[i].stream.incarnation == header.stream.incarnation &&
            acks[i].stream.slot == header.stream.slot) {
            return acks[i].next >= header.first + header.units;
        }
    }
    return false;
}

size_t
outbox_ack(struct outbox *outbox, const struct ck_ack *acks, size_t count)
{
    uint64_t at = outbox->head->tail;
    size_t acked = 0;

    while (at < outbox->head->head) {
        struct outbox_entry *entry = entry_at(outbox, at);

        if ((entry->state == OUTBOX_SENT || entry->state == OUTBOX_SEALED) &&
            is_acked(entry, acks, count)) {
            entry->state = OUTBOX_ACKED;
            acked++;
        }
        at += entry_whole(entry);
    }
    tail_move(outbox);
    return acked;
}

const void *outbox_oldest(struct outbox *outbox, size_t *bytes)
{
    tail_move(outbox);
    if (outbox_is_empty(outbox)) {
        return NULL;
    }
    *bytes = entry_at(outbox, outbox->head->tail)->bytes;
    return entry_at(outbox, outbox->head->tail) + 1;
}

void outbox_pop(struct outbox *outbox)
{
    entry_at(outbox, outbox->head->tail)->state = OUTBOX_ACKED;
    tail_move(outbox);
}

const void *
outbox_walk(const struct outbox *outbox, uint64_t *at, size_t *bytes)
{
    if (*at < outbox->head->tail) {
        *at = outbox->head->tail;
    }
    while (*at < outbox->head->head) {
        const struct outbox_entry *entry = entry_at(outbox, *at);

        *at += entry_whole(entry);
        if (entry->state != OUTBOX_FILLER) {
            *bytes = entry->bytes;
            return entry + 1;
        }
    }
    return NULL;
}

bool outbox_is_empty(const struct outbox *outbox)
{
    return outbox->head->tail == outbox->head->head;
}

uint64_t outbox_used(const struct outbox *outbox)
{
    return outbox->head->head - outbox->head->tail;
}
