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

#include "merge/model/clockfinding.h"
#include "schema/time.h"

/* A reading of another clock. */
struct clockwatch_reading {
    uint32_t domain;
    enum ck_clock clock;
    ck_time_t raw;
    ck_time_t offset; /* reading - raw */
    ck_time_t width;  /* may be wrong by it */
};

/* Find what happened in one domain. `readings` are put in order of clock and
 * time. *events is the caller's to free. */
void clockwatch_find(struct clockwatch_reading *readings,
                     size_t count,
                     uint32_t domain,
                     struct clockwatch_event **events,
                     size_t *events_count);
/* "realtime_step" ...; static. */
const char *clockwatch_name(enum clockwatch_kind kind);

#endif
