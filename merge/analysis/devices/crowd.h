/* crowd.h - time shared out among very many intervals at once
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * To give each of n intervals its part of each piece of time costs n a piece,
 * and n times n where all overlap. Here a level rises by an n-th of a piece,
 * and an interval gets once, at its end, what the level rose by while it ran.
 * The level is in 2^-32 ns, and what does not divide is carried to the interval
 * that ends next: shares add up to the time exactly.
 */
#ifndef CK_MERGE_ANALYSIS_DEVICES_CROWD_H
#define CK_MERGE_ANALYSIS_DEVICES_CROWD_H

#include "merge/model/interval.h"

/* One running interval. */
struct share_running {
    ck_time_t end;
    uint32_t owner;
};
/* Where shares go: its owner. */
typedef void (*share_f)(void *state, uint32_t owner, ck_time_t ns);

struct crowd *crowd_create(void);
void crowd_destroy(struct crowd *crowd); /* NULL: nothing */

size_t crowd_count(const struct crowd *crowd);
/* From now on it runs, too. */
void crowd_put(struct crowd *crowd, const struct share_running *running);
/* Share out [now, until), or up to where no more than `few` run. Where that
 * is. */
ck_time_t crowd_advance(struct crowd *crowd,
                        struct region part,
                        size_t few,
                        share_f give,
                        void *state);
/* Give those that still run what they have so far, and move them to items, in
 * order of start. */
void crowd_leave(struct crowd *crowd,
                 struct share_running *items,
                 share_f give,
                 void *state);

#endif
