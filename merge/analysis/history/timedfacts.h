/* timedfacts.h - timed facts about threads, as far back as a client asks
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * For each thread a list in order of time: its samples, or the times that it
 * was off the CPU. What the bound pushes out is forgotten: the answer becomes
 * coarser, not wrong.
 */
#ifndef CK_MERGE_ANALYSIS_HISTORY_TIMEDFACTS_H
#define CK_MERGE_ANALYSIS_HISTORY_TIMEDFACTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "schema/time.h"

/* Facts kept of one thread, in all threads together, and at least in each. */
#define TIMEDFACTS_MAX ((size_t)1 << 13)
#define TIMEDFACTS_ALL ((size_t)1 << 18)
#define TIMEDFACTS_MIN ((size_t)1 << 8)

struct timedfacts_fact {
    ck_time_t start;
    ck_time_t end; /* = start: a point */
    uint64_t what;
};

struct timedfacts;
struct timedfacts *timedfacts_create(size_t threads);
void timedfacts_destroy(struct timedfacts *timedfacts);
/* True when timedfacts_add() will not need a horizon. */
bool timedfacts_has_room(const struct timedfacts *timedfacts, uint32_t thread);
/* Add a fact; starts never step back in a thread. Facts that ended by `horizon`
 * may go. */
void timedfacts_add(struct timedfacts *timedfacts,
                    uint32_t thread,
                    const struct timedfacts_fact *fact,
                    ck_time_t horizon);
/* The facts that start at `time` or later, and, where the one before ends
 * after `time`, that one first; NULL when there are none. Borrowed until the
 * next timedfacts_add(). */
const struct timedfacts_fact *
timedfacts_from(const struct timedfacts *timedfacts,
                uint32_t thread,
                ck_time_t time,
                size_t *count);

#endif
