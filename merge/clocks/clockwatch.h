/* clockwatch.h - what happened to a host's clocks, and to the host
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Each second a collector stores what REALTIME, MONOTONIC and BOOTTIME read
 * when RAW read so much. None of them stamps an event, so what befalls them
 * touches no figure; it is reported all the same. The counter does: what a jump
 * of it leaves open is part of the bounds (ticks.h).
 */
#ifndef CK_MERGE_CLOCKS_CLOCKWATCH_H
#define CK_MERGE_CLOCKS_CLOCKWATCH_H

#include <stddef.h>
#include <stdint.h>

#include "schema/time.h"

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

/* A reading of another clock. */
struct clockwatch_reading {
    uint32_t domain;
    enum ck_clock clock;
    ck_time_t raw;
    ck_time_t offset; /* reading - raw */
    ck_time_t width;  /* may be wrong by it */
};

/* Find what happened in one domain. `readings` are put in order of clock and
 * time. *events is the caller's to free. 0, or -1 with ENOMEM. */
int clockwatch_find(struct clockwatch_reading *readings,
                    size_t count,
                    uint32_t domain,
                    struct clockwatch_event **events,
                    size_t *events_count);
/* "realtime_step" ...; static. */
const char *clockwatch_name(enum clockwatch_kind kind);

#endif
