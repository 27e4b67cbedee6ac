/* protobuf.c - messages of Protocol Buffers, built in memory
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * The length of a message within another one is kept in four bytes; the first
 * three have the bit that more come: a number may be written longer than need
 * be (protobuf.dev, Encoding, "Base 128 Varints").
 */
#include "merge/output/perfetto/protobuf.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "merge/model/memory.h"
#include "merge/output/words.h"

#define LENGTH_BYTES 4
#define VARINT_MOST 10
/* Wire types. */
#define VARINT 0
#define FIXED64 1
#define BYTES 2

void protobuf_fini(struct protobuf *protobuf)
{
    free(protobuf->bytes);
    *protobuf = (struct protobuf){0};
}

void protobuf_clear(struct protobuf *protobuf)
{
    protobuf->used = 0;
    protobuf->depth = 0;
}

/* Make room for so many bytes more. */
static void room_make(struct protobuf *protobuf, size_t bytes)
{
    size_t room = protobuf->room;

    if (protobuf->used + bytes <= room) {
        return;
    }
    while (room < protobuf->used + bytes) {
        room = room == 0 ? 4096 : room * 2;
    }
    protobuf->bytes = xrealloc(protobuf->bytes, room);
    protobuf->room = room;
}

static void put_varint(struct protobuf *protobuf, uint64_t value)
{
    room_make(protobuf, VARINT_MOST);
    while (value >= 0x80) {
        protobuf->bytes[protobuf->used++] =
            (unsigned char)((value & 0x7f) | 0x80);
        value >>= 7;
    }
    protobuf->bytes[protobuf->used++] = (unsigned char)value;
}

static void put_tag(struct protobuf *protobuf, unsigned field, unsigned type)
{
    put_varint(protobuf, (uint64_t)field << 3 | type);
}

void protobuf_int(struct protobuf *protobuf, unsigned field, int64_t value)
{
    put_tag(protobuf, field, VARINT);
    put_varint(protobuf, (uint64_t)value);
}

void protobuf_fixed64(struct protobuf *protobuf, unsigned field, uint64_t value)
{
    put_tag(protobuf, field, FIXED64);
    room_make(protobuf, sizeof(value));
    for (size_t i = 0; i < sizeof(value); i++) {
        protobuf->bytes[protobuf->used++] = (unsigned char)(value >> 8 * i);
    }
}

void protobuf_text(struct protobuf *protobuf, unsigned field, const char *text)
{
    protobuf_begin(protobuf, field);
    for (size_t i = 0; text[i] != '\0';) {
        size_t bytes = word_utf8(text + i);
        const char *from = bytes == 0 ? "\357\277\275" : text + i;
        size_t length = bytes == 0 ? 3 : bytes;

        room_make(protobuf, length);
        memcpy(protobuf->bytes + protobuf->used, from, length);
        protobuf->used += length;
        i += bytes == 0 ? 1 : bytes;
    }
    protobuf_end(protobuf);
}

void protobuf_begin(struct protobuf *protobuf, unsigned field)
{
    put_tag(protobuf, field, BYTES);
    assert(protobuf->depth < PROTOBUF_DEPTH);
    room_make(protobuf, LENGTH_BYTES);
    protobuf->used += LENGTH_BYTES;
    protobuf->open[protobuf->depth++] = protobuf->used;
}

/* The body moves up to its length where that takes one byte, as most do. */
void protobuf_end(struct protobuf *protobuf)
{
    unsigned char *length;
    size_t start, bytes;

    assert(protobuf->depth > 0);
    start = protobuf->open[--protobuf->depth];
    bytes = protobuf->used - start;
    length = protobuf->bytes + start - LENGTH_BYTES;
    if (bytes < 0x80) {
        length[0] = (unsigned char)bytes;
        memmove(length + 1, protobuf->bytes + start, bytes);
        protobuf->used -= LENGTH_BYTES - 1;
        return;
    }
    for (unsigned i = 0; i < LENGTH_BYTES; i++) {
        length[i] = (unsigned char)((bytes >> 7 * i & 0x7f) |
                                    (i < LENGTH_BYTES - 1 ? 0x80 : 0));
    }
}

const unsigned char *protobuf_bytes(const struct protobuf *protobuf,
                                    size_t *length)
{
    *length = protobuf->used;
    return protobuf->bytes;
}
