/* clockback.h - clocks that were set back, by the order of their own probes
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * An agent stores its probes one after the other. Where one begins before the
 * one in front of it had ended, by its own clock, that clock was set back, and
 * shows all readings in between twice. Put in order of readings, probes of both
 * times alternate, and those of the shorter one look like wrong stamps.
 */
#ifndef CK_MERGE_CLOCKS_CLOCKBACK_H
#define CK_MERGE_CLOCKS_CLOCKBACK_H

#include <stddef.h>
#include <stdint.h>

#include "merge/clocks/calibrationprobe.h"
#include "merge/timeline/clockmap.h"
#include "schema/clock/clockband.h"

struct clockback {
    uint32_t domain;
    ck_time_t from; /* readings that may be of both times */
    ck_time_t to;
    struct ck_clock_fault fault;
};

/* Find them in probes as they were stored; `domain_of` by agent. *backs is the
 * caller's to free. */
void clockback_find(const struct calibration_probe *probes,
                    size_t count,
                    const uint32_t *domain_of,
                    struct clockback **backs,
                    size_t *found);
/* Mark the pieces of a domain's map that show such readings: the step is in
 * their error. */
void clockback_mark(const struct clockback *backs,
                    size_t count,
                    uint32_t domain,
                    struct clockmap *map);

#endif
