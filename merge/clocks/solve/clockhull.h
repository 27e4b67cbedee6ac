/* clockhull.h - of the facts between two clocks those that may bound
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Of a window of 2^bits ns the lower hull of (sent, received - sent): whatever
 * the drift, the tightest fact is on it.
 */
#ifndef CK_MERGE_CLOCKS_SOLVE_CLOCKHULL_H
#define CK_MERGE_CLOCKS_SOLVE_CLOCKHULL_H

#include <stddef.h>
#include <stdint.h>

#include "schema/time.h"

struct clockhull_fact {
    ck_time_t sent;
    ck_time_t way; /* received - sent */
};

/* Facts in one direction; zeros and window = INT64_MIN at first. */
struct clockhull {
    struct clockhull_fact *facts;
    size_t count, room;
    size_t open; /* first fact of the window that is not over */
    int64_t window;
};

void clockhull_fini(struct clockhull *hull);
void clockhull_add(struct clockhull *hull,
                   struct clockhull_fact fact,
                   unsigned bits);
/* All facts again, in windows of that length. */
void clockhull_thin(struct clockhull *hull, unsigned bits);

#endif
