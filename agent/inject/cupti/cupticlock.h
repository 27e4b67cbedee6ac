/* cupticlock.h - from CUPTI's stamps to CLOCK_MONOTONIC_RAW
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * CUPTI stamps with a callback of ours where that is safe. From 12.6 on until
 * 13.1 a registered callback can make it give kernels without times: there its
 * own clock stays, and pairs of both clocks, taken at each flush, map it.
 */
#ifndef CK_AGENT_INJECT_CUPTI_CUPTICLOCK_H
#define CK_AGENT_INJECT_CUPTI_CUPTICLOCK_H

#include <stdbool.h>
#include <stdint.h>

#include "schema/time.h"

/* Choose the clock; before the first kind is enabled. A CUPTI result. */
int clock_start(void);
/* Take a pair; only on the flush thread (and in clock_start()). False when
 * CUPTI's clock is another one than before: it was set from outside. */
bool clock_pair(void);
/* RAW ns of a stamp; 0 = the stamp is 0, or its clock was set just then. */
uint64_t clock_raw(uint64_t stamp);
/* RAW ns of a stamp of the ring's clock, by the rate since clock_start(). */
ck_time_t clock_of_ring(int64_t stamp);

#endif
