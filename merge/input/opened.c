/* opened.c - one frame of a file: found, unpacked, decoded
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "merge/input/opened.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "merge/model/memory.h"
#include "schema/batch/pack.h"

void rows_room(void **bytes, size_t *room, size_t wanted)
{
    void *grown;

    if (*room >= wanted) {
        return;
    }
    grown = xrealloc(*bytes, wanted);
    *bytes = grown;
    *room = wanted;
}

/* Leave out the records that begin before position `trim` of the frame. */
static void rows_trim(struct store_rows *rows, uint32_t trim)
{
    const uint8_t *bytes = rows->bytes;
    size_t at = 0;

    while (at < rows->used && at < (size_t)trim * CK_UNIT_BYTES) {
        at += (size_t)((const struct ck_event *)(bytes + at))->units *
              CK_UNIT_BYTES;
    }
    if (at > 0 && at <= rows->used) {
        memmove(rows->bytes, bytes + at, rows->used - at);
        rows->used -= at;
    }
}

void opened_short(size_t bytes)
{
    if (errno == ENOMEM) {
        memory_out(bytes);
    }
}

int opened_lost(const char *path, size_t bytes, struct ck_err *err)
{
    opened_short(bytes);
    return ck_err_set(err, "%s changed while it was read", path);
}

int opened_open(struct opened *opened,
                struct opener *opener,
                const struct store_frame *frame,
                struct ck_err *err)
{
    struct ck_frame_header *header = &opened->header;
    const void **payload = &opened->payload;
    struct ck_segment_reader *reader = opener->readers[frame->file];

    errno = 0;
    if (ck_segment_seek(reader, frame->offset) != 0 ||
        ck_segment_next(reader, header, payload) != 1 ||
        ck_segment_offset(reader) != frame->offset) {
        return opened_lost(opener->paths[frame->file],
                           (size_t)frame->units * CK_UNIT_BYTES, err);
    }
    opened->bytes = header->length;
    if (header->pack == CK_PACK_NONE) {
        return 0;
    }
    rows_room(&opener->unpacked, &opener->unpacked_room, header->raw);
    if (ck_unpack((enum ck_pack)header->pack, *payload, header->length,
                  opener->unpacked, header->raw, err) != 0) {
        opened_short(header->raw);
        return -1;
    }
    *payload = opener->unpacked;
    opened->bytes = header->raw;
    return 0;
}

int opened_decode(struct opened *opened,
                  const struct store_frame *frame,
                  uint32_t classes,
                  struct store_rows *rows,
                  struct ck_err *err)
{
    size_t room = (size_t)opened->header.units * CK_UNIT_BYTES;

    rows_room(&rows->bytes, &rows->room, room);
    /* A place within the frame counts all of its records. */
    classes = frame->trim > 0 ? UINT32_MAX : classes;
    memset(&opened->info, 0, sizeof(opened->info));
    errno = 0;
    if (ck_batch_decode_classes(opened->payload, opened->bytes, classes,
                                &opened->info, rows->bytes, room, &rows->used,
                                err) != 0) {
        opened_short(room);
        return -1;
    }
    rows->is_ticks = opened->info.clock == CK_CLOCK_TSC;
    rows_trim(rows, frame->trim);
    return 0;
}
