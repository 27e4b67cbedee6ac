/* clockstep.h - whose clock jumped
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Facts compare two clocks, so a step of either looks the same. A host's
 * CLOCK_MONOTONIC, which cannot be set, shows whether its RAW jumped; else a
 * clock against which all others jump at once is the one that did.
 */
#ifndef CK_MERGE_CLOCKS_CLOCKSTEP_H
#define CK_MERGE_CLOCKS_CLOCKSTEP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "schema/clock/clockband.h"
#include "schema/time.h"

#define CLOCKSTEP_NONE UINT32_MAX

/* RAW and CLOCK_MONOTONIC of a host at one moment. */
struct clockstep_reading {
    ck_time_t raw;
    ck_time_t other;
    ck_time_t width;
};

/* A fault, and when it was by the clock that it was found against. */
struct clockstep_fault {
    struct ck_clock_fault fault;
    ck_time_t from;
    ck_time_t to;
};

struct clockstep_clock {
    struct clockstep_fault *faults;
    size_t count, room;
    uint32_t against; /* the other clock, CLOCKSTEP_NONE = none of these */
    struct clockstep_reading *readings; /* in order of MONOTONIC */
    size_t readings_count;
};

/* Append a fault. */
void clockstep_add(struct clockstep_clock *clock,
                   const struct clockstep_fault *fault);
/* Move each step to the clock that jumped. */
void clockstep_blame(struct clockstep_clock *clocks, size_t count);

/* Whether a clock has the same step at about that time. */
bool clockstep_has(const struct clockstep_clock *clock,
                   const struct clockstep_fault *step);

#endif
