/* clocksystem.h - facts as nodes and links, being solved
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Within clocksolve.c, clocknodes.c, clockconflict.c and clockpair.c alone.
 */
#ifndef CK_MERGE_CLOCKS_SOLVE_CLOCKSYSTEM_H
#define CK_MERGE_CLOCKS_SOLVE_CLOCKSYSTEM_H

#include "merge/clocks/solve/clockplace.h"
#include "merge/clocks/solve/clockrelax.h"
#include "merge/clocks/solve/clocksolve.h"

#define CLOCKSYSTEM_FAULTS_MAX 1000

struct clocksolve {
    struct clockgraph *graph; /* borrowed */
    int64_t wander_ppb;       /* least wander that is assumed */
    struct clockplace_rates rates;
    struct clockline *lines; /* by domain */
    struct clockrelax relax;
    int64_t *hidden; /* by domain: wander that its facts do not show, ppb */
    uint32_t *order; /* of the domains, from the root outwards */
    size_t *first;   /* node of each domain, and behind the last */
    size_t nodes_room, places_room;
    struct clocksolve_knot *knots; /* by node */
    struct clocksolve_fault faults[CLOCKSYSTEM_FAULTS_MAX];
    size_t faults_count;
    uint64_t dropped;
    uint32_t root;
};

/* Nodes and links of all facts that are not dropped, about the lines that there
 * are. */
void clocksystem_build(struct clocksolve *solve);
/* Relax until no fact contradicts the others; what was dropped stays so. */
void clocksystem_relax(struct clocksolve *solve);
/* Nothing is known of any node but the root's. */
void clocksystem_reset(struct clocksolve *solve);

#endif
