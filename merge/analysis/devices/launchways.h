/* launchways.h - the ways that lead to a call, by stacks
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Stacks are one way when they have the same frames from the call outwards.
 */
#ifndef CK_MERGE_ANALYSIS_DEVICES_LAUNCHWAYS_H
#define CK_MERGE_ANALYSIS_DEVICES_LAUNCHWAYS_H

#include "merge/model/defs.h"
#include "merge/model/table.h"

struct launchway {
    const struct defs_stack *stack; /* borrowed */
    uint32_t at;                    /* the frame of the call in it */
    int64_t weight;
};

enum launchways_by {
    LAUNCHWAYS_LINE,     /* stacks that the call is in */
    LAUNCHWAYS_FUNCTION, /* that the function which makes it is in */
    LAUNCHWAYS_WORK,     /* of launches of the same work there */
};

struct launchways {
    struct launchway *items;
    size_t count, room;
    struct table *hashes; /* of the frames from the call outwards */
    int64_t weight;       /* of all */
    ck_time_t first;      /* when the first was seen; INT64_MAX = never */
    enum launchways_by by;
};

void launchways_init(struct launchways *ways, enum launchways_by by);
void launchways_fini(struct launchways *ways);
/* A stack with its weight, first seen then. `stack` is borrowed. */
void launchways_add(struct launchways *ways,
                    const struct launchway *way,
                    ck_time_t first);
/* There is one. */
const struct launchway *launchways_heaviest(const struct launchways *ways);

#endif
