/* outbox.c - a ring of sealed frames in the ring file
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * head moves after the entry is complete, so a collector that is killed at
 * any point leaves whole entries only.
 */
#include "agent/ring/outbox.h"

#include <errno.h>
#include <stdatomic.h>
#include <string.h>

#include "schema/frame.h"

#define OUTBOX_MAGIC 0x3230584f42544b43ull /* "CKTBOX02" */
#define AREA_LEAST ((size_t)4096)
#define ENTRY_ALIGN ((uint64_t)16)
/* An empty outbox that was used up to here begins again at its start. */
#define REWIND_BYTES ((uint64_t)64 << 10)

static uint64_t entry_bytes(uint64_t frame)
{
    return sizeof(struct outbox_entry) +
           ((frame + ENTRY_ALIGN - 1) & ~(ENTRY_ALIGN - 1));
}

static struct outbox_entry *entry_at(const struct outbox *outbox, uint64_t at)
{
    return (struct outbox_entry *)(outbox->area + at % outbox->bytes);
}

/* Bytes of the entry at `at` with its head and padding; 0 = it is damaged. */
static uint64_t entry_whole(const struct outbox *outbox, uint64_t at)
{
    const struct outbox_entry *entry = entry_at(outbox, at);
    const struct outbox_entry seen = *entry;
    bool is_filler = seen.state == OUTBOX_FILLER;
    uint64_t whole = is_filler ? seen.bytes : entry_bytes(seen.bytes);

    if (seen.state > OUTBOX_ACKED || whole < sizeof(seen) ||
        whole % ENTRY_ALIGN != 0 ||
        whole > outbox->bytes - at % outbox->bytes ||
        whole > outbox->end - at ||
        (!is_filler && seen.bytes < sizeof(struct ck_frame_header))) {
        return 0;
    }
    return whole;
}

static void tail_set(struct outbox *outbox, uint64_t tail)
{
    outbox->tail = outbox->head->tail = tail;
    if (outbox->send < tail) {
        outbox->send = tail;
    }
}

static void end_set(struct outbox *outbox, uint64_t end)
{
    /* A killed collector must not leave a moved head and a torn entry. */
    atomic_thread_fence(memory_order_release);
    outbox->end = outbox->head->head = end;
}

/* Position of the entry that follows the one at `at`. If that one is damaged,
 * the following ones cannot be found: all are dropped, and counted. */
static uint64_t entry_next(struct outbox *outbox, uint64_t at)
{
    uint64_t whole = entry_whole(outbox, at);

    if (whole == 0) {
        outbox->broken++;
        tail_set(outbox, outbox->end);
        return outbox->end;
    }
    return at + whole;
}

/* Do the entries of a taken-over outbox follow each other? */
static int outbox_check(const struct outbox *outbox)
{
    uint64_t at = outbox->tail;

    if (outbox->end < outbox->tail ||
        outbox->end - outbox->tail > outbox->bytes ||
        outbox->tail % ENTRY_ALIGN != 0) {
        return -1;
    }
    while (at < outbox->end) {
        uint64_t whole = entry_whole(outbox, at);

        if (whole == 0) {
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

    if (bytes < sizeof(struct outbox_head) + AREA_LEAST) {
        errno = EINVAL;
        return -1;
    }
    made.bytes = (bytes - sizeof(struct outbox_head)) & ~(ENTRY_ALIGN - 1);
    if (made.head->magic != OUTBOX_MAGIC) {
        memset(made.head, 0, sizeof(*made.head));
        made.head->bytes = made.bytes;
        made.head->magic = OUTBOX_MAGIC;
    }
    made.end = made.head->head;
    made.tail = made.head->tail;
    if (made.head->bytes != made.bytes || outbox_check(&made) != 0) {
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
    return outbox->bytes / 2 - sizeof(struct outbox_entry);
}

/* Free acknowledged entries and fillers at the old end. */
static void tail_move(struct outbox *outbox)
{
    uint64_t at = outbox->tail;

    while (at < outbox->end) {
        const struct outbox_entry *entry = entry_at(outbox, at);

        if (entry->state != OUTBOX_ACKED && entry->state != OUTBOX_FILLER) {
            break;
        }
        at = entry_next(outbox, at);
    }
    tail_set(outbox, at);
}

/* Fill the rest before the area's end, which is too small for a frame. */
static void end_skip(struct outbox *outbox, uint64_t left)
{
    struct outbox_entry *entry = entry_at(outbox, outbox->end);

    entry->bytes = (uint32_t)left;
    entry->state = OUTBOX_FILLER;
    end_set(outbox, outbox->end + left);
}

/* An empty outbox begins again at its start: memory that was used lately is
 * in the caches, and where little waits most of the area is never touched. */
static void empty_rewind(struct outbox *outbox)
{
    uint64_t used = outbox->end % outbox->bytes;

    if (outbox_is_empty(outbox) && used > REWIND_BYTES) {
        end_skip(outbox, outbox->bytes - used);
        tail_move(outbox);
    }
}

void *outbox_reserve(struct outbox *outbox, size_t bytes)
{
    uint64_t need = entry_bytes(bytes);
    uint64_t left;
    uint64_t room;

    empty_rewind(outbox);
    left = outbox->bytes - outbox->end % outbox->bytes;
    room = outbox->bytes - (outbox->end - outbox->tail);
    if (bytes > outbox_frame_max(outbox) || bytes > UINT32_MAX ||
        need > (left >= need ? room : room - (left < room ? left : room))) {
        return NULL;
    }
    if (left < need) {
        end_skip(outbox, left);
    }
    return entry_at(outbox, outbox->end) + 1;
}

void outbox_commit(struct outbox *outbox, size_t bytes)
{
    struct outbox_entry *entry = entry_at(outbox, outbox->end);

    entry->bytes = (uint32_t)bytes;
    entry->state = OUTBOX_SEALED;
    entry->reserved = 0;
    end_set(outbox, outbox->end + entry_bytes(bytes));
}

const void *outbox_unsent(struct outbox *outbox, size_t *bytes)
{
    while (outbox->send < outbox->end) {
        struct outbox_entry *entry = entry_at(outbox, outbox->send);

        if (entry->state == OUTBOX_SEALED &&
            entry_whole(outbox, outbox->send) != 0) {
            *bytes = entry->bytes;
            return entry + 1;
        }
        outbox->send = entry_next(outbox, outbox->send);
    }
    return NULL;
}

uint64_t outbox_waiting(const struct outbox *outbox)
{
    return outbox->end - outbox->send;
}

void outbox_sent(struct outbox *outbox)
{
    struct outbox_entry *entry = entry_at(outbox, outbox->send);

    entry->state = OUTBOX_SENT;
    outbox->send = entry_next(outbox, outbox->send);
}

void outbox_rewind(struct outbox *outbox)
{
    uint64_t at = outbox->tail;

    outbox->send = at;
    while (at < outbox->end) {
        struct outbox_entry *entry = entry_at(outbox, at);

        if (entry->state == OUTBOX_SENT) {
            entry->state = OUTBOX_SEALED;
        }
        at = entry_next(outbox, at);
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
    uint64_t at = outbox->tail;
    size_t acked = 0;

    while (at < outbox->end) {
        struct outbox_entry *entry = entry_at(outbox, at);

        if ((entry->state == OUTBOX_SENT || entry->state == OUTBOX_SEALED) &&
            is_acked(entry, acks, count)) {
            entry->state = OUTBOX_ACKED;
            acked++;
        }
        at = entry_next(outbox, at);
    }
    tail_move(outbox);
    return acked;
}

const void *outbox_oldest(struct outbox *outbox, size_t *bytes)
{
    tail_move(outbox);
    if (!outbox_is_empty(outbox) && entry_whole(outbox, outbox->tail) == 0) {
        (void)entry_next(outbox, outbox->tail); /* drops it */
    }
    if (outbox_is_empty(outbox)) {
        return NULL;
    }
    *bytes = entry_at(outbox, outbox->tail)->bytes;
    return entry_at(outbox, outbox->tail) + 1;
}

void outbox_pop(struct outbox *outbox)
{
    entry_at(outbox, outbox->tail)->state = OUTBOX_ACKED;
    tail_move(outbox);
}

const void *
outbox_walk(const struct outbox *outbox, uint64_t *at, size_t *bytes)
{
    if (*at < outbox->tail) {
        *at = outbox->tail;
    }
    while (*at < outbox->end) {
        const struct outbox_entry *entry = entry_at(outbox, *at);
        uint64_t whole = entry_whole(outbox, *at);

        *at = whole == 0 ? outbox->end : *at + whole;
        if (whole != 0 && entry->state != OUTBOX_FILLER) {
            *bytes = entry->bytes;
            return entry + 1;
        }
    }
    return NULL;
}

bool outbox_is_empty(const struct outbox *outbox)
{
    return outbox->tail == outbox->end;
}

uint64_t outbox_used(const struct outbox *outbox)
{
    return outbox->end - outbox->tail;
}
