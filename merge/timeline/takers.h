/* takers.h - the consumers of a pass by the class of records that they take
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CK_MERGE_TIMELINE_TAKERS_H
#define CK_MERGE_TIMELINE_TAKERS_H

#include "merge/timeline/consumer.h"

/* Who takes records of a class, in order. */
struct takers {
    unsigned count;
    unsigned witnesses; /* of them, the first */
    struct timeline_consumer items[TIMELINE_CONSUMERS_MAX];
};

/* Add a consumer to those of each of its classes. */
void takers_add(struct takers takers[CK_CLASS_LIMIT],
                const struct timeline_consumer *consumer,
                bool is_witness);

/* Give an event of the class to its takers. 0, or -1 with errno. */
static inline int takers_give(const struct takers *takers,
                              const struct timeline_event *event,
                              bool is_wanted)
{
    unsigned count = is_wanted ? takers->count : takers->witnesses;

    for (unsigned i = 0; i < count; i++) {
        if (takers->items[i].take(takers->items[i].consumer, event) != 0) {
            return -1;
        }
    }
    return 0;
}

#endif
