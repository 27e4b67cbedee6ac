/* lanebytes.c - items of a lane as numbers of as few bytes as they need
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Of an item: its gap to the end of the one before, length, class, count, and
 * how far its name is from that one's (names are kept texts, which are close
 * together). What is folded has besides: the time that it was not busy, its
 * longest item, and what of the busy time is of no known class. Numbers wrap
 * around, so any times and names come out as they went in.
 */
#include "merge/output/lanes/lanebytes.h"

#include <stdlib.h>

#include "merge/model/memory.h"
#include "merge/output/numbers.h"

/* Of an item at most. */
#define ITEM_MOST (8 * NUMBER_MOST)
/* Of the first block and of any. There may be many lanes of a few items. */
#define ROOM_FIRST 232
#define ROOM_MOST 4072

struct lane_bytes {
    struct lane_bytes *behind;
    uint32_t used;
    uint32_t room;
    unsigned char at[];
};

struct lane_bytes *lanebytes_create(struct lane_bytes *behind)
{
    uint32_t room = behind == NULL ? ROOM_FIRST : behind->room * 2;
    struct lane_bytes *bytes;

    room = room > ROOM_MOST ? ROOM_MOST : room;
    bytes = xmalloc(sizeof(*bytes) + room);
    bytes->behind = NULL;
    bytes->used = 0;
    bytes->room = room;
    if (behind != NULL) {
        behind->behind = bytes;
    }
    return bytes;
}

struct lane_bytes *lanebytes_drop(struct lane_bytes *bytes)
{
    struct lane_bytes *behind = bytes->behind;

    free(bytes);
    return behind;
}

void lanebytes_free(struct lane_bytes *bytes)
{
    while (bytes != NULL) {
        bytes = lanebytes_drop(bytes);
    }
}

const struct lane_bytes *lanebytes_behind(const struct lane_bytes *bytes)
{
    return bytes->behind;
}

bool lanebytes_has_room(const struct lane_bytes *bytes)
{
    return bytes->room - bytes->used >= ITEM_MOST;
}

/* Small numbers of both signs as small ones. */
static uint64_t folded(uint64_t number)
{
    return number << 1 ^ (uint64_t)((int64_t)number >> 63);
}

static uint64_t unfolded(uint64_t number)
{
    return number >> 1 ^ -(number & 1);
}

void lanebytes_put(struct lane_bytes *bytes,
                   const struct lane_item *item,
                   ck_time_t end,
                   const char *name)
{
    unsigned char *at = bytes->at + bytes->used;
    uint64_t length = (uint64_t)item->end - (uint64_t)item->start;
    uint64_t busy = (uint64_t)item->busy;

    at = number_write(at, folded((uint64_t)item->start - (uint64_t)end));
    at = number_write(at, length);
    at = number_write(at, item->class);
    at = number_write(at, folded((uint64_t)(uintptr_t)item->name -
                                 (uint64_t)(uintptr_t)name));
    at = number_write(at, item->count);
    if (item->count != 1) {
        at = number_write(at, length - busy);
        at = number_write(at, (uint64_t)item->longest);
        at = number_write(at, busy - (uint64_t)item->class_busy);
    }
    bytes->used = (uint32_t)(at - bytes->at);
}

static uint64_t number_read(const unsigned char **at)
{
    uint64_t value = 0;

    for (unsigned shift = 0;; shift += 7) {
        unsigned char byte = *(*at)++;

        value |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80) {
            return value;
        }
    }
}

bool lanebytes_next(const struct lane_bytes *bytes,
                    const unsigned char **at,
                    struct lane_item *item)
{
    uint64_t start, length;

    *at = *at == NULL ? bytes->at : *at;
    if (*at == bytes->at + bytes->used) {
        return false;
    }
    start = (uint64_t)item->end + unfolded(number_read(at));
    length = number_read(at);
    item->start = (ck_time_t)start;
    item->end = (ck_time_t)(start + length);
    item->class = (uint8_t)number_read(at);
    item->name = (const char *)((uintptr_t)item->name +
                                (uintptr_t)unfolded(number_read(at)));
    item->count = (uint32_t)number_read(at);
    if (item->count == 1) {
        item->busy = item->longest = item->class_busy = (ck_time_t)length;
        return true;
    }
    item->busy = (ck_time_t)(length - number_read(at));
    item->longest = (ck_time_t)number_read(at);
    item->class_busy = (ck_time_t)((uint64_t)item->busy - number_read(at));
    return true;
}
