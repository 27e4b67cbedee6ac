/* pieces.c - the records of one frame, some at a time
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "merge/input/pieces.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "merge/model/memory.h"

/* Units of the longest record that is no text. */
#define UNITS_MAX 3
/* Smaller frames are decoded at once. */
#define RECORDS_MIN (2 * CK_BATCH_PIECE)

struct pieces {
    struct opener *opener; /* borrowed */
    const struct store_frame *frame;
    uint32_t classes;
    uint32_t done;
    bool is_whole;
    bool is_ticks;
    struct ck_segment_held held;
    struct ck_batch_cursor *cursor;
};

struct pieces *pieces_create(void)
{
    struct pieces *pieces = xcalloc(1, sizeof(*pieces));

    pieces->cursor = ck_batch_cursor_create();
    if (pieces->cursor == NULL) {
        free(pieces);
        return NULL;
    }
    return pieces;
}

void pieces_close(struct pieces *pieces)
{
    ck_segment_release(&pieces->held);
}

void pieces_destroy(struct pieces *pieces)
{
    if (pieces == NULL) {
        return;
    }
    pieces_close(pieces);
    ck_batch_cursor_destroy(pieces->cursor);
    free(pieces);
}

int pieces_open(struct pieces *pieces,
                struct opener *opener,
                const struct store_frame *frame,
                uint32_t classes,
                struct ck_err *err)
{
    struct ck_segment_reader *reader = opener->readers[frame->file];
    struct ck_batch_info info;

    pieces_close(pieces);
    pieces->opener = opener;
    pieces->frame = frame;
    pieces->classes = classes;
    pieces->done = 0;
    pieces->is_whole = frame->bounds == 0 || frame->records < RECORDS_MIN;
    if (pieces->is_whole) {
        return 0;
    }
    errno = 0;
    if (ck_segment_hold(reader, frame->offset, &pieces->held) != 0) {
        return opened_lost(opener->paths[frame->file],
                           (size_t)frame->units * CK_UNIT_BYTES, err);
    }
    if (ck_batch_cursor_open(pieces->cursor, pieces->held.payload,
                             pieces->held.header.length, classes, &info,
                             err) != 0) {
        return -1;
    }
    pieces->is_ticks = info.clock == CK_CLOCK_TSC;
    return 0;
}

/* All records of the frame. */
static int64_t
pieces_whole(struct pieces *pieces, struct store_rows *rows, struct ck_err *err)
{
    struct opened opened;

    if (opened_open(&opened, pieces->opener, pieces->frame, err) != 0 ||
        opened_decode(&opened, pieces->frame, pieces->classes, rows, err) !=
            0) {
        return -1;
    }
    return UINT32_MAX;
}

size_t pieces_most(const struct pieces *pieces, unsigned count)
{
    return pieces->is_whole ? SIZE_MAX : (size_t)count * CK_BATCH_PIECE;
}

int64_t pieces_next(struct pieces *pieces,
                    unsigned count,
                    struct store_rows *rows,
                    struct ck_err *err)
{
    size_t room = (size_t)count * CK_BATCH_PIECE * UNITS_MAX * CK_UNIT_BYTES;
    size_t used;
    int rc;

    if (pieces->is_whole) {
        return pieces_whole(pieces, rows, err);
    }
    rows_room(&rows->bytes, &rows->room, rows->used + room);
    rc = ck_batch_cursor_next(pieces->cursor, count,
                              (uint8_t *)rows->bytes + rows->used, room, &used,
                              err);
    if (rc < 0) {
        return -1;
    }
    rows->used += used;
    rows->is_ticks = pieces->is_ticks;
    pieces->done += count;
    return rc == 0 || pieces->done >= pieces->frame->bounds
               ? UINT32_MAX
               : (int64_t)pieces->done;
}
