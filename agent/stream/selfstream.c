/* selfstream.c - the collector's own stream: its own records, beside the
 * rings
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "agent/stream/selfstream.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/stream/framewriter.h"
#include "schema/frame.h"

/* Some dozens of the largest records; a frame's worth of small ones. */
#define SELFSTREAM_BUFFER_BYTES ((size_t)256 << 10)
#define NOTE_BYTES 512

struct selfstream {
    struct framewriter *framewriter; /* borrowed */
    enum ck_clock clock;
    uint32_t pid;
    size_t used;
    uint64_t lost;
    ck_time_t oldest;
    /* 8-aligned: records are structs */
    uint64_t buffer[SELFSTREAM_BUFFER_BYTES / sizeof(uint64_t)];
};

struct selfstream *selfstream_create(struct framewriter *framewriter,
                                     enum ck_clock clock,
                                     uint32_t pid)
{
    struct selfstream *selfstream = calloc(1, sizeof(*selfstream));

    if (selfstream == NULL) {
        return NULL;
    }
    selfstream->framewriter = framewriter;
    selfstream->clock = clock;
    selfstream->pid = pid;
    return selfstream;
}

void selfstream_destroy(struct selfstream *selfstream)
{
    free(selfstream);
}

/* Room for a record; flushes when there is none. NULL with ENOSPC. */
static uint8_t *selfstream_room(struct selfstream *selfstream, size_t bytes)
{
    uint8_t *at;

    if (selfstream->used + bytes > SELFSTREAM_BUFFER_BYTES &&
        selfstream_flush(selfstream) != 0) {
        selfstream->lost++;
        errno = ENOSPC;
        return NULL;
    }
    at = (uint8_t *)selfstream->buffer + selfstream->used;
    if (selfstream->used == 0) {
        selfstream->oldest = ck_time_raw();
    }
    selfstream->used += bytes;
    return at;
}

static void event_stamp(struct ck_event *event)
{
    if (event->start == 0) {
        event->start = ck_time_raw();
        event->flags |= CK_FLAG_RAW;
    }
}

int selfstream_put(struct selfstream *selfstream, const struct ck_event *record)
{
    uint8_t *to;

    if (record->units == 0 ||
        record->units < ck_class_units(ck_kind_class(record->kind)) ||
        ck_class_units(ck_kind_class(record->kind)) == 0) {
        errno = EINVAL;
        return -1;
    }
    to = selfstream_room(selfstream, (size_t)record->units * CK_UNIT_BYTES);
    if (to == NULL) {
        return -1;
    }
    memcpy(to, record, (size_t)record->units * CK_UNIT_BYTES);
    event_stamp((struct ck_event *)to);
    return 0;
}

int selfstream_text(struct selfstream *selfstream,
                    struct ck_text head,
                    const char *bytes,
                    size_t length)
{
    size_t kept = length > CK_TEXT_BYTES_MAX ? CK_TEXT_BYTES_MAX : length;
    size_t whole = (size_t)ck_text_units(kept) * CK_UNIT_BYTES;
    uint8_t *to = selfstream_room(selfstream, whole);

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

void selfstream_note(struct selfstream *selfstream, const char *format, ...)
{
    struct ck_text head = {.e = {.kind = CK_KIND_NOTE}};
    char text[NOTE_BYTES];
    va_list args;

    va_start(args, format);
    (void)vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    (void)selfstream_text(selfstream, head, text, strlen(text));
}

int selfstream_flush(struct selfstream *selfstream)
{
    struct outbox_head *head = selfstream->framewriter->outbox.head;
    uint32_t units;

    while (selfstream->used > 0) {
        struct framewriter_cut cut = {
            .stream = {.incarnation = 0, .slot = CK_SLOT_COLLECTOR},
            .clock = selfstream->clock,
            .pid = selfstream->pid,
            .first = head->own_next,
            .records = selfstream->buffer,
            .bytes = selfstream->used,
        };

        if (framewriter_put(selfstream->framewriter, &cut, &units) != 0) {
            return -1;
        }
        head->own_next += units;
        selfstream->used -= (size_t)units * CK_UNIT_BYTES;
        memmove(selfstream->buffer,
                (uint8_t *)selfstream->buffer + (size_t)units * CK_UNIT_BYTES,
                selfstream->used);
    }
    selfstream->oldest = 0;
    return 0;
}

void selfstream_drop(struct selfstream *selfstream)
{
    const uint8_t *at = (const uint8_t *)selfstream->buffer;
    const uint8_t *end = at + selfstream->used;

    while (at < end) {
        at += (size_t)((const struct ck_event *)at)->units * CK_UNIT_BYTES;
        selfstream->lost++;
    }
    selfstream->used = 0;
    selfstream->oldest = 0;
}

ck_time_t selfstream_oldest(const struct selfstream *selfstream)
{
    return selfstream->used == 0 ? 0 : selfstream->oldest;
}

uint64_t selfstream_lost(const struct selfstream *selfstream)
{
    return selfstream->lost;
}
