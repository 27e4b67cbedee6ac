/* chromepart.c - the events of a part of a Chrome trace, packed
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "merge/profiles/chromepart.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "merge/model/memory.h"

/* Packed events of one part; more is left to one thread. */
#define PACKED_MAX ((size_t)8 << 20)
#define PACKED_FIRST ((size_t)64 << 10)
/* Read beyond the end of a part at once. */
#define BEYOND_BYTES ((size_t)4 << 10)
/* Looked at for the beginning of an event, and before it. */
#define FIND_BYTES ((size_t)16 << 10)
#define FIND_BEFORE 64

struct chromepart_reader {
    int fd; /* borrowed */
    uint64_t at;
    uint64_t to;
    unsigned depth;
    struct json *json;
    struct chrome_event event;
    uint8_t bytes[FIND_BYTES + FIND_BEFORE];
};

void chromepart_fini(struct chromepart *part)
{
    free(part->bytes);
    memset(part, 0, sizeof(*part));
}

static int64_t text_read(void *state, void *to, size_t room)
{
    struct chromepart_reader *reader = state;
    uint64_t left = reader->at < reader->to ? reader->to - reader->at : 0;
    ssize_t n;

    room = room < left + BEYOND_BYTES ? room : (size_t)left + BEYOND_BYTES;
    do {
        n = pread(reader->fd, to, room, (off_t)reader->at);
    } while (n < 0 && errno == EINTR);
    reader->at += n > 0 ? (uint64_t)n : 0;
    return n;
}

struct chromepart_reader *
chromepart_reader_create(int fd, const struct json *json, unsigned depth)
{
    struct chromepart_reader *reader = xmalloc(sizeof(*reader));

    reader->fd = fd;
    reader->depth = depth;
    reader->at = reader->to = 0;
    reader->json = json_create_beside(json, text_read, reader);
    return reader;
}

void chromepart_reader_destroy(struct chromepart_reader *reader)
{
    if (reader != NULL) {
        json_destroy(reader->json);
        free(reader);
    }
}

static bool is_space(uint8_t c)
{
    return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

/* Before the white space that ends at `at`; `least` is the first byte. */
static const uint8_t *before_space(const uint8_t *at, const uint8_t *least)
{
    while (at > least && is_space(at[-1])) {
        at--;
    }
    return at;
}

/* Between two objects of an array: "}, {". */
static bool is_between(const uint8_t *at, const uint8_t *least)
{
    at = before_space(at, least);
    if (at == least || *--at != ',') {
        return false;
    }
    at = before_space(at, least);
    return at > least && at[-1] == '}';
}

uint64_t
chromepart_find(struct chromepart_reader *reader, uint64_t from, uint64_t to)
{
    uint64_t before = from < FIND_BEFORE ? from : FIND_BEFORE;
    const uint8_t *first = reader->bytes;
    const uint8_t *at = first + before;
    ssize_t n = pread(reader->fd, reader->bytes, sizeof(reader->bytes),
                      (off_t)(from - before));
    const uint8_t *end = first + (n > 0 ? n : 0);

    while (at < end && (at = memchr(at, '{', (size_t)(end - at))) != NULL) {
        uint64_t place = from - before + (uint64_t)(at - first);

        if (place >= to) {
            break;
        }
        if (is_between(at, first)) {
            return place;
        }
        at++;
    }
    return CHROMEPART_NOWHERE;
}

/* Room for so many bytes more. */
static bool part_grow(struct chromepart *part, size_t bytes)
{
    size_t room = part->room == 0 ? PACKED_FIRST : part->room;
    uint8_t *grown;

    while (room - part->used < bytes) {
        room *= 2;
    }
    if (room > PACKED_MAX) {
        return false;
    }
    grown = room == part->room ? part->bytes : xrealloc(part->bytes, room);
    if (grown == NULL) {
        return false;
    }
    part->bytes = grown;
    part->room = room;
    return true;
}

#define HEAD_BYTES offsetof(struct chrome_event, text)

static bool part_add(struct chromepart *part, const struct chrome_event *event)
{
    uint8_t *to;

    if (!part_grow(part,
                   HEAD_BYTES + event->text_length + event->name_length)) {
        return false;
    }
    to = part->bytes + part->used;
    memcpy(to, event, HEAD_BYTES);
    to += HEAD_BYTES;
    memcpy(to, event->text, event->text_length);
    to += event->text_length;
    memcpy(to, event->name, event->name_length);
    to += event->name_length;
    part->used = (size_t)(to - part->bytes);
    return true;
}

bool chromepart_event(const struct chromepart *part,
                      size_t *at,
                      struct chrome_event *event)
{
    const uint8_t *from;

    if (*at == part->used) {
        return false;
    }
    from = part->bytes + *at;
    memcpy(event, from, HEAD_BYTES);
    from += HEAD_BYTES;
    memcpy(event->text, from, event->text_length);
    from += event->text_length;
    memcpy(event->name, from, event->name_length);
    from += event->name_length;
    *at = (size_t)(from - part->bytes);
    return true;
}

void chromepart_read(struct chromepart_reader *reader,
                     struct chromepart *part,
                     uint64_t to)
{
    struct chrome_event *event = &reader->event;
    const struct json_token *token;

    part->used = 0;
    part->stop = CHROMEPART_NOWHERE;
    reader->at = part->start;
    reader->to = to;
    json_jump(reader->json, reader->depth, part->start);
    while ((token = json_next(reader->json))->type == JSON_OBJECT) {
        uint64_t offset = token->offset;

        if (offset >= to) {
            part->stop = offset;
            return;
        }
        if (!chromeevent_read(reader->json, event)) {
            return;
        }
        event->offset = offset;
        if (!part_add(part, event)) {
            return;
        }
    }
}
