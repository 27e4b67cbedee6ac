/* burst.h - the one stretch of time in which most of a thing happened
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Parts of time, of any ranks, that touch or overlap are one stretch. Kept are
 * the one with the most time, the one that parts may still be added to, and
 * what the next largest has.
 */
#ifndef CK_MERGE_ANALYSIS_STEPS_BURST_H
#define CK_MERGE_ANALYSIS_STEPS_BURST_H

#include <stdbool.h>
#include <stdint.h>

#include "merge/model/interval.h"

struct burst_stretch {
    struct region part;
    struct region longest; /* of its parts */
    uint32_t rank;         /* of that one */
    ck_time_t ns;          /* of all its parts */
};

/* All 0 = nothing happened. */
struct burst {
    struct burst_stretch most;
    struct burst_stretch open;
    ck_time_t next; /* the next largest has no more than that */
    ck_time_t all;
};

/* Add a part of a rank's time; parts come about in order of their ends. */
void burst_add(struct burst *burst, uint32_t rank, struct region part);
/* Add another thing's. */
void burst_join(struct burst *burst, const struct burst *other);
/* Did most of it happen at once, and nothing like it at another time? Not where
 * many parts follow each other closely. */
bool burst_is_single(const struct burst *burst);

#endif
