/* clockcuts.h - where clocks are known to have jumped, before all is solved
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * A band shows that one of two clocks jumped between two probes, not which. In
 * a graph of all facts, whatever clock may be on either side of a jump then is
 * cut there: what is within the cut is evidence for neither side.
 */
#ifndef CK_MERGE_CLOCKS_CLOCKCUTS_H
#define CK_MERGE_CLOCKS_CLOCKCUTS_H

#include "merge/clocks/clockback.h"
#include "merge/clocks/solve/clockgraph.h"
#include "schema/clock/clockband.h"

/* A clock that is probed; no band: it is not. */
struct clockcuts_clock {
    const struct ck_clockband *band;
    ck_time_t rtt_min;
    ck_time_t from; /* readings that probes cover */
    ck_time_t to;
};

/* All borrowed. */
struct clockcuts {
    const struct clockcuts_clock *clocks; /* by domain */
    uint32_t count;
    uint32_t reference; /* what they are against; `count`: no domain of ranks */
    const struct clockback *backs;
    size_t backs_count;
};

/* Put them into a graph whose axis is domain 0. */
void clockcuts_put(const struct clockcuts *on, struct clockgraph *graph);

#endif
