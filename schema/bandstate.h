/* bandstate.h - what a clock band holds
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Within clockband.c, which solves, and bandquery.c, which answers, alone.
 */
#ifndef CK_SCHEMA_BANDSTATE_H
#define CK_SCHEMA_BANDSTATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "schema/clockband.h"
#include "schema/clockpiece.h"
#include "schema/clocktrend.h"

/* More faults than this and every cluster is a stretch of its own. */
#define FAULTS_MAX 1000

/* Constraints [lo, hi), to be solved. Beside a cut they may belong to a burst
 * in which the clock jumped: what they say holds between two instants. */
struct stretch {
    size_t lo;
    size_t hi;
    ck_time_t from;
    ck_time_t until;
};

struct ck_clockband {
    struct ck_clockband_options options;
    struct ck_clock_constraint *constraints;
    size_t count;
    size_t room;
    struct ck_clock_knot *knots;
    size_t knot_count;
    struct stretch *stretches; /* to do, the earliest on top */
    size_t stretch_count;
    struct ck_clocktrend trend; /* of the stretch in work */
    struct ck_clock_fault faults[FAULTS_MAX];
    size_t fault_count;
    uint64_t probes;
    uint64_t dropped;
    ck_time_t rtt_min;
    bool is_sorted;
};

/* Index of the last bounded knot at or before `local`, else of the first
 * after it; knot_count = none. */
size_t ck_clockband_near(const struct ck_clockband *band, ck_time_t local);

#endif
