/* clockfold.h - times on the axis that a clock's jump makes doubtful
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Where a clock jumped, its map does not ascend: one time on the axis may be of
 * two stamps, one on each side, or of none. From the first time that either
 * side may have to the last one it cannot be known, so there the largest error
 * of all of these stamps holds.
 */
#ifndef CK_MERGE_TIMELINE_CLOCKFOLD_H
#define CK_MERGE_TIMELINE_CLOCKFOLD_H

#include <stdbool.h>
#include <stddef.h>

#include "merge/timeline/clockmap.h"
#include "merge/timeline/clockparts.h"
#include "schema/time.h"

struct clockfold_jump {
    ck_time_t from; /* on the axis */
    ck_time_t to;
    ck_time_t raw[2]; /* stamps from its begin to its end */
    ck_time_t error;  /* the largest of stamps between `from` and `to` */
    ck_time_t end;    /* the latest that stamps before it are put at */
    /* Of it and of all before, of it and of all behind: to find it by. */
    ck_time_t latest;
    ck_time_t earliest;
};

/* No jumps: the map ascends. */
struct clockfold {
    struct clockfold_jump *jumps;
    size_t count;
};

/* Of a map that is made. */
void clockfold_make(struct clockfold *fold, struct clockmap *map);
void clockfold_fini(struct clockfold *fold);

/* The stamp that is put at a time; within a jump, of one side. */
ck_time_t clockfold_undo(const struct clockfold *fold,
                         struct clockmap *map,
                         ck_time_t time);
/* The first and the last stamp that may be put between two times. */
void clockfold_stamps(const struct clockfold *fold,
                      struct clockmap *map,
                      const ck_time_t span[2],
                      ck_time_t raw[2]);
/* Stamps from the first to the last may be put a jump earlier or later than
 * both: widen `span`, the times of these two. */
void clockfold_reach(const struct clockfold *fold,
                     const ck_time_t raw[2],
                     ck_time_t span[2]);
/* How wrong the times from one to another may be because of jumps; 0 = there is
 * none. CLOCKMAP_ERROR_UNKNOWN: nothing is known. */
ck_time_t clockfold_error(const struct clockfold *fold,
                          const ck_time_t span[2]);
/* Raise the largest error in each part of a stretch to that, of times that are
 * up to `room` (by part, NULL = 0) outside of it. */
void clockfold_raise(const struct clockfold *fold,
                     const ck_time_t stretch[2],
                     const ck_time_t *room,
                     ck_time_t parts[CLOCKPARTS]);

#endif
