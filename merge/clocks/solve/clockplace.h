/* clockplace.h - a first place on one axis for every clock
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * From a root outwards, the domain next that has the shortest round trip to
 * one that is placed: its line is fitted to all facts between it and what is
 * placed. The lines are the trends about which clocksolve looks for bounds.
 */
#ifndef CK_MERGE_CLOCKS_SOLVE_CLOCKPLACE_H
#define CK_MERGE_CLOCKS_SOLVE_CLOCKPLACE_H

#include <stdint.h>

#include "merge/clocks/solve/clockgraph.h"
#include "merge/clocks/solve/clockline.h"

struct clockplace_rates {
    int64_t wander_ppb; /* about a line */
    int64_t blind_ppb;  /* without one */
};

/* Make the lines of all domains of a closed graph; lines[] are empty before,
 * and stay so where nothing ties a domain to the root from both sides. order[]
 * gets those that have one, in the order in which they were placed, and
 * CLOCKPLACE_END if they are not all. */
#define CLOCKPLACE_END UINT32_MAX
void clockplace_run(const struct clockgraph *graph,
                    uint32_t root,
                    const struct clockplace_rates *rates,
                    struct clockline *lines,
                    uint32_t *order);
/* Fit a domain's line to facts in order of time, apart between its cuts. */
void clockplace_fit(const struct clockgraph *graph,
                    uint32_t domain,
                    const struct clockplace_rates *rates,
                    struct ck_clock_constraint *facts,
                    size_t count,
                    struct clockline *line);

#endif
