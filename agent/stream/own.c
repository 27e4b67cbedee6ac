/* own.c - the collector's own stream: what it says itself, beside the rings
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "agent/stream/own.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/stream/outlet.h"
#include "schema/frame.h"

/* Some dozens of the largest records; a frame's worth of small ones. */
#define OWN_BUFFER_BYTES ((size_t)256 << 10)
#define NOTE_BYTES 512

struct own {
    struct outlet *outlet; /* borrowed */
    enum ck_clock clock;
    uint32_t pid;
    size_t used;
    uint64_t lost;
    ck_time_t oldest;
    /* 8-aligned: records are structs */
    uint64_t buffer[OWN_BUFFER_BYTES / sizeof(uint64_t)];
};

struct own *own_create(struct outlet *outlet, enum ck_clock clock, uint32_t pid)
{
    struct own *own = calloc(1, sizeof(*own));

    if (own == NULL) {
        return NULL;
    }
    own->outlet = outlet;
    own->clock = clock;
    own->pid = pid;
    return own;
}

void own_destroy(struct own *own)
{
    free(own);
}

/* Room for a record; flushes when there is none. NULL with ENOSPC. */
static uint8_t *own_room(struct own *own, size_t bytes)
{
    uint8_t *at;

    if (own->used + bytes > OWN_BUFFER_BYTES && own_flush(own) != 0) {
        own->lost++;
        errno = ENOSPC;
        return NULL;
    }
    at = (uint8_t *)own->buffer + own->used;
    if (own->used == 0) {
        own->oldest = ck_time_raw();
    }
    own->used += bytes;
    return at;
}

static void event_stamp(struct ck_event *event)
{
    if (event->start == 0) {
        event->start = ck_time_raw();
        event->flags |= CK_FLAG_RAW;
    }
}

int own_put(struct own *own, const struct ck_event *record)
{
    uint8_t *to;

    if (record->units == 0 ||
        record->units < ck_class_units(ck_kind_class(record->kind)) ||
        ck_class_units(ck_kind_class(record->kind)) == 0) {
        errno = EINVAL;
        return -1;
    }
    to = own_room(own, (size_t)record->units * CK_UNIT_BYTES);
    if (to == NULL) {
        return -1;
    }
    memcpy(to, record, (size_t)record->units * CK_UNIT_BYTES);
    event_stamp((struct ck_event *)to);
    return 0;
}

int own_text(struct own *own,
             struct ck_text head,
             const char *bytes,
             size_t length)
{
    size_t kept = length > CK_TEXT_BYTES_MAX ? CK_TEXT_BYTES_MAX : length;
    size_t whole = (size_t)ck_text_units(kept) * CK_UNIT_BYTES;
    uint8_t *to = own_room(own, whole);

    if (to == NULL) {
        return -1;
    }
    head.e.units = (uint8_t)ck_text_units(kept);
    head.length = (uint32_t)kept;
    event_stamp(&head.e);
    memcpy(to, &head, sizeof(head));
    memcpy(to + sizeof(head), bytes, kept);
    memset(to + sizeof(head) + kept, 0, whole - sizeof(head) - kept);
    return 0;
}

void own_note(struct own *own, const char *format, ...)
{
    struct ck_text head = {.e = {.kind = CK_KIND_NOTE}};
    char text[NOTE_BYTES];
    va_list args;

    va_start(args, format);
    (void)vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    (void)own_text(own, head, text, strlen(text));
}

int own_flush(struct own *own)
{
    struct outbox_head *head = own->outlet->outbox.head;
    uint32_t units;

    while (own->used > 0) {
        struct outlet_cut cut = {
            .stream = {.incarnation = 0, .slot = CK_SLOT_COLLECTOR},
            .clock = own->clock,
            .pid = own->pid,
            .first = head->own_next,
            .records = own->buffer,
            .bytes = own->used,
        };

        if (outlet_put(own->outlet, &cut, &units) != 0) {
            return -1;
        }
        head->own_next += units;
        own->used -= (size_t)units * CK_UNIT_BYTES;
        memmove(own->buffer,
                (uint8_t *)own->buffer + (size_t)units * CK_UNIT_BYTES,
                own->used);
    }
    own->oldest = 0;
    return 0;
}

void own_drop(struct own *own)
{
    const uint8_t *at = (const uint8_t *)own->buffer;
    const uint8_t *end = at + own->used;

    while (at < end) {
        at += (size_t)((const struct ck_event *)at)->units * CK_UNIT_BYTES;
        own->lost++;
    }
    own->used = 0;
    own->oldest = 0;
}

ck_time_t own_oldest(const struct own *own)
{
    return own->used == 0 ? 0 : own->oldest;
}

uint64_t own_lost(const struct own *own)
{
    return own->lost;
}
