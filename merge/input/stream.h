/* stream.h - the frames of one stream of a run
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Where they are in which file, and what they hold: filled while a store
 * (rundir.h) is opened.
 */
#ifndef CK_MERGE_INPUT_STREAM_H
#define CK_MERGE_INPUT_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "merge/model/defs.h"

struct store_frame {
    uint64_t offset; /* in its file */
    uint64_t first;  /* position of its first unit */
    uint64_t lead;   /* units before it, of frames that are left out */
    uint32_t units;
    uint32_t file;
    uint32_t
        thread; /* in the definitions: a slot is used by one after the other */
    uint32_t trim;    /* units at its head that an earlier frame has */
    uint32_t records; /* with a time of their own, after the trim; at first all
                         of its header */
    uint32_t classes; /* of those: 1 << class; at first as `records` */
    struct stamps stamps; /* starts of those */
    uint32_t bound;       /* of its first piece, in the stream's */
    uint16_t bounds;      /* 0 = only the stamps are known */
    bool is_thin;         /* its events were discarded, its facts stayed */
    bool is_skipped;      /* never read: its thread and stamps are not known */
    bool is_listed;       /* by an index of frames */
    uint8_t shift;
};

struct rundir_stream {
    uint32_t agent; /* indices in the definitions */
    uint32_t process;
    uint32_t slot;
    uint32_t incarnation;
    struct store_frame *frames; /* by position */
    size_t frames_count;
    size_t frames_held; /* that there is room for */
    size_t frames_room; /* that is wanted */
    uint64_t begin;     /* positions: of the first unit, behind the last */
    uint64_t end;
    uint64_t listed; /* position behind the frames that were entered */
    /* Of pieces (CK_BATCH_PIECE records): none of it and of those after it in
     * its frame begins before the frame's first stamp + (bound << shift). */
    uint16_t *bounds;
    size_t bounds_count, bounds_room;
    uint64_t before; /* units missing in front of its first */
    uint64_t gaps;   /* places behind that where units are missing */
    uint64_t gap_units;
    uint64_t discarded; /* units missing before the first that is whole, where
                           some were discarded on request */
    bool has_overlap;   /* some units are there twice */
    uint32_t skipped;   /* classes of frames that were not read; 0 = none */
    size_t recent;      /* calls of frames before this one are not handed out */
};

/* Decoded records of one frame. */
struct store_rows {
    void *bytes; /* whole records, one after the other */
    size_t room;
    size_t used;
    bool is_ticks; /* clock of records without CK_FLAG_RAW */
};

#endif
