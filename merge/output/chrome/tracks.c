/* tracks.c - where a slice is drawn: tracks on which slices only nest
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * A row remembers the ends of the slices that are open on it, the innermost
 * last. A slice goes on the first row where it ends no later than the
 * innermost open one.
 */
#include "merge/output/chrome/tracks.h"

#include <stdlib.h>
#include <string.h>

#include "merge/model/array.h"
#include "merge/model/memory.h"

struct row {
    int64_t tid;
    ck_time_t *ends; /* descending */
    size_t count;
    size_t room;
};

struct track {
    struct row *rows;
    size_t count;
    size_t room;
};

struct tracks {
    struct table *keys;
    struct track *items;
    size_t count;
    size_t room;
    int64_t next_tid;
};

struct tracks *tracks_create(void)
{
    struct tracks *tracks = xcalloc(1, sizeof(*tracks));

    tracks->next_tid = TRACKS_FIRST_FREE;
    tracks->keys = table_create();
    return tracks;
}

void tracks_destroy(struct tracks *tracks)
{
    if (tracks == NULL) {
        return;
    }
    for (size_t i = 0; i < tracks->count; i++) {
        for (size_t r = 0; r < tracks->items[i].count; r++) {
            free(tracks->items[i].rows[r].ends);
        }
        free(tracks->items[i].rows);
    }
    free(tracks->items);
    table_destroy(tracks->keys);
    free(tracks);
}

static struct track *track_find(struct tracks *tracks, struct table_key key)
{
    int64_t number = table_number(tracks->keys, key);

    if ((size_t)number == tracks->count) {
        array_grow(&tracks->items, &tracks->room, tracks->count,
                   sizeof(*tracks->items));
        memset(&tracks->items[tracks->count++], 0, sizeof(*tracks->items));
    }
    return &tracks->items[number];
}

static void row_push(struct row *row, ck_time_t end)
{
    array_grow(&row->ends, &row->room, row->count, sizeof(*row->ends));
    row->ends[row->count++] = end;
}

/* Close what ended; true when a slice up to `end` nests. */
static bool row_accepts(struct row *row, ck_time_t start, ck_time_t end)
{
    while (row->count > 0 && row->ends[row->count - 1] <= start) {
        row->count--;
    }
    return row->count == 0 || end <= row->ends[row->count - 1];
}

void tracks_place(struct tracks *tracks,
                  struct table_key key,
                  int64_t tid,
                  ck_time_t start,
                  ck_time_t end,
                  struct track_row *place)
{
    struct track *track = track_find(tracks, key);
    struct row *row;

    for (size_t i = 0; i < track->count; i++) {
        if (row_accepts(&track->rows[i], start, end)) {
            place->tid = track->rows[i].tid;
            place->number = (uint32_t)i;
            place->is_new = false;
            row_push(&track->rows[i], end);
            return;
        }
    }
    array_grow(&track->rows, &track->room, track->count, sizeof(*row));
    row = &track->rows[track->count];
    memset(row, 0, sizeof(*row));
    row->tid = tid >= 0 && track->count == 0 ? tid : tracks->next_tid++;
    place->tid = row->tid;
    place->number = (uint32_t)track->count++;
    place->is_new = true;
    row_push(row, end);
}
