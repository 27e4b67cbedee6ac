/* bandstate.h - what a clock band holds
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Within clockband.c, which solves, bandfaults.c, which names faults, and
 * bandquery.c, which answers, alone.
 */
#ifndef CK_SCHEMA_CLOCK_BANDSTATE_H
#define CK_SCHEMA_CLOCK_BANDSTATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "schema/clock/clockband.h"
#include "schema/clock/clockpiece.h"
#include "schema/clock/clocktrend.h"

/* More faults than this and every cluster is a stretch of its own. */
#define FAULTS_MAX 1000

/* Constraints [lo, hi), to be solved. */
struct stretch {
    size_t lo;
    size_t hi;
};

/* A clock that jumps while a probe is under way makes its round trip too short,
 * of two probes at once both: so many are needed for one to be believed. */
#define BAND_WIDTHS 3

struct ck_clockband {
    struct ck_clockband_options options;
    struct ck_clock_constraint *constraints;
    size_t count;
    size_t room;
    struct ck_clock_knot *knots;
    struct ck_clock_knot *narrow; /* without what is hidden; same memory */
    size_t knot_count;
    struct stretch *stretches; /* to do, the earliest on top */
    size_t stretch_count;
    struct stretch *whole; /* no step in them; within the same memory */
    size_t whole_count;
    bool is_wandering;          /* trends are fitted; before, steps are found */
    int64_t wander_ppb;         /* about a trend */
    int64_t hidden_ppb;         /* the most that was added for vague probes */
    size_t cuts;                /* at that wander */
    ck_time_t cut_longest;      /* time between both sides of one */
    struct ck_clocktrend trend; /* of the stretch in work */
    struct ck_clock_fault faults[FAULTS_MAX];
    size_t fault_count;
    uint64_t probes;
    uint64_t dropped;
    ck_time_t rtt_min;
    ck_time_t widths[BAND_WIDTHS]; /* what the shortest round trips leave open,
                                      in order; -1 = there are no so many */
    bool is_sorted;
};

/* Index of the last bounded knot at or before `local`, else of the first
 * after it; knot_count = none. */
size_t ck_clockband_near(const struct ck_clockband *band, ck_time_t local);
/* Put the faults in order, those of one step as one, with its size. */
void ck_clockband_name(struct ck_clockband *band);
/* There is one cut, between two bursts, and the clock runs alike on both sides:
 * a small step. A clock that wanders changes its rate, and contradicts itself
 * again. */
bool ck_clockband_is_step(const struct ck_clockband *band);

#endif
