/* layers.h - what is known of a thread, in layers over each other
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * An instant is what the highest layer with something there is. What comes is
 * in order of start, so of each layer only the latest end is kept.
 */
#ifndef CK_MERGE_ANALYSIS_TOTALS_LAYERS_H
#define CK_MERGE_ANALYSIS_TOTALS_LAYERS_H

#include <stdint.h>

#include "schema/time.h"

/* Highest first. */
enum layer {
    LAYER_MPI,
    LAYER_LOST,
    LAYER_READY,
    LAYER_DEVICE,
    LAYER_SLEEP,
    LAYER_LOCK,
    LAYER_IO,
    LAYER_BLOCKED,
    LAYER_AWAY, /* no collector ran: switches are not recorded */
    LAYERS,
    LAYER_NONE
};

struct layers {
    uint32_t over;           /* bits of those that may have something */
    ck_time_t until[LAYERS]; /* latest end */
};

/* The highest one at `time`, which none of them begins behind. *next is moved
 * to the first end of any that comes before it. */
static inline enum layer
layers_at(const struct layers *layers, ck_time_t time, ck_time_t *next)
{
    enum layer highest = LAYER_NONE;

    for (uint32_t bits = layers->over; bits != 0; bits &= bits - 1) {
        enum layer at = (enum layer)__builtin_ctz(bits);
        ck_time_t until = layers->until[at];

        if (until > time) {
            highest = at < highest ? at : highest;
            *next = until < *next ? until : *next;
        }
    }
    return highest;
}

/* Forget those that have nothing from `time` on. */
static inline void layers_drop(struct layers *layers, ck_time_t time)
{
    for (uint32_t bits = layers->over; bits != 0; bits &= bits - 1) {
        int at = __builtin_ctz(bits);

        if (layers->until[at] <= time) {
            layers->over &= ~(1u << at);
        }
    }
}

#endif
