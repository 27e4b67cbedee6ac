/* tracks.h - where a slice is drawn: tracks on which slices only nest
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CK_MERGE_OUTPUT_CHROME_TRACKS_H
#define CK_MERGE_OUTPUT_CHROME_TRACKS_H

#include <stdbool.h>
#include <stdint.h>

#include "merge/model/table.h"
#include "schema/time.h"

/* Numbers of tracks that are no thread of the system (whose ids stay below
 * 2^22). */
#define TRACKS_FIRST_FREE ((int64_t)1 << 23)

struct tracks;
struct tracks *tracks_create(void);
void tracks_destroy(struct tracks *tracks);

/* A row of a track, chosen for one slice. */
struct track_row {
    int64_t tid;
    uint32_t number; /* 0 = the track's own, then the overflow rows */
    bool is_new;     /* name it */
};

/* A row of the track `key` on which [start, end) nests. `tid` is the number of
 * its first row, < 0 = any free one. Slices come in order of start. */
void tracks_place(struct tracks *tracks,
                  struct table_key key,
                  int64_t tid,
                  ck_time_t start,
                  ck_time_t end,
                  struct track_row *row);

#endif
