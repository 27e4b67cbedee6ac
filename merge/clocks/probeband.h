/* probeband.h - the band of a clock's probes (schema/clock/clockband.h); where
 * memory is out ckmerge ends
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CK_MERGE_CLOCKS_PROBEBAND_H
#define CK_MERGE_CLOCKS_PROBEBAND_H

#include <stdbool.h>

#include "schema/clock/clockband.h"

/* Add a probe to *band, which is made for the first one. False: it is wild, and
 * left out. */
bool probeband_add(struct ck_clockband **band,
                   const struct ck_clock_probe *probe);
/* False: the probes do not bound the clock. */
bool probeband_solve(struct ck_clockband *band);

#endif
