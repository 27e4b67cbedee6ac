/* clockfinding.h - what may be known of clocks, and found out about them
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Facts, facts that contradict each other, and what happened to a host's
 * clocks: found in merge/clocks (clockgraph.h, clocksolve.h, clockwatch.h), and
 * kept in the report.
 */
#ifndef CK_MERGE_MODEL_CLOCKFINDING_H
#define CK_MERGE_MODEL_CLOCKFINDING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "schema/clock/clockband.h"
#include "schema/time.h"

/* By trust, the least first. */
enum clock_source {
    CLOCK_SOURCE_DEVICE, /* a launch, a synchronisation */
    CLOCK_SOURCE_KERNEL, /* a collective of devices */
    CLOCK_SOURCE_MESSAGE,
    CLOCK_SOURCE_COLLECTIVE,
    CLOCK_SOURCE_PROBE,
    CLOCK_SOURCES
};

#define CLOCK_MEETING ((uint32_t)1 << 31)
struct clock_edge {
    ck_time_t sent;
    ck_time_t received;
    uint32_t from; /* domain, or CLOCK_MEETING + its number */
    uint32_t to;
    enum clock_source source;
    bool is_dropped; /* it contradicts the others */
};

/* Edges of a fault that are kept. */
#define CLOCKSOLVE_NAMED 8

/* Facts that contradicted each other, and what was done. */
struct clocksolve_fault {
    enum ck_clock_fault_kind kind; /* RATE: a clock was allowed to run faster;
                                      PROBE: a fact was left out */
    ck_time_t excess;
    uint32_t domain; /* RATE */
    int64_t rate_ppb;
    ck_time_t from;
    ck_time_t to;
    struct clock_edge edges[CLOCKSOLVE_NAMED]; /* of the cycle; PROBE: the one
                                                  that was dropped is first */
    size_t edges_count;
    size_t cycle; /* edges of the whole cycle */
};

enum clockwatch_kind {
    CLOCKWATCH_STEP,    /* REALTIME was set */
    CLOCKWATCH_SLEW,    /* MONOTONIC's rate was changed */
    CLOCKWATCH_SUSPEND, /* the machine slept: BOOTTIME went on alone */
    CLOCKWATCH_PAUSE,   /* no collector of the host ran */
    CLOCKWATCH_COUNTER, /* the counter that stamps records jumped */
    CLOCKWATCH_SOURCE,  /* the kernel keeps time by another clock */
    CLOCKWATCH_KINDS
};

struct clockwatch_event {
    enum clockwatch_kind kind;
    ck_time_t from; /* RAW */
    ck_time_t to;
    ck_time_t step;   /* of REALTIME, of the counter; how long it slept, or did
                         not run */
    int64_t rate_ppb; /* SLEW: change of the rate */
    int64_t source;   /* SOURCE: the new one (clocksource.h) */
};

#endif
